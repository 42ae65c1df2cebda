package tiercompact

import (
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
)

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
	u := r.countUsage(known, s, t, h.Tools)
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
	return r.countUsage(&resentHistory{}, s, t, h.Tools)
}

// setLimits sets window and reserve of one request.
func (s *Session) setLimits(window, reserve int) {
	if window > 0 {
		s.cfg.Window = window
	}
	s.cfg.Policy.Reserve = max(s.cfg.Policy.Reserve, min(reserve, s.cfg.Window/4))
	s.cfg.budget = s.cfg.budgetOf(s.cfg.Window)
}

func (r *Rounds) countUsage(known *resentHistory, s *Session, t chat.Transcript, tools []byte) Usage {
	if r.counts == nil {
		r.counts = &countCache{memo: sizes.NewMemo()}
	}
	r.counts.mu.Lock()
	defer r.counts.mu.Unlock()
	known.sizes = r.counts.memo // shares its map
	return known.countUsage(&s.cfg, t, s.cfg.toolTokens(tools))
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
