package tiercompact

import (
	"fmt"
	"strings"
	"time"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/edit"
	"github.com/tiercompact/tiercompact/internal/protection"
	"github.com/tiercompact/tiercompact/levels"
	"github.com/tiercompact/tiercompact/trace"
)

// Usage has the tokens of each part of a conversation. System, Developer, Tools and
// Messages are local counts; Tokens is the server's count, estimated by the
// calibration.
type Usage struct {
	System    int     `json:"system"`
	Developer int     `json:"developer"`
	Tools     int     `json:"tools_schema"`
	Messages  int     `json:"messages"`
	Tokens    int     `json:"tokens"`
	Window    int     `json:"window"`
	Budget    int     `json:"budget"`
	Share     float64 `json:"usage"` // Tokens / Window
}

// Reasons why a check did not compact.
const (
	BelowThreshold = "below threshold"
	BelowBudget    = "below budget" // below 0.95 of the budget steady begins no round
	InCooldown     = "cooldown"
	ByRole         = "role"
	ByMinGain      = "min_gain"
	Busy           = "busy"
	NothingToDo    = "nothing to do"
	SwitchedOff    = "off" // trigger manual, or automatic compaction turned off
)

// Causes of a round, in the archive and the trace.
const (
	byUsage          = "usage"
	byMessages       = "message_threshold"
	byContext        = "context_threshold"
	byHand           = "by hand"
	forNextMessage   = "room for the next message"
	overBudget       = "over the budget"
	overBudgetAnyway = "over the budget, in the cooldown"
)

// A Report describes the outcome of a run. The zero Report, of a run that did nothing,
// comes with an error.
type Report struct {
	Message  string      `json:"message,omitempty"` // id of the message that was added
	Picked   levels.Name `json:"picked"`            // "" if there was no decision
	Applied  []Applied   `json:"applied,omitempty"` // in order; empty if nothing changed
	Reason   string      `json:"reason,omitempty"`  // why nothing changed; "" if something did
	Before   int         `json:"before"`            // tokens
	After    int         `json:"after"`
	Usage    Usage       `json:"usage"`              // after
	Prepared bool        `json:"prepared,omitempty"` // the round was planned ahead, by [Session.Prepare]
	Step     int         `json:"step,omitempty"`     // number of the round in the archive
	// FirstChanged is the index of the first changed message, if Applied is not empty;
	// Prefill is the number of tokens from there on, which the server must read again.
	FirstChanged int           `json:"first_changed"`
	Prefill      int           `json:"prefill"`
	Edits        []Edit        `json:"edits,omitempty"`
	Kept         Kept          `json:"kept"` // messages that a preflight or manual compaction kept; zero otherwise
	Warnings     []string      `json:"warnings,omitempty"`
	Took         time.Duration `json:"took_ns"`
}

// Compacted reports whether the check changed the conversation.
func (r Report) Compacted() bool { return len(r.Applied) > 0 }

// Freed returns the number of tokens that the round freed.
func (r Report) Freed() int { return r.Before - r.After }

// Applied is a level's part in a round.
type Applied struct {
	Level    levels.Name   `json:"level"`
	Before   int           `json:"before"` // tokens
	After    int           `json:"after"`
	Engine   string        `json:"engine,omitempty"`   // engine of the ranking or summary
	Why      string        `json:"why,omitempty"`      // reason for the engine
	Fallback string        `json:"fallback,omitempty"` // the fallback that was used
	Attempts []Attempt     `json:"attempts,omitempty"` // failures before, in order
	Removed  int           `json:"removed,omitempty"`  // lines that a summary's verification removed
	Took     time.Duration `json:"took_ns"`
}

// An Attempt is a ranking or a summary that failed or was rejected.
type Attempt struct {
	Engine string `json:"engine"`
	Reason string `json:"reason"`
	Then   string `json:"then"` // the fallback
}

// Kept is a keep-recent policy in its applied form.
type Kept struct {
	Turns int `json:"keep_recent_turns,omitempty"`
	Pairs int `json:"keep_tool_io_pairs,omitempty"`
}

