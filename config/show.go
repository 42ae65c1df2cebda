package config

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// YAML returns the settings as a file, with the source of each value as a comment. With
// changed it has only values other than the default.
func (l *Loaded) YAML(changed bool) []byte {
	var lines []line
	for _, k := range allSettings() {
		v, at := lookupPath(l.layers, k.path)
		if !changed || at.Kind != Default {
			lines = append(lines, line{key: k, value: k.yamlValue(v), comment: at.String()})
		}
	}
	return writeSections(lines)
}

// A Shown setting has its value, for people, and its source.
type Shown struct {
	Value  any    `json:"value"`
	Source string `json:"source"`
}

// Values returns the settings by their paths. With changed it has only values
// other than the default.
func (l *Loaded) Values(changed bool) map[string]Shown {
	out := make(map[string]Shown)
	for _, k := range allSettings() {
		v, at := lookupPath(l.layers, k.path)
		if d, ok := v.(time.Duration); ok {
			v = shortDuration(d)
		}
		if v == Auto && k.auto {
			v = "auto"
		}
		if !changed || at.Kind != Default {
			out[k.path] = Shown{v, at.String()}
		}
	}
	return out
}

// A line is one setting in a file.
type line struct {
	key
	value, comment string
	off            bool // commented out
}

// settingText is the line without its comment.
func (l line) settingText() string {
	off := ""
	if l.off {
		off = "#"
	}
	return strings.Repeat("  ", strings.Count(l.path, ".")) + off + l.lastSegment() + ": " + l.value
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
	var open []string
	for _, l := range lines {
		parts := strings.Split(l.path, ".")
		parts = parts[:len(parts)-1]
		for i := range parts {
			if i < len(open) && open[i] == parts[i] {
				continue
			}
			open = open[:min(i, len(open))]
			if i == 0 && b.Len() > 0 {
				b.WriteByte('\n')
			}
			fmt.Fprintf(&b, "%s%s:\n", strings.Repeat("  ", i), parts[i])
			open = append(open, parts[i])
		}
		open = open[:len(parts)]
		fmt.Fprintf(&b, "%-*s  # %s\n", width, l.settingText(), strings.Map(commentRune, l.comment))
	}
	return b.Bytes()
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
	case int:
		if v == Auto && k.auto {
			return "auto"
		}
	case float64:
		s := strconv.FormatFloat(v, 'f', -1, 64)
		if !strings.Contains(s, ".") {
			s += ".0"
		}
		return s
	case time.Duration:
		return shortDuration(v)
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
	return fmt.Sprint(v)
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
