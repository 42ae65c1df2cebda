package tiercompact

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/levels"
)

// A requestKind is the kind of request for a run.
type requestKind int

const (
	checkRequest     requestKind = iota // after a message: by usage, thresholds, trigger and cooldown
	preflightRequest                    // before a model call: three layers
	compactRequest                      // manual: three layers
	levelRequest                        // manual: one level
	roomRequest                         // in idle time: emergency, if the next message would not fit
	prepareRequest                      // in idle time: the round of a later check, planned only
)

// A request asks for a run. Every compaction begins with one.
type request struct {
	kind   requestKind
	level  levels.Name // of a levelRequest
	next   int         // tokens of the next message, of a roomRequest
	note   string      // the user's wish
	dryRun bool        // nothing is changed, archived or emitted
}

// A state is the input of a decision.
type state struct {
	usage        Usage
	t            *conversation // for a check; nil otherwise
	waits        map[levels.Name]levelWait
	open         bool // no cooldown
	busy, closed bool
	preparing    bool // a round is planned ahead at present
	warned       bool // about a fixed part over half of the window
}

// A decision says whether a round begins, and its kind.
type decision struct {
	request
	usage   Usage
	picked  levels.Name
	refused error  // why the run is refused; nil if it is not
	reason  string // why no round begins; "" if one does
	cause   string // why one begins
	forced  bool   // the round is made even if it frees little
	summary bool   // summary only: a message or context threshold
	missing int    // tokens that a roomRequest must free
	warning string
	crowded bool          // the fixed part is over half of the window
	t       *conversation // the conversation to plan for
}

// decide returns the decision for a request. It changes nothing.
func decide(cfg *settings, q request, st *state) decision {
	d := decision{request: q, usage: st.usage, picked: levels.LayerName, forced: true}
	if st.closed {
		d.refused = ErrClosed
	} else if st.busy && q.kind != checkRequest && q.kind != prepareRequest {
		d.refused = ErrBusy
	}
	switch q.kind {
	case checkRequest:
		d.decideCheck(cfg, st)
	case preflightRequest:
		d.decidePreflight(cfg)
	case roomRequest:
		d.decideRoom(cfg)
	case levelRequest:
		d.picked, d.cause = q.level, byHand
	case compactRequest:
		d.cause = byHand
	case prepareRequest:
		d.decidePrepare(cfg, st)
	}
	return d
}

func (d *decision) overBudget() bool { return d.usage.Tokens > d.usage.Budget }

// decideCheck decides the check after a message.
func (d *decision) decideCheck(cfg *settings, st *state) {
	over := d.overBudget()
	d.picked, d.forced = levels.None, over
	fixed := st.t.fixedTokens()
	d.crowded = 2*fixed > cfg.Window
	if d.crowded && !st.warned {
		d.warning = fmt.Sprintf("protected messages, tools and summary take %d of %d tokens, over half of the window: the thresholds apply to the rest; protect less, or use a larger window", fixed, cfg.Window)
	}
	if cfg.NoAuto || cfg.Trigger == Manual {
		d.reason = SwitchedOff
		return
	}
	d.picked, d.cause = pickLevel(cfg, st)
	d.summary = d.cause != byUsage
	d.forced = over || d.summary
	near := !d.belowBegin(cfg)
	if near && cfg.beginShare() > 0 && d.picked != levels.None && cfg.Level == "" {
		d.picked = levels.Emergency // the milder levels free too little for a prefill
	}
	if over && d.cause == byUsage {
		d.cause = overBudget
	}
	switch {
	case d.picked == levels.None && !over:
		d.reason = BelowThreshold
	case st.busy:
		d.reason = Busy
	case d.kind != prepareRequest && !roleAllows(cfg, st.t.messages, over):
		d.reason = ByRole
		if over {
			d.warning = "the conversation is over the budget; run Preflight before the model is called, or it is dealt with after the assistant's next message"
		}
	case !d.forced && !near:
		d.reason = BelowBudget
	case d.kind != prepareRequest && !over && !st.open:
		d.reason = InCooldown
	case !over && levelWaits(cfg, st, d.picked, d.summary):
		d.reason = st.waits[d.picked].reason
	case st.preparing && !over:
		d.reason = Busy // the check after the preparation makes its round
	case !st.open:
		d.cause = overBudgetAnyway
	}
}

func (d *decision) decidePreflight(cfg *settings) {
	switch {
	case cfg.NoAuto:
		d.reason = SwitchedOff
	case d.overBudget():
		d.cause = overBudget
	case d.usage.Share < cfg.Policy.TriggerPct:
		d.reason = BelowThreshold
	case cfg.Policy.TriggerPct == defaultTriggerPct && d.belowBegin(cfg):
		d.reason = BelowBudget
	default:
		d.cause = byUsage
	}
}

