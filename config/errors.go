package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A Kind is the kind of a source.
type Kind int

// The kinds of sources, in ascending priority.
const (
	Default Kind = iota
	Preset
	File
	Env
	Flag
)

// An Origin is the source of a value.
type Origin struct {
	Kind Kind
	Name string // of the preset, file, variable or flag
	Line int    // in a file, from 1; 0: unknown
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

// An Error reports one invalid value.
type Error struct {
	Path   string // of the setting, such as policy.trigger_pct; "" for the file itself
	Want   string // what it must be
	Value  string // the value as written; "" if it must not be shown
	Origin Origin
	Remedy string // what to do, beside correcting the value; "": nothing
}

// Error returns all fields in one line.
func (e *Error) Error() string {
	text := cmp.Or(e.Path, "the file") + " " + e.Problem()
	if e.Origin == (Origin{}) { // several values are involved
		return text
	}
	return fmt.Sprintf("%s (%s)", text, e.Origin)
}

// Problem returns the error without the path and the origin, for a sentence that begins
// with the flag or the variable.
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

// Errors are all errors: those of a file by line, then those of variables and flags by
// name.
type Errors []*Error

// Error returns one line for each error.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, err := range e {
		lines[i] = err.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the errors.
func (e Errors) Unwrap() []error {
	out := make([]error, len(e))
	for i, err := range e {
		out[i] = err
	}
	return out
}

// sortedOrNil returns the sorted errors, or nil if there are none.
func (e Errors) sortedOrNil() error {
	if len(e) == 0 {
		return nil
	}
	slices.SortStableFunc(e, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Origin.Kind, b.Origin.Kind), cmp.Compare(a.Origin.Line, b.Origin.Line), cmp.Compare(a.Origin.Name, b.Origin.Name))
	})
	return e
}
