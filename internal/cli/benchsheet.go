package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/internal/bench"
	"github.com/tiercompact/tiercompact/internal/bench/corpus"
	"github.com/tiercompact/tiercompact/internal/screen"
	"github.com/tiercompact/tiercompact/levels"
)

// A benchSheet shows the measures of a run for people, in 80 columns, or 96 with times.
type benchSheet struct {
	doctorSheet
	bench.Report
}

// showBench writes r.
func showBench(w io.Writer, s screen.Screen, r bench.Report) error {
	b := &benchSheet{doctorSheet{w: w, screen: s}, r}
	b.writeHead()
	b.writeKept()
	b.writeFreed()
	b.writeFacts()
	b.writeAtSize()
	b.writeWindows()
	b.writeSections()
	b.writeGrowth()
	return b.failed
}

func (b *benchSheet) writeHead() {
	s := b.Set
	b.writeTitle(b.screen.Clip(s.Name, len(s.Name))) // without control characters
	text := fmt.Sprintf("%s, %s, %s tokens (cl100k)", screen.Plural(s.Sessions, "session"), screen.Plural(s.Messages, "message"), screen.Grouped(s.Tokens))
	if s.Facts > 0 {
		text += fmt.Sprintf(", %s planted facts", screen.Grouped(s.Facts))
	}
	b.writeLine(text)
	b.writeLine(fmt.Sprintf("%s ranks, %s summarises", s.Ranking, s.Summarizer))
	if n := len(s.Short); n > 0 {
		b.writeDimmed(fmt.Sprintf("%s of under 40 messages: too short for identifiers, edits and re-prefill", screen.Plural(n, "session")))
	}
}

func (b *benchSheet) writeTitle(text string) { b.writeLine(b.screen.Paint(screen.Bold, text)) }

func (b *benchSheet) writeDimmed(text string) {
	for _, line := range screen.Wrapped(text, min(b.screen.Width, 100)) {
		b.writeLine(b.screen.Paint(screen.Dim, line))
	}
}

// A group is a block of rows.
type group struct {
	title string
	rows  []bench.Row
}

// rowGroups returns the rows by kind and preset, in their order.
func (b *benchSheet) rowGroups() (out []group) {
	for _, row := range b.Rows {
		title := "plain ways"
		switch row.Kind {
		case bench.Alone:
			title = row.Preset + ", a level alone, once"
		case bench.Replay:
			title = row.Preset + ", message by message in a window of a share of the tokens"
		}
		i := slices.IndexFunc(out, func(g group) bool { return g.title == title })
		if i < 0 {
			i, out = len(out), append(out, group{title: title})
		}
		out[i].rows = append(out[i].rows, row)
	}
	return out
}

// nameInGroup returns the name of a row in its group.
func nameInGroup(r bench.Row) string { return strings.TrimPrefix(r.Name, r.Preset+" ") }

const nameWidth = 20

func (b *benchSheet) writeNamed(name, text string) {
	b.writeLine(fmt.Sprintf("  %-*s%s", nameWidth, screen.Clip(name, nameWidth), text))
}

// wideFrom is the screen width from which times and memory are shown too.
const wideFrom = 96

// writeKept shows what each row keeps, and the cost of that.
func (b *benchSheet) writeKept() {
	const columns = "%4s %6s %6s %5s %5s %5s %6s %7s %6s"
	head := fmt.Sprintf(columns, "left", "idents", "placed", "edits", "facts", "false", "orphan", "prefill", "rounds")
	wide := b.screen.Width >= wideFrom && slices.ContainsFunc(b.Rows, func(r bench.Row) bool { return r.Cost != nil })
	if wide {
		head += fmt.Sprintf("%8s%8s", "ms", "MB")
	}
	b.writeLine("")
	b.writeLine(fmt.Sprintf("%-*s", nameWidth+2, "kept, and its price") + head)
	for _, g := range b.rowGroups() {
		b.writeTitle(g.title)
		for _, r := range g.rows {
			prefill, rounds, left := "-", "-", "-"
			if r.Prefill != nil {
				prefill, rounds = fmt.Sprintf("%.2f", r.Prefill.Ratio), fmt.Sprintf("%.1f", r.Prefill.Rounds)
			}
			if r.Left > 0 {
				left = fmt.Sprintf("%.2f", r.Left)
			}
			line := fmt.Sprintf(columns, left, retained(r.Identifiers), retained(r.Placed), retained(r.Edits), retained(r.Facts), falseLines(r.Truth), screen.Grouped(r.Orphans), prefill, rounds)
			if wide && r.Cost != nil {
				line += fmt.Sprintf("%8.0f%8.0f", r.Cost.Millis, float64(r.Cost.PeakBytes)/1e6)
			}
			b.writeNamed(nameInGroup(r), line)
		}
	}
	b.writeDimmed(b.keptLegend())
}

