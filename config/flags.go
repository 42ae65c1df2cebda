package config

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/tiercompact/tiercompact/levels"
)

// Flags for more than one setting, or for a value of one.
const (
	thresholdsFlag = "thresholds" // sets all at once
	archiveFlag    = "archive"    // a folder or s3://bucket/prefix: adapter and place
	noCacheFlag    = "no-embed-cache"
)

// Register adds to fs the flags of the settings with the given paths or sections, in the
// order of the table, and returns the valid words of flags that accept only some. Only
// [Load] parses their values.
func Register(fs *pflag.FlagSet, names ...string) (words map[string][]string) {
	words = make(map[string][]string)
	for _, k := range allSettings() {
		named := slices.ContainsFunc(names, func(n string) bool { return k.path == n || strings.HasPrefix(k.path, n+".") })
		if !named {
			continue
		}
		if k.flag != "" && fs.Lookup(k.flag) == nil {
			k.registerFlag(fs)
		}
		if k.kind == word && k.flag != "" {
			words[k.flag] = strings.Split(k.words, ", ")
		}
		switch k.path {
		case "archive.dir":
			fs.String(archiveFlag, "", "keep removed messages in this `folder` or at s3://bucket/prefix, for recall and undo")
		case "embed.cache":
			fs.Bool(noCacheFlag, false, "keep vectors in memory only")
		}
	}
	fs.SetNormalizeFunc(flagName)
	return words
}

// flagName returns the flag of a name: its own, or another of the setting.
func flagName(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	for _, k := range allSettings() {
		if k.also != "" && strings.ReplaceAll(k.also, "_", "-") == name {
			return pflag.NormalizedName(k.flag)
		}
	}
	return pflag.NormalizedName(name)
}

func (k key) registerFlag(fs *pflag.FlagSet) {
	short := map[string]string{"window": "w", "level": "l", "protect": "p"}[k.flag]
	switch {
	case k.flag == thresholdsFlag:
		names := levels.Names()
		fs.StringSlice(k.flag, nil, fmt.Sprintf("usage from which %s and %s are due: `%s`", strings.Join(names[:len(names)-1], ", "), names[len(names)-1], initials(names)))
		fs.Lookup(k.flag).DefValue = ""
	case strings.HasPrefix(k.flag, "no-"):
		fs.Bool(k.flag, false, k.not)
	case k.kind == toggle:
		fs.Bool(k.flag, k.value == true, k.doc)
	case k.kind == count:
		fs.IntP(k.flag, short, k.value.(int), k.doc)
	case k.auto:
		fs.StringP(k.flag, short, "", k.doc)
	case k.kind == rules:
		fs.StringArrayP(k.flag, short, nil, k.doc+"; repeatable")
	case k.kind == words:
		fs.StringSlice(k.flag, k.value.([]string), k.doc)
	default:
		fs.StringP(k.flag, short, k.flagDefault(), k.doc)
	}
}

// FlagGroup returns the heading of a setting's flag in help texts, and whether few users
// need the flag; "" if no setting has it.
func FlagGroup(flag string) (heading string, rare bool) {
	if i := slices.IndexFunc(allSettings(), func(k key) bool { return k.flag == flag && flag != "" }); i >= 0 {
		return allSettings()[i].group, allSettings()[i].rare
	}
	return "", false
}

// flagLayer returns the values of the flags in fs.
func flagLayer(fs *pflag.FlagSet) *layer {
	l := newLayer()
	if fs == nil {
		return l
	}
	fs.VisitAll(func(f *pflag.Flag) {
		if f.Changed { // Visit leaves out flags that another set parsed
			l.takeFlag(fs, f)
		}
	})
	return l
}

