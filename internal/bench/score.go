package bench

import (
	"context"
	"errors"
	"sync"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
)

// Counted returns count with a cache, safe for concurrent use: a session with many
// cuts is counted many times.
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

// A Share is a part of a whole, summed over cuts and sessions.
type Share struct{ Part, Whole int }

func (s *Share) addShare(part, whole int) { s.Part += part; s.Whole += whole }

// Of returns the share as a number from 0 to 1, 0 if there is no whole.
func (s Share) Of() float64 { return float64(s.Part) / float64(max(1, s.Whole)) }

// Kept is what a way retained of what the work needs next. Each measure has its own
// size: the share of the tokens left at its cuts.
type Kept struct {
	Identifiers, IdentifierSize Share
	Placed                      Share // identifiers in their place; its size is IdentifierSize
	Edits, EditSize             Share
	Orphans                     int // calls and results that lost their partner
	Truth                       Truth
}

// minSession is the minimum number of messages of a meaningful session.
const minSession = 40

// replayMessages adds t to a new session, and calls each before each message with
// the current conversation, and done after it.
func replayMessages(ctx context.Context, t chat.Transcript, cfg tiercompact.Config, each func(i int, s *tiercompact.Session), done func(tiercompact.Report)) (*tiercompact.Session, error) {
	c, err := tiercompact.New(cfg)
	if err != nil {
		return nil, err
	}
	s := c.Session("bench")
	for i, m := range t {
		if each != nil {
			each(i, s)
		}
		report, err := s.AddMessage(ctx, m)
		if ignoreOverBudget(err) != nil {
			return nil, err
		}
		if done != nil {
			done(report)
		}
	}
	return s, nil
}

// ignoreOverBudget returns err, unless it says that a conversation does not fit:
// that is measured too.
func ignoreOverBudget(err error) error {
	if errors.Is(err, tiercompact.ErrInsufficientBudget) {
		return nil
	}
	return err
}
