package cli

import (
	"fmt"
	"strings"

	"github.com/tiercompact/tiercompact/internal/bench"
	"github.com/tiercompact/tiercompact/internal/bench/corpus"
	"github.com/tiercompact/tiercompact/internal/screen"
	"github.com/tiercompact/tiercompact/levels"
)

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
	b.writeLine(fmt.Sprintf("%-*s", nameWidth+4, "") + b.columnHeading("identifiers", 26) + "   " + b.columnHeading("edits", 26))
	head := fmt.Sprintf(columns, "size", "it", b.AtSize[0].Preset, "more")
	b.writeLine(fmt.Sprintf("%-*s%s %s", nameWidth+2, "at its own size", head, head))
	for _, a := range b.AtSize {
		b.writeNamed(a.Baseline, b.compared(columns, a.Identifiers)+" "+b.compared(columns, a.Edits))
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
	const columns = "%7s %6s %14s %14s %10s"
	b.writeLine("")
	b.writeLine(fmt.Sprintf("%-*s", nameWidth+2, fmt.Sprintf("auto, %.3f left", b.Left[0].Target)) + fmt.Sprintf(columns, "window", "left", "idents", "edits", "re-prefill"))
	for _, l := range b.Left {
		prefill := "-"
		if l.Row.Prefill != nil {
			prefill = fmt.Sprintf("%.2f", l.Row.Prefill.Ratio)
		}
		b.writeNamed(l.Preset, fmt.Sprintf(columns, fmt.Sprintf("%.3f", l.Window), fmt.Sprintf("%.3f", l.Size),
			figureWithSize(l.Row.Identifiers), figureWithSize(l.Row.Edits), prefill))
	}
	b.writeDimmed("After @ the share of the tokens that is left at the cuts of that measure; left is over all cuts.")
}

func figureWithSize(f bench.Figure) string {
	if f.Of == 0 {
		return "-"
	}
	return fmt.Sprintf("%.3f @ %.2f", f.Share, f.Size)
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
