package recall

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/tiercompact/tiercompact/embed"
)

func timeOf(seconds int64) time.Time { return time.Unix(seconds, 0).UTC() }

// A filler fills a number of tokens with hits.
type filler struct {
	*snapshot
	store       *readers
	query       Query
	termWeights map[uint32]int
	left        int
	hits        []Hit
	shown       map[string]bool   // passages
	lines       map[string]bool   // lines of shown passages of code
	groups      map[hitPlace]bool // messages with a heading
	before      *Hit              // the hit before
	perTerm     int               // see learn
	damage      error
}

func (q Query) count(text string) int {
	if q.Count != nil {
		return q.Count(text)
	}
	return (len(text) + 2) / 3
}

// fill adds the best passages that fit, the best first, none twice. Reading a passage
// costs much more than ranking it, so few are read at a time, and none that is too long.
func (f *filler) fill(ctx context.Context, all []ranked) error {
	misses := 0
	const maxMisses = 40
	for step := 6; len(all) > 0 && misses < maxMisses && f.left >= 12; step = min(96, 2*step) {
		var next []ranked
		for len(all) > 0 && len(next) < step {
			if len(f.hits) == 0 || !f.tooLong(all[0].doc) {
				next = append(next, all[0])
			}
			all = all[1:]
		}
		docs := make([]int32, len(next))
		for i, r := range next {
			docs[i] = r.doc
		}
		messages, err := f.readMessages(ctx, f.store, docs)
		if messages == nil && len(docs) > 0 {
			return err
		}
		f.damage = errors.Join(f.damage, err)
		for i, r := range next {
			if f.query.Max > 0 && len(f.hits) >= f.query.Max || misses >= maxMisses {
				return nil
			}
			if len(f.hits) > 0 && f.tooLong(r.doc) {
				continue
			}
			h, ok := f.hitOf(r.doc, messages[i])
			if !ok || !f.add(ctx, h, r) {
				misses++
				continue
			}
			misses = 0
		}
	}
	return nil
}

// tooLong reports whether a passage has too many terms to fit: a name of several parts
// has more terms than tokens. Beside hits, a passage with half their tokens for a term
// has to fit too, unless it is so long that add may cut it.
func (f *filler) tooLong(doc int32) bool {
	terms := int(f.lengths[doc])
	if least := terms * f.perTerm / 100; least > 2*f.left && 3*least < f.query.limit() {
		return true
	}
	return terms > 3*f.left+20
}

// learn keeps the fewest tokens for 100 terms of a hit.
func (f *filler) learn(doc int32, tokens int) {
	const minTerms = 20 // below, headings count too much
	if terms := int(f.lengths[doc]); terms >= minTerms {
		if n := 100 * tokens / terms; f.perTerm == 0 || n < f.perTerm {
			f.perTerm = n
		}
	}
}

// add adds a hit if it fits: whole, or the lines that match if it is long.
func (f *filler) add(ctx context.Context, h Hit, r ranked) bool {
	key := strings.Join(strings.Fields(h.Text), " ")
	if key == "" || f.shown[key] {
		return false
	}
	h.Score = r.score
	h.Matches = f.matches(h)
	if n := f.query.Neighbours; n > 0 {
		h.Before, h.After = f.around(ctx, int(r.at)-n, int(r.at), h), f.around(ctx, int(r.at)+1, int(r.at)+1+n, h)
	}
	if f.repeats(h) {
		return false
	}
	n := f.cost(&h)
	f.learn(r.doc, n)
	if n > f.left {
		if len(f.hits) > 0 && n < f.query.limit()/3 {
			return false // a shorter one may fit
		}
		if h, n = f.cut(h); n > f.left || h.Text == "" {
			return false
		}
	}
	f.shown[key] = true
	f.showLines(h)
	f.groups[h.place()] = true
	f.left -= n
	f.hits = append(f.hits, h)
	f.before = &f.hits[len(f.hits)-1]
	return true
}

