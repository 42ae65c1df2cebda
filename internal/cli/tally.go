package cli

import (
	"fmt"
	"time"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/internal/bench"
	"github.com/tiercompact/tiercompact/internal/screen"
)

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
	return fmt.Errorf("%w: %s tokens of %s allowed at the end; the trigger never had it compacted", tiercompact.ErrInsufficientBudget,
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

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// totalEnding returns the end, with a line for each applied level, and for each of
// the three that a reader expects.
func (t *tally) totalEnding(messages int) ending {
	e := t.end
	e.Messages, e.Fits, e.Levels = messages, e.Usage.Tokens <= e.Usage.Budget, t.freed.Levels()
	return e
}
