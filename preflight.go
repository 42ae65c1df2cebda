package tiercompact

import (
	"cmp"
	"context"
	"runtime"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/edit"
	"github.com/tiercompact/tiercompact/internal/sizes"
	"github.com/tiercompact/tiercompact/levels"
	"github.com/tiercompact/tiercompact/redact"
)

// Preflight compacts the session to three layers (what is protected, one
// summary, what is recent) where its usage is at Config.TriggerPct or it is
// over the budget. It is run before a model call. Neither cooldown nor MinGain
// applies.
func (s *Session) Preflight(ctx context.Context) (Report, error) {
	due := func(u Usage) (string, string) { return preflightDue(&s.cfg, u) } // called under the lock
	return s.compactNow(ctx, levels.LayerName, "", due, (*round).compactToLayers)
}

// Compact compacts the session to three layers now, whatever its usage, the
// cooldown or the trigger. The note is the user's wish, which the summarizer is
// given and the trace tells.
func (s *Session) Compact(ctx context.Context, note string) (Report, error) {
	return s.compactNow(ctx, levels.LayerName, note, byHandNow, (*round).compactToLayers)
}

// CompactLevel has one level do its work now, whatever the usage, the cooldown
// or the trigger. Where the conversation does not fit the budget afterwards,
// emergency and fit follow.
func (s *Session) CompactLevel(ctx context.Context, level levels.Name) (Report, error) {
	if _, err := levels.Parse(string(level)); err != nil {
		return Report{FirstChanged: -1}, err
	}
	return s.compactNow(ctx, level, "", byHandNow, func(r *round, ctx context.Context) error {
		r.cfg.Level = level // asked for by name: without cascade
		return r.planRound(ctx, decision{picked: level, over: true})
	})
}

// A dueCheck says why a round is made at a usage, or what is against it.
type dueCheck func(Usage) (cause, against string)

func byHandNow(Usage) (cause, against string) { return byHand, "" }

func preflightDue(cfg *settings, u Usage) (cause, against string) {
	switch {
	case cfg.NoAuto:
		return "", SwitchedOff
	case u.Tokens > u.Budget:
		return overBudget, ""
	case u.Share < cfg.TriggerPct:
		return "", BelowThreshold
	}
	return byUsage, ""
}

// compactNow makes a round at once, unless there is something against it.
func (s *Session) compactNow(ctx context.Context, picked levels.Name, note string, due dueCheck, plan func(*round, context.Context) error) (report Report, err error) {
	report, t, cause, err := s.beginRound(picked, due)
	if err != nil {
		return report, err
	}
	defer s.tellFaults(&report)
	if report.Reason == "" {
		defer s.markIdle() // before a sink is called, as in carryOut
	}
	s.emitEstimate(report.Usage)
	if report.Reason != "" {
		s.emitDecision(report, nil)
		return report, nil
	}
	r := s.newRound(t, cause)
	r.note = strings.ToValidUTF8(note, "\uFFFD")
	err = s.planAndCommit(ctx, r, &report, true, func(ctx context.Context) error { return plan(r, ctx) })
	return report, err
}

// beginRound makes the session busy and returns what to plan for and why, unless
// there is something against it.
func (s *Session) beginRound(picked levels.Name, due dueCheck) (report Report, t conversation, cause string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.currentUsage()
	report = Report{Picked: picked, Before: u.Tokens, After: u.Tokens, Usage: u, FirstChanged: -1}
	if err := s.checkEditable(); err != nil {
		return report, t, "", err
	}
	if cause, report.Reason = due(u); report.Reason != "" {
		return report, t, "", nil
	}
	s.busy = true
	return report, s.t.snapshot(), cause, nil
}

// An Option says more of a conversation that is sent as a whole.
type Option func(*fullHistory)

// WithTools gives the tool schemas that go with the request, as JSON; they count.
func WithTools(raw []byte) Option { return func(w *fullHistory) { w.tools = raw } }

// fullHistory is a conversation that is sent as a whole.
type fullHistory struct {
	id       string
	messages []chat.Message
	tools    []byte
	note     string
	due      dueCheck
}

// resentHistory is what is known of a conversation that is sent again and again. Its
// models and unkept are as in [Session].
type resentHistory struct {
	turn    chan struct{} // holds one token: requests of one id take turns
	rounds  []edit.Rewrite
	steps   int // archived
	models  outages
	unkept  *unkept
	sizes   sizes.Memo    // remembers nothing without an id
	secrets *redact.Known // secrets that a request held, which later ones may hold without their names
}

