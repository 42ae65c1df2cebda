package levels

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/files"
	"github.com/tiercompact/tiercompact/internal/edit"
)

// Soft replaces unused files with outlines, old tool outputs with digests, text that
// is repeated below with pointers, and repeated calls with a count. The zero Soft
// uses the defaults.
type Soft struct {
	StaleAfter int  // messages without a reference after which a file is stale; 0 means 3
	Leave      int  // newest messages that do not change; 0 means 3, none with All
	OutlineMax int  // max tokens of an outline; 0 means 500, 150 with All
	DigestMax  int  // max tokens of a digest; 0 means 200, 150 with All
	All        bool // every file, stale or not, except those being edited: the first step of emergency
}

func softLevel() Level {
	return Level{SoftName, Threshold{Default: 0.60, Eager: 0.50, Steady: 0.70}, Outlining, "sky", []Planner{planSoft}}
}

// planSoft compresses stale files; a round that refills the conversation keeps as much
// of them as fits its target.
func planSoft(ctx context.Context, v View) (p Plan, err error) {
	soft := Soft{StaleAfter: v.Settings.StaleAfter}
	if v.Settings.Refill {
		p.Edits, err = soft.Fill(ctx, v, v.Settings.fillTarget())
	} else {
		p.Edits, err = soft.Plan(ctx, v)
	}
	return p, err
}

const (
	minBytes    = 270  // min bytes of a text that is shortened
	minOutput   = 500  // of a tool output that is
	digestMax   = 200  // max tokens of a digest by default
	minDigest   = 60   // min tokens of a digest
	minPart     = 1500 // min bytes of a part of a file that is outlined
	partShare   = 0.10 // share of the window, for such a part: see minPart
	fileShare   = 0.8  // max share of a file, for its outline
	outputShare = 0.3  // max share of an output, for its digest
)

// partTokens estimates the tokens of a part of text. Counting a long text would take
// longer than shortening it.
func partTokens(text string, part float64) int { return int(float64(tokensForBytes(len(text))) * part) }

// tokensForBytes estimates the tokens of n bytes of text.
func tokensForBytes(n int) int { return n * 10 / 34 }

// bytesForTokens estimates the bytes of n tokens.
func bytesForTokens(n int) int { return n * 34 / 10 }

// Plan returns one edit for each message that becomes smaller. It never changes
// locked or settled messages.
func (s Soft) Plan(ctx context.Context, v View) ([]edit.Edit, error) {
	return s.decidedPlan(v).planEdits(ctx)
}

// decidedPlan returns a plan with the action for each copy, but not yet the number of
// tokens.
func (s Soft) decidedPlan(v View) *softPlan {
	p := &softPlan{Soft: s.withDefaults(), View: v, index: files.NewIndex(v.Messages, v.Facts)}
	p.markRepeats()
	if p.decideActions(); len(p.todo) > 0 {
		p.near = files.FocusOf(v.Messages, v.Facts)
	}
	return p
}

// planEdits returns the edits for the decided actions.
func (p *softPlan) planEdits(ctx context.Context) ([]edit.Edit, error) {
	var edits []edit.Edit
	for _, r := range p.repeats {
		edits = append(edits, p.repeatEdits(r, p.DigestMax)...)
	}
	if len(p.todo) == 0 {
		return edits, ctx.Err()
	}
	p.known, p.listed = p.index.Known(p.changesCopy), p.listRoom(p.Messages)
	for n := len(p.todo) - 1; n >= 0; n-- { // newest first: their ledgers come first
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if e, ok := p.shortenMessage(p.todo[n]); ok {
			edits = append(edits, e)
		}
	}
	return edit.Sorted(edits), nil
}

// markRepeats finds repeated calls.
func (p *softPlan) markRepeats() {
	p.folds = make([]bool, len(p.Messages))
	p.repeats = p.View.findRepeats(newestTail(p.View, p.Leave))
	for _, r := range p.repeats {
		for i := r.first; i < r.end; i++ {
			p.folds[i] = true
		}
	}
}

// maxFillFactor is the maximum factor on the limit of an outline or digest in a refill.
const maxFillFactor = 16

