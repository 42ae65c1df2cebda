package tiercompact

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/cooldown"
	"github.com/tiercompact/tiercompact/internal/edit"
	"github.com/tiercompact/tiercompact/internal/sizes"
	"github.com/tiercompact/tiercompact/levels"
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
	u := s.cfg.countHistory(&known.sizes, t, s.cfg.toolTokens(w.tools))
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

// Rounds are the earlier rounds of a conversation whose client sends the whole history
// with each request. The zero value has none. It is a value, which its caller stores
// as JSON; [Compactor.CompactHistory] returns the next one.
type Rounds struct {
	rewrites   []edit.Rewrite
	numbers    []int // of the rewrites in the archive; 0: not known
	steps      int   // archived so far
	length     int   // messages of the history at the newest round
	waits      map[levels.Name]levelWait
	models     outages
	failedStep *failedStep
	counts     *countCache
}

// A countCache caches the tokens of a conversation's messages in this process.
type countCache struct {
	mu   sync.Mutex
	memo sizes.Memo
}

// Len returns the number of rounds.
func (r Rounds) Len() int { return len(r.rewrites) }

// Counted returns the number of messages whose tokens this process has cached.
func (r Rounds) Counted() int {
	if r.counts == nil {
		return 0
	}
	r.counts.mu.Lock()
	defer r.counts.mu.Unlock()
	return r.counts.memo.Len()
}

// Steps returns the numbers of the rounds in the archive, oldest first. 0: not known.
func (r Rounds) Steps() []int { return slices.Clone(r.numbers) }

// Undo returns the rounds without the newest one. The cooldown begins, for a history
// that has length messages now.
func (r Rounds) Undo(length int) Rounds {
	if n := len(r.rewrites); n > 0 {
		r.rewrites, r.numbers = r.rewrites[:n-1:n-1], r.numbers[:n-1:n-1]
		r.length, r.waits = max(r.length, length), nil
	}
	return r
}

// Replay repeats the rounds on a history that was sent again, and returns the result
// with the rounds that still fit: one whose messages the client has changed is dropped,
// with those after it.
func (r Rounds) Replay(messages chat.Transcript) (chat.Transcript, Rounds) {
	t, fit := edit.Reapply(messages, r.rewrites)
	if len(fit) < len(r.rewrites) {
		r.length, r.waits = 0, nil
	}
	r.rewrites, r.numbers = fit[:len(fit):len(fit)], r.numbers[:len(fit):len(fit)]
	return t, r
}

// storedRounds is the JSON form of [Rounds].
type storedRounds struct {
	Rewrites []edit.Rewrite             `json:"rewrites,omitempty"`
	Numbers  []int                      `json:"numbers,omitempty"`
	Steps    int                        `json:"steps,omitempty"`
	Length   int                        `json:"length,omitempty"`
	Waits    map[levels.Name]storedWait `json:"waits,omitempty"`
}

type storedWait struct {
	Added  int    `json:"added"`
	Staled int    `json:"staled"`
	Reason string `json:"reason"`
}

// MarshalJSON returns what a later process needs.
func (r Rounds) MarshalJSON() ([]byte, error) {
	s := storedRounds{Rewrites: r.rewrites, Numbers: r.numbers, Steps: r.steps, Length: r.length}
	for name, w := range r.waits {
		if s.Waits == nil {
			s.Waits = make(map[levels.Name]storedWait)
		}
		s.Waits[name] = storedWait{w.messageTokens, w.staleTokens, w.reason}
	}
	return json.Marshal(s)
}

// UnmarshalJSON is the reverse.
func (r *Rounds) UnmarshalJSON(data []byte) error {
	var s storedRounds
	if err := json.Unmarshal(data, &s); err != nil {
		return fmt.Errorf("read rounds: %w", err)
	}
	*r = Rounds{rewrites: s.Rewrites, numbers: make([]int, len(s.Rewrites)), steps: max(0, s.Steps), length: max(0, s.Length)}
	copy(r.numbers, s.Numbers)
	for name, w := range s.Waits {
		if r.waits == nil {
			r.waits = make(map[levels.Name]levelWait)
		}
		r.waits[name] = levelWait{w.Added, w.Staled, w.Reason}
	}
	return nil
}

// A History is a request with the whole conversation.
type History struct {
	ID       string // of the session in the archive and in events; required
	Messages chat.Transcript
	Tools    []byte // schemas, as JSON; their tokens count
	Window   int    // of the model; 0: Config.Window
	Reserve  int    // tokens that the answer may take, if more than Policy.Reserve; at most a quarter of the window counts

	Level  levels.Name // compact with this level now; "": by usage
	Layers bool        // three layers, due at Policy.TriggerPct, in place of levels
	Later  bool        // make no round now; the report says whether one is due
}

