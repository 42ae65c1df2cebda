package tiercompact

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/guard"
	"github.com/tiercompact/tiercompact/internal/protection"
	"github.com/tiercompact/tiercompact/levels"
	"github.com/tiercompact/tiercompact/trace"
)

// runDecision has the round planned that a check decided on, archives it, and puts
// its outcome in the conversation's place.
func (s *Session) runDecision(ctx context.Context, d decision) (report Report, err error) {
	report = Report{Picked: d.picked, Reason: d.reason, Before: d.usage.Tokens, After: d.usage.Tokens, Usage: d.usage, FirstChanged: -1}
	if d.reason == "" {
		defer s.markIdle() // before a sink is called: whatever it does, the session is not busy for ever
	}
	defer s.tellFaults(&report)
	s.addWarning(&report, d.warning)
	s.emitEstimate(d.usage)
	if d.reason != "" {
		s.emitDecision(report, nil)
		return report, nil
	}
	r := s.newRound(d.t, d.cause)
	err = s.planAndCommit(ctx, r, &report, d.over || d.summary, func(ctx context.Context) error { return r.planRound(ctx, d) })
	return report, err
}

// planAndCommit has a round planned and made. The report says what came of it. While
// the archive cannot be written, no model is asked for what could not be kept.
func (s *Session) planAndCommit(ctx context.Context, r *round, report *Report, forced bool, plan func(context.Context) error) error {
	other, err := s.archiveAgain(ctx, r)
	if other {
		r.unsure = "the archive failed: it is asked before a model is"
	}
	if err != nil && !other {
		err = s.reportUnarchived(r, report, err)
	} else if r, err = r.planned(ctx, plan); err != nil {
		s.emitFailure(*report, r, "plan", err)
	} else {
		err = s.commitRound(ctx, r, report, forced)
	}
	s.mu.Lock()
	s.models = r.models
	s.mu.Unlock()
	report.Took = s.cfg.Now().Sub(r.began)
	return s.cfg.redactError(err)
}

// planned has plan fill r. It returns r, or where a call of Count in it does not
// return, r as it was: whatever still goes on then goes on with the given-up one.
func (r *round) planned(ctx context.Context, plan func(context.Context) error) (*round, error) {
	was := *r
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	_, err := guard.Watch(r.cfg.counting, func() (struct{}, error) {
		return struct{}{}, guard.Recovered(func() error { return r.plan(ctx, plan) })
	})
	if late, ok := errors.AsType[*CallbackError](err); ok && late.Callback == r.cfg.guards.count.Name {
		return &was, err
	}
	return r, err
}

// reportUnarchived reports a round that could not be archived: as the error, or where
// the archive is optional as a warning.
func (s *Session) reportUnarchived(r *round, report *Report, err error) error {
	s.emitFailure(*report, r, "archive", err)
	if !s.cfg.ArchiveOptional {
		return err
	}
	report.Reason = NothingToDo
	report.Warnings = append(report.Warnings, s.cfg.redactError(err).Error())
	return nil
}

// Plan returns what the next check would do with the conversation as it stands,
// and why, and changes nothing. A model that the level needs is asked.
func (s *Session) Plan(ctx context.Context) (report Report, err error) {
	s.mu.Lock()
	if len(s.t.messages) == 0 {
		s.mu.Unlock()
		return Report{Picked: levels.None, Reason: BelowThreshold, FirstChanged: -1}, nil
	}
	warned := s.warned
	d := s.decideRound()
	s.warned = warned
	if d.reason == "" {
		s.busy = false
	}
	s.mu.Unlock()
	report = Report{Picked: d.picked, Reason: d.reason, Before: d.usage.Tokens, After: d.usage.Tokens, Usage: d.usage, FirstChanged: -1}
	if d.reason != "" {
		return report, nil
	}
	defer s.tellFaults(&report)
	made := s.newRound(d.t, d.cause)
	r, err := made.planned(ctx, func(ctx context.Context) error { return made.planRound(ctx, d) })
	if err != nil {
		return report, s.cfg.redactError(err)
	}
	if report.Reason = r.skipReason(d.over || d.summary); report.Reason == "" {
		r.fillReport(&report, 0)
	}
	if !r.fitsBudget() {
		return report, r.budgetError()
	}
	return report, nil
}

func (s *Session) newRound(t conversation, cause string) *round {
	s.learnSecrets(t.messages)
	s.mu.Lock()
	defer s.mu.Unlock()
	cfg := *s.cfg.counted()
	const many = 1 << 20
	ratio := float64(s.cal.Void().Tokens(many, 0)) / many
	r := newRound(&cfg, t, ratio, s.summary, s.steps)
	r.cause, r.models, r.added, r.unlisted = cause, s.models, s.t.added, slices.Clone(s.unlisted)
	return r
}

