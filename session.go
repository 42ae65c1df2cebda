package tiercompact

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/files"
	"github.com/tiercompact/tiercompact/internal/cooldown"
	"github.com/tiercompact/tiercompact/internal/guard"
	"github.com/tiercompact/tiercompact/internal/ids"
	"github.com/tiercompact/tiercompact/levels"
	"github.com/tiercompact/tiercompact/tokens"
)

// A Session is one conversation. It is safe for concurrent use: planning never
// holds its lock, and there is one round at a time.
type Session struct {
	id     string
	cfg    settings
	learnt ids.SyncSet // ids of the messages whose secrets are known

	mu       sync.Mutex // guards what follows; never held while a round is planned
	t        conversation
	tools    []byte
	gate     cooldown.State
	wait     map[levels.Name]levelWait
	cal      tokens.Calibration
	anchor   int // estimated tokens at the last Observe
	rounds   []done
	steps    int      // archived so far, undone ones included
	unlisted []string // recall ids of rounds that no id in the conversation leads to
	summary  int      // number of the newest session summary
	models   outages
	unkept   *unkept // the last step, where it could not be archived
	busy     bool
	warned   bool // of a fixed part over half of the window
	closed   bool

	recorder Recorder
	writing  *guard.Guard           // of the recorder
	missed   []func(Recorder) error // what the recorder could not write, oldest first
	restored []archive.Restoration  // what no report has told yet
	unsure   bool                   // a call of the recorder did not end as it should: nobody knows what it has
	resumed  bool
}

func newSession(id string, cfg settings) *Session {
	cfg = cfg.withRedaction()
	return &Session{id: id, cfg: cfg, t: newConversation(cfg), wait: make(map[levels.Name]levelWait), cal: cfg.Calibration.Void()}
}

// ID returns the id that the session was started with.
func (s *Session) ID() string { return s.id }

// AddMessage appends m and compacts the conversation if that is due. Whatever
// error it returns, m is in the conversation and nothing is lost:
// [ErrInsufficientBudget] where the conversation does not fit the budget, an
// archive's error where nothing could be kept and so nothing was changed, or
// ctx's.
//
// An id of the caller's stays, but where a message of the session had it before,
// also one that a round has taken out since, or that an earlier process added: the
// report has the id that m got in its place.
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
	s.summary = max(s.summary, summaryNumberOf(added))
	var o outcome
	if o.refused = s.recordDone(func(f Recorder) error { return f.Append(added) }); o.refused == nil {
		o = s.begin(request{})
	}
	s.mu.Unlock()
	report, err := s.carryOut(ctx, &o)
	report.Message = id
	return report, err
}

// Check makes the check that follows a message, without one: after Load, say.
func (s *Session) Check(ctx context.Context) (Report, error) {
	return s.run(ctx, request{})
}

// Plan returns what the next check would do with the conversation as it stands,
// and why, and changes nothing. A model that the level needs is asked.
func (s *Session) Plan(ctx context.Context) (Report, error) {
	s.mu.Lock()
	empty := len(s.t.messages) == 0
	s.mu.Unlock()
	if empty {
		return Report{Picked: levels.None, Reason: BelowThreshold}, nil
	}
	return s.run(ctx, request{dryRun: true})
}

// Preflight compacts the session to three layers (what is protected, one
// summary, what is recent) if its usage is at Policy.TriggerPct or it is over the
// budget. It is run before a model call. Neither cooldown nor MinGain applies.
func (s *Session) Preflight(ctx context.Context) (Report, error) {
	return s.run(ctx, request{kind: preflightRequest})
}

// Compact compacts the session to three layers now, whatever its usage, the
// cooldown or the trigger. The note is the user's wish; the summarizer and the
// trace get it.
func (s *Session) Compact(ctx context.Context, note string) (Report, error) {
	return s.run(ctx, request{kind: compactRequest, note: note})
}