// Preflight is the form without a session, called before a model call with the
// whole history. Where usage is at Config.TriggerPct, or over the budget, the
// messages come back compacted to three layers, else as they were given.
//
// With an id, earlier rounds are made again first on what the client sends anew,
// so that a summary is made once and the server's prompt cache stays valid; usage
// is taken after that. A round is made again while what it replaced is in the
// history as it was; what it kept may change. It knows nothing of the session of
// the same id, if there is one; in the archive they share the id, and no step
// number is taken twice. Without an id nothing is remembered.
func (c *Compactor) Preflight(ctx context.Context, id string, messages []chat.Message, options ...Option) (chat.Transcript, Report, error) {
	w := fullHistory{id: id, messages: messages, due: func(u Usage) (string, string) { return preflightDue(&c.cfg, u) }}
	return c.compactHistory(ctx, w, options)
}

// Compact is the manual form of [Compactor.Preflight]: it compacts whatever the usage.
func (c *Compactor) Compact(ctx context.Context, id string, messages []chat.Message, note string, options ...Option) (chat.Transcript, Report, error) {
	w := fullHistory{id: id, messages: messages, note: note, due: byHandNow}
	return c.compactHistory(ctx, w, options)
}

func (c *Compactor) compactHistory(ctx context.Context, w fullHistory, options []Option) (chat.Transcript, Report, error) {
	for _, o := range options {
		o(&w)
	}
	known := c.resentHistoryOf(w.id)
	select {
	case known.turn <- struct{}{}:
		defer func() { <-known.turn }()
	case <-ctx.Done():
		return w.messages, Report{FirstChanged: -1}, ctx.Err()
	}
	t, fit := edit.Reapply(w.messages, known.rounds)
	known.rounds = fit
	s := c.startSession(cmp.Or(w.id, unnamedSession), known.secrets)
	u := known.countUsage(&s.cfg, t, s.cfg.toolTokens(w.tools))
	cause, against := w.due(u)
	report := Report{Picked: levels.LayerName, Before: u.Tokens, After: u.Tokens, Usage: u, FirstChanged: -1, Reason: against}
	s.emitEstimate(u)
	if report.Reason != "" {
		s.emitDecision(report, nil)
		s.tellFaults(&report)
		return t, report, nil
	}
	return c.runHistoryRound(ctx, s, w, known, t, cause, report)
}

// resentHistoryOf returns what is known of an id. Without one nothing is, and requests
// do not wait for each other.
func (c *Compactor) resentHistoryOf(id string) *resentHistory {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.replays[id]
	if known == nil {
		known = &resentHistory{turn: make(chan struct{}, 1), secrets: c.cfg.Redact.Known()}
		if id != "" {
			known.sizes = sizes.NewMemo()
			c.replays[id] = known
		}
	}
	return known
}

// runHistoryRound makes a round on t, what earlier rounds have left of w.messages,
// with s, a session of its own.
func (c *Compactor) runHistoryRound(ctx context.Context, s *Session, w fullHistory, known *resentHistory, t chat.Transcript, cause string, report Report) (chat.Transcript, Report, error) {
	conv := newConversation(s.cfg)
	for _, e := range s.cfg.measured(t) {
		conv.addMessage(e)
	}
	conv.tools = report.Usage.Tools
	s.steps, s.t, s.summary = known.steps, conv, conv.summaryNumber()
	s.models, s.unkept = known.models, known.unkept
	if len(known.rounds) > 0 {
		s.learnSecrets(w.messages) // the replayed ones may have lost what tells a secret
	}
	r := s.newRound(conv.snapshot(), cause)
	r.note = strings.ToValidUTF8(w.note, "\uFFFD")
	r.added = len(w.messages)
	err := s.planAndCommit(ctx, r, &report, true, r.compactToLayers)
	known.models, known.unkept, known.steps = s.models, s.unkept, s.steps
	s.tellFaults(&report)
	if !report.Compacted() {
		return t, report, err
	}
	if w.id != "" {
		if made, ok := edit.NewRewrite(t, r.before.messages, r.roundEdits().Steps); ok {
			known.rounds = append(known.rounds, made)
		}
	}
	return s.Messages(), report, err
}

// unnamedSession is the archive's name for conversations without an id.
const unnamedSession = "preflight"

// countUsage counts t, each message once in the life of the compactor's id.
func (k *resentHistory) countUsage(cfg *settings, t chat.Transcript, tools int) Usage {
	cores := runtime.GOMAXPROCS(0) // a model call waits for it
	if cfg.Count != nil {          // the caller's, which is watched in one goroutine
		cores = 1
	}
	made := count(cfg, func(own *counters) sizes.Sizes { return k.sizes.Count(cores, t, own.countMessage) })
	k.sizes.Keep(made)
	u := Usage{Tools: tools, Window: cfg.Window, Budget: cfg.budget.Limit()}
	for i, m := range t {
		switch m.Role {
		case chat.System:
			u.System += made.Tokens[i]
		case chat.Developer:
			u.Developer += made.Tokens[i]
		default:
			u.Messages += made.Tokens[i]
		}
	}
	u.Tokens = u.System + u.Developer + u.Messages + u.Tools
	u.Share = float64(u.Tokens) / float64(u.Window)
	return u
}
