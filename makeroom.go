package tiercompact

import (
	"context"
	"math"

	"github.com/tiercompact/tiercompact/levels"
)

// MakeRoom compacts the session as emergency does if a next message of so many
// tokens would not fit the budget, and a round frees what is missing. It is run
// when nobody waits, after an answer: otherwise somebody waits for the
// [Session.Preflight] that follows that message. The cooldown does not apply, as
// it does not where the budget is exceeded.
func (s *Session) MakeRoom(ctx context.Context, tokens int) (Report, error) {
	missing := 0
	tokens = max(0, min(tokens, math.MaxInt/8))    // no sum overflows
	due := func(u Usage) (cause, against string) { // called under the lock
		switch missing = u.Tokens + tokens - u.Budget; {
		case s.cfg.NoAuto || s.cfg.Trigger == Manual:
			return "", SwitchedOff
		case missing <= 0:
			return "", BelowThreshold
		}
		return forNextMessage, ""
	}
	return s.compactNow(ctx, levels.Emergency, "", due, func(r *round, ctx context.Context) error {
		r.cfg.MinGain = float64(missing) / float64(r.cfg.Window)
		r.noModel = r.hopelessReason()
		err := r.planLevel(ctx, levels.Emergency, decision{})
		if len(r.steps) > 0 && r.belowMinGain(r.before.totalTokens()-r.t.totalTokens()) {
			r.steps, r.little = nil, true
		}
		return err
	})
}