// CompactLevel has one level do its work now, whatever the usage, the cooldown
// or the trigger. If the conversation does not fit the budget afterwards,
// emergency and fit follow.
func (s *Session) CompactLevel(ctx context.Context, level levels.Name) (Report, error) {
	if _, err := levels.Parse(string(level)); err != nil {
		return Report{}, err
	}
	return s.run(ctx, request{kind: levelRequest, level: level})
}

// MakeRoom compacts the session as emergency does if a next message of so many
// tokens would not fit the budget, and a round frees what is missing. It is run
// when nobody waits, after an answer: otherwise somebody waits for the
// [Session.Preflight] that follows that message. The cooldown does not apply, as
// it does not if the budget is exceeded.
func (s *Session) MakeRoom(ctx context.Context, tokens int) (Report, error) {
	return s.run(ctx, request{kind: roomRequest, next: tokens})
}

// Cooldown returns how many more messages will be added without a check that
// compacts, of how many after each compaction. Over the budget no message waits.
func (s *Session) Cooldown() (left, of int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cfg.gate.Left(s.gate), s.cfg.gate.Messages
}

// AddFile adds a file that the user hands over, as a user message that holds
// it. Text that is not UTF-8 is made valid.
func (s *Session) AddFile(ctx context.Context, path, text string) (Report, error) {
	m := chat.NewText(chat.User, files.AttachText(path, text))
	m.Machine = true
	return s.AddMessage(ctx, m)
}

// Load adds history without a check: nothing is compacted, and no cooldown begins.
func (s *Session) Load(messages []chat.Message) error {
	entries := s.cfg.measured(messages)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	from := len(s.t.messages)
	s.t.growCapacity(len(entries))
	for _, e := range entries {
		s.t.addMessage(e)
	}
	s.summary = max(s.summary, s.t.summaryNumber())
	loaded := s.t.messages[from:len(s.t.messages):len(s.t.messages)]
	return s.recordDone(func(f Recorder) error { return f.Load(loaded) })
}

// Messages returns the conversation as it stands, each message with its state.
// The slice is the caller's; what it holds must not be modified.
func (s *Session) Messages() chat.Transcript {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.t.messages)
}

// Usage returns what the conversation's tokens are spent on.
func (s *Session) Usage() Usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.currentUsage()
}

// SetTools sets the tool schemas that go with every request, as JSON; they
// count. Nil removes them.
func (s *Session) SetTools(raw []byte) {
	n := s.cfg.toolTokens(raw)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tools, s.t.tools = slices.Clone(raw), n
}

// SetWindow changes the window, and the budget with it. The next check uses it.
func (s *Session) SetWindow(window int) error {
	if window <= 0 {
		return fmt.Errorf("window must be above 0, is %d", window)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cfg.Window = window
	s.cfg.budget = s.cfg.budgetOf(window)
	s.warned = false
	clear(s.wait) // what a level can offer depends on the window
	return nil
}

// Protect marks the message of an id: no level changes or drops it, from now on
// and after an undo or a restart. A summary and a marker cannot be protected: a
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
	s.t.protectMessage(id)
	m := s.t.messages[i]
	return s.recordDone(func(f Recorder) error { return f.Set(i, m) })
}

// Observe tells how many tokens the server counted for the conversation as it
// stands (prompt_eval_count). Later counts are exact up to here, and estimated
// by the ratio that was seen only for what is added. Where the sample that it
// returns says that the server cut the prompt silently, nothing is learnt, and
// the conversation should be compacted and sent again. Tools that the server
// did not count, since the model's template has no place for them, count no
// more until [Session.SetTools].
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

// Calibration returns what was learnt from [Session.Observe], for
// [Config.Calibration] of later sessions with the same model and server.
func (s *Session) Calibration() tokens.Calibration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cal
}

// SetCalibration has later counts use what was learnt elsewhere: of another
// model that the session goes on with, say.
func (s *Session) SetCalibration(c tokens.Calibration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cal, s.anchor = c.Void(), 0
}

// Close ends the session: what is added afterwards is refused. What its recorder
// could not write so far is written; the error says how much of it could not be.
// The recorder and the archive stay open, they belong to the caller and the
// compactor.
func (s *Session) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	return s.writeMissed()
}
