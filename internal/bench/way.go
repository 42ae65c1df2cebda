package bench

import (
	"context"
	"fmt"
	"strconv"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/bench/corpus"
	"github.com/tiercompact/tiercompact/levels"
)

// A way is the subject of a row.
type way struct {
	row      Row // its names
	preset   tiercompact.Preset
	baseline *Way // nil: a preset
}

func (o Options) singleLevel(preset tiercompact.Preset, level string) *way {
	return &way{row: Row{Name: fmt.Sprintf("%s %s", preset, level), Kind: Alone, Preset: string(preset), Level: level}, preset: preset}
}

func (o Options) replayed(preset tiercompact.Preset, level string, window float64) *way {
	name := fmt.Sprintf("%s %s %s", preset, level, shareName(window))
	return &way{row: Row{Name: name, Kind: Replay, Preset: string(preset), Level: level, Window: window}, preset: preset}
}

// shareName is a share with two decimals, or with all that it has: each is
// different.
func shareName(share float64) string {
	exact := strconv.FormatFloat(share, 'f', -1, 64)
	if short := strconv.FormatFloat(share, 'f', 2, 64); len(short) >= len(exact) {
		return short
	}
	return exact
}

// A part is the effect of a way on one session.
type part struct {
	kept          Kept
	facts         map[corpus.Kind]Share
	before, after int // tokens
	freed         Freed
	soft          SoftPart
	refill        Refill
}

// measurePart measures a way on a session.
func (r *runner) measurePart(ctx context.Context, w *way, s *subject) (part, error) {
	p := part{before: s.size}
	for _, c := range s.cuts {
		left, err := r.applyWay(ctx, w, c.before, c.size)
		if err != nil {
			return p, fmt.Errorf("cut at %d: %w", len(c.before), err)
		}
		p.kept.addCut(c, left, r.Config.Count)
	}
	end, err := r.compactWhole(ctx, w, s, &p)
	if err != nil {
		return p, err
	}
	p.after = Size(end, r.Config.Count)
	p.kept.Orphans += max(0, countOrphans(end)-s.orphans)
	if w.row.Kind == Alone && levels.Find(levels.Name(w.row.Level)).Work == levels.Ranking {
		p.facts, err = r.askedFacts(ctx, w, s)
		return p, err
	}
	p.facts = countFactsIn(s.facts, end, "")
	return p, nil
}

// applyWay returns the outcome of w on t, which has size tokens.
func (r *runner) applyWay(ctx context.Context, w *way, t chat.Transcript, size int) (chat.Transcript, error) {
	switch w.row.Kind {
	case Baseline:
		return w.baseline.Make(t, r.Config.Count)
	case Alone:
		left, _, err := r.compactOnce(ctx, w, t, size)
		return left, err
	}
	s, err := replayMessages(ctx, t, r.compactorConfig(w.preset, w.row.Level, windowOf(w, size)), nil, nil)
	if err != nil {
		return nil, err
	}
	return s.Messages(), nil
}

func windowOf(w *way, size int) int { return int(w.row.Window * float64(size)) }

// roomy is the window of a level alone, as a share of the tokens: the conversation
// fits, at a usage of 0.8, so that only the level is measured.
const roomy = 1.25

// compactOnce compacts t with one level only.
func (r *runner) compactOnce(ctx context.Context, w *way, t chat.Transcript, size int) (chat.Transcript, tiercompact.Report, error) {
	c, err := tiercompact.New(r.compactorConfig(w.preset, w.row.Level, int(roomy*float64(size))))
	if err != nil {
		return nil, tiercompact.Report{}, err
	}
	s := c.Session("bench")
	if err := s.Load(t); err != nil {
		return nil, tiercompact.Report{}, err
	}
	report, err := s.CompactLevel(ctx, levels.Name(w.row.Level))
	return s.Messages(), report, ignoreOverBudget(err)
}

// compactWhole compacts a whole session with w, and records the cost in p.
func (r *runner) compactWhole(ctx context.Context, w *way, s *subject, p *part) (chat.Transcript, error) {
	switch w.row.Kind {
	case Baseline:
		if len(s.messages) >= minSession {
			p.refill.addPolicy(s.messages, *w.baseline, windowOf(w, s.size), r.Config.Count)
		}
		return w.baseline.Make(s.messages, r.Config.Count)
	case Alone:
		left, report, err := r.compactOnce(ctx, w, s.messages, s.size)
		p.addReport(report)
		return left, err
	}
	end, err := p.refill.addReplay(ctx, s.messages, r.compactorConfig(w.preset, w.row.Level, windowOf(w, s.size)), r.Config.Count, p.addReport)
	if len(s.messages) < minSession {
		p.refill = Refill{}
	}
	return end, err
}

// addReport records the freed tokens of a round.
func (p *part) addReport(report tiercompact.Report) {
	p.freed.Add(report)
	for _, e := range report.Edits {
		if e.Level == levels.SoftName {
			p.soft.addReasons(e.Why, e.Before-e.After)
		}
	}
}