func (b *benchSheet) keptLegend() string {
	needed, cost := "", ""
	if i := slices.IndexFunc(b.Rows, func(r bench.Row) bool { return r.Identifiers.Of+r.Edits.Of > 0 }); i >= 0 {
		needed = fmt.Sprintf(" (%s identifiers, %s edits)", screen.Grouped(b.Rows[i].Identifiers.Of), screen.Grouped(b.Rows[i].Edits.Of))
	}
	if i := slices.IndexFunc(b.Rows, func(r bench.Row) bool { return r.Cost != nil }); i >= 0 && b.screen.Width >= wideFrom {
		cost = fmt.Sprintf(" ms, MB: time and heap for one session of %s.", screen.Plural(b.Rows[i].Cost.Messages, "message"))
	}
	return "left: share of the tokens. idents, placed, edits: share kept of what the work needs after a cut" + needed +
		"; placed: identifiers on a line that says the same about them. facts: planted, share kept. false: share of the lines shown of files that the file no longer has. orphan: calls and results that lost their partner. prefill: tokens that a prompt cache reads again, of those without compaction; plain ways are applied at 0.60 of a window of 0.50. rounds: compactions a session." + cost
}

func falseLines(t bench.Truth) string {
	if t.Lines == 0 {
		return "-"
	}
	return fmt.Sprintf("%.3f", t.Share)
}

func retained(f bench.Figure) string {
	if f.Of == 0 {
		return "-"
	}
	return fmt.Sprintf("%.3f", f.Share)
}

// writeFreed shows what presets freed of whole sessions, and by which level.
func (b *benchSheet) writeFreed() {
	const columns = "%6s %6s %6s %6s %7s"
	b.writeLine("")
	b.writeLine(fmt.Sprintf("%-*s", nameWidth+15, "") + b.columnHeading("soft", 21))
	unit, tokens := "freed, k tokens", thousands
	if b.Set.Tokens < 100_000 {
		unit, tokens = "freed, tokens", wholeTokens // they fit
	}
	b.writeLine(fmt.Sprintf("%-*s", nameWidth+2, unit) + fmt.Sprintf(columns, "all", "share", "files", "again", "outputs") + levelColumns(func(level string) string { return level }))
	for _, g := range b.rowGroups() {
		if g.rows[0].Kind == bench.Baseline {
			continue // what they leave is in the table above
		}
		b.writeTitle(g.title)
		for _, r := range g.rows {
			f := r.Freed
			parts := map[string]int{}
			for _, l := range f.Levels {
				parts[l.Level] = l.Freed
			}
			b.writeNamed(nameInGroup(r), fmt.Sprintf(columns, tokens(f.Tokens), screen.Percent(f.Share), tokens(f.Soft.Files), tokens(f.Soft.Again),
				tokens(f.Soft.Outputs))+levelColumns(func(level string) string { return tokens(parts[level]) }))
		}
	}
	b.writeDimmed("Of whole sessions. files: stale files, as outlines. again: superseded or repeated text. outputs: logs, listings, searches, as digests. Later rounds free again what earlier ones put in.")
}

