package screen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/levels"
)

// Thresholds returns those that cfg stands for.
func Thresholds(cfg tiercompact.Config) levels.Thresholds {
	return cfg.Thresholds.WithDefaults(string(cfg.Preset))
}

// Why is a reason as people say it.
func Why(reason string) string {
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

// Said returns what a level did: how many messages were dropped or summarised,
// what was shortened, and what ranked or wrote.
func (s Screen) Said(r tiercompact.Report, a tiercompact.Applied) []string {
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
		out = append(out, Plural(gone, "message")+" "+verb)
	}
	out = append(out, s.groupReasons(reasons)...)
	if a.Engine != "" {
		out = append(out, Wrote(a))
	}
	if a.Fallback != "" && a.Fallback != a.Engine {
		out = append(out, "instead: "+a.Fallback)
	}
	return out
}

// Wrote names what ranked or summarised; of a model's summary it says that it
// was accepted, and how many of its lines were not.
func Wrote(a tiercompact.Applied) string {
	summary := a.Level == levels.Emergency || a.Level == levels.LayerName
	switch {
	case !summary || a.Engine == levels.FallbackExtractive:
		return a.Engine
	case a.Removed > 0:
		return a.Engine + " accepted without " + Plural(a.Removed, "line") + " that nothing bears out"
	}
	return a.Engine + " accepted"
}

// Tried returns what failed before a level had its ranking or its summary, a
// line each.
func Tried(a tiercompact.Applied) []string {
	lines := make([]string, len(a.Attempts))
	for i, t := range a.Attempts {
		lines[i] = fmt.Sprintf("%s rejected: %s; then %s", t.Engine, t.Reason, t.Then)
	}
	return lines
}

// stoodFor reports whether an edit put a marker or a summary in.
func stoodFor(e tiercompact.Edit) bool {
	return slices.ContainsFunc(e.New, func(m chat.Message) bool { return m.State == chat.Marked || m.IsSummary() })
}

const outlineOf = "outline of "

// groupReasons returns reasons with each told once: the first outlined files by name,
// the rest by number.
func (s Screen) groupReasons(reasons []string) []string {
	const most = 2
	times := make(map[string]int)
	var files, others []string
	for _, r := range reasons {
		for part := range strings.SplitSeq(r, ", ") {
			if times[part]++; times[part] > 1 {
				continue
			}
			if file, ok := strings.CutPrefix(part, outlineOf); ok {
				files = append(files, s.PathEnd(file, 40))
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
			out = append(out, s.Clip(r, 40))
		} else {
			out = append(out, fmt.Sprintf("%s (%d)", s.Clip(r, 40), times[r]))
		}
	}
	return out
}

// Reason is why an edit was made, at most width columns wide, with the end of
// a path rather than its beginning.
func (s Screen) Reason(why string, width int) string {
	parts := strings.Split(why, ", ")
	for i, part := range parts {
		if file, ok := strings.CutPrefix(part, outlineOf); ok {
			parts[i] = outlineOf + s.PathEnd(file, width-len(outlineOf))
		}
	}
	return s.Clip(strings.Join(parts, ", "), width)
}

// Planned is an edit on one line: its level, which messages, tokens, and why.
func (s Screen) Planned(e tiercompact.Edit) string {
	which := fmt.Sprintf("message %d", e.Start+1)
	switch {
	case e.End == e.Start:
		which = fmt.Sprintf("before %d", e.Start+1)
	case e.End > e.Start+1:
		which = fmt.Sprintf("messages %d-%d", e.Start+1, e.End)
	}
	text := fmt.Sprintf("%-9s  %-17s  %7s %s %-7s  ", e.Level, which, Grouped(e.Before), s.Sign("→", "->"), Grouped(e.After))
	return text + s.Paint(Dim, s.Reason(e.Why, max(20, s.Width-len([]rune(text)))))
}
