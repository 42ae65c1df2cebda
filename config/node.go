package config

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A node is a value as written, in any format.
type node struct {
	line  int
	value any    // nil, bool, int, float64, string, []node, []entry
	text  string // of a scalar, as written
	loose bool   // text that may be a number: from a variable or a flag
}

// An entry is a name and its value in a mapping.
type entry struct {
	name string
	line int
	node node
}

// looseNode returns the node of a variable or a flag.
func looseNode(text string) node { return node{value: text, text: text, loose: true} }

// maxShown is the maximum number of characters of a value in an error.
const maxShown = 60

// shownValue is the value for an error.
func (n node) shownValue() string {
	switch v := n.value.(type) {
	case nil:
		return "null"
	case []node:
		return fmt.Sprintf("a list of %d", len(v))
	case []entry:
		return fmt.Sprintf("a section of %d", len(v))
	case string:
		if _, err := strconv.ParseFloat(v, 64); err != nil || !n.loose {
			return strconv.Quote(clipValue(v))
		}
	}
	return clipValue(n.text)
}

func clipValue(s string) string {
	if utf8.RuneCountInString(s) <= maxShown {
		return s
	}
	return string([]rune(s)[:maxShown]) + "…"
}

// isScalar reports whether the value is scalar and not null.
func (n node) isScalar() bool {
	switch n.value.(type) {
	case nil, []node, []entry:
		return false
	}
	return true
}

// numberValue returns the value as a number.
func (n node) numberValue() (float64, bool) {
	switch v := n.value.(type) {
	case int:
		return float64(v), true
	case float64:
		return v, true
	case string:
		f, err := strconv.ParseFloat(v, 64)
		return f, err == nil && n.loose
	}
	return 0, false
}

// wholeValue returns the value as a whole number.
func (n node) wholeValue() (int, bool) {
	switch v := n.value.(type) {
	case int:
		return v, true
	case string:
		i, err := strconv.Atoi(v)
		return i, err == nil && n.loose
	}
	return 0, false
}

// boolValue returns the value as true or false.
func (n node) boolValue() (value, ok bool) {
	switch v := n.value.(type) {
	case bool:
		return v, true
	case string:
		b, err := strconv.ParseBool(v)
		return b, err == nil && n.loose
	}
	return false, false
}

// listValues returns the elements of a list; in a variable, those between commas, or
// those of a YAML list.
func (n node) listValues() ([]node, bool) {
	switch v := n.value.(type) {
	case []node:
		return v, true
	case string:
		if !n.loose {
			return nil, false
		}
		if strings.HasPrefix(strings.TrimSpace(v), "[") {
			inner, err := parseYAML([]byte(v))
			items, ok := inner.value.([]node)
			return items, ok && err == nil
		}
		var items []node
		for part := range strings.SplitSeq(v, ",") {
			items = append(items, looseNode(strings.TrimSpace(part)))
		}
		return items, true
	}
	return nil, false
}
