package summarize

import (
	"context"
	"errors"
)

// A pace bounds what is given to a model that did not answer in time: a server
// that reads a prompt may go on with it when nobody waits any more, and let
// the next request wait. The zero pace bounds nothing.
type pace struct {
	input, request int // tokens of messages, for one summary and for one request; 0: no bound
	limit          int // tokens of the summary; 0: no bound
	inTime         int // summaries in a row that came in time
}

const (
	leastPace  = 256 // tokens of messages, whatever the pace
	easyPace   = 4   // summaries in time after which twice as much is given
	fullInput  = defaultInput
	leastLimit = leastPart
)

// late returns the pace after a request with so many tokens of messages, of
// given in all, passed its deadline. writes says that the model had begun to
// write.
func (p pace) late(given, request, limit int, writes bool) pace {
	p.input, p.request, p.inTime = max(given/2, leastPace), max(request/2, leastPace), 0
	if writes {
		p.limit = max(limit/2, leastLimit)
	}
	return p
}

// answered returns the pace after a summary that came in time.
func (p pace) answered() pace {
	if p == (pace{}) {
		return p
	}
	if p.inTime++; p.inTime < easyPace {
		return p
	}
	p = pace{2 * p.input, 2 * p.request, 2 * p.limit, 0}
	if p.input > fullInput {
		return pace{}
	}
	return p
}

// within returns n, or the bound where that is less.
func within(n, bound int) int {
	if bound > 0 {
		return min(n, bound)
	}
	return n
}

// isLate reports whether ctx ended because a deadline was passed: an end that
// somebody asked for says nothing of the model.
func isLate(ctx context.Context) bool {
	return ctx.Err() != nil && !errors.Is(context.Cause(ctx), context.Canceled)
}