// cost returns the tokens that h adds to the printed text.
func (f *filler) cost(h *Hit) int {
	var b strings.Builder
	if f.groups[h.place()] && !h.isShort() {
		b.WriteString(h.heading(true, h.To) + h.Text + "\n")
	} else {
		printedGroup{h}.print(&b, f.before)
	}
	return f.query.count(b.String())
}

// trim drops the last hits while the printed text is too long: the costs of its parts
// are not exactly its own.
func (f *filler) trim() {
	for len(f.hits) > 1 && f.query.count(Result{Hits: f.hits}.Text()) > f.query.limit() {
		f.hits = f.hits[:len(f.hits)-1]
	}
}

// minLine is the size of a line that says something.
const minLine = 12

// repeats reports whether the shown passages have all lines of h.
func (f *filler) repeats(h Hit) bool {
	if !f.code || h.Tool == "" {
		return false
	}
	all, known := 0, 0
	for line := range strings.SplitSeq(h.Text, "\n") {
		if line = strings.TrimSpace(line); len(line) >= minLine {
			all++
			if f.lines[line] {
				known++
			}
		}
	}
	return all > 0 && known == all
}

func (f *filler) showLines(h Hit) {
	for line := range strings.SplitSeq(h.Text, "\n") {
		if line = strings.TrimSpace(line); len(line) >= minLine {
			f.lines[line] = true
		}
	}
}

func (q Query) limit() int { return cmp.Or(max(0, q.Tokens), DefaultTokens) }

// cut returns h with as many lines around its best matches as fit.
func (f *filler) cut(h Hit) (Hit, int) {
	lines := strings.Split(h.Text, "\n")
	best := 0
	if len(h.Matches) > 0 {
		best = min(max(0, h.Matches[0].Number-h.From), len(lines)-1)
	}
	whole, from := h, h.From
	try := func(first, last int) (Hit, int) {
		c := whole
		c.Text, c.Cut, c.From, c.To = strings.Join(lines[first:last+1], "\n"), true, from+first, from+last
		c.Title = c.title()
		return c, f.cost(&c)
	}
	first, last := best, best
	out, n := try(first, last)
	if n > f.left { // a line that is too long: as much of it as fits
		room := (f.left - 40) * 2
		if room < 40 {
			return Hit{}, 0
		}
		lines[best] = clipped(lines[best], room)
		return try(first, last)
	}
	for {
		a, b := max(0, first-1), min(len(lines)-1, last+1)
		if a == first && b == last {
			return out, n
		}
		wider, more := try(a, b)
		if more > f.left {
			return out, n
		}
		first, last, out, n = a, b, wider, more
	}
}

// matches returns the lines with most words of the query, the best first, at most three.
func (f *filler) matches(h Hit) []Line {
	type scored struct {
		Line
		n int
	}
	var all []scored
	number := h.From
	for line := range strings.SplitSeq(h.Text, "\n") {
		n := 0
		for hash := range embed.TermsOfText(line).Counts() {
			n += f.termWeights[hash]
		}
		if n > 0 {
			all = append(all, scored{Line{number, clipped(strings.TrimSpace(line), 160)}, n})
		}
		number++
	}
	slices.SortStableFunc(all, func(a, b scored) int { return cmp.Compare(b.n, a.n) })
	out := []Line{}
	for _, s := range all[:min(3, len(all))] {
		out = append(out, s.Line)
	}
	return out
}

// around returns the passages of h's session between two places in its conversation.
func (f *filler) around(ctx context.Context, from, to int, h Hit) (out []Hit) {
	from, to = max(0, from), min(len(f.order), to)
	if from >= to {
		return nil
	}
	docs := f.order[from:to]
	messages, err := f.readMessages(ctx, f.store, docs)
	f.damage = errors.Join(f.damage, err)
	for k := range messages {
		if n, ok := f.hitOf(docs[k], messages[k]); ok && n.Session == h.Session {
			n.Matches = []Line{}
			out = append(out, n)
		}
	}
	return out
}