func (d *decision) decideRoom(cfg *settings) {
	next := max(0, min(d.next, math.MaxInt/8)) // no sum overflows
	d.picked, d.missing, d.cause = levels.Emergency, d.usage.Tokens+next-d.usage.Budget, forNextMessage
	switch {
	case cfg.NoAuto || cfg.Trigger == Manual:
		d.reason = SwitchedOff
	case d.missing <= 0:
		d.reason = BelowThreshold
	}
}

// steadyBegin is the share of the budget from which steady begins a round: each round
// costs a prefill, and the room below the budget is free until then.
const steadyBegin = 0.95

// belowBegin reports whether usage is below the share of the budget from which a round
// begins.
func (d *decision) belowBegin(cfg *settings) bool {
	return float64(d.usage.Tokens) < cfg.beginShare()*float64(d.usage.Budget)
}

// beginShare returns the share of the budget from which a round begins by itself. If the
// caller has set thresholds, they alone decide.
func (cfg *settings) beginShare() float64 {
	if cfg.Preset != Steady || !maps.Equal(cfg.Thresholds, levels.Thresholds(nil).WithDefaults(string(Steady))) {
		return 0
	}
	return steadyBegin
}

// pickLevel returns the level that is due and the reason; a message or context
// threshold selects the summary.
func pickLevel(cfg *settings, st *state) (picked levels.Name, cause string) {
	if n := cfg.Policy.MessageThreshold; n > 0 && st.t.unsummarised >= n {
		return levels.Emergency, byMessages
	}
	if c := cfg.Policy.ContextThreshold; c > 0 && st.usage.Share >= c {
		return levels.Emergency, byContext
	}
	share := st.usage.Share
	if fixed := st.t.fixedTokens(); 2*fixed > cfg.Window && fixed < cfg.Window {
		share = float64(st.usage.Tokens-fixed) / float64(cfg.Window-fixed)
	}
	picked = cfg.Thresholds.Select(share)
	if picked != levels.None && cfg.Level != "" {
		picked = cfg.Level
	}
	return picked, byUsage
}

// decidePrepare decides the check that would follow if usage were higher: the first
// level that would then be due is prepared. Neither role nor cooldown matters yet.
func (d *decision) decidePrepare(cfg *settings, st *state) {
	if st.busy || st.preparing {
		d.picked, d.reason = levels.None, Busy
		return
	}
	begun, near, below := *d, *st, ""
	for ahead := range prepareAhead + 1 {
		near.usage = st.usage
		near.usage.Tokens = max(st.usage.Tokens, min(st.usage.Tokens+ahead*cfg.Window/100, st.usage.Budget))
		near.usage.Share = float64(near.usage.Tokens) / float64(cfg.Window)
		*d = begun
		d.usage = near.usage
		d.decideCheck(cfg, &near)
		d.usage = st.usage
		if below = cmp.Or(below, d.reason); d.reason == "" {
			return
		}
	}
	d.reason = below
}

// roleAllows reports whether the newest message may start a round.
func roleAllows(cfg *settings, t chat.Transcript, over bool) bool {
	if cfg.Trigger != AssistantOnly {
		return true
	}
	if len(t) == 0 {
		return false
	}
	m := t[len(t)-1]
	return m.Role == chat.Assistant && !m.HasCalls() || over && m.Role == chat.Tool
}

// A levelWait records when a level last had nothing to offer.
type levelWait struct {
	messageTokens int    // tokens of the conversation at that time
	staleTokens   int    // tokens older than the newest messages at that time
	reason        string // why the level was put off
}

// newestKept is how many messages soft does not change, so that older ones can go
// stale.
const newestKept = 3

// staleTokens returns the tokens of all but the newest messages.
func (c *conversation) staleTokens() int {
	sum := c.messageTokens()
	for _, n := range c.sizes[max(0, len(c.sizes)-newestKept):] {
		sum -= n
	}
	return sum
}

// waitingSince returns the wait of a level that had nothing to offer for a conversation.
func waitingSince(planned *conversation, reason string) levelWait {
	return levelWait{messageTokens: planned.messageTokens(), staleTokens: planned.staleTokens(), reason: reason}
}

// minNews is the share of the window that must be added or go stale before a level that
// had nothing to offer is tried again.
const minNews = 0.02

// levelWaits reports whether a level freed too little and too few tokens were added or
// went stale since. For a message or context threshold (summary) MinGain does not
// apply: only a summary that changed nothing waits.
func levelWaits(cfg *settings, st *state, level levels.Name, summary bool) bool {
	w, waiting := st.waits[level]
	if !waiting || summary && w.reason != NothingToDo {
		return false
	}
	share := max(cfg.MinGain, minNews)
	if summary {
		share = minNews
	}
	need := int(share * float64(cfg.Window))
	return st.t.messageTokens()-w.messageTokens < need && st.t.staleTokens()-w.staleTokens < need
}

