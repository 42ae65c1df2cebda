package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
)

// Counted returns count with a memory, safe for concurrent use: a session that
// is cut at many places is counted many times.
func Counted(count func(string) int) func(string) int {
	var mu sync.Mutex
	known := make(map[string]int)
	return func(text string) int {
		mu.Lock()
		n, ok := known[text]
		mu.Unlock()
		if !ok {
			n = count(text)
			mu.Lock()
			known[text] = n
			mu.Unlock()
		}
		return n
	}
}

// A Share is a part of a whole, added up over cuts and sessions.
type Share struct{ Part, Whole int }

func (s *Share) add(part, whole int) { s.Part += part; s.Whole += whole }

// Of returns the share as a number of 0 to 1, 0 where there is no whole.
func (s Share) Of() float64 { return float64(s.Part) / float64(max(1, s.Whole)) }

// Kept is what a way kept of what the work needs next. Each measure has its own
// size: the share of the tokens that was left at its cuts.
type Kept struct {
	Identifiers, IdentifierSize Share
	Edits, EditSize             Share
	Orphans                     int // calls and results that lost their partner
}

// Add cuts a session as DESIGN section 13 says, has way make what stands before
// each cut smaller, and adds what it kept. A session of fewer than 40 messages
// adds nothing.
func (k *Kept) Add(session chat.Transcript, way Way, count func(string) int) error {
	if len(session) < leastSession {
		return nil
	}
	for percent := 30; percent < 100; percent += 10 {
		cut := SafeCut(session, len(session)*percent/100)
		before, after := session[:cut:cut], session[cut:]
		anchors, need := Anchors(before, after), map[string]bool(nil)
		if percent == 60 {
			need = Needed(before, after)
		}
		if len(anchors) == 0 && len(need) == 0 {
			continue
		}
		left, err := way.Make(before, count)
		if err != nil {
			return fmt.Errorf("%s, cut at %d: %w", way.Name, cut, err)
		}
		was, is := Size(before, count), Size(left, count)
		if len(need) > 0 {
			k.Identifiers.add(Present(need, left), len(need))
			k.IdentifierSize.add(is, was)
		}
		if len(anchors) > 0 {
			k.Edits.add(Holding(anchors, left), len(anchors))
			k.EditSize.add(is, was)
		}
		calls, results := Orphans(before)
		newCalls, newResults := Orphans(left)
		k.Orphans += max(0, newCalls-calls) + max(0, newResults-results)
	}
	return nil
}

// leastSession is how many messages a session has that says something.
const leastSession = 40

// Replayed returns the way of cfg: the messages go through AddMessage one by one,
// in a window of a share of their tokens.
func Replayed(name string, cfg tiercompact.Config, window float64) Way {
	return Way{name, func(t chat.Transcript, count func(string) int) (chat.Transcript, error) {
		s, err := replay(t, cfg, int(window*float64(Size(t, count))), nil, nil)
		if err != nil {
			return nil, err
		}
		return s.Messages(), nil
	}}
}

// replay adds t to a session of its own, and calls each before each message
// with what stands then.
func replay(t chat.Transcript, cfg tiercompact.Config, window int, each func(i int, s *tiercompact.Session), done func(tiercompact.Report)) (*tiercompact.Session, error) {
	cfg.Window = window
	c, err := tiercompact.New(cfg)
	if err != nil {
		return nil, err
	}
	s := c.Session("bench")
	for i, m := range t {
		if each != nil {
			each(i, s)
		}
		report, err := s.AddMessage(context.Background(), m)
		if err != nil && !errors.Is(err, tiercompact.ErrInsufficientBudget) {
			return nil, err
		}
		if done != nil {
			done(report)
		}
	}
	return s, nil
}

// Refill adds up what a server must read anew over a whole session, with
// compaction and without.
type Refill struct {
	Prefill  Share // tokens with compaction, of those without
	Rounds   int   // compactions
	Sessions int
}

// Add replays a session in a window of a share of its tokens, with a request
// before each message of the assistant.
func (r *Refill) Add(session chat.Transcript, cfg tiercompact.Config, window float64, count func(string) int) error {
	if len(session) < leastSession {
		return nil
	}
	with, without := NewPrefill(count), NewPrefill(count)
	_, err := replay(session, cfg, int(window*float64(Size(session, count))), func(i int, s *tiercompact.Session) {
		if i > 0 && session[i].Role == chat.Assistant {
			with.Request(s.Messages())
			without.Request(session[:i:i])
		}
	}, func(report tiercompact.Report) {
		if report.Compacted() {
			r.Rounds++
		}
	})
	if err != nil {
		return err
	}
	r.Prefill.add(with.Tokens, without.Tokens)
	r.Sessions++
	return nil
}
