package config

import (
	"slices"
	"strconv"
	"strings"
)

// A layer has the settings of one source.
type layer struct {
	values  map[string]any // by path
	origins map[string]Origin
	errs    Errors
	unknown []string // notices about variables without a setting
}

func newLayer() *layer {
	return &layer{values: make(map[string]any), origins: make(map[string]Origin)}
}

// MaxErrors is the maximum number of errors that are kept of a source: with as many, there may be more.
const MaxErrors = 100

func (l *layer) addError(e *Error) {
	if len(l.errs) < MaxErrors {
		l.errs = append(l.errs, e)
	}
}

// setValue sets one setting.
func (l *layer) setValue(k key, n node, at Origin) {
	v, bad := k.readSetting(n, at)
	if len(bad) > 0 {
		for _, e := range bad {
			l.addError(e)
		}
		return
	}
	l.values[k.path], l.origins[k.path] = v, at
}

// takeFile sets the settings of a file.
func (l *layer) takeFile(name string, n node) {
	if n.value == nil { // only comments
		return
	}
	at := Origin{Kind: File, Name: name, Line: n.line}
	if _, ok := n.value.([]entry); !ok {
		l.addError(&Error{Want: "settings, each a name and a value", Value: n.shownValue(), Origin: at})
		return
	}
	l.takeSection("", n, at, make(map[string]int))
}

// takeSection sets the settings below a path. An empty section, for example one with
// only comments, sets nothing.
func (l *layer) takeSection(path string, n node, at Origin, seen map[string]int) {
	entries, ok := n.value.([]entry)
	if place, is := n.value.(string); is && path == archiveFlag {
		l.takeArchiveText(place, at)
		return
	}
	if !ok {
		if n.value != nil {
			l.addError(&Error{Path: path, Want: "a section with " + strings.Join(namesBelow(path), ", "), Value: n.shownValue(), Origin: at})
		}
		return
	}
	for _, e := range entries {
		if len(l.errs) >= MaxErrors {
			return
		}
		at.Line = e.line
		name := e.name
		if path != "" {
			name = path + "." + name
		}
		name = canonical(name)
		k, known := settingByPath(name)
		first, twice := seen[name]
		seen[name] = e.line
		switch {
		case twice:
			l.addError(&Error{Path: clipValue(name), Want: "given once", Remedy: "it is also in line " + strconv.Itoa(first), Origin: at})
		case known:
			l.setValue(k, e.node, at)
		case len(namesBelow(name)) > 0:
			l.takeSection(name, e.node, at, seen)
		default:
			l.addError(unknownSetting(name, at, append(Paths(), sections()...)))
		}
	}
}

// takeArchiveText takes an archive that is given as one text: an adapter, or a place as
// --archive takes it.
func (l *layer) takeArchiveText(text string, at Origin) {
	if k, _ := settingByPath("archive.adapter"); text == Memory {
		l.setValue(k, looseNode(text), at)
		return
	}
	l.takeArchive(text, at)
}

// namesBelow returns the names directly below a section.
func namesBelow(path string) (names []string) {
	for _, k := range allSettings() {
		if rest, ok := strings.CutPrefix(k.path, path+"."); ok {
			name, _, _ := strings.Cut(rest, ".")
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// sections returns the names of all sections, in the order of the table.
func sections() (out []string) {
	for _, k := range allSettings() {
		if s := k.sectionPath(); s != "" && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// Paths returns the paths of all settings, in the order of the table.
func Paths() (out []string) {
	for _, k := range allSettings() {
		out = append(out, k.path)
	}
	return out
}

// unknownSetting is the error for an unknown name. It does not show the value, which may
// be a secret under a wrong name.
func unknownSetting(name string, at Origin, known []string) *Error {
	e := &Error{Path: clipValue(name), Want: "a known setting", Origin: at}
	switch {
	case isCredential(name):
		e.Want, e.Remedy = "left out", "credentials do not belong in settings; "+remedyFor(name)
	default:
		if near := nearestName(name, known); near != "" {
			e.Remedy = "did you mean " + near + "?"
		} else {
			e.Remedy = "tiercompact config init writes all that there are"
		}
	}
	return e
}

// nearestName returns the known name that is most similar to name, or "" if there is none.
func nearestName(name string, known []string) string {
	const longest = 64
	if len(name) > longest {
		return ""
	}
	best, least := "", 0
	name = strings.ToLower(name)
	own := strings.TrimPrefix(name, strings.ToLower(envPrefix)) // without the prefix that all variables share
	if i := slices.IndexFunc(known, func(k string) bool { return strings.HasSuffix(k, "_"+strings.ToUpper(own)) && own != name }); i >= 0 {
		return known[i]
	}
	for _, k := range known {
		low := strings.ToLower(k)
		d := distance(name, low)
		if leaf := low[strings.LastIndexByte(low, '.')+1:]; leaf != low {
			d = min(d, 1+distance(name[strings.LastIndexByte(name, '.')+1:], leaf))
		}
		if best == "" || d < least {
			best, least = k, d
		}
	}
	if least > max(2, len(own)/3) {
		return ""
	}
	return best
}

// distance is the number of letters to insert, delete or replace to turn a into b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			d := before
			if a[i] != b[j] {
				d = 1 + min(before, row[j], row[j+1])
			}
			before, row[j+1] = row[j+1], d
		}
	}
	return row[len(b)]
}

// lookupPath returns the value of a path with the highest priority in layers.
func lookupPath(layers []*layer, path string) (any, Origin) {
	for _, l := range slices.Backward(layers) {
		if v, ok := l.values[path]; ok {
			return v, l.origins[path]
		}
	}
	return nil, Origin{}
}
