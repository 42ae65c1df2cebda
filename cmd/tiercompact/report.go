package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/levels"
)

// reportOptions say how a command tells what it did.
type reportOptions struct {
	file        string
	json, quiet bool
}

func (o *reportOptions) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.file, "report", "", "write the report to this `file`, as JSON")
	f.BoolVar(&o.json, "json", false, "tell the report as JSON on stderr")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "tell nothing but warnings and errors")
}

// tell writes the report of an outcome.
func (o reportOptions) tell(cmd *cobra.Command, done outcome) error {
	for _, w := range done.Warnings {
		note(cmd, "warning: %s", w)
	}
	if o.file != "" {
		if err := write(cmd, o.file, func(w io.Writer) error { return writeJSON(w, done.Report) }); err != nil {
			return err
		}
	}
	switch {
	case o.json:
		return json.NewEncoder(cmd.ErrOrStderr()).Encode(done.Report)
	case !o.quiet:
		w := cmd.ErrOrStderr()
		fmt.Fprint(w, widthOf(w).summary(done))
	}
	return nil
}

// summary is an outcome in a few lines for people. A screen without a width
// breaks none.
func (s screen) summary(done outcome) string {
	u := done.Usage
	if !done.Compacted() {
		return fmt.Sprintf("nothing to do: %s (%s of %s tokens, %s)\n", why(done.Reason), grouped(u.Tokens), grouped(u.Window), percent(u.Share))
	}
	var b strings.Builder
	for _, a := range done.Applied {
		head := fmt.Sprintf("%-9s  %9s %s %-9s ", a.Level, grouped(a.Before), s.sign("→", "->"), grouped(a.After))
		indent := strings.Repeat(" ", len([]rune(head)))
		text := strings.Join(s.said(done.Report, a), ", ")
		if s.width > 0 {
			text = strings.Join(wrapped(text, s.width-len(indent)), "\n"+indent)
		}
		fmt.Fprintf(&b, "%s%s\n", head, text)
	}
	fmt.Fprintf(&b, "%s freed, %s of %s tokens left (%s), %d of %s\n", grouped(done.Freed()), grouped(done.After),
		grouped(u.Window), percent(u.Share), len(done.after), plural(len(done.before), "message"))
	return b.String()
}

// why is a reason as people say it.
func why(reason string) string {
	switch reason {
	case tiercompact.BelowThreshold:
		return "usage is below the threshold"
	case tiercompact.InCooldown:
		return "cooldown"
	case tiercompact.ByRole:
		return "the trigger waits for the assistant"
	case tiercompact.ByMinGain:
		return "too little would be freed"
	case tiercompact.NothingToDo:
		return "no message can be made smaller"
	case tiercompact.SwitchedOff:
		return "automatic compaction is off"
	}
	return reason
}

// said returns what a level did: how many messages were dropped or summarised,
// what was shortened, and what ranked or wrote.
func (s screen) said(r tiercompact.Report, a tiercompact.Applied) []string {
	gone := 0
	var reasons []string // of what was shortened
	for _, e := range r.Edits {
		switch {
		case e.Level != a.Level:
		case e.Put < e.End-e.Start || stoodFor(e):
			gone += e.End - e.Start
		case e.End > e.Start:
			reasons = append(reasons, e.Why)
		}
	}
	var out []string
	if gone > 0 {
		verb := "dropped"
		if a.Level == levels.Emergency || a.Level == levels.LayerName {
			verb = "summarised"
		}
		out = append(out, plural(gone, "message")+" "+verb)
	}
	out = append(out, s.few(reasons)...)
	if a.Engine != "" {
		out = append(out, a.Engine)
	}
	if a.Fallback != "" && a.Fallback != a.Engine {
		out = append(out, "instead: "+a.Fallback)
	}
	return out
}

// stoodFor reports whether an edit put a marker or a summary in.
func stoodFor(e tiercompact.Edit) bool {
	return slices.ContainsFunc(e.New, func(m chat.Message) bool { return m.State == chat.Marked || m.IsSummary() })
}

const outlineOf = "outline of "

// few returns reasons with each told once: the first outlined files by name,
// the rest by number.
func (s screen) few(reasons []string) []string {
	const most = 2
	times := make(map[string]int)
	var files, others []string
	for _, r := range reasons {
		for part := range strings.SplitSeq(r, ", ") {
			if times[part]++; times[part] > 1 {
				continue
			}
			if file, ok := strings.CutPrefix(part, outlineOf); ok {
				files = append(files, s.pathEnd(file, 40))
			} else {
				others = append(others, part)
			}
		}
	}
	var out []string
	if n := min(most, len(files)); n > 0 {
		text := "outlined " + strings.Join(files[:n], ", ")
		if len(files) > n {
			text += fmt.Sprintf(" and %d more", len(files)-n)
		}
		out = append(out, text)
	}
	for _, r := range others[:min(most, len(others))] {
		if times[r] == 1 {
			out = append(out, s.clip(r, 40))
		} else {
			out = append(out, fmt.Sprintf("%s (%d)", s.clip(r, 40), times[r]))
		}
	}
	return out
}

// reason is why an edit was made, at most width columns wide, with the end of
// a path rather than its beginning.
func (s screen) reason(why string, width int) string {
	parts := strings.Split(why, ", ")
	for i, part := range parts {
		if file, ok := strings.CutPrefix(part, outlineOf); ok {
			parts[i] = outlineOf + s.pathEnd(file, width-len(outlineOf))
		}
	}
	return s.clip(strings.Join(parts, ", "), width)
}
