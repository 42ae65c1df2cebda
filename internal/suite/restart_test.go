package suite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	tiercompact "github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/edit"
	"github.com/tiercompact/tiercompact/levels"
)

// eachLevel has a conversation for each level, and the settings that trigger the level.
var eachLevel = map[levels.Name]struct {
	messages chat.Transcript
	compact  func(context.Context, *tiercompact.Session) (tiercompact.Report, error)
}{
	levels.SoftName:  {working(20, 600), forced(levels.SoftName)},
	levels.HardName:  {working(20, 600), forced(levels.HardName)},
	levels.Emergency: {working(20, 600), forced(levels.Emergency)},
	levels.FitName:   {append(working(20, 600), readOf("huge", "huge.go", 30000)...), forced(levels.SoftName)},
	levels.LayerName: {working(20, 600), func(ctx context.Context, s *tiercompact.Session) (tiercompact.Report, error) {
		return s.Compact(ctx, "by hand")
	}},
}

func forced(level levels.Name) func(context.Context, *tiercompact.Session) (tiercompact.Report, error) {
	return func(ctx context.Context, s *tiercompact.Session) (tiercompact.Report, error) {
		return s.CompactLevel(ctx, level)
	}
}

// A kept session is on disk, in a folder, and compacts on request.
type kept struct {
	t   *testing.T
	dir string
	onDisk
}

func keep(t *testing.T, messages chat.Transcript) *kept {
	t.Helper()
	k := &kept{t: t, dir: t.TempDir()}
	k.open()
	if err := k.Load(messages); err != nil {
		t.Fatal(err)
	}
	return k
}

func (k *kept) open() {
	k.t.Helper()
	k.onDisk, _ = openOnDisk(k.t, k.dir, tiercompact.Config{Window: 20000, NoAuto: true})
}

// restart closes the session and opens it again, as a new process would.
func (k *kept) restart() {
	k.t.Helper()
	if err := k.Close(); err != nil {
		k.t.Fatal(err)
	}
	k.open()
}

// sameAs reports how a conversation differs from its earlier form.
func sameAs(t *testing.T, now, was chat.Transcript) {
	t.Helper()
	if len(now) != len(was) {
		t.Errorf("%d messages were %d", len(now), len(was))
		return
	}
	for i := range now {
		if !edit.Same(now[i], was[i]) || now[i].ID != was[i].ID {
			t.Errorf("message %d: %+v was %+v", i, now[i], was[i])
		}
	}
}

func TestUndoAfterEachLevelAndARestart(t *testing.T) {
	for level, test := range eachLevel {
		for _, from := range []string{"the same process", "the session file", "the archive"} {
			t.Run(string(level)+", from "+from, func(t *testing.T) {
				k := keep(t, test.messages)
				want := slices.Clone(k.Messages())
				if r, err := test.compact(t.Context(), k.Session); err != nil || !slices.Contains(applied(r), level) {
					t.Fatalf("applied %v (%s), %v", applied(r), r.Reason, err)
				}
				later := chat.Message{ID: "later", Role: chat.User, Parts: []chat.Part{{Kind: chat.Text, Text: "and now?"}}}
				add(t, k.Session, later)
				sameAs(t, k.before(from), append(want, later))
			})
		}
	}
}

// before returns the conversation as it was before the newest round, from what
// is asked.
func (k *kept) before(from string) chat.Transcript {
	k.t.Helper()
	if from == "the archive" {
		back, err := archive.Undo(k.t.Context(), k.store, "x", k.Messages())
		if err != nil || len(back.Round.Redacted) > 0 {
			k.t.Fatalf("messages %v come back other than they were, %v", back.Round.Redacted, err)
		}
		return back.Messages
	}
	if from == "the session file" {
		k.restart()
	}
	if _, err := k.Undo(k.t.Context()); err != nil {
		k.t.Fatal(err)
	}
	return k.Messages()
}

func TestThreeUndosInARow(t *testing.T) {
	for _, from := range []string{"the same process", "the session file"} {
		t.Run(from, func(t *testing.T) {
			k := keep(t, working(20, 600))
			var was []chat.Transcript
			for _, level := range []levels.Name{levels.SoftName, levels.HardName, levels.Emergency} {
				was = append(was, slices.Clone(k.Messages()))
				if r, err := k.CompactLevel(t.Context(), level); err != nil || !r.Compacted() {
					t.Fatalf("%s: %q, %v", level, r.Reason, err)
				}
			}
			for _, want := range slices.Backward(was) {
				sameAs(t, k.before(from), want)
			}
			if _, err := k.Undo(t.Context()); !errors.Is(err, tiercompact.ErrNothingToUndo) {
				t.Errorf("a fourth undo: %v", err)
			}
		})
	}
}

// An asked embedder finds all texts alike, or fails.
type asked struct {
	times *int
	fails bool
}

func (a asked) Embed(_ context.Context, texts []string) ([][]float32, error) {
	*a.times++
	if a.fails {
		return nil, errors.New("no such model")
	}
	out := make([][]float32, len(texts))
	for i := range texts {
		out[i] = []float32{1, 0}
	}
	return out, nil
}

func TestSearchIsByMeaningIfAnEmbedderAnswers(t *testing.T) {
	for name, test := range map[string]struct {
		cfg             tiercompact.Config
		fails, asked    bool
		strange, spoken bool // whether a query of other words finds something, and one of the same
	}{
		"an embedder":          {asked: true, strange: true, spoken: true},
		"one that fails":       {fails: true, asked: true, spoken: true},
		"prompts are redacted": {cfg: tiercompact.Config{Redact: tiercompact.RedactConfig{Prompts: true}}, spoken: true},
	} {
		t.Run(name, func(t *testing.T) {
			times := 0
			test.cfg.Window, test.cfg.NoAuto = 20000, true
			test.cfg.Embed.Embedder, test.cfg.Embed.Name = asked{&times, test.fails}, "asked"
			s := start(t, test.cfg)
			if err := s.Load(working(20, 600)); err != nil {
				t.Fatal(err)
			}
			if r, err := s.Compact(t.Context(), ""); err != nil || !r.Compacted() {
				t.Fatal(r.Reason, err)
			}
			for query, want := range map[string]bool{"zzzz qqqq": test.strange, "please fix bug 3": test.spoken} {
				hits, err := s.Search(t.Context(), query, 3)
				if err != nil || len(hits) > 0 != want {
					t.Errorf("%q: %d hits, %v", query, len(hits), err)
				}
			}
			if times > 0 != test.asked {
				t.Errorf("the model was asked %d times", times)
			}
		})
	}
}

// damagedStore has steps that cannot be read, as a folder whose packs are lost.
type damagedStore struct{ *archive.Memory }

func (damagedStore) Recall(context.Context, string, string) (archive.Entry, error) {
	return archive.Entry{}, fmt.Errorf("%w; %w", archive.ErrNotFound, archive.ErrDamaged)
}

// A message that may be in an unreadable step is not reported as nonexistent.
func TestRecallFromADamagedArchiveSaysSo(t *testing.T) {
	s := newSession(t, tiercompact.Config{Window: 8192, Archive: damagedStore{archive.NewMemory()}})
	if _, err := s.Recall(t.Context(), "0123abcd"); !errors.Is(err, archive.ErrDamaged) {
		t.Error(err)
	}
}
