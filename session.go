package tiercompact

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/files"
	"github.com/tiercompact/tiercompact/internal/cooldown"
	"github.com/tiercompact/tiercompact/internal/guard"
	"github.com/tiercompact/tiercompact/internal/usedids"
	"github.com/tiercompact/tiercompact/levels"
	"github.com/tiercompact/tiercompact/summarize"
	"github.com/tiercompact/tiercompact/tokens"
)

// A Session is one conversation. It is safe for concurrent use: its lock is not held
// during planning, and there is one round at a time.
type Session struct {
	id     string
	cfg    settings
	learnt usedids.SyncSet // ids of the messages whose secrets are known

	recording   sync.Mutex // held while messages go into work; locked before mu
	mu          sync.Mutex // guards the fields below; never held while a round is planned
	t           conversation
	tools       []byte
	gate        cooldown.State
	wait        map[levels.Name]levelWait
	cal         tokens.Calibration
	anchor      int // estimated tokens at the last Observe
	rounds      []undoableRound
	steps       int      // archived so far, undone ones included
	unlisted    []string // recall ids of rounds that no id in the conversation leads to
	summary     int      // number of the newest session summary
	models      outages
	plain       map[string]bool   // texts since the last round in which rules of redaction find nothing
	work        *summarize.Record // of the work, without secrets; its contents are guarded by recording
	fresh       []chat.Message    // not in work yet, oldest first
	failedStep  *failedStep       // the last step, if it could not be archived
	busy        bool
	preparation *preparation // nil for none
	warned      bool         // about a fixed part over half of the window
	closed      bool

	recorder Recorder
	writing  *guard.Guard           // of the recorder
	missed   []func(Recorder) error // writes that failed, oldest first
	restored []archive.Restoration  // not reported yet
	unsure   bool                   // a call of the recorder did not end normally: its result is unknown
	resumed  bool
}

func newSession(id string, cfg settings) *Session {
	cfg = cfg.withRedaction()
	return &Session{id: id, cfg: cfg, t: newConversation(cfg), wait: make(map[levels.Name]levelWait), cal: cfg.Calibration.WithoutAnchor()}
}

// ID returns the id that the session was started with.
func (s *Session) ID() string { return s.id }

// AddMessage appends m and compacts the conversation if that is due. If it returns an
// error, m is in the conversation and nothing is lost: [ErrInsufficientBudget] if the
// conversation does not fit the budget, an archive's error if nothing could be archived
// and so nothing was changed, or ctx's.
//
// The caller's id stays, unless a message of the session has or had it, even one that a
// round has removed or an earlier process added: the report then has the new id of m.
func (s *Session) AddMessage(ctx context.Context, m chat.Message) (Report, error) {
	e := s.cfg.measured([]chat.Message{m})[0]
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return Report{}, ErrClosed
	}
	id := s.t.addMessage(e)
	s.gate = s.gate.Added()
	added := s.t.messages[len(s.t.messages)-1]
	s.fresh = append(s.fresh, added)
	s.summary = max(s.summary, summaryNumberOf(added))
	var o outcome
	if o.refused = s.recordDone(func(f Recorder) error { return f.Append(added) }); o.refused == nil {
		o = s.begin(request{})
	}
	s.mu.Unlock()
	s.recordArrived([]chat.Message{added})
	report, err := s.carryOut(ctx, &o)
	report.Message = id
	return report, err
}

// Check runs the check that follows a message, without one: after Load, for example.
func (s *Session) Check(ctx context.Context) (Report, error) {
	return s.run(ctx, request{})
}

// Plan returns what the next check would do with the present conversation, and why. It
// changes nothing, but it calls a model if the level needs one.
func (s *Session) Plan(ctx context.Context) (Report, error) {
	s.mu.Lock()
	empty := len(s.t.messages) == 0
	s.mu.Unlock()
	if empty {
		return Report{Picked: levels.None, Reason: BelowThreshold}, nil
	}
	return s.run(ctx, request{dryRun: true})
}

// Preflight compacts the session to three layers (protected messages, one summary,
// recent messages) if its usage is at Policy.TriggerPct or it is over the budget. Call
// it before a model call. Neither cooldown nor MinGain applies.
func (s *Session) Preflight(ctx context.Context) (Report, error) {
	return s.run(ctx, request{kind: preflightRequest})
}