// Fill returns the plan with the largest outlines and digests that bring v down to
// target tokens: every round costs a prefill, however little it frees. If none does,
// it is Plan.
func (s Soft) Fill(ctx context.Context, v View, target int) ([]edit.Edit, error) {
	p := s.decidedPlan(v)
	outline, digest := p.OutlineMax, p.DigestMax
	best, err := p.planEdits(ctx)
	for low, high := 2, maxFillFactor; low <= high && len(best) > 0 && err == nil; {
		ample := (low + high) / 2
		p.OutlineMax, p.DigestMax = outline*ample, digest*ample
		var edits []edit.Edit
		if edits, err = p.planEdits(ctx); v.Total()-v.freedTokens(edits) <= target {
			best, low = edits, ample+1
		} else {
			high = ample - 1
		}
	}
	return best, err
}

func (s Soft) withDefaults() Soft {
	outline, digest, leave := 500, digestMax, 3
	if s.All {
		outline, digest, leave = 150, 150, 0
	}
	s.StaleAfter, s.Leave = cmp.Or(s.StaleAfter, 3), cmp.Or(s.Leave, leave)
	s.OutlineMax, s.DigestMax = cmp.Or(s.OutlineMax, outline), cmp.Or(s.DigestMax, digest)
	return s
}

// A copyAction is the action for a copy.
type copyAction uint8

const (
	stays copyAction = iota
	outlined
	digested
	superseded
	replaced
	repeated
)

// A messagePlan holds the actions for the copies of a message.
type messagePlan struct {
	message int
	actions []copyAction
}

// A softPlan is a plan in progress.
type softPlan struct {
	Soft
	View
	index   *files.Index
	near    *files.Focus
	known   *files.Known
	todo    []messagePlan // in order of messages
	repeats []repeat
	folds   []bool  // messages that are dropped as repeats, or that note the count
	at      []int32 // for each message its index in todo plus one, or 0
	listed  int     // tokens that lists of names may still have
}

// decideActions sets the action of each copy.
func (p *softPlan) decideActions() {
	p.at = make([]int32, len(p.Messages))
	for i, m := range p.Messages[:max(0, len(p.Messages)-p.Leave)] {
		if p.folds[i] || p.Locked(i) || m.State != chat.Active || len(p.Facts[i].Copies) == 0 || m.HasOpaque() {
			continue
		}
		fates, found := make([]copyAction, len(p.Facts[i].Copies)), false
		for k, c := range p.Facts[i].Copies {
			fates[k] = p.actionFor(i, c)
			found = found || fates[k] != stays
		}
		if found {
			p.todo = append(p.todo, messagePlan{i, fates})
			p.at[i] = int32(len(p.todo))
		}
	}
}

func (p *softPlan) changesCopy(message, place int) bool {
	at := p.at[message]
	return at > 0 && p.todo[at-1].actions[place] != stays
}

func (p *softPlan) actionFor(i int, c files.Ref) copyAction {
	if c.Size < minBytes {
		return stays
	}
	switch {
	case p.standsAt(p.index.Repeated(i, c)):
		return repeated
	case p.standsAt(p.index.Superseded(i, c)):
		return superseded
	case c.Kind == files.Output:
		if len(p.Messages)-1-i >= p.StaleAfter && c.Size >= minOutput {
			return digested
		}
		return stays
	case p.index.ActiveEdit(c.Path), !p.All && !p.index.Stale(i, c, p.StaleAfter):
		return stays
	case c.Old:
		return replaced
	case !c.Whole && c.Size < p.minPart():
		return stays
	}
	return outlined
}

// minPart returns the minimum size, in bytes, of a part of a file that is outlined.
// Soft is meant for whole files: a range of lines that was read, or text that an edit
// wrote, is current work, and stays as long as it is small beside the window.
// Emergency compresses what it keeps.
func (p *softPlan) minPart() int {
	if p.All {
		return minPart
	}
	return max(minPart, bytesForTokens(int(partShare*float64(p.Window))))
}

// standsAt reports whether a pointer may refer to a message.
func (p *softPlan) standsAt(i int) bool { return i >= 0 && !p.folds[i] }

