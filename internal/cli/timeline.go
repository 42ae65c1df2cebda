package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/bench"
	"github.com/tiercompact/tiercompact/internal/screen"
	traced "github.com/tiercompact/tiercompact/internal/timeline"
	"github.com/tiercompact/tiercompact/levels"
	"github.com/tiercompact/tiercompact/redact"
	"github.com/tiercompact/tiercompact/trace"
)

// A timeline shows a replay for people: one line per message, and one more for each
// applied level.
type timeline struct {
	w        io.Writer
	screen   screen.Screen
	title    string
	messages int  // in the transcript
	fold     bool // fold stretches without events

	cfg    tiercompact.Config
	bar    int          // columns of the bar
	text   int          // columns of the text after it
	quiet  []replayStep // since the last event, if stretches are folded
	failed error        // of writing
}

// The columns of a line: index, role and percentage, with the gaps between.
const columns = 4 + 2 + 9 + 2 + 2 + 5 + 2

func (t *timeline) showStart(cfg tiercompact.Config) {
	t.cfg = cfg
	t.bar = min(max(t.screen.Width*3/10, 20), 40)
	t.text = t.screen.Width - columns - t.bar - 1
	at := screen.Thresholds(t.cfg)
	t.writeLine("%s", t.screen.Paint(screen.Bold, t.screen.Clip(t.title, t.screen.Width)))
	t.writeLine("%s", t.screen.Paint(screen.Dim, fmt.Sprintf("%s, window %s tokens, preset %s", screen.Plural(t.messages, "message"),
		screen.Grouped(cfg.Window), cmp.Or(cfg.Preset, tiercompact.Default))))
	t.writeLine("%s", t.screen.Paint(screen.Dim, thresholdsText(at)))
	t.writeEngines(cfg)
	t.writeLine("")
	t.writeLine("%s", t.screen.Paint(screen.Dim, fmt.Sprintf("   #  %-9s  %s    use", "role", screen.Scale(t.bar, at))))
}

// thresholdsText returns the usage from which each level is due.
func thresholdsText(at levels.Thresholds) string {
	var parts []string
	for _, l := range levels.All() {
		parts = append(parts, fmt.Sprintf("%s from %s", l.Name, screen.Percent(at[l.Name])))
	}
	return strings.Join(parts, ", ")
}

// writeEngines shows the engines of ranking and summaries, and why.
func (t *timeline) writeEngines(cfg tiercompact.Config) {
	ranking, summary := "ranking by "+cfg.Embed.Name, "summary by "+cfg.Summary.Name
	texts := []string{ranking + ": " + cfg.Embed.Why, summary + ": " + cfg.Summary.Why}
	switch {
	case cfg.Embed.Why == "" && cfg.Summary.Why == "":
		return
	case cfg.Embed.Why == cfg.Summary.Why:
		texts = []string{ranking + ", " + summary + ": " + cfg.Embed.Why}
	}
	for _, text := range texts {
		for _, line := range screen.Wrapped(text, t.screen.Width) {
			t.writeLine("%s", t.screen.Paint(screen.Dim, line))
		}
	}
}

func (t *timeline) writeLine(format string, args ...any) {
	if _, err := fmt.Fprintln(t.w, strings.TrimRight(fmt.Sprintf(format, args...), " ")); err != nil {
		t.failed = cmp.Or(t.failed, err)
	}
}

func (t *timeline) showMessage(b replayStep) {
	event := b.report.Compacted() || b.err != nil || len(b.report.Warnings) > 0
	if t.fold && !event {
		t.quiet = append(t.quiet, b)
		return
	}
	t.flushStretch()
	t.writeRow(b)
	if other := screen.OtherLevel(b.report); other != "" {
		t.writeUnder(screen.Yellow, other)
	}
	for _, a := range b.report.Applied {
		t.writeLevel(b, a)
	}
	for _, w := range b.report.Warnings {
		t.writeUnder(screen.Yellow, w)
	}
	if b.err != nil {
		t.writeUnder(screen.Red, b.err.Error())
	}
}

// flushStretch shows the stretch since the last event, in one line if it is long.
func (t *timeline) flushStretch() {
	const short = 3
	if len(t.quiet) <= short {
		for _, b := range t.quiet {
			t.writeRow(b)
		}
	} else {
		first, last := t.quiet[0].report, t.quiet[len(t.quiet)-1].report
		t.writeLine("%s", t.screen.Paint(screen.Dim, fmt.Sprintf("   %s  %s, %s %s %s", t.screen.Sign("⋮", ":"), screen.Plural(len(t.quiet), "message"),
			screen.Percent(usageBefore(first)), t.arrowText(), screen.Percent(last.Usage.Share))))
	}
	t.quiet = t.quiet[:0]
}

func (t *timeline) arrowText() string { return t.screen.Sign("→", "->") }