// HandleRecall answers a call of [RecallTool] for the conversation with an id: see
// [Session.HandleRecall].
func (c *Compactor) HandleRecall(ctx context.Context, id, args string) (string, error) {
	return c.startSession(id, nil).HandleRecall(ctx, args)
}

// ByTurn is the reason of a check with [History.Later] that found a round due.
const ByTurn = "turn"

// CompactHistory repeats the rounds on the history, and compacts the result if a
// round is due: by levels as after [Session.AddMessage], or by [History.Level]. The
// cooldown counts the messages of the history. It returns the messages to send, and the
// rounds for the next request; store them before the messages are sent, and the next
// request begins with the same bytes. If it returns an error, the messages are those of
// the earlier rounds, or for [ErrInsufficientBudget] the smallest.
func (c *Compactor) CompactHistory(ctx context.Context, h History, r Rounds) (chat.Transcript, Rounds, Report, error) {
	t, r := r.Replay(h.Messages)
	known := &resentHistory{rounds: r.rewrites, steps: r.steps, models: r.models, failedStep: r.failedStep}
	s := c.startSession(h.ID, nil)
	s.setLimits(h.Window, h.Reserve)
	u := r.countUsage(s, t, h.Tools)
	d, conv := s.decideHistory(h, r, known, t, u)
	if conv != nil {
		s.t, d.t = *conv, conv
	}
	o := outcome{decision: d}
	report, err := s.carryOut(ctx, &o)
	r.steps = max(r.steps, s.steps)
	if d.reason == "" {
		r.models, r.failedStep, r.waits = s.models, s.failedStep, s.wait
	}
	if !report.Compacted() {
		return t, r, report, err
	}
	made, ok := edit.NewRewrite(t, d.t.messages, o.round.roundEdits().Steps)
	if !ok {
		return t, r, Report{}, fmt.Errorf("record the round of %s: its edits do not fit the messages", h.ID)
	}
	r.rewrites, r.numbers = append(r.rewrites, made), append(r.numbers, report.Step)
	r.length, r.waits = len(h.Messages), nil
	return slices.Clone(o.round.t.messages), r, report, err
}

// CountHistory returns the usage of the history after its rounds.
func (c *Compactor) CountHistory(h History, r Rounds) Usage {
	t, r := r.Replay(h.Messages)
	s := c.startSession(h.ID, nil)
	s.setLimits(h.Window, h.Reserve)
	return r.countUsage(s, t, h.Tools)
}

// setLimits sets window and reserve of one request.
func (s *Session) setLimits(window, reserve int) {
	if window > 0 {
		s.cfg.Window = window
	}
	s.cfg.Policy.Reserve = max(s.cfg.Policy.Reserve, min(reserve, s.cfg.Window/4))
	s.cfg.budget = s.cfg.budgetOf(s.cfg.Window)
}

func (r *Rounds) countUsage(s *Session, t chat.Transcript, tools []byte) Usage {
	if r.counts == nil {
		r.counts = &countCache{memo: sizes.NewMemo()}
	}
	r.counts.mu.Lock()
	defer r.counts.mu.Unlock()
	return s.cfg.countHistory(&r.counts.memo, t, s.cfg.toolTokens(tools))
}

// decideHistory decides, and returns the conversation to plan for if a round begins.
func (s *Session) decideHistory(h History, r Rounds, known *resentHistory, t chat.Transcript, u Usage) (decision, *conversation) {
	q := request{kind: checkRequest}
	switch {
	case h.Level != "":
		q = request{kind: levelRequest, level: h.Level}
	case h.Layers:
		q.kind = preflightRequest
	}
	over := u.Tokens > u.Budget
	d := decision{request: q, usage: u, picked: levels.None}
	switch {
	case q.kind == checkRequest && !over && u.Share < s.cfg.Thresholds.Lowest():
		d.reason = BelowThreshold
	case q.kind == checkRequest && h.Later:
		d.picked, d.reason = s.cfg.Thresholds.Select(u.Share), ByTurn
	default:
		s.cfg.Trigger = historyTrigger(s.cfg.Trigger)
		conv := s.takeHistory(fullHistory{id: h.ID, messages: h.Messages}, known, t, u.Tools)
		gate := cooldown.State{Fired: len(r.rewrites) > 0 || r.length > 0, Since: len(h.Messages) - r.length}
		d = decide(&s.cfg, q, &state{usage: u, t: &conv, waits: r.waits, open: s.cfg.gate.Open(gate)})
		maps.Copy(s.wait, r.waits)
		return d, &conv
	}
	return d, nil
}

// historyTrigger returns the trigger of a check on a history: its caller decides whose
// turn it is.
func historyTrigger(t Trigger) Trigger {
	if t == AssistantOnly {
		return EveryMessage
	}
	return t
}