// levelColumns returns a cell for each level that frees tokens, except soft, which
// has its own columns, and layers, which no replay uses.
func levelColumns(cell func(level string) string) string {
	var b strings.Builder
	for _, level := range levels.ReportedNames() {
		if level != string(levels.SoftName) && level != string(levels.LayerName) {
			fmt.Fprintf(&b, " %*s", max(len(level), min(len(level)+2, 6)), cell(level))
		}
	}
	return b.String()
}

func thousands(tokens int) string {
	if tokens == 0 {
		return "-"
	}
	return screen.Grouped((tokens + 500) / 1000)
}

func wholeTokens(tokens int) string {
	if tokens == 0 {
		return "-"
	}
	return screen.Grouped(tokens)
}

// writeFacts shows the planted facts by kind.
func (b *benchSheet) writeFacts() {
	if b.Set.Facts == 0 {
		return
	}
	heads := map[corpus.Kind]string{
		corpus.Rule: "rule", corpus.Changed: "file", corpus.Error: "error", corpus.Todo: "todo", corpus.Decision: "choice",
		corpus.Prose: "prose", corpus.InResult: "tool", corpus.InFile: "body",
	}
	b.writeLine("")
	b.writeLine(fmt.Sprintf("%-*s", nameWidth+2, "facts kept") + textsByKind(heads))
	for _, g := range b.rowGroups() {
		b.writeTitle(g.title)
		for _, r := range g.rows {
			if r.Kind == bench.Replay && r.Level != bench.Auto {
				continue // all in JSON and CSV
			}
			shares := map[corpus.Kind]string{}
			for _, f := range r.ByKind {
				shares[f.Kind] = fmt.Sprintf("%.2f", f.Share)
			}
			b.writeNamed(nameInGroup(r), textsByKind(shares))
		}
	}
	b.writeDimmed("rule, file, error, todo: the user's rules, changed files, the last error, open todos. choice: decisions. prose: names and numbers in what the user wrote. tool, body: what is inside the result of a tool, or the text of a file. Hard alone is asked questions, and counts the facts that these are about.")
}

// textsByKind writes texts in the order of kinds.
func textsByKind(texts map[corpus.Kind]string) string {
	var b strings.Builder
	for _, kind := range corpus.Kinds() {
		fmt.Fprintf(&b, "%7s", texts[kind])
	}
	return b.String()
}

// writeAtSize shows which compactor keeps more at the same size.
func (b *benchSheet) writeAtSize() {
	if len(b.AtSize) == 0 {
		return
	}
	const columns = "%6s %6s %6s %7s"
	b.writeLine("")
	b.writeLine(fmt.Sprintf("%-*s", nameWidth+4, "") + b.columnHeading("placed", 26) + "   " + b.columnHeading("edits", 26))
	head := fmt.Sprintf(columns, "size", "it", b.AtSize[0].Preset, "more")
	b.writeLine(fmt.Sprintf("%-*s%s %s", nameWidth+2, "at its own size", head, head))
	for _, a := range b.AtSize {
		b.writeNamed(a.Baseline, b.compared(columns, a.Placed)+" "+b.compared(columns, a.Edits))
	}
	b.writeDimmed(fmt.Sprintf("What a plain way keeps, and what %s keeps at the same size, between two of its windows. - where it was not measured at that size: give smaller windows.", b.AtSize[0].Preset))
}

// columnHeading returns a heading above columns of this width.
func (b *benchSheet) columnHeading(text string, width int) string {
	line := b.screen.Sign("─", "-")
	return line + line + " " + text + " " + strings.Repeat(line, max(0, width-len(text)-4))
}

func (b *benchSheet) compared(columns string, c *bench.Compared) string {
	if c == nil {
		return fmt.Sprintf(columns, "-", "-", "-", "-")
	}
	text := fmt.Sprintf(columns, fmt.Sprintf("%.2f", c.Size), fmt.Sprintf("%.3f", c.Baseline), fmt.Sprintf("%.3f", c.Preset), fmt.Sprintf("%+.3f", c.Difference))
	cut := len(text) - len("+0.000")
	paint := screen.Green
	if c.Difference < 0 {
		paint = screen.Red
	}
	return text[:cut] + b.screen.Paint(paint, text[cut:])
}

