package tiercompact

import (
	"context"
	"slices"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/edit"
)

// prepareAhead is the distance to a threshold from which a round is prepared, in
// hundredths of the window.
const prepareAhead = 10

// Prepare plans the round of a later check, if usage is at its threshold or within a
// tenth of the window below it. It returns when the plan is ready: call it in idle time,
// in its own goroutine. The report describes the planned round, as that of
// [Session.Plan] does. Neither the conversation nor the archive changes.
//
// When a round is due in [Session.AddMessage], [Session.Check], [Session.Preflight] or
// [Session.MakeRoom], the prepared round takes effect without a call of a model, and is
// archived like any other. The messages that were added since follow it. It is dropped,
// and a round is planned as usual, if anything else has changed, another level is due,
// or its result is not small enough now.
//
// One preparation runs at a time, and none during a round: Reason is then [Busy].
// Messages can be added during a preparation. If a round is due, such a message reports
// Busy, and a later check makes the round; only over the budget does it wait for the
// preparation. Compact, CompactLevel, Undo, Rewind, Protect, SetWindow and Close cancel
// the preparation, as does the end of ctx; Prepare then returns the error of a context.
func (s *Session) Prepare(ctx context.Context) (Report, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.mu.Lock()
	if p := s.preparation; p != nil && !p.isRunning() && s.stillFits(p) {
		s.mu.Unlock()
		return p.report, nil
	}
	o := s.begin(request{kind: prepareRequest, dryRun: true})
	var p *preparation
	if o.reason == "" && s.failedStep != nil {
		o.reason = NothingToDo // a round could not be archived now
	}
	if o.refused == nil && o.reason == "" {
		p = &preparation{decision: o.decision, cancel: cancel, done: make(chan struct{}), sessionSummary: s.summary, window: s.cfg.Window}
		s.preparation = p
		defer s.endPreparation(p)
	}
	s.mu.Unlock()
	report, err := s.carryOut(ctx, &o)
	if err == nil {
		err = ctx.Err()
	}
	if p != nil && err == nil && o.skip == "" {
		o.round.ahead, report.Prepared = true, true
		p.round, p.report = o.round, report
	}
	return report, err
}

// endPreparation ends the planning of p. A preparation without a round is forgotten.
func (s *Session) endPreparation(p *preparation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(p.done)
	if s.preparation != p {
		return
	}
	if p.round == nil {
		s.preparation = nil
	} else if !s.busy {
		s.models = p.round.models
	}
}

// preparedRound returns the prepared round of an outcome, nil if a round must be
// planned. It waits for a preparation that is running.
func (s *Session) preparedRound(ctx context.Context, o *outcome) *round {
	p := o.prepared
	if p == nil {
		return nil
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		p.cancel()
		return nil
	}
	if p.round == nil {
		return nil
	}
	s.learnSecrets(o.t.messages)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.isAppended(p, o.t) {
		return nil
	}
	r := p.round
	r.append(o.t, s.serverRatio())
	r.began, r.cause, r.models, r.added = r.cfg.Now(), o.cause, s.models, o.t.added
	if !r.isEnough(o.decision) {
		return nil
	}
	return r
}

// stillFits reports whether the prepared round would be made if it were due now. Its
// caller holds the lock.
func (s *Session) stillFits(p *preparation) bool {
	t := s.t.snapshot()
	if !s.isAppended(p, &t) {
		return false
	}
	r := *p.round
	r.ratio = s.serverRatio()
	left := r.t.totalTokens() + t.totalTokens() - r.before.totalTokens()
	return r.serverTokens(left) <= r.cfg.budget.Limit()
}

// isAppended reports whether t is the conversation that p was planned for, with only
// messages added at the end. Its caller holds the lock.
func (s *Session) isAppended(p *preparation, t *conversation) bool {
	r, n := p.round, len(p.round.before.messages)
	return r.step == s.steps+1 && p.sessionSummary == s.summary && p.window == s.cfg.Window && n <= len(t.messages) &&
		slices.EqualFunc(r.before.messages, t.messages[:n], func(a, b chat.Message) bool {
			return a.Protected == b.Protected && edit.Same(a, b)
		})
}

// append makes r the same round on the longer conversation t. The edits are the same,
// because t has its further messages at the end.
func (r *round) append(t *conversation, ratio float64) {
	later := t.totalTokens() - r.before.totalTokens()
	n := len(r.before.messages)
	r.before, r.sum, r.ratio = *t, "", ratio
	r.setConversation(r.t.withLaterMessages(t, n))
	r.setMinGain(t)
	for i := range r.steps {
		st := &r.steps[i]
		st.from, st.to = r.serverTokens(st.before.totalTokens()+later), r.currentTokens()
		if i > 0 {
			r.steps[i-1].to = st.from
		}
	}
}

// isEnough reports whether r does what the decision asks for.
func (r *round) isEnough(d decision) bool {
	tokens := r.currentTokens()
	switch d.kind {
	case preflightRequest:
		return r.fitsBudget() && float64(tokens) < r.cfg.Policy.TriggerPct*float64(r.cfg.Window)
	case roomRequest:
		return d.usage.Tokens-tokens >= d.missing
	}
	return r.fitsBudget() && r.skipReason(d.forced) == ""
}
