package recall

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tiercompact/tiercompact/archive"
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
	shown       map[string]bool
	before      *Hit // the hit before, in print
	damage      error
}

func (q Query) count(text string) int {
	if q.Count != nil {
		return q.Count(text)
	}
	return (len(text) + 2) / 3
}

// fill adds the best passages that fit, the best first, none twice.
func (f *filler) fill(ctx context.Context, all []ranked) error {
	misses := 0
	for from, step := 0, 8; from < len(all) && misses < 40 && f.left >= 12; {
		docs := make([]int32, 0, step)
		for _, r := range all[from:min(len(all), from+step)] {
			docs = append(docs, r.doc)
		}
		messages, err := f.readMessages(ctx, f.store, docs)
		if messages == nil {
			return err
		}
		f.damage = errors.Join(f.damage, err)
		for i, d := range docs {
			if f.query.Most > 0 && len(f.hits) >= f.query.Most || misses >= 40 {
				return nil
			}
			h, ok := f.hitOf(d, messages[i])
			if !ok || !f.add(h, all[from+i].score) {
				misses++
				continue
			}
			misses = 0
		}
		from, step = from+len(docs), min(96, 2*step)
	}
	return nil
}

// add adds a hit if it fits: whole, or the lines that match if it is long.
func (f *filler) add(h Hit, score float64) bool {
	key := strings.Join(strings.Fields(h.Text), " ")
	if key == "" || f.shown[key] {
		return false
	}
	h.Score = score
	h.Matches = f.matches(h)
	text := h.block(f.before)
	n := f.query.count(text)
	if n > f.left {
		if len(f.hits) > 0 && n < f.query.limit()/3 {
			return false // a shorter one may fit
		}
		if h, n = f.cut(h); n > f.left || h.Text == "" {
			return false
		}
	}
	f.shown[key] = true
	f.left -= n
	f.hits = append(f.hits, h)
	f.before = &f.hits[len(f.hits)-1]
	return true
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
		return c, f.query.count(c.block(f.before))
	}
	first, last := best, best
	out, n := try(first, last)
	if n > f.left { // a line that is too long: as much of it as fits
		room := max(0, f.left-40) * 2
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

// addNeighbours adds the passages before and after each hit.
func (s *snapshot) addNeighbours(ctx context.Context, store *readers, hits []Hit, at []int, n int) error {
	for i := range hits {
		around := func(from, to int) (out []Hit, err error) {
			from, to = max(0, from), min(len(s.order), to)
			if from >= to {
				return nil, nil
			}
			docs := s.order[from:to]
			messages, err := s.readMessages(ctx, store, docs)
			for k := range messages {
				if h, ok := s.hitOf(docs[k], messages[k]); ok && h.Session == hits[i].Session {
					out = append(out, h)
				}
			}
			return out, err
		}
		var err, err2 error
		hits[i].Before, err = around(at[i]-n, at[i])
		hits[i].After, err2 = around(at[i]+1, at[i]+1+n)
		if err = errors.Join(err, err2); err != nil && !errors.Is(err, archive.ErrDamaged) {
			return err
		}
	}
	return nil
}

// Text returns the hits as they are printed: the best first, a short message on a line.
func (r Result) Text() string {
	var b strings.Builder
	var before *Hit
	for i := range r.Hits {
		b.WriteString(r.Hits[i].block(before))
		before = &r.Hits[i]
	}
	return b.String()
}

// block returns a hit as it is printed after another.
func (h *Hit) block(before *Hit) string {
	var b strings.Builder
	short := h.isShort()
	where := ""
	if before == nil || before.ID != h.ID || before.Session != h.Session {
		where = "recall " + h.ID
		if before == nil || before.Session != h.Session {
			where += fmt.Sprintf(" (session %s, %s)", oneLine(h.Session), h.Time.Format(time.DateOnly))
		}
	}
	if where != "" && (short || before == nil) {
		fmt.Fprintf(&b, "%s:\n", where)
		where = ""
	}
	for i := range h.Before {
		fmt.Fprintf(&b, "before it, %s\n", h.Before[i].line())
	}
	switch {
	case short:
		fmt.Fprintf(&b, "%s\n", h.line())
	case where != "":
		fmt.Fprintf(&b, "== %s, %s\n%s\n", h.Title, where, h.Text)
	default:
		fmt.Fprintf(&b, "== %s\n%s\n", h.Title, h.Text)
	}
	for i := range h.After {
		fmt.Fprintf(&b, "after it, %s\n", h.After[i].line())
	}
	return b.String()
}

// isShort reports whether a hit is printed on one line.
func (h *Hit) isShort() bool {
	return h.Tool == "" && h.Parts == 1 && !strings.Contains(h.Text, "\n") && len(h.Text) <= 1000
}

// line returns a hit on one line.
func (h *Hit) line() string {
	if h.Tool != "" || strings.Contains(h.Text, "\n") {
		return h.Title + ": " + clipped(oneLine(h.Text), 160)
	}
	return fmt.Sprintf("%d %s: %s", h.Message, h.Role, h.Text)
}