// writeWindows shows the windows that leave the requested share.
func (b *benchSheet) writeWindows() {
	if len(b.Left) == 0 {
		return
	}
	const columns = "%6s %5s %12s %12s %12s %7s"
	b.writeLine("")
	b.writeLine(fmt.Sprintf("%-*s", nameWidth+2, fmt.Sprintf("auto, %.3f left", b.Left[0].Target)) + fmt.Sprintf(columns, "window", "left", "idents", "placed", "edits", "prefill"))
	for _, l := range b.Left {
		prefill := "-"
		if l.Row.Prefill != nil {
			prefill = fmt.Sprintf("%.2f", l.Row.Prefill.Ratio)
		}
		b.writeNamed(l.Preset, fmt.Sprintf(columns, fmt.Sprintf("%.3f", l.Window), fmt.Sprintf("%.3f", l.Size),
			figureWithSize(l.Row.Identifiers), figureWithSize(l.Row.Placed), figureWithSize(l.Row.Edits), prefill))
	}
	b.writeDimmed("After @ the share of the tokens that is left at the cuts of that measure; left is over all cuts.")
}

func figureWithSize(f bench.Figure) string {
	if f.Of == 0 {
		return "-"
	}
	return fmt.Sprintf("%.3f @ %.2f", f.Share, f.Size)
}

// writeSections shows what each section of the summaries brings.
func (b *benchSheet) writeSections() {
	if len(b.Sections) == 0 {
		return
	}
	const columns = "%6s %7s %7s %7s %7s"
	for _, s := range b.Sections {
		name := "  " + s.Name
		if s.Name == "" {
			name = fmt.Sprintf("  %s in %.2f", s.Preset, s.Window)
			b.writeLine("")
			b.writeLine(fmt.Sprintf("%-*s", nameWidth+2, "without a section") + fmt.Sprintf(columns, "left", "idents", "placed", "edits", "false"))
		}
		b.writeLine(fmt.Sprintf("%-*s", nameWidth+2, screen.Clip(name, nameWidth)) +
			fmt.Sprintf(columns, fmt.Sprintf("%.3f", s.Left), retained(s.Identifiers), retained(s.Placed), retained(s.Edits), falseLines(s.Truth)))
	}
	b.writeDimmed("Each section of the summaries left out in turn, by its heading; the first row has all of them.")
}

// writeGrowth shows the cost of operations by length.
func (b *benchSheet) writeGrowth() {
	if len(b.Growth) == 0 {
		return
	}
	const columns = "%10s %9s%s %6s"
	levelCells := func(cell func(levels.Name) string) (cells string) {
		for _, l := range levels.All() {
			cells += fmt.Sprintf(" %*s", max(9, len(shortLevel(l.Name))+1), cell(l.Name))
		}
		return cells
	}
	b.writeLine("")
	b.writeLine(fmt.Sprintf("%-*s", nameWidth+2, "growth, messages") + fmt.Sprintf(columns, "tokens", "add, us", levelCells(shortLevel), "MB"))
	for _, g := range b.Growth {
		b.writeNamed(screen.Grouped(g.Messages), fmt.Sprintf(columns, screen.Grouped(g.Tokens), fmt.Sprintf("%.0f", g.AddMicros),
			levelCells(func(level levels.Name) string { return fmt.Sprintf("%.1f", g.LevelMillis[level]) }), fmt.Sprintf("%.1f", float64(g.Bytes)/1e6)))
	}
	b.writeDimmed("Of sessions that the seed makes up. add: one AddMessage, on average, compaction included, steady in a window of half of the tokens. " + strings.Join(levels.Names(), ", ") + ": one round over all messages. MB: what a session holds beside its messages.")
}

// shortLevel returns the heading of a level's time.
func shortLevel(level levels.Name) string {
	if len(level) > 6 {
		level = level[:5]
	}
	return string(level) + ", ms"
}