// An Edit is one change of a round, by indices in the input of its level.
type Edit struct {
	Level  levels.Name    `json:"level"`
	Start  int            `json:"start"`
	End    int            `json:"end"`           // exclusive
	IDs    []string       `json:"ids,omitempty"` // of the messages replaced
	New    []chat.Message `json:"-"`
	Put    int            `json:"new"` // number of messages in their place
	Why    string         `json:"why"`
	Recall string         `json:"recall,omitempty"`
	Before int            `json:"before"` // tokens
	After  int            `json:"after"`
}

// A BudgetError reports that the messages which must stay exceed the budget. It unwraps
// to [ErrInsufficientBudget].
type BudgetError struct {
	Budget, Tokens, Floor                int
	System, Tools, Pinned, Last, Stubbed int // tokens of each part of the floor
}

// Unwrap returns [ErrInsufficientBudget].
func (e *BudgetError) Unwrap() error { return ErrInsufficientBudget }

func (e *BudgetError) Error() string {
	return fmt.Sprintf("conversation does not fit the budget: at least %d tokens are left of %d allowed (system %d, tools %d, pinned %d, last turn %d, stubs %d); protect less, or use a larger window",
		e.Floor, e.Budget, e.System, e.Tools, e.Pinned, e.Last, e.Stubbed)
}

// report returns the report of a run before its round, if there is one.
func (d *decision) report() Report {
	return Report{Picked: d.picked, Reason: d.reason, Before: d.usage.Tokens, After: d.usage.Tokens, Usage: d.usage}
}

// emitCheck emits the decision of a run, before a model call.
func (s *Session) emitCheck(o *outcome) {
	if o.dryRun || o.refused != nil {
		return
	}
	if o.warning != "" {
		s.emitRemedy(o.warning)
	}
	u := o.usage
	s.emitEvent(trace.TokenEstimate{
		Model: s.cfg.Model, TEst: u.Tokens, MaxTokens: u.Window, UsagePct: u.Share,
		Breakdown: trace.Breakdown{System: u.System, Developer: u.Developer, ToolsSchema: u.Tools, Messages: u.Messages},
	})
}

// reportOutcome returns the report of a run, and emits its events.
func (s *Session) reportOutcome(o *outcome) (report Report, err error) {
	report = o.report()
	if o.warning != "" && !o.dryRun {
		report.Warnings = append(report.Warnings, o.warning)
	}
	switch {
	case o.refused != nil:
		err = o.refused
	case o.round != nil:
		err = s.reportRound(o, &report)
	default:
		s.emitDecision(o, report)
	}
	s.reportFaults(&report)
	if !o.dryRun {
		s.reportRestorations(&report)
	}
	return report, s.cfg.redactError(err)
}

