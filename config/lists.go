package config

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/tiercompact/tiercompact/redact"
)

func (k key) takeList(n node) (any, string, string) {
	items, ok := n.listValues()
	if s, isText := n.value.(string); k.kind == patterns && isText && n.loose && !strings.HasPrefix(strings.TrimSpace(s), "[") {
		items, ok = []node{looseNode(s)}, true // a comma is part of the expression
	}
	if !ok {
		return nil, "a list", wantUnless(n.value == nil, "write [] around one value")
	}
	if k.kind == patterns {
		return k.takePatterns(items)
	}
	out := make([]string, len(items))
	var errs Errors
	for i, item := range items {
		s, ok := item.value.(string)
		bad := &Error{Path: fmt.Sprintf("%s[%d]", k.path, i), Value: item.shownValue(), Origin: Origin{Line: item.line}}
		if len(items) == 1 && n.loose {
			bad.Path = k.path
		}
		switch {
		case !ok:
			bad.Want, bad.Remedy = "text", wantUnless(!item.isScalar(), "put it in quotes")
		case k.kind == words && !k.hasKeyword(s):
			bad.Want = "one of " + k.words
		case k.kind == rules:
			if _, err := ParseRule(s); err != nil {
				bad.Want, bad.Remedy = ruleWanted, err.Error()
			}
		}
		if bad.Want != "" {
			errs = append(errs, bad)
		}
		out[i] = s
	}
	if len(errs) > 0 {
		return errs, "", ""
	}
	return out, "", ""
}

// takePatterns parses a list of expressions, and of mappings with a name and a regexp.
func (k key) takePatterns(items []node) (any, string, string) {
	out := make([]Pattern, len(items))
	var errs Errors
	for i, item := range items {
		p, bad := readPattern(fmt.Sprintf("%s[%d]", k.path, i), item)
		if bad != nil {
			errs = append(errs, bad)
		}
		out[i] = p
		if p.Name == "" {
			out[i].Name = "pattern " + strconv.Itoa(i+1)
		}
	}
	if len(errs) > 0 {
		return errs, "", ""
	}
	if _, err := (Redaction{Options: redact.Options{Patterns: out}}).compile(); err != nil {
		return nil, "a list that redaction can use", err.Error()
	}
	return out, "", ""
}

// readPattern parses one redaction rule.
func readPattern(at string, n node) (p Pattern, bad *Error) {
	switch v := n.value.(type) {
	case string:
		bad = &Error{Path: at, Value: n.shownValue(), Origin: Origin{Line: n.line}}
		if bad.Want, bad.Remedy = expression(v); bad.Want != "" {
			return p, bad
		}
		return Pattern{Regexp: v}, nil
	case []entry:
		if p, bad = fieldsOfPattern(at, v); bad == nil && p.Regexp == "" {
			bad = &Error{Path: at + ".regexp", Want: "given", Origin: Origin{Line: n.line}}
		}
		return p, bad
	}
	return p, &Error{Path: at, Want: "a regular expression, or a mapping of name and regexp", Value: n.shownValue(), Origin: Origin{Line: n.line}}
}

func fieldsOfPattern(at string, fields []entry) (p Pattern, _ *Error) {
	for _, f := range fields {
		bad := &Error{Path: at + "." + clipValue(f.name), Value: f.node.shownValue(), Origin: Origin{Line: f.line}}
		s, ok := f.node.value.(string)
		into := map[string]*string{"name": &p.Name, "regexp": &p.Regexp}[f.name]
		switch {
		case into == nil:
			bad.Want = "name or regexp, which a pattern has"
			bad.Value = ""
		case *into != "":
			bad.Want = "given once"
		case !ok || s == "":
			bad.Want = "text"
		case f.name == "regexp":
			bad.Want, bad.Remedy = expression(s)
		}
		if bad.Want != "" {
			return p, bad
		}
		*into = s
	}
	return p, nil
}

// expression describes what is wrong with the regular expression of a pattern.
func expression(s string) (want, remedy string) {
	re, err := regexp.Compile(s)
	switch {
	case err != nil:
		return "a regular expression of Go", patternError(err)
	case re.MatchString(""):
		return "one that does not match the empty text", ""
	}
	if _, err := redact.New(redact.Options{Patterns: []redact.Pattern{{Regexp: s}}}); err != nil {
		return "one that redaction can use", err.Error()
	}
	return "", ""
}

// patternError describes what is wrong with a regular expression.
func patternError(err error) string { return strings.TrimPrefix(err.Error(), "error parsing regexp: ") }
