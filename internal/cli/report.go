package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/internal/screen"
)

// reportOptions control the report of a command.
type reportOptions struct {
	file        string
	json, quiet bool
}

func (o *reportOptions) registerReport(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.file, "report", "", "write the report to this `file`, as JSON")
	f.BoolVar(&o.json, "json", false, "write the report as JSON to stderr")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "report only warnings and errors")
}

// writeReport writes the report of an outcome, and reports the other written files.
func (o reportOptions) writeReport(cmd *cobra.Command, done outcome, written ...writtenFile) error {
	for _, w := range done.Warnings {
		printNote(cmd, "warning: %s", w)
	}
	if o.file != "" {
		if err := writeOutput(cmd, o.file, func(w io.Writer) error { return writeJSON(w, done.Report) }); err != nil {
			return err
		}
	}
	switch {
	case o.json:
		return writeJSONLine(cmd.ErrOrStderr(), done.Report)
	case !o.quiet:
		w := cmd.ErrOrStderr()
		fmt.Fprint(w, summaryLines(plainScreen(w), done))
		for _, f := range written {
			switch {
			case f.path != "":
				fmt.Fprintf(w, "written to %s: %s\n", printableLine(f.path), f.what)
			case f.what != "":
				fmt.Fprintln(w, f.what)
			}
		}
	}
	return nil
}

// A writtenFile is what a command wrote, and the path. Without a path, what is a
// line of its own, or "" for none.
type writtenFile struct{ path, what string }

// summaryLines returns an outcome in a few lines for people: why, what was done,
// and what is left. A screen without a width breaks no lines.
func summaryLines(s screen.Screen, done outcome) string {
	u := done.Usage
	why := screen.Due(done.cfg, done.Report)
	switch {
	case !done.Compacted() && done.Reason == tiercompact.BelowThreshold:
		return fmt.Sprintf("nothing to do: %s\n", why)
	case !done.Compacted():
		return fmt.Sprintf("%s\nnothing to do: %s\n", why, screen.Why(done.Reason))
	}
	var b strings.Builder
	fmt.Fprintln(&b, why)
	if other := screen.OtherLevel(done.Report); other != "" {
		fmt.Fprintln(&b, other)
	}
	for _, a := range done.Applied {
		head := fmt.Sprintf("%-9s  %9s %s %-9s ", a.Level, screen.Grouped(a.Before), s.Sign("→", "->"), screen.Grouped(a.After))
		indent := strings.Repeat(" ", len([]rune(head)))
		for _, text := range append([]string{strings.Join(s.Said(done.Report, a), ", ")}, engineReasons(a)...) {
			if s.Width > 0 {
				text = strings.Join(screen.Wrapped(text, s.Width-len(indent)), "\n"+indent)
			}
			fmt.Fprintf(&b, "%s%s\n", head, text)
			head = indent
		}
	}
	fmt.Fprintf(&b, "%s freed, %s of %s tokens left (%s), %d of %s\n", screen.Grouped(done.Freed()), screen.Grouped(done.After),
		screen.Grouped(u.Window), screen.Percent(u.Share), len(done.after), screen.Plural(len(done.before), "message"))
	return b.String()
}

// engineReasons says why the engine of a ranking or summary was used: failures
// before it, or the basis of the choice.
func engineReasons(a tiercompact.Applied) []string {
	if len(a.Attempts) > 0 {
		return screen.Tried(a)
	}
	if a.Engine == "" || a.Why == "" {
		return nil
	}
	return []string{a.Engine + ": " + a.Why}
}

// writeJSON writes v, indented. An empty list is [], never null.
func writeJSON(w io.Writer, v any) error { return encodeJSON(w, v, "  ") }

// writeJSONLine writes v on one line. An empty list is [], never null.
func writeJSONLine(w io.Writer, v any) error { return encodeJSON(w, v, "") }

func encodeJSON(w io.Writer, v any, indent string) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	return e.Encode(withLists(reflect.ValueOf(v)).Interface())
}

// withLists returns v with an empty list for each nil one. What marshals itself
// is left as it is, and so are bytes.
func withLists(v reflect.Value) reflect.Value {
	marshaler := reflect.TypeFor[json.Marshaler]()
	if !v.IsValid() || v.Type().Implements(marshaler) || reflect.PointerTo(v.Type()).Implements(marshaler) {
		return v
	}
	switch kind := v.Kind(); {
	case kind == reflect.Slice && v.Type().Elem().Kind() != reflect.Uint8:
		list := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			list.Index(i).Set(withLists(v.Index(i)))
		}
		return list
	case kind == reflect.Map && !v.IsNil():
		all := reflect.MakeMapWithSize(v.Type(), v.Len())
		for _, key := range v.MapKeys() {
			if value := withLists(v.MapIndex(key)); value.IsValid() {
				all.SetMapIndex(key, value)
			}
		}
		return all
	case kind == reflect.Struct:
		filled := reflect.New(v.Type()).Elem()
		filled.Set(v)
		fillFields(filled)
		return filled
	case kind == reflect.Pointer && !v.IsNil():
		p := reflect.New(v.Type().Elem())
		p.Elem().Set(withLists(v.Elem()))
		return p
	case kind == reflect.Interface && !v.IsNil():
		return withLists(v.Elem())
	}
	return v
}

// fillFields fills the fields of a struct, those of embedded ones too.
func fillFields(s reflect.Value) {
	for i := range s.NumField() {
		switch f := s.Field(i); {
		case f.CanSet():
			f.Set(withLists(f))
		case s.Type().Field(i).Anonymous && f.Kind() == reflect.Struct:
			fillFields(f)
		}
	}
}
