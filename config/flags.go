package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/knadh/koanf/providers/posflag"
	"github.com/spf13/pflag"
)

// Register adds to fs the flags of the settings whose paths are given, in the
// order of the table. What they hold is read by [Load] alone.
func Register(fs *pflag.FlagSet, paths ...string) {
	for _, k := range keys() {
		if k.flag == "" || !slices.Contains(paths, k.path) || fs.Lookup(k.flag) != nil {
			continue
		}
		k.register(fs)
	}
}

func (k key) register(fs *pflag.FlagSet) {
	short := map[string]string{"window": "w", "level": "l", "protect": "p"}[k.flag]
	switch {
	case k.flag == thresholdsFlag:
		fs.Float64Slice(k.flag, nil, "usage from which soft, hard and emergency are due: `S,H,E`")
		fs.Lookup(k.flag).DefValue = ""
	case strings.HasPrefix(k.flag, "no-"):
		fs.Bool(k.flag, false, "do not "+k.text())
	case k.kind == toggle:
		fs.Bool(k.flag, k.value == true, k.doc)
	case k.kind == count && k.value != Auto:
		fs.IntP(k.flag, short, k.value.(int), k.doc)
	case k.kind == count:
		fs.IntP(k.flag, short, 0, k.doc)
	case k.kind == share:
		fs.Float64(k.flag, k.value.(float64), k.doc)
	case k.kind == rules:
		fs.StringArrayP(k.flag, short, nil, k.doc+"; repeatable")
	case k.kind == words:
		fs.StringSlice(k.flag, k.value.([]string), k.doc)
	default:
		fs.StringP(k.flag, short, k.plain(), k.doc)
	}
}

// flags returns what was given of fs.
func flags(fs *pflag.FlagSet) *layer {
	l := newLayer()
	if fs == nil {
		return l
	}
	provider := posflag.ProviderWithFlag(fs, "", nil, func(f *pflag.Flag) (string, any) {
		if f.Changed {
			l.flag(fs, f)
		}
		return "", nil
	})
	_, _ = provider.Read() // cannot fail; what it reads is in l
	return l
}

// flag takes one flag. Those that no setting has are the command's own.
func (l *layer) flag(fs *pflag.FlagSet, f *pflag.Flag) {
	at := Origin{Kind: Flag, Name: "--" + f.Name}
	if f.Name == thresholdsFlag {
		shares, _ := fs.GetFloat64Slice(f.Name) // a command may have another flag of that name
		l.thresholds(shares, at)
		return
	}
	i := slices.IndexFunc(keys(), func(k key) bool { return k.flag == f.Name })
	if i < 0 {
		return
	}
	k := keys()[i]
	n := loosely(f.Value.String())
	if list, ok := f.Value.(pflag.SliceValue); ok {
		var items []node
		for _, s := range list.GetSlice() {
			items = append(items, loosely(s))
		}
		n = node{value: items}
	}
	if strings.HasPrefix(k.flag, "no-") {
		n = loosely(fmt.Sprint(f.Value.String() != "true"))
	}
	l.set(k, n, at)
}

// thresholds takes the one flag that sets three.
func (l *layer) thresholds(shares []float64, at Origin) {
	if len(shares) != 3 {
		l.fail(&Error{Path: thresholdsFlag, Want: "three shares like 0.60,0.75,0.90", Value: fmt.Sprint(shares), Origin: at})
		return
	}
	for i, level := range strings.Split(levelWords, ", ") {
		k, _ := byPath(thresholdsFlag + "." + level)
		l.set(k, node{value: shares[i], text: fmt.Sprint(shares[i])}, at)
	}
}

// plain is the default as a flag has it.
func (k key) plain() string {
	if s, ok := k.value.(string); ok {
		return s
	}
	return k.written(k.value)
}