// markIdle ends the session's one round.
func (s *Session) markIdle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy = false
}

// commitRound archives a planned round and swaps it in, or puts its level off where
// it has too little to offer. It fills the report.
func (s *Session) commitRound(ctx context.Context, r *round, report *Report, forced bool) error {
	if report.Reason = r.skipReason(forced); report.Reason != "" {
		s.mu.Lock()
		s.deferLevel(report.Picked, report.Reason, &r.before)
		s.mu.Unlock()
		s.emitDecision(*report, r)
		return s.reportOverBudget(r)
	}
	number, err := s.archiveRound(ctx, r, report)
	if err != nil {
		return s.reportUnarchived(r, report, err)
	}
	if err := s.swapOutcome(r, number); err != nil {
		s.emitFailure(*report, r, "record", err)
		return err
	}
	s.letGoOldRounds()
	r.fillReport(report, number)
	s.addWarning(report, r.warning)
	s.mu.Lock()
	report.Usage = s.currentUsage()
	s.mu.Unlock()
	s.emitRound(*report, r, number)
	return s.reportOverBudget(r)
}

// skipReason returns why the round is not worth making, "" where it is.
func (r *round) skipReason(forced bool) string {
	switch {
	case len(r.steps) == 0 && r.little:
		return ByMinGain
	case len(r.steps) == 0:
		return NothingToDo
	case !forced && r.belowMinGain(r.before.totalTokens()-r.t.totalTokens()):
		return ByMinGain
	}
	return ""
}

// reportOverBudget returns the error of a conversation that is as small as it can be
// made, and still too large.
func (s *Session) reportOverBudget(r *round) error {
	if r.fitsBudget() {
		return nil
	}
	err := r.budgetError()
	s.emitEvent(trace.Error{ErrorType: "insufficient_budget", Message: err.Error(), Fallback: string(levels.TruncateName)})
	return err
}

func (r *round) budgetError() *BudgetError {
	e := &BudgetError{Budget: r.cfg.budget.Limit(), Tokens: r.currentTokens(), Floor: r.currentTokens(), Tools: r.serverTokens(r.t.tools)}
	for i, m := range r.t.messages {
		n := r.serverTokens(r.t.sizes[i])
		switch h := r.view.Protections[i]; {
		case m.IsSummary():
			e.Stubbed += n
		case m.Role == chat.System || m.Role == chat.Developer:
			e.System += n
		case h&protection.Latest != 0:
			e.Last += n
		case h&protection.Pinned != 0:
			e.Pinned += n
		default:
			e.Stubbed += n
		}
	}
	return e
}

// archiveStep archives a under its number, or the next one where the archive knows the
// session from elsewhere: an earlier process, or a write that failed late.
// All of it has one deadline.
func archiveStep(ctx context.Context, store archive.Store, within time.Duration, a archive.Step) (number int, err error) {
	if within > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, within)
		defer stop()
	}
	const tries = 100 // each means that somebody else took the number
	for range tries {
		err = guard.Recovered(func() error { return store.Put(ctx, a) }) // a redactor in front of it may fail
		if !errors.Is(err, archive.ErrExists) {
			break
		}
		infos, listErr := store.Steps(ctx, a.Session)
		if listErr != nil {
			return a.Number, errors.Join(err, listErr)
		}
		a.Number = max(a.Number+1, archive.Next(infos))
	}
	return a.Number, err
}

// swapOutcome puts the round's outcome in the place of what it was planned for. The
// messages that arrived meanwhile follow it.
func (s *Session) swapOutcome(r *round, number int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	made := archive.Round{Number: number, Level: r.strongestLevel(), Edits: r.roundEdits(), Time: s.cfg.Now()}
	if err := s.writeRecord(func(f Recorder) error { return f.Round(made) }); err != nil {
		return err
	}
	for _, e := range r.gone {
		s.t.recalls.Add(e.ID)
	}
	s.unlisted = r.unlisted
	n := len(r.before.messages)
	arrived := len(s.t.messages) - n
	s.t = r.t.withLaterMessages(&s.t, n)
	s.gate = s.cfg.gate.Start(arrived)
	s.cal, s.anchor = s.cal.Void(), 0
	s.summary = r.number - 1
	d := s.cfg.newDone(number, r.before.messages, r.t.messages, r.gone)
	d.made = true
	s.rounds = append(s.rounds, d)
	clear(s.wait)
	return nil
}
