package config

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/tiercompact/tiercompact"
)

// Options select the sources. The zero value means the current folder and the
// environment.
type Options struct {
	File    string         // "": COMPACT_CONFIG, or else the file that Find returns for Dir
	Dir     string         // "": the current folder
	Environ []string       // in the form of os.Environ; nil: os.Environ()
	Flags   *pflag.FlagSet // parsed flags; nil: none
	// FlagsAlone disables the file and the environment.
	FlagsAlone bool
	// Defaults replace the table's values of paths without a source, in the form of variables.
	Defaults map[string]string
}

// Loaded is the result of [Load].
type Loaded struct {
	Config Config
	File   string // the file that was read; "": none
	Found  bool   // File was found, not named

	layers []*layer
	greedy []string // notices about patterns that are left out
}

// Load reads all sources. Later ones take precedence: defaults, the preset, the file, the
// environment, flags. The error holds the [Errors] of all values, each with its path,
// or reports that the file cannot be read.
func Load(o Options) (*Loaded, error) {
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	l := new(Loaded)
	var err error
	if o.FlagsAlone {
		o.Environ = []string{}
	} else if l.File, l.Found, err = o.filePath(); err != nil {
		return nil, err
	}
	file := newLayer()
	if l.File != "" {
		if file, err = fileLayer(l.File); err != nil {
			return nil, err
		}
	}
	given := []*layer{file, environment(o.Environ), flagLayer(o.Flags)}
	var errs Errors
	for _, g := range given {
		errs = append(errs, g.errs...)
	}
	base, preset := defaults(o.Defaults, given)
	errs = append(errs, base.errs...)
	l.layers = append([]*layer{base, preset}, given...)
	if len(errs) == 0 {
		errs = slices.Concat(l.contradictions(), l.checkKeySent(o.Environ), l.checkOutsidePaths())
	}
	if err := errs.sortedOrNil(); err != nil {
		return nil, err
	}
	l.leaveOutGreedy()
	l.Config = l.mergeLayers()
	return l, l.validate()
}

// filePath returns the file to read, and whether it was found.
func (o Options) filePath() (path string, found bool, err error) {
	const named = FileVariable + "="
	i := slices.IndexFunc(o.Environ, func(v string) bool { return strings.HasPrefix(v, named) })
	switch {
	case o.File != "":
		return o.File, false, nil
	case i >= 0 && o.Environ[i] == named:
		return "", false, fmt.Errorf("%s is empty; give it the name of a file, or unset it", FileVariable)
	case i >= 0:
		return o.Environ[i][len(named):], false, nil
	}
	path, err = Find(o.Dir)
	return path, path != "", err
}

// Path returns the file of settings that is used if none is named, or "".
func Path() (string, error) {
	path, _, err := Options{Environ: os.Environ()}.filePath()
	return path, err
}

// Validate returns the errors of a file, alone.
func Validate(path string) error {
	_, err := Load(Options{File: path, Environ: []string{}})
	return err
}

func fileLayer(path string) (*layer, error) {
	data, err := readFile(path)
	if err != nil {
		return nil, err
	}
	l := newLayer()
	n, bad := parseFile(path, data)
	if bad != nil {
		l.addError(bad)
		return l, nil
	}
	l.takeFile(path, n)
	return l, nil
}

// defaults returns the layers below all sources: the table, the command's defaults, and
// the preset that the sources name.
func defaults(command map[string]string, given []*layer) (base, preset *layer) {
	base, preset = newLayer(), newLayer()
	for _, k := range allSettings() {
		base.values[k.path], base.origins[k.path] = k.value, Origin{}
		if text, ok := command[k.path]; ok {
			base.setValue(k, looseNode(text), Origin{Name: "default of the command"})
		}
	}
	v, _ := lookupPath(append([]*layer{base}, given...), "preset")
	chosen, _ := v.(string)
	for _, k := range allSettings() {
		if v, ok := k.presets[chosen]; ok {
			preset.values[k.path], preset.origins[k.path] = v, Origin{Kind: Preset, Name: chosen}
		}
	}
	return base, preset
}

// mergeLayers returns the value of each path with the highest priority.
func (l *Loaded) mergeLayers() Config {
	preset, _ := l.effectiveValue("preset").(string)
	c := Defaults(tiercompact.Preset(preset))
	for _, k := range settingTable(&c) {
		k.set(l.effectiveValue(k.path))
	}
	return c
}

// validate makes the library check the combination of values. An unknown window is
// checked later.
func (l *Loaded) validate() error {
	cfg := l.Config.Compaction()
	cfg.Window = cmp.Or(cfg.Window, math.MaxInt)
	return l.Located(cfg.Validate())
}

// Located returns an error about a field of the library as [Errors] with the path of the
// setting, and its source. Other errors are returned unchanged.
func (l *Loaded) Located(err error) error {
	var bad *tiercompact.FieldError
	if !errors.As(err, &bad) {
		return err
	}
	e := &Error{Path: bad.Field, Want: strings.TrimPrefix(bad.Problem, "must be ")}
	if k, ok := settingOf(bad.Field); ok {
		e.Path, e.Origin = k.path, l.Origin(k.path)
	}
	return Errors{e}
}

// Origin returns the source of the value of a path.
func (l *Loaded) Origin(path string) Origin {
	_, at := lookupPath(l.layers, path)
	return at
}

// contradictions returns values that are invalid in combination with others.
func (l *Loaded) contradictions() (errs Errors) {
	keys := thresholdSettings()
	for i, k := range keys[1:] {
		milder := keys[i].path
		low, high := l.effectiveValue(milder).(float64), l.effectiveValue(k.path).(float64)
		if low >= high {
			at := strongerOrigin(l.Origin(milder), l.Origin(k.path))
			errs = append(errs, &Error{Path: k.path, Value: fmt.Sprint(high), Origin: at,
				Want: fmt.Sprintf("above %s, %v", milder, low), Remedy: "thresholds must rise"})
		}
	}
	adapter, chosen := l.effectiveValue("archive.adapter"), l.Origin("archive.adapter").Kind
	for _, only := range []struct{ path, adapter string }{
		{"archive.dir", Dir}, {"archive.s3.bucket", S3}, {"archive.s3.prefix", S3}, {"archive.s3.region", S3}, {"archive.s3.endpoint", S3}, {"archive.s3.kms_key", S3},
	} {
		k, _ := settingByPath(only.path)
		if at := l.Origin(only.path); l.effectiveValue(only.path) != k.value && adapter == Memory && at.Kind >= chosen { // otherwise a stronger source turns the archive off
			errs = append(errs, &Error{Path: only.path, Want: "left out", Origin: at,
				Remedy: "archive.adapter is memory; set it to " + only.adapter})
		}
	}
	if at := l.Origin("archive.adapter"); adapter == S3 && l.effectiveValue("archive.s3.bucket") == "" {
		errs = append(errs, &Error{Path: "archive.s3.bucket", Want: "given", Origin: at, Remedy: "archive.adapter s3 needs it"})
	}
	return errs
}

// strongerOrigin returns the origin with the higher priority, or the later in the file.
func strongerOrigin(a, b Origin) Origin {
	if cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Line, b.Line)) > 0 {
		return a
	}
	return b
}
