package config

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/tiercompact/tiercompact"
)

// A kind is the type of a setting's value.
type kind int

const (
	text     kind = iota // a string
	word                 // one of several
	words                // a list of several: []string
	address              // of a server, an http URL
	listen               // host:port
	toggle               // a bool
	count                // an int
	size                 // an int or a tiercompact.Size, in the form of readSize
	share                // a float64, 0 to 1, in the form of readShare
	span                 // a time.Duration
	rules                // []string, in the form of ParseRule
	patterns             // []Pattern
)

// valueSyntax describes the valid values of a kind, for documents.
func (k key) valueSyntax() string {
	switch k.kind {
	case word:
		return "one of " + k.words
	case words:
		return "a list of " + k.words
	case address:
		return "an address"
	case listen:
		return "host:port"
	case toggle:
		return "true or false"
	case count:
		return k.readWhole() + k.orAutoText()
	case size:
		return fmt.Sprintf("tokens, from %g on", k.least) + k.orAutoText()
	case share:
		if k.above {
			return "above 0.0, to 1.0"
		}
		return "0.0-1.0"
	case span:
		return "a time like 20s"
	case rules:
		return "a list of texts"
	case patterns:
		return "a list of texts or {name, regexp}"
	}
	return "text"
}

func (k key) readWhole() string { return fmt.Sprintf("a whole number from %g on", k.least) }

func (k key) orAutoText() string {
	if k.auto {
		return ", or auto"
	}
	return ""
}

// readSetting returns the value of n, in the type of the kind, or an error.
func (k key) readSetting(n node, at Origin) (any, Errors) {
	if n.line > 0 {
		at.Line = n.line
	}
	v, want, remedy := k.parseValue(n)
	if bad, ok := v.(Errors); ok { // inside a list
		for _, e := range bad {
			if e.Origin.Line == 0 {
				e.Origin.Line = at.Line
			}
			e.Origin.Kind, e.Origin.Name = at.Kind, at.Name
		}
		return nil, bad
	}
	if want == "" {
		return v, nil
	}
	return nil, Errors{{Path: k.path, Want: want, Value: k.shownForError(n), Origin: at, Remedy: remedy}}
}

// shownForError is n for an error, without the password of an address.
func (k key) shownForError(n node) string {
	if s, ok := n.value.(string); ok && k.kind == address && strings.Contains(s, "@") {
		return "one with a user or a password"
	}
	return n.shownValue()
}

// parseValue returns the value of n, or a description of valid values and a remedy; for a
// list, it returns the [Errors] of its elements instead of the value.
func (k key) parseValue(n node) (v any, want, remedy string) {
	switch k.kind {
	case toggle:
		b, ok := n.boolValue()
		return b, wantUnless(ok, "true or false"), ""
	case count, size:
		return k.takeCount(n)
	case share:
		return k.takeShare(n)
	case span:
		return takeSpan(n)
	case words, rules, patterns:
		return k.takeList(n)
	}
	s, ok := n.value.(string)
	switch {
	case !ok && k.kind == word:
		return nil, "one of " + k.words, ""
	case !ok:
		return nil, "text", wantUnless(!n.isScalar(), "put it in quotes")
	}
	if strings.ContainsFunc(s, unicode.IsControl) && k.path != "hard.query" {
		return nil, "one line of text, without control characters", wantUnless(n.loose, escapes)
	}
	if k.path == "trace.jsonl" && s == "-" { // the command writes to stdout
		return nil, "the name of a file", ""
	}
	switch k.kind {
	case word:
		s = cmp.Or(k.synonyms[s], s)
		return s, wantUnless(k.hasKeyword(s) || k.blank && s == "", "one of "+k.words), ""
	case address:
		return s, wantUnless(s == "" || isAddress(s), "an address like http://127.0.0.1:8080, without user and password"), ""
	case listen:
		return listenAt(s)
	}
	return s, "", ""
}

func wantUnless(ok bool, want string) string {
	if ok {
		return ""
	}
	return want
}

// hasKeyword reports whether s is one of the words.
func (k key) hasKeyword(s string) bool { return slices.Contains(strings.Split(k.words, ", "), s) }

func (k key) takeCount(n node) (any, string, string) {
	if s, ok := n.value.(string); ok && k.auto && s == "auto" {
		return reflect.Zero(reflect.TypeOf(k.field).Elem()).Interface(), "", ""
	}
	i, ok := n.wholeValue()
	want := "a whole number"
	if k.kind == size {
		i, ok = readSize(n)
		want = "a whole number like 8192 or 32k"
	}
	switch {
	case !ok:
		return nil, want + k.orAutoText(), ""
	case float64(i) < k.least && k.least == 1:
		return nil, "above 0", ""
	case float64(i) < k.least:
		return nil, fmt.Sprintf("at least %g", k.least), ""
	}
	if _, ok := k.field.(*tiercompact.Size); ok {
		return tiercompact.Tokens(i), "", ""
	}
	return i, "", ""
}

func (k key) takeShare(n node) (any, string, string) {
	f, ok := readShare(n)
	switch {
	case !ok:
		return nil, "a number 0.0-1.0, or one like 75%", ""
	case !(f >= 0 && f <= 1):
		return nil, "0.0-1.0", ""
	case k.above && f == 0:
		return nil, "above 0.0", ""
	}
	return f, "", ""
}

func takeSpan(n node) (any, string, string) {
	const want = "a time like 20s or 2m, or 0 for none"
	if i, ok := n.wholeValue(); ok && i == 0 {
		return time.Duration(0), "", ""
	}
	s, ok := n.value.(string)
	d, err := time.ParseDuration(s)
	switch {
	case !ok || err != nil:
		return nil, want, ""
	case d < 0:
		return nil, "at least 0", ""
	}
	return d, "", ""
}

// isAddress reports whether s is the address of a server.
func isAddress(s string) bool {
	if strings.ContainsAny(s, " \t@") {
		return false
	}
	u, err := url.Parse(withScheme(s))
	return err == nil && u.Host != "" && u.Hostname() != "" && (u.Scheme == "http" || u.Scheme == "https")
}

// listenAt returns host and port; a port without a host is on loopback.
func listenAt(s string) (any, string, string) {
	const want = "host:port, like 127.0.0.1:9464"
	if s == "" {
		return "", "", ""
	}
	if !strings.Contains(s, ":") {
		s = ":" + s
	}
	host, port, err := net.SplitHostPort(s)
	n, bad := strconv.ParseUint(port, 10, 16)
	if err != nil || bad != nil || n == 0 && port != "0" || strings.ContainsAny(host, " /") {
		return nil, want, ""
	}
	if host == "" {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port), "", ""
}

// withScheme returns an address with its scheme, which may be omitted.
func withScheme(address string) string {
	if strings.Contains(address, "://") {
		return address
	}
	return "http://" + address
}