// usageBefore returns the usage before a round.
func usageBefore(r tiercompact.Report) float64 {
	if r.Usage.Window == 0 {
		return 0
	}
	return float64(r.Before) / float64(r.Usage.Window)
}

// writeRow shows a message: its usage, and the action of a round or else its text.
func (t *timeline) writeRow(b replayStep) {
	r, at := b.report, screen.Thresholds(t.cfg)
	text := t.screen.Paint(screen.Dim, t.screen.Clip(headline(b.message, t.redactText), t.text))
	switch {
	case r.Compacted():
		text = t.screen.Paint(screen.PaintOf(at, max(usageBefore(r), at.Lowest())), t.roundAction(r))
	case r.Reason != tiercompact.BelowThreshold && r.Reason != tiercompact.SwitchedOff:
		text = t.screen.Paint(screen.Yellow, t.screen.Sign("∥ ", "= ")+r.Reason)
	}
	t.writeLine("%4d  %-9s  %s  %3.0f %%  %s", b.index+1, b.message.Role, t.screen.Bar(t.bar, at, usageBefore(r), r.Usage.Share), 100*usageBefore(r), text)
}

// roundAction returns the action of a round, in a few words.
func (t *timeline) roundAction(r tiercompact.Report) string {
	var names []string
	for _, a := range r.Applied {
		names = append(names, string(a.Level))
	}
	return fmt.Sprintf("%s %s%s %s %s", strings.Join(names, "+"), t.screen.Sign("−", "-"), screen.Grouped(r.Freed()), t.arrowText(), screen.Percent(r.Usage.Share))
}

// writeLevel shows the action of one level of a round.
func (t *timeline) writeLevel(b replayStep, a tiercompact.Applied) {
	parts := t.screen.Said(b.report, a)
	if len(b.report.Applied) == 1 {
		parts = append(parts, keptMessages(b))
	} else {
		parts = append([]string{fmt.Sprintf("%s %s%s", a.Level, t.screen.Sign("−", "-"), screen.Grouped(a.Before-a.After))}, parts...)
	}
	parts = append(parts, fmt.Sprintf("%.1f ms", float64(a.Took.Microseconds())/1000))
	t.writeUnder(screen.Plain, strings.Join(parts, t.screen.Sign(" · ", ", ")))
	for _, tried := range screen.Tried(a) {
		t.writeUnder(screen.Yellow, tried)
	}
	if len(a.Attempts) == 0 && a.Why != "" && a.Why != t.cfg.Embed.Why && a.Why != t.cfg.Summary.Why {
		t.writeUnder(screen.Yellow, a.Engine+": "+a.Why)
	}
}

// keptMessages returns the number of messages after a round.
func keptMessages(b replayStep) string {
	if b.left == b.messages {
		return "all " + screen.Plural(b.left, "message") + " left"
	}
	return fmt.Sprintf("%d of %d messages left", b.left, b.messages)
}

// writeUnder shows a text below the line of its message.
func (t *timeline) writeUnder(p screen.Paint, text string) {
	const indent = "                 "
	for i, line := range screen.Wrapped(text, t.screen.Width-len(indent)-3) {
		lead := t.screen.Sign("└ ", "\\ ")
		if i > 0 {
			lead = "  "
		}
		t.writeLine("%s%s", indent, t.screen.Paint(p, lead+line))
	}
}

// redactText removes secrets from the output, unless that is turned off.
func (t *timeline) redactText(text string) string {
	switch {
	case t.cfg.Redact.Off:
		return text
	case t.cfg.Redact.Redactor == nil:
		return redact.Default().String(text)
	}
	return t.cfg.Redact.Redactor.String(text)
}

// headline returns the first words of a message. They are redacted before they are
// cut, because a cut may leave the value of a secret without its name.
func headline(m chat.Message, clean func(string) string) string {
	for _, p := range m.Parts {
		switch {
		case p.Kind == chat.Call || p.Kind == chat.ServerCall:
			return clean(p.Name + " " + callSubject(clean(p.Args)))
		case p.Kind == chat.Image:
			return "(image)"
		case p.Kind != chat.Thinking && strings.TrimSpace(p.Text) != "":
			return clean(p.Text)
		}
	}
	return ""
}

// callSubject returns the subject of a call: the first short text among its
// arguments, in the order of their names; else all arguments.
func callSubject(args string) string {
	const short = 200
	var named map[string]any
	if json.Unmarshal([]byte(args), &named) != nil {
		return args
	}
	for _, name := range slices.Sorted(maps.Keys(named)) {
		if text, ok := named[name].(string); ok && text != "" && len(text) <= short && name != "old" && name != "new" {
			return text
		}
	}
	return args
}

