package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A Kind is a kind of source.
type Kind int

// The kinds of sources, each stronger than the one before.
const (
	Default Kind = iota
	Preset
	File
	Env
	Flag
)

// An Origin says where a value comes from.
type Origin struct {
	Kind Kind
	Name string // of the preset, file, variable or flag
	Line int    // of a file, from 1; 0: not known
}

// String returns "default", "preset steady", "compact.yaml:4",
// "COMPACT_TRIGGER_PCT" or "--trigger-pct".
func (o Origin) String() string {
	switch {
	case o.Kind == Default:
		return cmp.Or(o.Name, "default")
	case o.Kind == Preset:
		return "preset " + o.Name
	case o.Kind == File && o.Line > 0:
		return fmt.Sprintf("%s:%d", o.Name, o.Line)
	}
	return o.Name
}

// An Error is what is wrong with one value.
type Error struct {
	Path   string // of the setting, such as policy.trigger_pct; "" where it is the file
	Want   string // what it must be
	Value  string // what it is, as written; "" where it is not for showing
	Origin Origin
	Remedy string // what to do, beside giving what is wanted; "": nothing
}

// Error returns all of it in one line.
func (e *Error) Error() string {
	text := cmp.Or(e.Path, "the file") + " " + e.Problem()
	if e.Origin == (Origin{}) { // it is about several values
		return text
	}
	return fmt.Sprintf("%s (%s)", text, e.Origin)
}

// Problem returns what is wrong without the path and the origin, which a
// sentence about the flag or the variable may begin with.
func (e *Error) Problem() string {
	text := "must be " + e.Want
	if e.Value != "" {
		text += ", is " + e.Value
	}
	if e.Remedy != "" {
		text += "; " + e.Remedy
	}
	return text
}

// Errors are all that is wrong: with a file, by line, then with variables and
// flags, by name.
type Errors []*Error

// Error returns one line for each.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, err := range e {
		lines[i] = err.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns each.
func (e Errors) Unwrap() []error {
	out := make([]error, len(e))
	for i, err := range e {
		out[i] = err
	}
	return out
}

// sortedOrNil returns what is to be told, or nil.
func (e Errors) sortedOrNil() error {
	if len(e) == 0 {
		return nil
	}
	slices.SortStableFunc(e, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Origin.Kind, b.Origin.Kind), cmp.Compare(a.Origin.Line, b.Origin.Line), cmp.Compare(a.Origin.Name, b.Origin.Name))
	})
	return e
}