// reportRound fills in the result of a planned round, or why it was not made.
func (s *Session) reportRound(o *outcome, report *Report) (err error) {
	r := o.round
	switch {
	case o.failed != "":
		err = s.reportFailure(o, report)
	case o.skip != "":
		report.Reason = o.skip
		s.emitDecision(o, *report)
	default:
		r.fillReport(report, o.number)
		if !o.dryRun {
			s.reportMade(o, report)
		}
	}
	if o.failed == "" && !r.fitsBudget() {
		over := r.budgetError()
		err = over
		s.emitError(o, trace.Error{ErrorType: "insufficient_budget", Message: over.Error(), Fallback: string(levels.FitName)})
	}
	if !o.dryRun {
		report.Took = s.cfg.Now().Sub(r.began)
	}
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

// reportFailure reports a round that was not made because of a failure: as the error,
// or as a warning if the archive is optional.
func (s *Session) reportFailure(o *outcome, report *Report) error {
	failed := *report
	failed.Reason = o.failed + " failed"
	s.emitDecision(o, failed)
	s.emitError(o, trace.Error{ErrorType: o.failed, Message: o.err.Error()})
	if o.failed != "archive" || !s.cfg.ArchiveOptional {
		return o.err
	}
	report.Reason = NothingToDo
	report.Warnings = append(report.Warnings, s.cfg.redactError(o.err).Error())
	return nil
}

// reportMade reports a round that replaced the conversation.
func (s *Session) reportMade(o *outcome, report *Report) {
	if w := o.round.warning; w != "" {
		report.Warnings = append(report.Warnings, w)
		s.emitRemedy(w)
	}
	report.Usage = o.after
	s.emitDecision(o, *report)
	if s.cfg.Trace != nil {
		s.emitLevels(o.round, report.Prefill)
		s.emitArchival(o)
	}
}

// reportFaults reports the errors of callbacks since the last report: the run
// continued with the fallbacks.
func (s *Session) reportFaults(report *Report) {
	for _, err := range s.cfg.faults.Take() {
		text := s.cfg.redactText(err.Error())
		report.Warnings = append(report.Warnings, text)
		s.emitEvent(trace.Error{ErrorType: "callback", Message: text})
	}
}

// reportRestorations warns of session files that were rewritten.
func (s *Session) reportRestorations(report *Report) {
	s.mu.Lock()
	restored := s.restored
	s.restored = nil
	s.mu.Unlock()
	for _, r := range restored {
		report.Warnings = append(report.Warnings, r.String())
		s.emitRemedy(r.String())
	}
}

// emitDecision emits the decision and its outcome.
func (s *Session) emitDecision(o *outcome, report Report) {
	if o.dryRun {
		return
	}
	s.mu.Lock()
	t, buffer := s.cfg.Thresholds, s.cfg.budget.Buffer
	s.mu.Unlock()
	d := trace.TriggerDecision{
		Triggered: report.Compacted(), Reason: report.Reason, Level: string(report.Picked),
		Policy: trace.Policy{
			TriggerPct: s.cfg.Policy.TriggerPct, HardCapBuffer: buffer, Strategy: string(s.cfg.Policy.Strategy),
			Thresholds: t,
		},
	}
	now := s.cfg.Now()
	began := now
	if r := o.round; r != nil {
		began, d.Note = r.began, r.note
		if d.Reason == "" {
			d.Reason = r.cause
		}
		if d.Triggered {
			pruned := max(0, len(r.before.messages)-len(r.t.messages)) // there may be more markers than removed messages
			d.Kept, d.PrunedCount = r.keptCounts(), &pruned
		}
	}
	s.emitSpan(began, now, d)
}

func (s *Session) emitError(o *outcome, e trace.Error) {
	if !o.dryRun {
		s.emitEvent(e)
	}
}

// fillReport fills in the effects of the round.
func (r *round) fillReport(report *Report, number int) {
	report.Reason, report.Step, report.Kept, report.Prepared = "", number, r.kept, r.ahead
	report.After = r.currentTokens()
	for _, st := range r.steps {
		if n := len(report.Applied); n > 0 && report.Applied[n-1].Level == st.level {
			report.Applied[n-1].After = st.to
			report.Applied[n-1].Took += st.ended.Sub(st.began)
		} else {
			report.Applied = append(report.Applied, st.appliedLevel())
		}
		report.Edits = append(report.Edits, st.reportedEdits(r.cfg)...)
	}
	report.FirstChanged = edit.FirstChanged(r.before.messages, r.t.messages)
	if report.FirstChanged >= 0 {
		for _, n := range r.t.sizes[report.FirstChanged:] {
			report.Prefill += n
		}
		report.Prefill = r.serverTokens(report.Prefill)
	}
}

func (st *levelStep) appliedLevel() Applied {
	return Applied{
		Level: st.level, Before: st.from, After: st.to, Engine: st.engine, Why: st.why, Fallback: st.fallback,
		Attempts: st.attempts, Removed: st.removed, Took: st.ended.Sub(st.began),
	}
}

func (st *levelStep) reportedEdits(cfg *settings) []Edit {
	out := make([]Edit, 0, len(st.edits))
	for k, e := range st.edits {
		x := Edit{Level: st.level, Start: e.Start, End: e.End, New: e.New, Put: len(e.New), Why: cfg.redactText(e.Why), Recall: replacementID(e)}
		for i := e.Start; i < e.End; i++ {
			x.IDs = append(x.IDs, st.before.messages[i].ID)
			x.Before += st.before.sizes[i]
		}
		x.After = st.after[k]
		out = append(out, x)
	}
	return out
}

func (r *round) keptCounts() *trace.Kept {
	stands := make(map[string]bool, len(r.t.messages))
	k := new(trace.Kept)
	for i, m := range r.t.messages {
		stands[m.ID] = true
		if r.view.Protections[i]&protection.Pinned != 0 {
			k.Pinned++
		}
	}
	k.RecentTurns, k.ToolPairs = protection.Kept(r.before.messages, func(m chat.Message) bool { return stands[m.ID] })
	return k
}

// emitLevels emits the effect of each level of a round.
func (s *Session) emitLevels(r *round, prefill int) {
	for i, st := range r.steps {
		if st.grows {
			continue // it is part of the level before
		}
		rest := r.steps[i+1:]
		if len(rest) > 0 && rest[0].grows {
			st.to, rest = rest[0].to, rest[1:]
		}
		applied := trace.LevelApplied{
			Level: string(st.level), Before: st.from, After: st.to, Freed: st.from - st.to, Engine: st.engine, Why: st.why,
			FirstChanged: edit.FirstChanged(st.before.messages, r.t.messages),
		}
		if len(rest) == 0 { // the server reads again once a round, however many levels it has
			applied.PrefillTokens = prefill
		}
		s.emitSpan(st.began, st.ended, applied)
		kind := "ranking"
		if st.summary != nil {
			kind = "summary"
		}
		for _, a := range st.attempts {
			s.emitEvent(trace.Error{ErrorType: kind, Message: a.Engine + ": " + a.Reason, Fallback: a.Then})
		}
		if st.summary != nil {
			s.emitSummary(st, st.summary)
		}
	}
}

// emitArchival emits the result of a round, and its place in the archive.
func (s *Session) emitArchival(o *outcome) {
	s.emitEvent(trace.PrunedMessages{Layers: o.round.layerTotals()})
	adapter, where := archive.Where(s.cfg.Archive, s.id, o.number)
	put := trace.Archival{SessionID: s.id, Step: o.number, StorageAdapter: adapter}
	if adapter == "s3" {
		put.S3Key = where
	} else {
		put.FilePath = where
	}
	s.emitEvent(put)
}

func (s *Session) emitSummary(st levelStep, sum *levels.Summary) {
	if sum.Message == nil {
		return
	}
	s.emitSpan(st.began, st.ended, trace.SummaryCreated{
		Strategy: string(s.cfg.Policy.Strategy), InputMessages: sum.InputMessages, SummaryTokens: sum.Tokens,
		CompressionRatio: float64(sum.Tokens) / float64(max(1, sum.InputTokens)), Removed: sum.Removed,
		Fallback: sum.Fallback, Payload: sum.Payload,
	})
}

func (s *Session) emitSpan(began, ended time.Time, p trace.Payload) {
	s.cfg.Trace.Emit(trace.New(s.id, began, ended, p))
}

func (r *round) layerTotals() trace.Layers {
	var l trace.Layers
	for i, m := range r.t.messages {
		layer := &l.Recent
		switch {
		case m.IsSummary():
			layer = &l.Summary
		case r.view.Protections[i]&protection.Pinned != 0:
			layer = &l.Pinned
		}
		layer.Messages++
		layer.Tokens += r.t.sizes[i]
	}
	return l
}

func (s *Session) emitEvent(p trace.Payload) {
	if s.cfg.Trace == nil {
		return
	}
	now := s.cfg.Now()
	s.cfg.Trace.Emit(trace.New(s.id, now, now, p))
}

func (s *Session) emitWarning(severity, message, remedy string) {
	s.emitEvent(trace.Warning{Severity: severity, Message: message, Remedy: remedy})
}

// emitRemedy emits a warning; the text after its semicolon is the remedy.
func (s *Session) emitRemedy(text string) {
	message, remedy, _ := strings.Cut(text, "; ")
	s.emitWarning("medium", message, remedy)
}
