package summarize

import (
	"context"
	"errors"
)

// A pace limits the input of a model that did not answer in time: a server may
// continue with a prompt after the client has left, and delay the next request. The
// zero pace sets no limit.
type pace struct {
	input, request int // tokens of messages, for one summary and for one request; 0: no bound
	limit          int // tokens of the summary; 0: no bound
	inTime         int // consecutive summaries in time
}

const (
	minPace   = 256 // minimum tokens of messages, whatever the pace
	easyPace  = 4   // summaries in time after which the input is doubled
	fullInput = defaultInput
	minLimit  = minPart
)

// late returns the pace after a request that passed its deadline: tokens of
// messages in it, given in all requests. writes says that the model had begun to
// write.
func (p pace) late(given, request, limit int, writes bool) pace {
	p.input, p.request, p.inTime = max(given/2, minPace), max(request/2, minPace), 0
	if writes {
		p.limit = max(limit/2, minLimit)
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

// within returns n, or the limit if that is less.
func within(n, bound int) int {
	if bound > 0 {
		return min(n, bound)
	}
	return n
}

// isLate reports whether ctx ended because a deadline passed: a cancellation says
// nothing about the model.
func isLate(ctx context.Context) bool {
	return ctx.Err() != nil && !errors.Is(context.Cause(ctx), context.Canceled)
}
