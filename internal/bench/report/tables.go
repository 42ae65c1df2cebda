package report

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/tiercompact/tiercompact/internal/bench"
	"github.com/tiercompact/tiercompact/internal/screen"
	"github.com/tiercompact/tiercompact/levels"
)

// pageTables are the tables of the page with content.
func pageTables(r bench.Report) []table {
	all := []table{keptTable(r), leftTable(r), atSizeTable(r), sectionTable(r), freedTable(r), serverTable(r), factsTable(r), growthTable(r)}
	shown := all[:0]
	for _, t := range all {
		if len(t.Rows) > 0 {
			shown = append(shown, t)
		}
	}
	return shown
}

const none = "–" // nothing was measured, or there was nothing to keep

func keptTable(r bench.Report) table {
	t := table{
		Title: "What is kept",
		About: "Kept of what the work needs next. Each share is beside its own size, the share of the tokens that is left.",
		Columns: []head{{"way", ""}, {"kind", ""}, {"identifiers", "share"}, {"at size", "share"}, {"in place", "share"}, {"at size", "share"},
			{"edits", "share"}, {"at size", "share"}, {"planted facts", "share"}, {"at size", "share"}, {"false lines", "share"}, {"orphans", "count"}},
	}
	for _, row := range r.Rows {
		t.Rows = append(t.Rows, keptCells(row.Name, row))
	}
	return t
}

func keptCells(name string, row bench.Row) []string {
	cells := []string{name, string(row.Kind)}
	for _, f := range []bench.Figure{row.Identifiers, row.Placed, row.Edits, row.Facts} {
		cells = append(cells, shareText(f), sizeText(f))
	}
	return append(cells, truthText(row.Truth), strconv.Itoa(row.Orphans))
}

func leftTable(r bench.Report) table {
	t := table{
		Title: "In the window that leaves a share of the tokens",
		About: "One window, a share of the tokens before each cut, for all sessions, chosen so that the requested share is left.",
		Columns: []head{{"preset", ""}, {"asked for", "share"}, {"window", "share"}, {"left", "share"}, {"identifiers", "share"}, {"at size", "share"},
			{"in place", "share"}, {"at size", "share"}, {"edits", "share"}, {"at size", "share"}, {"orphans", "count"}},
	}
	for _, l := range r.Left {
		t.Rows = append(t.Rows, []string{l.Preset, threeDigits(l.Target), threeDigits(l.Window), threeDigits(l.Size), shareText(l.Row.Identifiers), sizeText(l.Row.Identifiers),
			shareText(l.Row.Placed), sizeText(l.Row.Placed), shareText(l.Row.Edits), sizeText(l.Row.Edits), strconv.Itoa(l.Row.Orphans)})
	}
	return t
}

