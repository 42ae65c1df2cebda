package files

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tiercompact/tiercompact/chat"
)

// A leaf is a string value inside the arguments of a call.
type leaf struct {
	key   string // dotted: "content", "edits.0.oldText"
	value string
	at    int // where its JSON literal is in the arguments
	end   int
	named int // where the literal of its member's name ends
}

// LeftOut ends the name of a member whose value was shortened. A model
// imitates the calls that it sees. If the content of a write were an outline,
// the model would write outlines into files; if it ended early, half a file;
// and it might run a shortened command. With this name, the call lacks a
// member that its tool requires, and is refused whatever the syntax of calls
// is.
const LeftOut = "_left_out"

// lastName returns the last part of the leaf's key that is not a number, as it
// was before its value was shortened.
func (l leaf) lastName() string {
	key := l.key
	for {
		i := strings.LastIndexByte(key, '.')
		last := key[i+1:]
		if _, err := strconv.Atoi(last); err != nil || i < 0 {
			return strings.TrimSuffix(last, LeftOut)
		}
		key = key[:i]
	}
}

// stringLeaves returns the string leaves of args, in order. It returns nil if
// args is not a JSON object.
func stringLeaves(args string) []leaf {
	_, values := leafNames(args)
	return values
}

// leafNames returns the names of the members of args as well.
func leafNames(args string) (names []string, values []leaf) {
	if !strings.HasPrefix(strings.TrimLeft(args, " \n\t\r"), "{") || !json.Valid([]byte(args)) {
		return nil, nil
	}
	w := leafScanner{args: args}
	for w.at < len(args) && len(w.out) < maxLeaves {
		w.nextValue()
	}
	return w.names, w.out
}

const (
	maxLeaves = 2000 // of one call
	maxDepth  = 16   // below which leaves are left alone
)

// A leafScanner reads valid JSON once.
type leafScanner struct {
	args  string
	at    int
	stack []nesting
	names []string // of members, in order
	out   []leaf
}

// A nesting is an object or array that encloses the current position.
type nesting struct {
	key   string // dotted key of its current member, with the member's name
	index int    // of an array: the element; of an object: -1
	isKey bool   // of an object: the next string is a key
	named int    // of an object: where the literal of key ends
	path  string // dotted key of the level itself
}

func (w *leafScanner) nextValue() {
	top := len(w.stack) - 1
	switch c := w.args[w.at]; c {
	case '{':
		w.stack = append(w.stack, nesting{path: w.dottedKey(), index: -1, isKey: true})
	case '[':
		w.stack = append(w.stack, nesting{path: w.dottedKey()})
	case '}', ']':
		w.stack = w.stack[:top]
	case ',':
		if w.stack[top].index >= 0 {
			w.stack[top].index++
		} else {
			w.stack[top].isKey = true
		}
	case ':':
		w.stack[top].isKey = false
	case '"':
		w.scanString()
		return
	}
	w.at++
}

// dottedKey returns the dotted key of the current value.
func (w *leafScanner) dottedKey() string {
	if len(w.stack) == 0 || len(w.stack) > maxDepth {
		return ""
	}
	top := w.stack[len(w.stack)-1]
	name := top.key
	if top.index >= 0 {
		name = strconv.Itoa(top.index)
	}
	if top.path == "" {
		return name
	}
	return top.path + "." + name
}

// nameEnd returns where the literal of the current value's name ends, or 0.
func (w *leafScanner) nameEnd() int {
	for i := len(w.stack) - 1; i >= 0; i-- {
		if w.stack[i].index < 0 {
			return w.stack[i].named
		}
	}
	return 0
}

func (w *leafScanner) scanString() {
	end := stringEnd(w.args, w.at)
	literal := w.args[w.at:end]
	var top *nesting
	if n := len(w.stack); n > 0 {
		top = &w.stack[n-1]
	}
	switch {
	case top == nil || len(w.stack) > maxDepth:
	case top.index < 0 && top.isKey:
		top.key, top.named = unquoteString(literal), end
		w.names = append(w.names, top.key)
	default:
		w.out = append(w.out, leaf{w.dottedKey(), unquoteString(literal), w.at, end, w.nameEnd()})
	}
	w.at = end
}

