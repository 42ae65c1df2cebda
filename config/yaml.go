package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// A lineError is a syntax error of a file.
type lineError struct {
	line int // from 1; 0: not known
	text string
}

func (e *lineError) Error() string { return e.text }

// maxDeep is the maximum depth of nesting in a file; 4 is needed.
const maxDeep = 20

// parseYAML returns the one document of a YAML text, or an empty node.
func parseYAML(data []byte) (node, error) {
	var doc, more yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(data))
	switch err := d.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return node{value: []entry{}}, nil
	case err != nil:
		return node{}, yamlFault(data, err)
	}
	if err := d.Decode(&more); err == nil {
		return node{}, &lineError{more.Line, "it holds several documents; keep one"}
	} else if !errors.Is(err, io.EOF) {
		return node{}, yamlFault(data, err)
	}
	return fromYAML(doc.Content[0], 0)
}

var (
	yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)
	tabbed   = regexp.MustCompile(`(?m)^[ ]*\t`)
)

// escapes explains the error for a Windows path in double quotes.
const escapes = `in double quotes a backslash begins an escape; write \\ for each`

// yamlFault describes a syntax error in a YAML text, with its line.
func yamlFault(data []byte, err error) error {
	text := strings.Join(strings.Fields(err.Error()), " ")
	e := &lineError{1, yamlLine.ReplaceAllString(text, "")} // for errors in line 1 the parser gives no number
	if at := yamlLine.FindStringSubmatch(text); at != nil && at[1] != "" {
		e.line, _ = strconv.Atoi(at[1])
	}
	if strings.Contains(e.text, "escape character") || strings.Contains(e.text, "hexdecimal") {
		e.text = escapes
	} else if at := tabbed.FindIndex(data); at != nil {
		e.line, e.text = lineOfByte(data, at[0]), "a line begins with a tab; indent with spaces"
	} else if i := bytes.IndexFunc(data, isControl); i >= 0 {
		e.line = lineOfByte(data, i)
	}
	return e
}

func isControl(r rune) bool { return r != '\n' && r != '\r' && unicode.IsControl(r) }

// lineOfByte is the line, from 1, of the byte at i.
func lineOfByte(data []byte, i int) int {
	return 1 + bytes.Count(data[:min(i, len(data))], []byte("\n"))
}

// fromYAML rejects aliases: they can make a small file huge.
func fromYAML(y *yaml.Node, depth int) (node, error) {
	n := node{line: y.Line, text: y.Value}
	var err error
	switch {
	case depth > maxDeep:
		return n, &lineError{y.Line, "it nests too deep"}
	case y.Kind == yaml.AliasNode:
		return n, &lineError{y.Line, fmt.Sprintf("the alias *%s is not taken; write the value out", clipValue(y.Value))}
	case y.Kind == yaml.SequenceNode:
		items := make([]node, len(y.Content))
		for i, item := range y.Content {
			if items[i], err = fromYAML(item, depth+1); err != nil {
				return n, err
			}
		}
		n.value = items
	case y.Kind == yaml.MappingNode:
		entries := make([]entry, 0, len(y.Content)/2)
		for i := 0; i+1 < len(y.Content); i += 2 {
			name := y.Content[i]
			if name.Kind != yaml.ScalarNode || name.ShortTag() == "!!merge" {
				return n, &lineError{name.Line, "the names of settings are words, not lists, mappings or <<"}
			}
			v, err := fromYAML(y.Content[i+1], depth+1)
			if err != nil {
				return n, err
			}
			entries = append(entries, entry{name.Value, name.Line, v})
		}
		n.value = entries
	default:
		return yamlScalar(y, n)
	}
	return n, nil
}

func yamlScalar(y *yaml.Node, n node) (node, error) {
	n.value = y.Value
	switch y.ShortTag() {
	case "!!null":
		n.value = nil
	case "!!bool":
		n.value = strings.EqualFold(y.Value, "true")
	case "!!int":
		var i int
		if y.Decode(&i) == nil {
			n.value = i
		} else {
			n.value = decodeFloat(y)
		}
	case "!!float":
		n.value = decodeFloat(y)
	case "!!str", "!!timestamp":
	default:
		return n, &lineError{y.Line, fmt.Sprintf("the tag %s is not taken; leave it out", clipValue(y.ShortTag()))}
	}
	return n, nil
}

// decodeFloat is a number that is no int.
func decodeFloat(y *yaml.Node) float64 {
	var f float64
	_ = y.Decode(&f) // other values stay 0; their tag is checked before
	return f
}
