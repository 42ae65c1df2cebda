package suite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/chattest"
	"github.com/tiercompact/tiercompact/summarize"
)

// A gatedWriter writes a summary when the test lets it, and counts its calls.
type gatedWriter struct {
	mu    sync.Mutex
	calls int
	began chan struct{} // gets a value for each call, if there is room
	open  chan struct{} // closed: it writes at once
}

func newGatedWriter(open bool) *gatedWriter {
	w := &gatedWriter{began: make(chan struct{}, 1), open: make(chan struct{})}
	if open {
		close(w.open)
	}
	return w
}

func (w *gatedWriter) Summarize(ctx context.Context, r summarize.Request) (string, error) {
	w.mu.Lock()
	w.calls++
	w.mu.Unlock()
	select {
	case w.began <- struct{}{}:
	default:
	}
	select {
	case <-w.open:
		return summarize.Extractive{}.Summarize(ctx, r)
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

func (w *gatedWriter) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.calls
}

// talkTurn returns the messages of a turn, with no two alike.
func talkTurn(n int) chat.Transcript {
	return chat.Transcript{
		chat.NewText(chat.User, fmt.Sprintf("Look at harbour %d and note its ships, please.", n)),
		chat.NewText(chat.Assistant, strings.Repeat(fmt.Sprintf("Harbour %d has ship_%d at pier %d. ", n, n*7, n%5), 10)),
	}
}

// nearRound returns a session that steady compacts soon, but not yet.
func nearRound(t *testing.T, cfg tiercompact.Config) *tiercompact.Session {
	t.Helper()
	cfg.Window, cfg.Preset = 4096, tiercompact.Steady
	if cfg.Archive == nil {
		cfg.Archive = archive.NewMemory()
	}
	c, err := tiercompact.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	s := c.Session("s")
	for n := 0; float64(s.Usage().Tokens) < 0.9*float64(s.Usage().Budget); n++ {
		for _, m := range talkTurn(n) {
			if report, err := s.AddMessage(t.Context(), m); err != nil || report.Compacted() {
				t.Fatalf("report %+v, %v", report, err)
			}
		}
	}
	return s
}

// untilRound adds turns until one starts a round, and returns its report and the
// messages that it was made for.
func untilRound(t *testing.T, s *tiercompact.Session) (tiercompact.Report, chat.Transcript) {
	t.Helper()
	for n := 100; n < 130; n++ {
		for _, m := range talkTurn(n) {
			before := s.Messages()
			report, err := s.AddMessage(t.Context(), m)
			if err != nil {
				t.Fatal(err)
			}
			if report.Compacted() {
				m.ID = report.Message
				return report, append(before, m)
			}
		}
	}
	t.Fatal("no round")
	return tiercompact.Report{}, nil
}

func writtenBy(w *gatedWriter) tiercompact.Config {
	return tiercompact.Config{Summary: tiercompact.SummaryConfig{Summarizer: w, Name: "gated"}}
}

func TestPreparedRoundTakesEffectWithoutAModel(t *testing.T) {
	w, store := newGatedWriter(true), archive.NewMemory()
	cfg := writtenBy(w)
	cfg.Archive = store
	s := nearRound(t, cfg)
	before := s.Messages()
	planned, err := s.Prepare(t.Context())
	if err != nil || !planned.Compacted() || !planned.Prepared || w.count() != 1 {
		t.Fatalf("planned %+v, %v, after %d calls of the model", planned, err, w.count())
	}
	if steps, _ := store.Steps(t.Context(), "s"); len(steps) > 0 || show(s.Messages()) != show(before) {
		t.Fatal("the preparation changed the conversation or the archive")
	}
	if again, err := s.Prepare(t.Context()); err != nil || !again.Prepared || w.count() != 1 {
		t.Errorf("a second preparation: %+v, %v, %d calls", again, err, w.count())
	}
	report, all := untilRound(t, s)
	if !report.Prepared || w.count() != 1 || report.After >= report.Before || report.After != report.Usage.Tokens {
		t.Errorf("the round: %+v, after %d calls of the model", report, w.count())
	}
	if a := report.Applied; a[0].Before != report.Before || a[len(a)-1].After != report.After {
		t.Errorf("levels %+v of a round from %d to %d tokens", a, report.Before, report.After)
	}
	if left, of := s.Cooldown(); left != of {
		t.Errorf("%d of %d messages of the cooldown are left", left, of)
	}
	now := s.Messages()
	if last := now[len(now)-1]; last.ID != all[len(all)-1].ID {
		t.Errorf("the last message is %s, want %s", last.ID, all[len(all)-1].ID)
	}
	step, err := store.Get(t.Context(), "s", report.Step)
	if err != nil || show(step.Before) != show(all) {
		t.Errorf("the archive has another conversation before the round (%v)", err)
	}
	for _, e := range report.Edits {
		if e.Recall != "" {
			if _, err := s.Recall(t.Context(), e.Recall); err != nil {
				t.Errorf("recall %s: %v", e.Recall, err)
			}
		}
	}
	if _, err := s.Undo(t.Context()); err != nil || show(s.Messages()) != show(all) {
		t.Errorf("undo does not restore the conversation (%v)", err)
	}
}

func TestPreflightAndMakeRoomUseThePreparedRound(t *testing.T) {
	for name, due := range map[string]func(*tiercompact.Session) (tiercompact.Report, error){
		"preflight": func(s *tiercompact.Session) (tiercompact.Report, error) { return s.Preflight(t.Context()) },
		"room":      func(s *tiercompact.Session) (tiercompact.Report, error) { return s.MakeRoom(t.Context(), 900) },
	} {
		w := newGatedWriter(true)
		s := nearRound(t, writtenBy(w))
		if _, err := s.Prepare(t.Context()); err != nil {
			t.Fatal(err)
		}
		for n := 300; s.Usage().Share < 0.86; n++ {
			s.Load(talkTurn(n))
		}
		if report, err := due(s); err != nil || !report.Prepared || w.count() != 1 {
			t.Errorf("%s: %+v, %v, after %d calls of the model", name, report, err, w.count())
		}
	}
}

func TestPreparationIsDroppedIfMoreThanTheEndChanged(t *testing.T) {
	for name, change := range map[string]func(*tiercompact.Session) error{
		"protected": func(s *tiercompact.Session) error { return s.Protect(s.Messages()[2].ID) },
		"window":    func(s *tiercompact.Session) error { return s.SetWindow(4000) },
		"rewound": func(s *tiercompact.Session) error {
			all := s.Messages()
			return s.Rewind(t.Context(), all[len(all)-2].ID)
		},
		"by hand and undone": func(s *tiercompact.Session) error {
			_, err := s.Compact(t.Context(), "")
			_, undone := s.Undo(t.Context())
			return errors.Join(err, undone)
		},
	} {
		s := nearRound(t, writtenBy(newGatedWriter(true)))
		if planned, err := s.Prepare(t.Context()); err != nil || !planned.Prepared {
			t.Fatalf("%s: %+v, %v", name, planned, err)
		}
		if err := change(s); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		kept := s.Messages()[2]
		report, _ := untilRound(t, s)
		if report.Prepared {
			t.Errorf("%s: the prepared round was made", name)
		}
		if kept.Protected && messageOf(s.Messages(), kept.ID) != show(chat.Transcript{kept}) {
			t.Errorf("%s: the message is gone or changed", name)
		}
	}
}

func messageOf(t chat.Transcript, id string) string {
	i := slices.IndexFunc(t, func(m chat.Message) bool { return m.ID == id })
	if i < 0 {
		return ""
	}
	return show(t[i : i+1])
}

func TestPrepareWithoutARoundAhead(t *testing.T) {
	c, err := tiercompact.New(tiercompact.Config{Window: 4096, Preset: tiercompact.Steady})
	if err != nil {
		t.Fatal(err)
	}
	s := c.Session("s")
	for _, when := range []string{"empty", "far below"} {
		if report, err := s.Prepare(t.Context()); err != nil || report.Compacted() || report.Reason != tiercompact.BelowThreshold {
			t.Errorf("%s: %+v, %v", when, report, err)
		}
		s.Load(talkTurn(1))
	}
	s.Close()
	if _, err := s.Prepare(t.Context()); !errors.Is(err, tiercompact.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

// While a model writes the summary of a preparation, messages are added, and another
// preparation does not begin.
func TestMessagesAreAddedDuringAPreparation(t *testing.T) {
	w := newGatedWriter(false)
	s := nearRound(t, writtenBy(w))
	result := make(chan error, 1)
	go func() { _, err := s.Prepare(t.Context()); result <- err }()
	<-w.began
	if report, err := s.Prepare(t.Context()); err != nil || report.Reason != tiercompact.Busy || w.count() != 1 {
		t.Errorf("another preparation: %+v, %v", report, err)
	}
	busy, n := false, 0
	for i := 200; s.Usage().Tokens < s.Usage().Budget-60; i++ {
		report, err := s.AddMessage(t.Context(), chat.NewText(chat.Assistant, fmt.Sprintf("Harbour %d is empty today.", i)))
		if err != nil || report.Compacted() {
			t.Fatalf("%+v, %v", report, err)
		}
		busy = busy || report.Reason == tiercompact.Busy
		n++
	}
	if !busy {
		t.Error("no message reported that a round is due and being prepared")
	}
	close(w.open)
	if err := <-result; err != nil {
		t.Fatal(err)
	}
	report, _ := untilRound(t, s)
	if !report.Prepared || w.count() != 1 || n == 0 {
		t.Errorf("the round after %d messages: %+v, %d calls of the model", n, report, w.count())
	}
}

// A message that exceeds the budget waits for the preparation, because the conversation
// must not be sent as it is.
func TestOverTheBudgetAMessageWaitsForThePreparation(t *testing.T) {
	w := newGatedWriter(false)
	s := nearRound(t, writtenBy(w))
	result := make(chan error, 1)
	go func() { _, err := s.Prepare(t.Context()); result <- err }()
	<-w.began
	added := make(chan tiercompact.Report, 1)
	go func() {
		report, err := s.AddMessage(t.Context(), chat.NewText(chat.Assistant, strings.Repeat("The storm is over, and the ships leave. ", 70)))
		if err != nil {
			t.Error(err)
		}
		added <- report
	}()
	close(w.open)
	if err := <-result; err != nil {
		t.Fatal(err)
	}
	if report := <-added; !report.Compacted() || report.After > report.Usage.Budget {
		t.Errorf("%+v", report)
	}
}

func TestCancelledPreparationChangesNothing(t *testing.T) {
	for name, cancel := range map[string]func(*tiercompact.Session, context.CancelFunc) error{
		"by the caller": func(_ *tiercompact.Session, stop context.CancelFunc) error { stop(); return nil },
		"by a setting":  func(s *tiercompact.Session, _ context.CancelFunc) error { return s.SetWindow(4097) },
		"by closing":    func(s *tiercompact.Session, _ context.CancelFunc) error { return s.Close() },
	} {
		w := newGatedWriter(false)
		s := nearRound(t, writtenBy(w))
		before := s.Messages()
		ctx, stop := context.WithCancel(t.Context())
		result := make(chan error, 1)
		go func() { _, err := s.Prepare(ctx); result <- err }()
		<-w.began
		if err := cancel(s, stop); err != nil {
			t.Fatal(err)
		}
		if err := <-result; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
		if show(s.Messages()) != show(before) {
			t.Errorf("%s: the conversation changed", name)
		}
		close(w.open)
		if name == "by the caller" {
			if report, _ := untilRound(t, s); report.Prepared || w.count() != 2 {
				t.Errorf("%s: the round is %+v, after %d calls", name, report, w.count())
			}
		}
		stop()
	}
}

// A process that ends after a preparation loses nothing: the session file has the
// conversation, and no round.
func TestPreparationIsNotInTheSessionFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.jsonl")
	f, err := archive.CreateSession(path, archive.Meta{Session: "s"})
	if err != nil {
		t.Fatal(err)
	}
	store := archive.NewMemory()
	s := nearRound(t, tiercompact.Config{Archive: store})
	if err := s.Record(f); err != nil {
		t.Fatal(err)
	}
	if planned, err := s.Prepare(t.Context()); err != nil || !planned.Prepared {
		t.Fatalf("%+v, %v", planned, err)
	}
	if err := f.Close(); err != nil { // the end of the process
		t.Fatal(err)
	}
	state, err := archive.ReadSession(path)
	if err != nil || len(state.Rounds) > 0 || show(state.Messages) != show(s.Messages()) {
		t.Errorf("%d rounds, %d messages, %v", len(state.Rounds), len(state.Messages), err)
	}
}

// TestRandomPreparation checks the invariants on random conversations in which rounds
// are prepared, and that the result depends only on the order of the calls.
func TestRandomPreparation(t *testing.T) {
	made := 0
	rapid.Check(t, func(t *rapid.T) {
		cfg := drawConfig(t)
		in := chattest.Transcript(t, 60)
		prepare := rapid.SliceOfN(rapid.Bool(), len(in), len(in)).Draw(t, "prepare")
		first := runPrepared(t, cfg, in, prepare, &made)
		if second := runPrepared(t, cfg, in, prepare, &made); first != second {
			t.Fatalf("the same input came out differently:\n%s\nand\n%s", first, second)
		}
	})
	if made == 0 {
		t.Error("no prepared round was made")
	}
}

// runPrepared adds in message by message, prepares a round after those that prepare
// names, and checks the conversation at each step. It returns what came out.
func runPrepared(t *rapid.T, cfg tiercompact.Config, in chat.Transcript, prepare []bool, made *int) string {
	store := archive.NewMemory()
	cfg.Archive = store
	c, err := tiercompact.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	s := c.Session("x")
	var budget *tiercompact.BudgetError
	for i, m := range in {
		before := s.Messages()
		report, err := s.AddMessage(t.Context(), m)
		m.ID = report.Message
		checkStep(t, cfg, append(before, m), s.Messages(), report, err, fmt.Sprintf("message %d", i))
		if report.Prepared {
			*made++
		}
		if prepare[i] {
			now := show(s.Messages())
			if _, err := s.Prepare(t.Context()); err != nil && !errors.As(err, &budget) {
				t.Fatalf("prepare after message %d: %v", i, err)
			}
			if show(s.Messages()) != now {
				t.Fatalf("prepare after message %d changed the conversation", i)
			}
		}
	}
	checkNothingLost(t, store, in, s.Messages())
	checkAlternation(t, in, s.Messages())
	out, err := json.Marshal(s.Messages())
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// Messages are added while rounds are prepared all the time. It is run with the race
// detector too.
func TestPreparationsAndMessagesAtTheSameTime(t *testing.T) {
	store := archive.NewMemory()
	cfg := tiercompact.Defaults(tiercompact.Steady)
	cfg.Window, cfg.Archive = 4096, store
	c, err := tiercompact.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	s := c.Session("x")
	ctx, stop := context.WithCancel(t.Context())
	var working sync.WaitGroup
	working.Go(func() {
		for ctx.Err() == nil {
			if _, err := s.Prepare(ctx); err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}
	})
	rounds, said := 0, make(map[string]bool)
	for n := range 60 {
		for _, m := range talkTurn(n) {
			report, err := s.AddMessage(t.Context(), m)
			if err != nil {
				t.Fatal(err)
			}
			said[report.Message] = true
			if report.Compacted() {
				rounds++
			}
		}
	}
	stop()
	working.Wait()
	for _, m := range s.Messages() {
		delete(said, m.ID)
	}
	steps, err := store.Steps(t.Context(), "x")
	if err != nil || rounds == 0 || len(steps) != rounds {
		t.Fatalf("%d rounds, %d in the archive, %v", rounds, len(steps), err)
	}
	for _, info := range steps {
		step, err := store.Get(t.Context(), "x", info.Number)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range step.Before {
			delete(said, m.ID)
		}
	}
	if len(said) > 0 {
		t.Errorf("%d messages are lost", len(said))
	}
}
