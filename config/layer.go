package config

import (
	"slices"
	"strconv"
	"strings"
)

// A layer is what one source sets.
type layer struct {
	values  map[string]any // by path
	origins map[string]Origin
	errs    Errors
	unknown []string // what is said of variables that no setting has
}

func newLayer() *layer {
	return &layer{values: make(map[string]any), origins: make(map[string]Origin)}
}

// MostErrors is how many errors of a file are told; so many may be more.
const MostErrors = 100

func (l *layer) addError(e *Error) {
	if len(l.errs) < MostErrors {
		l.errs = append(l.errs, e)
	}
}

// setValue takes the value of a setting.
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

// takeFile takes the settings of a file.
func (l *layer) takeFile(name string, n node) {
	if n.value == nil { // nothing but comments
		return
	}
	at := Origin{Kind: File, Name: name, Line: n.line}
	if _, ok := n.value.([]entry); !ok {
		l.addError(&Error{Want: "settings, each a name and a value", Value: n.shownValue(), Origin: at})
		return
	}
	l.takeSection("", n, at, make(map[string]int))
}

// takeSection takes the settings below a path. A section with nothing in it, as
// where all of it is commented out, sets nothing.
func (l *layer) takeSection(path string, n node, at Origin, seen map[string]int) {
	entries, ok := n.value.([]entry)
	if !ok {
		if n.value != nil {
			l.addError(&Error{Path: path, Want: "a section with " + strings.Join(namesBelow(path), ", "), Value: n.shownValue(), Origin: at})
		}
		return
	}
	for _, e := range entries {
		if len(l.errs) >= MostErrors {
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
			l.addError(&Error{Path: clipValue(name), Want: "given once", Remedy: "it stands in line " + strconv.Itoa(first) + " too", Origin: at})
		case known:
			l.setValue(k, e.node, at)
		case len(namesBelow(name)) > 0:
			l.takeSection(name, e.node, at, seen)
		default:
			l.addError(unknownSetting(name, at, append(Paths(), sections()...)))
		}
	}
}

// namesBelow returns the names that stand directly below a section.
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

// unknownSetting is the error for a name that no setting has. What it was to be set to
// is not shown: it may be a secret under a wrong name.
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

// nearestName returns the known name that is most like name, or "" where none is.
func nearestName(name string, known []string) string {
	const longest = 64
	if len(name) > longest {
		return ""
	}
	best, least := "", 0
	name = strings.ToLower(name)
	own := strings.TrimPrefix(name, strings.ToLower(envPrefix)) // without what all variables share
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

// distance is how many letters must be put in, taken out or replaced to make b
// of a.
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

// lookupPath returns the strongest value that layers have for a path.
func lookupPath(layers []*layer, path string) (any, Origin) {
	for _, l := range slices.Backward(layers) {
		if v, ok := l.values[path]; ok {
			return v, l.origins[path]
		}
	}
	return nil, Origin{}
}
