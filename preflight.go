package tiercompact

import (
	"cmp"
	"context"
	"runtime"
	"slices"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/edit"
	"github.com/tiercompact/tiercompact/internal/sizes"
	"github.com/tiercompact/tiercompact/redact"
)

// An Option adds to a request with the whole conversation.
type Option func(*fullHistory)

// WithTools sets the tool schemas of the request, as JSON; their tokens count.
func WithTools(raw []byte) Option { return func(w *fullHistory) { w.tools = raw } }

// fullHistory is the input of a request with the whole conversation.
type fullHistory struct {
	id       string
	messages []chat.Message
	tools    []byte
	request
}

// resentHistory is the state of a conversation that is sent repeatedly. models and
// failedStep are as in [Session].
type resentHistory struct {
	turn       chan struct{} // holds one token: requests of one id run in turn
	rounds     []edit.Rewrite
	steps      int // archived
	models     outages
	failedStep *failedStep
	sizes      sizes.Memo    // caches nothing without an id
	secrets    *redact.Known // secrets of earlier requests: later ones may hold them without their names
}

// Preflight is the form without a session, called before a model call with the whole
// history. If usage is at Policy.TriggerPct, or over the budget, it returns the
// messages compacted to three layers, otherwise unchanged. With the preset [Steady] and
// the default of TriggerPct, a round begins at 0.95 of the budget at the earliest.
//
// With an id, it first replays earlier rounds on the resent history, so that a summary
// is written once and the server's prompt cache stays valid; usage is measured after
// that. A round is replayed while the messages that it replaced are unchanged in the
// history; the messages that it kept may change. The state is separate from a session
// with the same id, but both share the id in the archive, and step numbers are
// unique. Without an id, there is no state.
func (c *Compactor) Preflight(ctx context.Context, id string, messages []chat.Message, options ...Option) (chat.Transcript, Report, error) {
	w := fullHistory{id: id, messages: messages, request: request{kind: preflightRequest}}
	return c.compactHistory(ctx, w, options)
}

// Compact is the manual form of [Compactor.Preflight]: it compacts at any usage.
func (c *Compactor) Compact(ctx context.Context, id string, messages []chat.Message, note string, options ...Option) (chat.Transcript, Report, error) {
	w := fullHistory{id: id, messages: messages, request: request{kind: compactRequest, note: note}}
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
		return w.messages, Report{}, ctx.Err()
	}
	t, fit := edit.Reapply(w.messages, known.rounds)
	known.rounds = fit
	s := c.startSession(cmp.Or(w.id, unnamedSession), known.secrets)
	u := known.countUsage(&s.cfg, t, s.cfg.toolTokens(w.tools))
	d := decide(&s.cfg, w.request, &state{usage: u})
	if d.reason == "" {
		conv := s.takeHistory(w, known, t, u.Tools)
		d.t = &conv
	}
	o := outcome{decision: d}
	report, err := s.carryOut(ctx, &o)
	if d.reason == "" {
		known.models, known.failedStep, known.steps = s.models, s.failedStep, s.steps
	}
	if !report.Compacted() {
		return t, report, err
	}
	if w.id != "" {
		if made, ok := edit.NewRewrite(t, d.t.messages, o.round.roundEdits().Steps); ok {
			known.rounds = append(known.rounds, made)
		}
	}
	return slices.Clone(o.round.t.messages), report, err
}

// resentHistoryOf returns the state of an id. Without an id there is none, and requests
// do not wait for each other.
func (c *Compactor) resentHistoryOf(id string) *resentHistory {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.replays[id]
	if known == nil {
		known = &resentHistory{turn: make(chan struct{}, 1), secrets: c.cfg.Redact.Redactor.Known()}
		if id != "" {
			known.sizes = sizes.NewMemo()
			c.replays[id] = known
		}
	}
	return known
}

// takeHistory gives s, a temporary session, the conversation t, the result of earlier
// rounds on w.messages, and returns the conversation to plan for.
func (s *Session) takeHistory(w fullHistory, known *resentHistory, t chat.Transcript, tools int) conversation {
	if len(known.rounds) > 0 {
		s.learnSecrets(w.messages) // the replayed messages may lack the context of a secret
	}
	conv := newConversation(s.cfg)
	for _, e := range s.cfg.measured(t) {
		conv.addMessage(e)
	}
	conv.tools, conv.added = tools, len(w.messages)
	s.steps, s.t, s.summary = known.steps, conv, conv.summaryNumber()
	s.models, s.failedStep = known.models, known.failedStep
	return conv.snapshot()
}

// unnamedSession is the archive's name for conversations without an id.
const unnamedSession = "preflight"

// countUsage counts t, each message once in the lifetime of the compactor's id.
func (k *resentHistory) countUsage(cfg *settings, t chat.Transcript, tools int) Usage {
	cores := runtime.GOMAXPROCS(0) // a model call waits for it
	if cfg.Count != nil {          // the caller's function is guarded in one goroutine
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
