package config

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/tiercompact/tiercompact"
)

// YAML returns the settings as a file, with the source of each value as a comment. With
// changed it has only values other than the default; only are paths of settings or sections
// to which it is limited.
func (l *Loaded) YAML(changed bool, only ...string) []byte {
	var lines []line
	for _, k := range allSettings() {
		v, at := lookupPath(l.layers, k.path)
		if (!changed || at.Kind != Default) && k.isBelow(only) {
			lines = append(lines, line{key: k, value: k.yamlValue(v), comment: at.String()})
		}
	}
	return writeSections(lines)
}

// isBelow reports whether k is one of paths or in one of these sections, or there are none.
func (k key) isBelow(paths []string) bool {
	return len(paths) == 0 || slices.ContainsFunc(paths, func(p string) bool { return k.path == p || strings.HasPrefix(k.path, p+".") })
}

// ResolvePath returns the path of the setting or the section with a name.
func ResolvePath(name string) (path string, err error) {
	path = canonical(name)
	if _, known := settingByPath(path); known || len(namesBelow(path)) > 0 {
		return path, nil
	}
	return "", unknownSetting(name, Origin{Kind: Flag, Name: "SETTING"}, append(Paths(), sections()...))
}

// A Shown setting has its value, for people, and its source.
type Shown struct {
	Value  any    `json:"value"`
	Source string `json:"source"`
}

// Values returns the settings by their paths. With changed it has only values
// other than the default; only is as for YAML.
func (l *Loaded) Values(changed bool, only ...string) map[string]Shown {
	out := make(map[string]Shown)
	for _, k := range allSettings() {
		v, at := lookupPath(l.layers, k.path)
		if (!changed || at.Kind != Default) && k.isBelow(only) {
			out[k.path] = Shown{k.shown(v), at.String()}
		}
	}
	return out
}

// shown is a value in the form of a file: a time as text, tokens as a number or auto.
func (k key) shown(v any) any {
	n, set := v, true
	switch v := v.(type) {
	case time.Duration:
		return shortDuration(v)
	case tiercompact.Size:
		n, set = v.Get()
	case int:
		set = v > 0
	}
	if k.auto && !set {
		return "auto"
	}
	return n
}

// A line is one setting in a file.
type line struct {
	key
	value, comment string
}

// settingText is the line without its comment.
func (l line) settingText() string {
	return strings.Repeat("  ", strings.Count(l.path, ".")) + l.lastSegment() + ": " + l.value
}

// writeSections writes lines below the headings of their sections.
func writeSections(lines []line) []byte {
	const widest = 44 // comments after this column are not aligned
	width := 0
	for _, l := range lines {
		if n := utf8.RuneCountInString(l.settingText()); n <= widest {
			width = max(width, n)
		}
	}
	var b bytes.Buffer
	var in headings
	for _, l := range lines {
		in.write(&b, l.path)
		fmt.Fprintf(&b, "%-*s  # %s\n", width, l.settingText(), strings.Map(commentRune, l.comment))
	}
	return b.Bytes()
}

// headings are the sections that a file is in.
type headings []string

// write writes the headings of the sections that a path is in and the last path was not.
func (h *headings) write(b *bytes.Buffer, path string) {
	parts := strings.Split(path, ".")
	parts = parts[:len(parts)-1]
	for i, part := range parts {
		if i < len(*h) && (*h)[i] == part {
			continue
		}
		*h = append((*h)[:min(i, len(*h))], part)
		if i == 0 && b.Len() > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(b, "%s%s:\n", strings.Repeat("  ", i), part)
	}
	*h = (*h)[:len(parts)]
}

// commentRune returns the replacement of a rune in a comment: a file name may hold a line break.
func commentRune(r rune) rune {
	if unicode.IsControl(r) {
		return '?'
	}
	return r
}

// yamlValue is a value in the YAML of a file, on one line.
func (k key) yamlValue(v any) string {
	switch v := v.(type) {
	case string:
		if k.kind == word && v != "" {
			return v
		}
		return strconv.Quote(v)
	case float64:
		s := strconv.FormatFloat(v, 'f', -1, 64)
		if !strings.Contains(s, ".") {
			s += ".0"
		}
		return s
	case []string:
		items := make([]string, len(v))
		for i, s := range v {
			items[i] = s
			if k.kind == rules {
				items[i] = strconv.Quote(s)
			}
		}
		return "[" + strings.Join(items, ", ") + "]"
	case []Pattern:
		items := make([]string, len(v))
		for i, p := range v {
			items[i] = fmt.Sprintf("{name: %q, regexp: %q}", p.Name, p.Regexp)
		}
		return "[" + strings.Join(items, ", ") + "]"
	}
	return fmt.Sprint(k.shown(v))
}

// shortDuration formats a duration without units that are 0.
func shortDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = s[:len(s)-2]
	}
	if strings.HasSuffix(s, "h0m") {
		s = s[:len(s)-2]
	}
	return s
}