// Compact compacts the session to three layers now, regardless of usage, cooldown and
// trigger. The note is the user's wish, for the summarizer and the trace.
func (s *Session) Compact(ctx context.Context, note string) (Report, error) {
	return s.run(ctx, request{kind: compactRequest, note: note})
}

// CompactLevel runs one level now, regardless of usage, cooldown and trigger. If the
// conversation does not fit the budget afterwards, emergency and fit follow.
func (s *Session) CompactLevel(ctx context.Context, level levels.Name) (Report, error) {
	if _, err := levels.Parse(string(level)); err != nil {
		return Report{}, err
	}
	return s.run(ctx, request{kind: levelRequest, level: level})
}

// MakeRoom compacts the session with the level emergency if a next message of the
// given number of tokens would not fit the budget, and a round frees enough. Call it in
// idle time, after an answer, to shorten the [Session.Preflight] after that message.
// The cooldown does not apply, just as it does not if the budget is exceeded.
func (s *Session) MakeRoom(ctx context.Context, tokens int) (Report, error) {
	return s.run(ctx, request{kind: roomRequest, next: tokens})
}

// Room returns the tokens of next, the next messages of the user, and how many they can
// have at most: the budget without what no round removes. With more, the conversation
// would end in [ErrInsufficientBudget]. If next fits, room may be lower than that, but not
// than tokens. Nothing is added.
func (s *Session) Room(next ...chat.Message) (tokens, room int) {
	entries := s.cfg.measured(append(slices.Clone(next), chat.NewText(chat.User, "")))
	last := entries[len(next)]
	size := 0
	for _, e := range entries[:len(next)] {
		size += e.size
	}
	s.mu.Lock()
	cfg, c, ratio := s.cfg, s.t.snapshot(), s.serverRatio()
	free := cfg.budget.Limit() - s.promptTokens()
	s.mu.Unlock()
	inServer := func(n int) int { return int(math.Ceil(float64(n) * ratio)) }
	tokens = inServer(size)
	if tokens <= free {
		return tokens, free
	}
	c.appendEntry(last, files.Scan{}) // the turn before is not the last one
	limit := int(float64(cfg.budget.Limit()-tokens) / ratio)
	stays := levels.Floor(c.levelView(&cfg, nil), limit) - last.size
	return tokens, max(0, cfg.budget.Limit()-inServer(stays))
}

// Cooldown returns how many more messages will be added without a check that compacts,
// and how many there are after each compaction. Over the budget no message waits.
func (s *Session) Cooldown() (left, of int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cfg.gate.Left(s.gate), s.cfg.gate.Messages
}

// AddFile adds a file from the user, as a user message that holds it. Text that is not
// UTF-8 is made valid.
func (s *Session) AddFile(ctx context.Context, path, text string) (Report, error) {
	m := chat.NewText(chat.User, files.AttachText(path, text))
	m.Machine = true
	return s.AddMessage(ctx, m)
}

// Load adds history without a check: nothing is compacted, and no cooldown begins.
func (s *Session) Load(messages []chat.Message) error {
	loaded, err := s.appendAll(s.cfg.measured(messages))
	s.recordArrived(loaded)
	return err
}

// appendAll appends messages without a check, and returns them as they are in the session.
func (s *Session) appendAll(entries []measuredMessage) (chat.Transcript, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	from := len(s.t.messages)
	s.t.growCapacity(len(entries))
	for _, e := range entries {
		s.t.addMessage(e)
	}
	s.summary = max(s.summary, s.t.summaryNumber())
	loaded := s.t.messages[from:len(s.t.messages):len(s.t.messages)]
	s.fresh = append(s.fresh, loaded...)
	return loaded, s.recordDone(func(f Recorder) error { return f.Load(loaded) })
}

// Messages returns the present conversation, each message with its state. The slice is
// the caller's; its contents must not be modified.
func (s *Session) Messages() chat.Transcript {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.t.messages)
}

// Usage returns the tokens of each part of the conversation.
func (s *Session) Usage() Usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.currentUsage()
}