func (t *timeline) showEnding(e ending) error {
	t.flushStretch()
	t.writeLine("")
	t.writeTable(e)
	t.writeLine("")
	u := e.Usage
	state, p := "fits the budget of "+screen.Grouped(u.Budget), screen.Green
	if !e.Fits {
		state, p = "does not fit the budget of "+screen.Grouped(u.Budget), screen.Red
	}
	t.writeLine("end    %s of %s tokens (%s), %s", screen.Grouped(u.Tokens), screen.Grouped(u.Window), screen.Percent(u.Share), t.screen.Paint(p, state))
	t.writeLine("       %d of %s left, %s", e.Messages, screen.Plural(e.Added, "message"), screen.Plural(e.Rounds, "round"))
	if e.Uncut > u.Tokens {
		t.writeLine("       without compaction: %s tokens (%s)", screen.Grouped(e.Uncut), screen.Percent(float64(e.Uncut)/float64(u.Window)))
	}
	if e.Missed > 0 {
		t.writeLine("       over the budget after %s", screen.Plural(e.Missed, "message"))
	}
	return t.failed
}

func (t *timeline) writeTable(e ending) {
	t.writeLine("%s", t.screen.Paint(screen.Bold, "level      times     freed   share        ms"))
	sum := bench.Level{Level: "all", Share: 1}
	for _, l := range e.Levels {
		t.writeLine("%s", tableRow(l))
		sum.Times += l.Times
		sum.Freed += l.Freed
		sum.Millis += l.Millis
	}
	if sum.Freed == 0 {
		sum.Share = 0
	}
	t.writeLine("%s", tableRow(sum))
}

func tableRow(l bench.Level) string {
	return fmt.Sprintf("%-9s  %5d  %8s  %6s  %8.1f", l.Level, l.Times, screen.Grouped(l.Freed), screen.Percent(l.Share), l.Millis)
}

// A picture is the timeline of a replay, as a file.
type picture struct {
	path   string
	events []trace.Event
}

func (p *picture) registerPicture(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.path, "timeline", "", "draw what happened into this `file`, as SVG")
}

func (p *picture) validatePicture() error {
	if p.path == "-" {
		return usageErrorf("--timeline - is not a file; give the name of one")
	}
	return nil
}

// attachSink has the picture receive a session's events, if a picture is requested.
func (p *picture) attachSink(cfg *tiercompact.Config) {
	if p.path != "" {
		cfg.Trace = trace.Join(cfg.Trace, func(e trace.Event) { p.events = append(p.events, e) }) // a replay has one goroutine
	}
}

// drawPicture draws the picture.
func (p *picture) drawPicture(cmd *cobra.Command) error {
	if p.path == "" || len(p.events) == 0 {
		return nil
	}
	return writeOutput(cmd, p.path, func(w io.Writer) error { return traced.SVG(w, p.events) })
}

// An ending is the end of a replay.
type ending struct {
	Levels   []bench.Level     `json:"levels"`
	Usage    tiercompact.Usage `json:"usage"`
	Messages int               `json:"messages"` // that are left
	Added    int               `json:"added"`
	Rounds   int               `json:"rounds"`
	Peak     float64           `json:"peak"`        // the highest usage before a check
	Uncut    int               `json:"uncompacted"` // tokens of all that was added
	Missed   int               `json:"did_not_fit"` // messages after which the conversation exceeded the budget
	Fits     bool              `json:"fits"`

	last error // of the last message
}

// budgetError returns an error if the end does not fit the budget.
func (e ending) budgetError() error {
	switch {
	case e.Fits:
		return nil
	case e.last != nil:
		return e.last
	}
	return fmt.Errorf("%w: %s tokens of %s allowed at the end; the trigger never started a compaction", tiercompact.ErrInsufficientBudget,
		screen.Grouped(e.Usage.Tokens), screen.Grouped(e.Usage.Budget))
}

// A tally adds up the results of a replay's messages.
type tally struct {
	end   ending
	freed bench.Freed
}

func newTally(u tiercompact.Usage) *tally {
	return &tally{end: ending{Usage: u, Uncut: u.Tokens}}
}

func (t *tally) countStep(b replayStep) {
	r, e := b.report, &t.end
	e.Uncut += r.Before - e.Usage.Tokens
	e.Peak = max(e.Peak, float64(r.Before)/float64(r.Usage.Window))
	e.Usage, e.last = r.Usage, b.err
	e.Added++
	if r.Compacted() {
		e.Rounds++
	}
	if r.Usage.Tokens > r.Usage.Budget {
		e.Missed++
	}
	t.freed.Add(r)
}

// totalEnding returns the end, with a line for each applied level, and for each of
// the three that a reader expects.
func (t *tally) totalEnding(messages int) ending {
	e := t.end
	e.Messages, e.Fits, e.Levels = messages, e.Usage.Tokens <= e.Usage.Budget, t.freed.Levels()
	return e
}