// takeFlag parses one flag. Flags without a setting are the command's own.
func (l *layer) takeFlag(fs *pflag.FlagSet, f *pflag.Flag) {
	at := Origin{Kind: Flag, Name: "--" + f.Name}
	if f.Name == thresholdsFlag {
		shares, _ := fs.GetStringSlice(f.Name) // a command may have another flag of that name
		l.thresholds(shares, at)
		return
	}
	switch f.Name {
	case archiveFlag:
		l.takeArchive(f.Value.String(), at)
		return
	case noCacheFlag:
		if k, _ := settingByPath("embed.cache"); f.Value.String() == "true" {
			l.setValue(k, looseNode(CacheNone), at)
		}
		if fs.Changed("embed-cache") {
			l.addError(&Error{Path: "embed.cache", Want: "given once", Origin: at, Remedy: "--embed-cache and --no-embed-cache contradict; give one"})
		}
		return
	}
	i := slices.IndexFunc(allSettings(), func(k key) bool { return k.flag == f.Name })
	if i < 0 {
		return
	}
	k := allSettings()[i]
	n := looseNode(f.Value.String())
	if list, ok := f.Value.(pflag.SliceValue); ok {
		items := list.GetSlice()
		if len(items) == 0 { // for example, a shell variable is not set
			l.addError(&Error{Path: k.path, Want: "given", Origin: at, Remedy: "it is empty; give [] for none, or leave it out"})
			return
		}
		n = listNode(items)
	}
	if strings.HasPrefix(k.flag, "no-") {
		n = looseNode(fmt.Sprint(f.Value.String() != "true"))
	}
	l.setValue(k, n, at)
}

// listNode is the list in a flag's value; [] is an empty one.
func listNode(items []string) node {
	nodes := []node{}
	if !slices.Equal(items, []string{"[]"}) {
		for _, s := range items {
			nodes = append(nodes, looseNode(s))
		}
	}
	return node{value: nodes}
}

// initials returns the first letters of names, for the help of a flag with a value for
// each.
func initials(names []string) string {
	letters := make([]string, len(names))
	for i, name := range names {
		letters[i] = strings.ToUpper(name[:1])
	}
	return strings.Join(letters, ",")
}

// thresholds parses the one flag that sets all thresholds.
func (l *layer) thresholds(shares []string, at Origin) {
	keys := thresholdSettings()
	if len(shares) != len(keys) {
		l.addError(&Error{Path: thresholdsFlag, Want: fmt.Sprintf("%s shares like %s", strconv.Itoa(len(keys)), exampleShares(keys)), Value: fmt.Sprint(shares), Origin: at})
		return
	}
	for i, k := range keys {
		l.setValue(k, looseNode(strings.TrimSpace(shares[i])), at)
	}
}

// exampleShares returns the default thresholds in the flag's form.
func exampleShares(keys []key) string {
	shares := make([]string, len(keys))
	for i, k := range keys {
		shares[i] = fmt.Sprintf("%.2f", k.value)
	}
	return strings.Join(shares, ",")
}

// takeArchive parses the location of an archive, which also selects the adapter.
func (l *layer) takeArchive(place string, at Origin) {
	a, err := ParseArchive(place)
	if err != nil {
		bad := &Error{Path: "archive.s3.bucket", Want: "like s3://BUCKET/PREFIX, without credentials", Value: strconv.Quote(clipValue(place)), Origin: at}
		if strings.Contains(place, "@") {
			bad.Value = "one with a user or a password"
		}
		l.addError(bad)
		return
	}
	values := map[string]string{"archive.adapter": a.Adapter, "archive.dir": a.Dir}
	if a.Adapter == S3 {
		values = map[string]string{"archive.adapter": S3, "archive.s3.bucket": a.S3.Bucket, "archive.s3.prefix": a.S3.Prefix}
	}
	for _, path := range slices.Sorted(maps.Keys(values)) {
		k, _ := settingByPath(path)
		l.setValue(k, looseNode(values[path]), at)
	}
}

// flagDefault is the default in the flag's form.
func (k key) flagDefault() string {
	if s, ok := k.value.(string); ok {
		return s
	}
	return k.yamlValue(k.value)
}