// SetTools sets the tool schemas of every request, as JSON; their tokens count. Nil
// removes them.
func (s *Session) SetTools(raw []byte) {
	n := s.cfg.toolTokens(raw)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tools, s.t.tools = slices.Clone(raw), n
}

// SetSystem replaces the text of the system prompt, which is the first message of the
// conversation. The error is [ErrNotFound] if the conversation has none, and [ErrBusy]
// during a round.
func (s *Session) SetSystem(text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.changeError(); err != nil {
		return err
	}
	if len(s.t.messages) == 0 || s.t.messages[0].Role != chat.System || s.t.messages[0].IsSummary() {
		return fmt.Errorf("set system prompt: the first message is not one: %w", ErrNotFound)
	}
	m := s.t.messages[0]
	m.Parts = validMessage(chat.NewText(chat.System, text)).Parts
	messages := slices.Clone(s.t.messages) // snapshots share the old ones
	messages[0] = m
	s.t = s.rewritten(messages)
	return s.recordDone(func(f Recorder) error { return f.Set(0, m) })
}

// SetWindow changes the window, and the budget with it. The next check uses it.
func (s *Session) SetWindow(window int) error {
	if window <= 0 {
		return fmt.Errorf("window must be above 0, is %d", window)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropPreparation()
	s.cfg.Window = window
	s.cfg.budget = s.cfg.budgetOf(window)
	s.warned = false
	clear(s.wait) // each level's gain depends on the window
	return nil
}

// Protect marks the message with an id: no level changes or drops it, from now on and
// after an undo or a restart. Summaries and markers cannot be protected, because a
// round replaces them.
func (s *Session) Protect(id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy {
		return ErrBusy
	}
	i := messageIndex(s.t.messages, id)
	if i < 0 {
		return fmt.Errorf("protect message %q: %w", id, ErrNotFound)
	}
	if m := s.t.messages[i]; m.IsSummary() || m.State == chat.Marked {
		return fmt.Errorf("protect message %q, which a compaction has written and a later one replaces: %w", id, ErrNotFound)
	}
	s.dropPreparation()
	s.t.protectMessage(id)
	m := s.t.messages[i]
	return s.recordDone(func(f Recorder) error { return f.Set(i, m) })
}

// Observe reports the server's token count for the present conversation
// (prompt_eval_count). Later counts are exact up to here; tokens added since are
// estimated by the observed ratio. If the returned sample says that the server cut the
// prompt silently, nothing is learnt, and the conversation should be compacted and sent
// again. If the server did not count the tools, because the model's template has no
// place for them, they do not count until the next [Session.SetTools].
func (s *Session) Observe(promptTokens int) tokens.Sample {
	s.mu.Lock()
	estimate, left := s.t.totalTokens(), 0
	if s.cal.ToolsLeftOut(estimate, s.t.tools, promptTokens) && !slices.ContainsFunc(s.t.messages, chat.Message.HasCalls) {
		left = s.t.tools
	}
	cal, sample := s.cal.Observe(estimate-left, promptTokens, s.cfg.Window)
	if sample.Taken {
		s.cal, s.anchor = cal, estimate-left
		s.t.tools -= left
		sample.ToolsLeftOut = left > 0
	}
	s.mu.Unlock()
	if sample.Truncated {
		s.emitWarning("high", sample.Reason, "compact, or raise the server's num_ctx")
	}
	return sample
}

// Calibration returns the result of the calls of [Session.Observe], for
// [Config.Calibration] of later sessions with the same model and server.
func (s *Session) Calibration() tokens.Calibration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cal
}

// SetCalibration sets the calibration of later counts, for example if the session
// continues with another model.
func (s *Session) SetCalibration(c tokens.Calibration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cal, s.anchor = c.WithoutAnchor(), 0
}

// Close ends the session: later additions return an error. It writes what the
// recorder has missed; the error has the number of changes that could not be written.
// The recorder and the archive stay open: they belong to the caller and the compactor.
func (s *Session) Close() error {
	s.mu.Lock()
	s.closed = true
	s.dropPreparation()
	s.mu.Unlock()
	return s.writeMissed()
}
