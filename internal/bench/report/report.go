// Package report shows the results of the bench: as CSV, as one page of HTML, and
// as plots. Equal values of [bench.Report] give equal bytes.
package report

import (
	"encoding/csv"
	"io"
	"slices"
	"strconv"

	"github.com/tiercompact/tiercompact/internal/bench"
	"github.com/tiercompact/tiercompact/internal/chart"
	"github.com/tiercompact/tiercompact/levels"
)

// A column is one column of the CSV.
type column struct {
	name string // with its unit if it has one
	of   func(bench.Row) string
}

// CSV writes a line for each row of r, below a line with the names of the columns.
// A cell is empty if nothing was measured, or there was nothing to keep. Rows of
// r.Left have the requested share in left_target.
func CSV(w io.Writer, r bench.Report) error {
	c := csv.NewWriter(w)
	all := reportColumns()
	line := make([]string, 0, len(all)+1)
	for _, col := range all {
		line = append(line, col.name)
	}
	if err := c.Write(append(line, "left_target")); err != nil {
		return err
	}
	write := func(row bench.Row, target string) error {
		line = line[:0]
		for _, col := range all {
			line = append(line, col.of(row))
		}
		return c.Write(append(line, target))
	}
	for _, row := range r.Rows {
		if err := write(row, ""); err != nil {
			return err
		}
	}
	for _, l := range r.Left {
		if err := write(l.Row, chart.Number(l.Target)); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}

func reportColumns() []column {
	cols := []column{
		{"name", func(r bench.Row) string { return r.Name }},
		{"kind", func(r bench.Row) string { return string(r.Kind) }},
		{"preset", func(r bench.Row) string { return r.Preset }},
		{"level", func(r bench.Row) string { return r.Level }},
		{"window_share", func(r bench.Row) string { return unlessZero(r.Window) }},
		{"before_tokens", func(r bench.Row) string { return strconv.Itoa(r.Freed.Before) }},
		{"after_tokens", func(r bench.Row) string { return strconv.Itoa(r.Freed.After) }},
		{"freed_tokens", func(r bench.Row) string { return strconv.Itoa(r.Freed.Tokens) }},
		{"freed_share", func(r bench.Row) string { return chart.Number(r.Freed.Share) }},
		{"soft_stale_files_tokens", func(r bench.Row) string { return strconv.Itoa(r.Freed.Soft.Files) }},
		{"soft_superseded_or_repeated_tokens", func(r bench.Row) string { return strconv.Itoa(r.Freed.Soft.Again) }},
		{"soft_tool_outputs_tokens", func(r bench.Row) string { return strconv.Itoa(r.Freed.Soft.Outputs) }},
	}
	for _, level := range levelNames() {
		cols = append(cols, column{level + "_freed_tokens", func(r bench.Row) string { return strconv.Itoa(levelPart(r, level).Freed) }})
	}
	cols = append(cols, figureColumns("identifiers", func(r bench.Row) bench.Figure { return r.Identifiers })...)
	cols = append(cols, figureColumns("placed", func(r bench.Row) bench.Figure { return r.Placed })...)
	cols = append(cols, figureColumns("edits", func(r bench.Row) bench.Figure { return r.Edits })...)
	cols = append(cols, figureColumns("facts", func(r bench.Row) bench.Figure { return r.Facts })...)
	return append(cols,
		column{"file_lines_shown", func(r bench.Row) string { return strconv.Itoa(r.Truth.Lines) }},
		column{"file_lines_stale", func(r bench.Row) string { return strconv.Itoa(r.Truth.Stale) }},
		column{"file_lines_removed", func(r bench.Row) string { return strconv.Itoa(r.Truth.Removed) }},
		column{"orphans", func(r bench.Row) string { return strconv.Itoa(r.Orphans) }},
		column{"prefill_tokens", prefilled(func(p *bench.Prefilled) string { return strconv.Itoa(p.Tokens) })},
		column{"prefill_without_tokens", prefilled(func(p *bench.Prefilled) string { return strconv.Itoa(p.Without) })},
		column{"prefill_ratio", prefilled(func(p *bench.Prefilled) string { return chart.Number(p.Ratio) })},
		column{"rounds_per_session", prefilled(func(p *bench.Prefilled) string { return chart.Number(p.Rounds) })},
		column{"prefill_window_share", prefilled(func(p *bench.Prefilled) string { return chart.Number(p.Window) })},
		column{"ms_per_session", costColumn(func(c *bench.Cost) string { return chart.Number(c.Millis) })},
		column{"peak_bytes", costColumn(func(c *bench.Cost) string { return strconv.FormatUint(c.PeakBytes, 10) })},
	)
}

// figureColumns are the columns of a share.
func figureColumns(name string, of func(bench.Row) bench.Figure) []column {
	known := func(show func(bench.Figure) string) func(bench.Row) string {
		return func(r bench.Row) string {
			if of(r).Of == 0 {
				return ""
			}
			return show(of(r))
		}
	}
	return []column{
		{name + "_kept", known(func(f bench.Figure) string { return strconv.Itoa(f.Kept) })},
		{name + "_of", func(r bench.Row) string { return strconv.Itoa(of(r).Of) }},
		{name + "_share", known(func(f bench.Figure) string { return chart.Number(f.Share) })},
		{name + "_size_share", known(func(f bench.Figure) string { return chart.Number(f.Size) })},
	}
}

func prefilled(show func(*bench.Prefilled) string) func(bench.Row) string {
	return func(r bench.Row) string {
		if r.Prefill == nil {
			return ""
		}
		return show(r.Prefill)
	}
}

func costColumn(show func(*bench.Cost) string) func(bench.Row) string {
	return func(r bench.Row) string {
		if r.Cost == nil {
			return ""
		}
		return show(r.Cost)
	}
}

// levelNames are the levels of replays that free tokens, mildest first.
func levelNames() []string {
	return slices.DeleteFunc(levels.ReportedNames(), func(name string) bool { return name == string(levels.LayerName) })
}

// levelPart returns the tokens that a level freed in a row.
func levelPart(r bench.Row, level string) bench.LevelPart {
	for _, p := range r.Freed.Levels {
		if p.Level == level {
			return p
		}
	}
	return bench.LevelPart{Level: level}
}

func unlessZero(x float64) string {
	if x == 0 {
		return ""
	}
	return chart.Number(x)
}