// shortenMessage makes the edit of one message; ok is false if it gains nothing.
func (p *softPlan) shortenMessage(d messagePlan) (e edit.Edit, ok bool) {
	m := p.Messages[d.message]
	recall := p.recallIDFor(d, m)
	changes, why := p.changesOf(d, m, recall)
	if len(changes) == 0 {
		return e, false
	}
	parts := slices.Clone(m.Parts)
	for i := range parts {
		if changes[i] == nil {
			continue
		}
		part, err := files.Replace(parts[i], changes[i])
		if err != nil {
			return e, false // facts of another message
		}
		parts[i] = part
	}
	changed := m.With(chat.Outlined, parts...)
	changed.Recall = recall
	if p.Size(changed) >= p.Sizes[d.message] {
		for _, c := range p.Facts[d.message].Copies {
			p.known.Add(c.Text(m))
		}
		return e, false
	}
	return edit.Edit{Start: d.message, End: d.message + 1, New: []chat.Message{changed}, Why: why}, true
}

// changesOf returns the replacements of the copies of a message, by part, and the
// reason. Names in them count as known from then on.
func (p *softPlan) changesOf(d messagePlan, m chat.Message, recall string) (changes map[int][]files.Change, why string) {
	var reasons []string
	for k, c := range p.Facts[d.message].Copies {
		if d.actions[k] == stays {
			continue
		}
		text, reason := p.replacementText(d.message, c, d.actions[k], recall)
		if text == "" || len(text) >= c.End-c.Start {
			p.known.Add(c.Text(m))
			continue
		}
		p.known.Add(text)
		p.listed -= p.ledgerTokens(text)
		if c.Framed() {
			text += "\n"
		}
		if changes == nil {
			changes = make(map[int][]files.Change)
		}
		changes[c.Part] = append(changes[c.Part], files.Change{Copy: c, Text: text})
		reasons = append(reasons, reason)
	}
	slices.Sort(reasons)
	return changes, strings.Join(slices.Compact(reasons), ", ")
}

// recallIDFor returns the recall id of a message's original text.
func (p *softPlan) recallIDFor(d messagePlan, m chat.Message) string {
	id := []string{m.ID}
	for k, c := range p.Facts[d.message].Copies {
		if d.actions[k] != stays {
			part := m.Parts[c.Part]
			id = append(id, part.ID, c.Arg, part.Text, part.Args)
		}
	}
	return p.recallID(id...)
}

// lostNames returns at most limit names of copy c, whose text is text, that are known
// nowhere else.
func (p *softPlan) lostNames(c files.Ref, text string, limit int) []string {
	names := p.named(p.known.Lost(c, text, p.near, limit), text)
	size := 0
	for _, n := range names {
		size += len(n) + len(", ")
	}
	if size > p.listed { // a token has at least one byte
		names = p.limitNames(names, p.listed)
	}
	return names
}

// ledgerTokens returns the tokens of the list of names in an outline or digest.
func (p *softPlan) ledgerTokens(text string) int {
	line := text[strings.LastIndexByte(text, '\n')+1:]
	if !files.IsLedgerLine(line) {
		return 0
	}
	return p.Count(line)
}

// replacementText returns the replacement of copy c, and the reason.
func (p *softPlan) replacementText(i int, c files.Ref, f copyAction, recall string) (text, why string) {
	switch f {
	case superseded:
		return files.Superseded(c.Path, recall), "superseded"
	case replaced:
		return files.Replaced(recall), "old text of an edit"
	case repeated:
		return files.Repeated(recall), "repeated"
	case digested:
		text := c.Text(p.Messages[i])
		limit := min(p.DigestMax, max(minDigest, partTokens(text, outputShare)))
		return c.Digest(text, files.DigestOptions{Max: limit, Count: p.Count, Recall: recall, Near: p.near,
			Ledger: p.lostNames(c, text, limit)}), "digest"
	default:
		now := p.index.Current(i, c)
		was := c.Text(p.Messages[i])
		limit := min(p.OutlineMax, partTokens(now.Text, fileShare))
		return now.Copy.Outline(now.Text, files.OutlineOptions{Max: limit, Count: p.Count, Recall: recall, Near: p.near, Note: now.Note,
			Edited: now.Edited, Ledger: p.lostNames(c, was, limit)}), "outline of " + c.Path
	}
}
