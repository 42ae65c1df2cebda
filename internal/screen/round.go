package screen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/levels"
	"github.com/tiercompact/tiercompact/summarize"
)

// Thresholds returns the thresholds of cfg.
func Thresholds(cfg tiercompact.Config) levels.Thresholds {
	return cfg.Thresholds.WithDefaults(string(cfg.Preset))
}

// Why returns a reason in plain words.
func Why(reason string) string {
	switch reason {
	case tiercompact.BelowThreshold:
		return "usage is below the threshold"
	case tiercompact.BelowBudget:
		return "usage is below 0.95 of the budget"
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

// Said returns the actions of a level: how many messages it dropped or summarised,
// what it shortened, and its engine.
func (s Screen) Said(r tiercompact.Report, a tiercompact.Applied) []string {
	gone := 0
	var reasons []string // for the shortened messages
	for _, e := range r.Edits {
		switch {
		case e.Level != a.Level:
		case e.Put < e.End-e.Start || insertsSummary(e):
			gone += e.End - e.Start
		case e.End > e.Start:
			reasons = append(reasons, e.Why)
		}
	}
	var out []string
	if gone > 0 {
		verb := "dropped"
		if summarises(a.Level) {
			verb = "summarised"
		}
		out = append(out, Plural(gone, "message")+" "+verb)
	}
	out = append(out, s.groupReasons(reasons)...)
	if a.Engine != "" {
		out = append(out, Wrote(a))
	}
	if a.Fallback != "" && a.Fallback != a.Engine {
		out = append(out, "fallback: "+a.Fallback)
	}
	return out
}

// Wrote returns the engine of a ranking or summary; for a model's summary also that
// it was accepted, and how many of its lines were not.
func Wrote(a tiercompact.Applied) string {
	switch {
	case !summarises(a.Level) || a.Engine == levels.FallbackExtractive:
		return a.Engine
	case a.Removed > 0:
		return a.Engine + " accepted without " + Plural(a.Removed, "line") + " that nothing bears out"
	}
	return a.Engine + " accepted"
}

func summarises(level levels.Name) bool { return levels.Find(level).Work == levels.Summarizing }

// Tried returns the failed attempts before a level had its ranking or its summary,
// one per line.
func Tried(a tiercompact.Applied) []string {
	lines := make([]string, len(a.Attempts))
	for i, t := range a.Attempts {
		lines[i] = fmt.Sprintf("%s failed: %s; next: %s", t.Engine, t.Reason, t.Then)
	}
	return lines
}

// insertsSummary reports whether an edit inserted a marker or a summary.
func insertsSummary(e tiercompact.Edit) bool {
	return slices.ContainsFunc(e.New, func(m chat.Message) bool { return m.State == chat.Marked || m.IsSummary() })
}

const outlineOf = "outline of "

// groupReasons returns each reason once: the first outlined files by name, the rest
// by number.
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

// Reason returns why an edit was made, in at most width columns. It cuts the
// beginning of a path, not its end.
func (s Screen) Reason(why string, width int) string {
	parts := strings.Split(why, ", ")
	for i, part := range parts {
		if file, ok := strings.CutPrefix(part, outlineOf); ok {
			parts[i] = outlineOf + s.PathEnd(file, width-len(outlineOf))
		}
	}
	return s.Clip(strings.Join(parts, ", "), width)
}

// Planned returns an edit on one line: its level, messages, tokens and reason.
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

// Summarising returns the progress of a summary by a model.
func Summarising(p summarize.Progress) string {
	text := "summarising"
	if p.Step != "" {
		text += fmt.Sprintf(": %s %d of %d", p.Step, p.Call, p.Of)
	}
	if p.PerSecond > 0 {
		text += fmt.Sprintf(", %.1f tokens/s", p.PerSecond)
	}
	return text
}

// Due returns how full the window was before a check, and the consequence: the due
// level with its threshold, or another cause of the round.
func Due(cfg tiercompact.Config, r tiercompact.Report) string {
	at := Thresholds(cfg)
	share := 0.0
	if r.Usage.Window > 0 {
		share = float64(r.Before) / float64(r.Usage.Window)
	}
	why := ""
	picked := r.Picked
	if picked == "" || picked == levels.None {
		picked = levels.All()[0].Name
	}
	from, named := at[picked]
	switch {
	case picked == levels.LayerName:
		why = "the three layers were asked for"
	case cfg.Level != "" && r.Reason == "":
		why = string(cfg.Level) + " was asked for"
	case r.Before > r.Usage.Budget:
		why = fmt.Sprintf("over the budget of %s", Grouped(r.Usage.Budget))
		if named && share >= from {
			why += fmt.Sprintf("; %s is due from %s", picked, Percent(from))
		}
	case !named || share >= from || r.Reason == tiercompact.BelowThreshold:
		why = fmt.Sprintf("%s is due from %s", picked, Percent(from))
	case cfg.Policy.ContextThreshold > 0 && share >= cfg.Policy.ContextThreshold:
		why = fmt.Sprintf("a summary is due from %s", Percent(cfg.Policy.ContextThreshold))
	case cfg.Policy.MessageThreshold > 0:
		why = fmt.Sprintf("a summary is due from %s without one", Plural(cfg.Policy.MessageThreshold, "message"))
	default:
		why = fmt.Sprintf("%s is due from %s of what is not protected", picked, Percent(from))
	}
	return fmt.Sprintf("%s of %s tokens: %s", Percent(share), Grouped(r.Usage.Window), why)
}

// OtherLevel returns why a round applied another level than the due one, "" if it did not.
func OtherLevel(r tiercompact.Report) string {
	applied := func(name levels.Name) bool {
		return slices.ContainsFunc(r.Applied, func(a tiercompact.Applied) bool { return a.Level == name })
	}
	switch {
	case !r.Compacted() || r.Picked == levels.LayerName || r.Picked == levels.Emergency || applied(levels.LayerName):
		return ""
	case r.Picked == "" || r.Picked == levels.None:
		return fmt.Sprintf("no level was due; the conversation was over the budget of %s tokens", Grouped(r.Usage.Budget))
	case applied(levels.Emergency) && applied(r.Picked):
		return fmt.Sprintf("%s alone does not fit the budget of %s tokens: emergency followed", r.Picked, Grouped(r.Usage.Budget))
	case applied(levels.Emergency):
		return fmt.Sprintf("%s was due; one summary freed more", r.Picked)
	case !applied(r.Picked):
		return fmt.Sprintf("%s was due; %s alone was enough", r.Picked, r.Applied[0].Level)
	}
	return ""
}