// run executes every request: decide, plan, commit, report.
func (s *Session) run(ctx context.Context, q request) (Report, error) {
	s.mu.Lock()
	o := s.begin(q)
	s.mu.Unlock()
	return s.carryOut(ctx, &o)
}

// begin decides, and makes the session busy if a round begins: carryOut ends that. Its
// caller holds the lock.
func (s *Session) begin(q request) outcome {
	st := s.currentState()
	d := decide(&s.cfg, q, &st)
	var prepared *preparation
	if d.refused == nil && d.reason == "" {
		t := s.t.snapshot()
		d.t = &t
		if !q.dryRun {
			s.busy = true
			prepared = s.takePreparation(d)
		}
	}
	s.warned = s.warned || d.crowded && !q.dryRun
	return outcome{decision: d, prepared: prepared}
}

// currentState returns the input of a decision. Its caller holds the lock.
func (s *Session) currentState() state {
	return state{
		usage: s.currentUsage(), t: &s.t, waits: s.wait, open: s.cfg.gate.Open(s.gate),
		busy: s.busy, closed: s.closed, preparing: s.preparation.isRunning(), warned: s.warned,
	}
}

// snapshot returns a copy that later additions do not change.
func (c *conversation) snapshot() conversation {
	s := *c
	n := len(c.messages)
	s.messages, s.sizes = c.messages[:n:n], c.sizes[:n:n]
	s.terms, s.facts = c.terms[:n:n], c.facts[:n:n]
	return s
}

// currentUsage returns the tokens of each part of the conversation. Its caller holds
// the lock.
func (s *Session) currentUsage() Usage {
	u := Usage{
		System: s.t.system, Developer: s.t.developer, Tools: s.t.tools, Messages: s.t.rest,
		Tokens: s.promptTokens(), Window: s.cfg.Window, Budget: s.cfg.budget.Limit(),
	}
	u.Share = float64(u.Tokens) / float64(u.Window)
	return u
}

// promptTokens returns the tokens of the conversation by the server's count, estimated.
func (s *Session) promptTokens() int { return s.cal.Tokens(s.t.totalTokens(), s.anchor) }

// A preparation is a round that is planned before it is due.
type preparation struct {
	decision
	cancel         context.CancelFunc
	done           chan struct{} // closed when the planning has ended
	sessionSummary int           // the number of the newest session summary when it began
	window         int           // then
	round          *round        // set before done is closed; nil if there is nothing to make
	report         Report        // set before done is closed
}

// isRunning reports whether p is planned at present.
func (p *preparation) isRunning() bool {
	if p == nil {
		return false
	}
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// takePreparation removes the preparation from the session, and returns it if it can
// hold the round of a decision. Its caller holds the lock.
func (s *Session) takePreparation(d decision) *preparation {
	p := s.preparation
	if p != nil && p.suits(d) {
		s.preparation = nil
		return p
	}
	s.dropPreparation()
	return nil
}

// suits reports whether p is for the level of d.
func (p *preparation) suits(d decision) bool {
	switch d.kind {
	case checkRequest:
		return p.picked == d.picked && p.summary == d.summary
	case preflightRequest, roomRequest:
		return p.picked == levels.Emergency
	}
	return false
}

// dropPreparation cancels and forgets the preparation. Its caller holds the lock.
func (s *Session) dropPreparation() {
	if s.preparation != nil {
		s.preparation.cancel()
		s.preparation = nil
	}
}

// An outcome is the result of a run. Report and events are made from it.
type outcome struct {
	decision
	prepared *preparation // that may hold the round; nil for none
	round    *round       // nil if none was planned
	skip     string       // why the planned round is not made; "" if it is
	failed   string       // stage of err: plan, archive or record
	err      error
	number   int   // of the round in the archive
	after    Usage // usage after the round
}

// carryOut plans and makes the round of a decision, and reports the outcome.
func (s *Session) carryOut(ctx context.Context, o *outcome) (Report, error) {
	if o.refused == nil && o.reason == "" && !o.dryRun {
		defer s.markIdle() // before a sink is called: a sink cannot keep the session busy for ever
	}
	s.emitCheck(o)
	if o.refused == nil && o.reason == "" {
		s.makeRound(ctx, o)
	}
	return s.reportOutcome(o)
}

// markIdle ends the session's round.
func (s *Session) markIdle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy = false
}

// markBusy makes the session busy until markIdle is called, or returns why the
// conversation cannot be changed manually now.
func (s *Session) markBusy() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.changeError(); err != nil {
		return err
	}
	s.busy = true
	s.dropPreparation()
	return nil
}

// changeError returns why the conversation cannot be changed manually now, nil if it
// can. Its caller holds the lock.
func (s *Session) changeError() error {
	switch {
	case s.closed:
		return ErrClosed
	case s.busy:
		return ErrBusy
	}
	return nil
}
