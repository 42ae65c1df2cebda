package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

const envPrefix = "COMPACT_"

// KeyVariable holds the bearer token of servers with OpenAI's protocol. It is not a
// setting, because settings can be displayed.
const KeyVariable = "COMPACT_API_KEY"

// variables returns the path that each environment variable sets. Leading sections are
// left out unless the rest names another setting or a section: COMPACT_SUMMARY is not a
// deadline.
func variables() map[string]string {
	out, shared := make(map[string]string), make(map[string]bool)
	for _, k := range allSettings() {
		parts := strings.Split(k.path, ".")
		for i := 1; i < len(parts) && !k.full; i++ {
			name := variable(parts[i:])
			_, there := out[name]
			shared[name] = shared[name] || there
			out[name] = k.path
		}
	}
	for _, section := range sections() {
		shared[variable(strings.Split(section, "."))] = true
	}
	maps.DeleteFunc(out, func(name, _ string) bool { return shared[name] })
	for _, k := range allSettings() {
		if k.also != "" {
			out[variable([]string{k.also})] = k.path
		}
	}
	for _, k := range allSettings() {
		out[variable(strings.Split(k.path, "."))] = k.path
	}
	return out
}

func variable(parts []string) string { return envPrefix + strings.ToUpper(strings.Join(parts, "_")) }

// Variables returns the environment variables that set a path: those with its own name,
// the shortest first, then that with its other name.
func Variables(path string) (names []string) {
	for name, p := range variables() {
		if p == path {
			names = append(names, name)
		}
	}
	own := variable([]string{path[strings.LastIndexByte(path, '.')+1:]})
	other := func(name string) int { // 0 or 1
		if strings.HasSuffix(name, strings.TrimPrefix(own, envPrefix)) {
			return 0
		}
		return 1
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(other(a), other(b)), cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	})
	return names
}

// environment returns the settings in variables.
func environment(environ []string) *layer {
	l, known := newLayer(), variables()
	for _, v := range slices.Sorted(slices.Values(environ)) {
		if name, value, ok := strings.Cut(v, "="); ok && strings.HasPrefix(name, envPrefix) {
			l.variable(known, name, value)
		}
	}
	return l
}

// variable parses one variable.
func (l *layer) variable(known map[string]string, name, value string) {
	at := Origin{Kind: Env, Name: name}
	path, ok := known[name]
	if !ok {
		if name != KeyVariable && name != FileVariable {
			e := unknownSetting(name, at, append(slices.Sorted(maps.Keys(known)), KeyVariable, FileVariable))
			l.unknown = append(l.unknown, fmt.Sprintf("%s is no setting and changes nothing; %s", e.Path, e.Remedy))
		}
		return
	}
	k, _ := settingByPath(path)
	switch {
	case strings.TrimSpace(value) == "":
		l.addError(&Error{Path: path, Want: "given", Origin: at, Remedy: name + " is empty; give it a value, or unset it"})
	case l.values[path] != nil:
		l.addError(&Error{Path: path, Want: "given once", Origin: at, Remedy: fmt.Sprintf("%s sets it too; unset one", l.origins[path])})
	default:
		l.setValue(k, looseNode(value), at)
	}
}