func atSizeTable(r bench.Report) table {
	t := table{
		Title: "Against each baseline, at its own size",
		About: "What a preset keeps at the size that a baseline has, between two of its windows. A difference above 0 speaks for the preset.",
		Columns: []head{{"baseline", ""}, {"preset", ""}, {"size", "share"}, {"identifiers: baseline", "share"}, {"preset", "share"}, {"difference", "share"},
			{"size", "share"}, {"in place: baseline", "share"}, {"preset", "share"}, {"difference", "share"}, {"size", "share"}, {"edits: baseline", "share"}, {"preset", "share"}, {"difference", "share"}},
	}
	for _, a := range r.AtSize {
		cells := []string{a.Baseline, a.Preset}
		for _, c := range []*bench.Compared{a.Identifiers, a.Placed, a.Edits} {
			if c == nil {
				cells = append(cells, none, none, none, none)
			} else {
				cells = append(cells, threeDigits(c.Size), threeDigits(c.Baseline), threeDigits(c.Preset), fmt.Sprintf("%+.3f", c.Difference))
			}
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}

func freedTable(r bench.Report) table {
	t := table{
		Title:   "What is freed",
		About:   "Tokens freed by compacting whole sessions, by the level that freed them. Soft is divided into stale file contents, superseded or repeated texts, and other tool outputs.",
		Columns: []head{{"way", ""}, {"before", "tokens"}, {"freed", "tokens"}, {"freed", "share"}},
	}
	for _, level := range levelNames() {
		t.Columns = append(t.Columns, head{level, "tokens"})
	}
	t.Columns = append(t.Columns, head{"soft: stale files", "tokens"}, head{"soft: said again", "tokens"}, head{"soft: outputs", "tokens"})
	for _, row := range r.Rows {
		cells := []string{row.Name, screen.Grouped(row.Freed.Before), screen.Grouped(row.Freed.Tokens), threeDigits(row.Freed.Share)}
		for _, level := range levelNames() {
			cells = append(cells, screen.Grouped(levelPart(row, level).Freed))
		}
		s := row.Freed.Soft
		t.Rows = append(t.Rows, append(cells, screen.Grouped(s.Files), screen.Grouped(s.Again), screen.Grouped(s.Outputs)))
	}
	return t
}

func serverTable(r bench.Report) table {
	t := table{
		Title: "What it costs",
		About: "For a server with a prompt cache, over whole sessions." + costSource(r),
		Columns: []head{{"way", ""}, {"re-prefill", "ratio"}, {"read anew", "tokens"}, {"rounds", "per session"}, {"window", "share"},
			{"time", "ms"}, {"heap, at most", "MB"}},
	}
	for _, row := range r.Rows {
		cells := []string{row.Name, none, none, none, none, none, none}
		if p := row.Prefill; p != nil {
			copy(cells[1:], []string{threeDigits(p.Ratio), screen.Grouped(p.Tokens), fmt.Sprintf("%.1f", p.Rounds), fmt.Sprintf("%.2f", p.Window)})
		}
		if c := row.Cost; c != nil {
			copy(cells[5:], []string{fmt.Sprintf("%.1f", c.Millis), megabytes(c.PeakBytes)})
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}

// costSource describes the session whose times and memory are in the rows of r.
func costSource(r bench.Report) string {
	for _, row := range r.Rows {
		if c := row.Cost; c != nil {
			return fmt.Sprintf(" Times and memory are those of one session of %s messages (%s), on the machine of the run; they differ from run to run.", screen.Grouped(c.Messages), c.Session)
		}
	}
	return ""
}

// factsTable has a column for each kind of fact, in the order of the first row
// that has them.
func factsTable(r bench.Report) table {
	t := table{
		Title:   "Planted facts, by kind",
		About:   "The share of the facts of each kind that can still be found when whole sessions are compacted.",
		Columns: []head{{"way", ""}, {"tokens left", "share"}},
	}
	var kinds []string
	for _, row := range r.Rows {
		if len(kinds) == 0 {
			for _, k := range row.ByKind {
				kinds = append(kinds, string(k.Kind))
				t.Columns = append(t.Columns, head{string(k.Kind), "share"})
			}
		}
		if len(row.ByKind) == 0 {
			continue
		}
		cells := []string{row.Name, threeDigits(1 - row.Freed.Share)}
		for _, kind := range kinds {
			cell := none
			for _, k := range row.ByKind {
				if string(k.Kind) == kind && k.Of > 0 {
					cell = threeDigits(k.Share)
				}
			}
			cells = append(cells, cell)
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}

func growthTable(r bench.Report) table {
	t := table{
		Title:   "How it grows",
		About:   "Time and memory by the length of a session that the seed makes up. A message is added by steady in a window of half of the tokens, compaction included. A level's time is one plan, made and applied, without a model.",
		Columns: []head{{"messages", "count"}, {"tokens", "count"}, {"a message added", "µs"}},
	}
	for _, level := range levels.Names() {
		t.Columns = append(t.Columns, head{level, "ms"})
	}
	t.Columns = append(t.Columns, head{"memory held", "MB"})
	for _, g := range r.Growth {
		cells := []string{screen.Grouped(g.Messages), screen.Grouped(g.Tokens), fmt.Sprintf("%.0f", g.AddMicros)}
		for _, level := range levels.All() {
			cells = append(cells, fmt.Sprintf("%.1f", g.LevelMillis[level.Name]))
		}
		t.Rows = append(t.Rows, append(cells, megabytes(g.Bytes)))
	}
	return t
}

func sectionTable(r bench.Report) table {
	t := table{
		Title:   "What each section of a summary brings",
		About:   "Auto of a preset, with one section left out of its output. The first row of a preset has all of them.",
		Columns: []head{{"preset", ""}, {"window", "share"}, {"without", ""}, {"left", "share"}, {"identifiers", "share"}, {"in place", "share"}, {"edits", "share"}, {"false lines", "share"}},
	}
	for _, s := range r.Sections {
		t.Rows = append(t.Rows, []string{s.Preset, threeDigits(s.Window), cmp.Or(s.Name, none), threeDigits(s.Left), shareText(s.Identifiers), shareText(s.Placed), shareText(s.Edits), truthText(s.Truth)})
	}
	return t
}

func truthText(t bench.Truth) string {
	if t.Lines == 0 {
		return none
	}
	return threeDigits(t.Share)
}

func shareText(f bench.Figure) string {
	if f.Of == 0 {
		return none
	}
	return threeDigits(f.Share)
}

func sizeText(f bench.Figure) string {
	if f.Of == 0 {
		return none
	}
	return threeDigits(f.Size)
}

func threeDigits(x float64) string { return fmt.Sprintf("%.3f", x) }

func megabytes(n uint64) string { return fmt.Sprintf("%.1f", float64(n)/1e6) }