// stringEnd returns where the JSON string that begins at i ends.
func stringEnd(s string, i int) int {
	for i++; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(s)
}

func unquoteString(literal string) string {
	if !strings.Contains(literal, `\`) && utf8.ValidString(literal) {
		return literal[1 : len(literal)-1]
	}
	var s string
	if json.Unmarshal([]byte(literal), &s) != nil {
		return ""
	}
	return s
}

// A Change replaces a copy by another text.
type Change struct {
	Copy Ref
	Text string
}

// Replace returns part p with copies replaced by texts. In the arguments of a
// call, key order and all other values stay as they are, valid JSON stays
// valid, and the names of changed members end in [LeftOut]. A changed part has
// no Raw.
func Replace(p chat.Part, changes []Change) (chat.Part, error) {
	if p.Kind != chat.Call {
		text, err := spliceChanges(p.Text, changes)
		p.Text, p.Raw = text, ""
		return p, err
	}
	var failed error
	args := rewriteArgs(p.Args, true, func(l leaf) string {
		mine := changesOf(changes, l)
		if len(mine) == 0 {
			return l.value
		}
		text, err := spliceChanges(l.value, mine)
		if failed == nil {
			failed = err
		}
		return text
	})
	if failed != nil {
		return p, failed
	}
	p.Args, p.Raw = args, ""
	return p, nil
}

// ShortenArgs returns args with each string leaf replaced by the result of
// short for its dotted key and its value. Everything else stays as it is. If
// args is not a JSON object, it is returned unchanged.
func ShortenArgs(args string, short func(key, value string) string) string {
	return rewriteArgs(args, false, func(l leaf) string { return short(l.key, l.value) })
}

// LeaveOutArgs is ShortenArgs for a conversation that a model reads: the names
// of changed members end in [LeftOut].
func LeaveOutArgs(args string, short func(key, value string) string) string {
	return rewriteArgs(args, true, func(l leaf) string { return short(l.key, l.value) })
}

// rewriteArgs returns args with other values of leaves. With rename, their
// names change too.
func rewriteArgs(args string, rename bool, value func(leaf) string) string {
	names, all := leafNames(args)
	if len(names) == 1 && names[0] == freeText {
		rename = false // the name for the text in formats that have no other
	}
	var b strings.Builder
	at, named := 0, 0
	for _, l := range all {
		text := value(l)
		if text == l.value {
			continue
		}
		if rename && l.named > max(named, at) {
			named = l.named
			if b.WriteString(args[at : named-1]); !strings.HasSuffix(args[:named-1], LeftOut) {
				b.WriteString(LeftOut)
			}
			at = named - 1
		}
		b.WriteString(args[at:l.at])
		b.WriteString(quoteJSON(text))
		at = l.end
	}
	return b.String() + args[at:]
}

// freeText is the one argument of a tool that takes text instead of JSON.
const freeText = "input"

func changesOf(changes []Change, l leaf) []Change {
	var mine []Change
	for _, c := range changes {
		if c.Copy.Arg == l.key && c.Copy.leafAt == l.at {
			mine = append(mine, c)
		}
	}
	return mine
}

// spliceChanges replaces copies by texts. The copies are in order.
func spliceChanges(text string, changes []Change) (string, error) {
	var b strings.Builder
	at := 0
	for _, c := range changes {
		if c.Copy.Start < at || c.Copy.End < c.Copy.Start || c.Copy.End > len(text) {
			return "", fmt.Errorf("replace the text of %q: bytes %d to %d are not a part of %d bytes, after the part before", c.Copy.Path, c.Copy.Start, c.Copy.End, len(text))
		}
		b.WriteString(text[at:c.Copy.Start])
		b.WriteString(c.Text)
		at = c.Copy.End
	}
	b.WriteString(text[at:])
	return b.String(), nil
}

func quoteJSON(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return `""`
	}
	return strings.TrimSuffix(b.String(), "\n")
}
