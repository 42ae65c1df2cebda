package suite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	tiercompact "github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/chattest"
	"github.com/tiercompact/tiercompact/internal/edit"
)

// A randomSession is a session with a session file, for random operations, and its expected
// state.
type randomSession struct {
	*tiercompact.Session
	t         *rapid.T
	cfg       tiercompact.Config
	path      string
	file      *archive.SessionFile
	next      chat.Transcript         // to be added
	used      map[string]bool         // ids that a message ever had
	protected map[string]bool         // ids of what must be protected
	added     map[string]chat.Message // by id, in the session
	happened  []string
}

func newRandomSession(t *rapid.T, cfg tiercompact.Config, dir string) *randomSession {
	r := &randomSession{
		t: t, cfg: cfg, path: filepath.Join(dir, "s.jsonl"), next: chattest.Transcript(t, 60),
		used: make(map[string]bool), protected: make(map[string]bool), added: make(map[string]chat.Message),
	}
	f, err := archive.CreateSession(r.path, archive.Meta{Session: "x"})
	if err != nil {
		t.Fatal(err)
	}
	r.open(func(c *tiercompact.Compactor) (*tiercompact.Session, error) { return c.Session("x"), nil }, f)
	return r
}

func (r *randomSession) open(session func(*tiercompact.Compactor) (*tiercompact.Session, error), f *archive.SessionFile) {
	c, err := tiercompact.New(r.cfg)
	if err != nil {
		r.t.Fatal(err)
	}
	if r.Session, err = session(c); err != nil {
		r.t.Fatalf("%v after %v", err, r.happened)
	}
	if err := r.Record(f); err != nil {
		r.t.Fatal(err)
	}
	r.file = f
}

// restart continues the session in a new compactor, as a new process would.
func (r *randomSession) restart() {
	if err := r.file.Close(); err != nil {
		r.t.Fatal(err)
	}
	f, state, err := archive.OpenSession(r.path)
	if err != nil {
		r.t.Fatal(err)
	}
	r.open(func(c *tiercompact.Compactor) (*tiercompact.Session, error) { return c.Resume(r.t.Context(), state) }, f)
}

func (r *randomSession) add() {
	if len(r.next) == 0 {
		return
	}
	m := r.next[0]
	r.next = r.next[1:]
	switch rapid.IntRange(0, 4).Draw(r.t, "id") {
	case 0:
		m.ID = fmt.Sprint("own", rapid.IntRange(0, 8).Draw(r.t, "own"))
	case 1:
		m.ID = fmt.Sprint("m", rapid.IntRange(1, 40).Draw(r.t, "number"))
	}
	report, err := r.AddMessage(r.t.Context(), m)
	r.check(report, err)
	if r.used[report.Message] {
		r.t.Fatalf("the id %s is given twice, after %v", report.Message, r.happened)
	}
	if m.ID != "" && report.Message != m.ID && !r.used[m.ID] {
		r.t.Fatalf("the free id %s became %s, after %v", m.ID, report.Message, r.happened)
	}
	m.ID = report.Message
	r.used[m.ID], r.added[m.ID] = true, m
	if m.Protected {
		r.protected[m.ID] = true
	}
}

// check fails on every error except one of a budget that is too small.
func (r *randomSession) check(report tiercompact.Report, err error) {
	var budget *tiercompact.BudgetError
	if err != nil && !errors.As(err, &budget) {
		r.t.Fatalf("%v after %v", err, r.happened)
	}
}

func (r *randomSession) protect() {
	messages := r.Messages()
	if len(messages) == 0 {
		return
	}
	m := rapid.SampledFrom(messages).Draw(r.t, "protect")
	err := r.Protect(m.ID)
	if written := m.IsSummary() || m.State == chat.Marked; written != (err != nil) {
		r.t.Fatalf("protect %s (%q): %v", m.ID, m.State, err)
	}
	if err == nil {
		r.protected[m.ID] = true
	}
}

func (r *randomSession) rewind() {
	messages := r.Messages()
	if len(messages) == 0 {
		return
	}
	m := rapid.SampledFrom(messages).Draw(r.t, "rewind")
	if err := r.Rewind(r.t.Context(), m.ID); err != nil && !errors.Is(err, tiercompact.ErrNotFound) {
		r.t.Fatal(err)
	}
	present := make(map[string]bool)
	for _, m := range r.Messages() {
		present[m.ID] = true
	}
	for id := range r.protected { // what came after it is gone
		if !present[id] {
			delete(r.protected, id)
		}
	}
}

// happen performs one random operation.
func (r *randomSession) happen() {
	what := rapid.SampledFrom([]string{"add", "add", "add", "add", "add", "add", "prepare", "protect", "compact", "level", "undo", "undo", "restart", "rewind"}).Draw(r.t, "what")
	r.happened = append(r.happened, what)
	switch what {
	case "add":
		r.add()
	case "prepare":
		r.check(r.Prepare(r.t.Context()))
	case "protect":
		r.protect()
	case "compact":
		r.check(r.Compact(r.t.Context(), ""))
	case "level":
		level := rapid.SampledFrom(levelNames()).Draw(r.t, "level")
		r.check(r.CompactLevel(r.t.Context(), level))
	case "undo":
		if _, err := r.Undo(r.t.Context()); err != nil && !errors.Is(err, tiercompact.ErrNothingToUndo) {
			r.t.Fatalf("%v after %v", err, r.happened)
		}
	case "restart":
		r.restart()
	case "rewind":
		r.rewind()
	}
}

// TestRandomProtection checks that exactly the expected messages are protected after any
// operation, and that message ids are unique.
func TestRandomProtection(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		cfg := drawConfig(t)
		cfg.Archive = archive.NewMemory()
		r := newRandomSession(t, cfg, dir)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			r.happen()
			r.checkProtected()
		}
		r.restart()
		r.happened = append(r.happened, "restart")
		r.checkProtected()
	})
}

func (r *randomSession) checkProtected() {
	present := make(map[string]bool)
	for _, m := range r.Messages() {
		present[m.ID] = true
		if m.Protected != r.protected[m.ID] {
			r.t.Fatalf("message %s: protected is %t, after %v", m.ID, m.Protected, r.happened)
		}
	}
	for id := range r.protected {
		if !present[id] {
			r.t.Fatalf("the protected message %s is gone, after %v", id, r.happened)
		}
	}
}

// TestRandomReach checks that after each round every message ever added is in the conversation,
// or in an entry that a reader of the conversation finds: by a shown id, or by one that is
// listed below it.
func TestRandomReach(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := drawConfig(t)
		store := archive.NewMemory()
		cfg.Archive = store
		c, err := tiercompact.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		s := c.Session("x")
		var added chat.Transcript
		listed := true
		for i, m := range chattest.Transcript(t, 60) {
			report, err := s.AddMessage(t.Context(), m)
			var budget *tiercompact.BudgetError
			if err != nil && !errors.As(err, &budget) {
				t.Fatalf("message %d: %v", i, err)
			}
			m.ID = report.Message
			added = append(added, m)
			if report.Compacted() {
				listed = checkReached(t, store, added, s.Messages(), s.Usage(), fmt.Sprintf("message %d, %v", i, applied(report)))
			}
		}
		report, _ := s.Compact(t.Context(), "")
		if report.Compacted() {
			listed = checkReached(t, store, added, s.Messages(), s.Usage(), "compacted by hand")
		}
		if _, err := archive.Prune(context.Background(), store, "x", archive.PruneOptions{Keep: 1}); err != nil {
			t.Fatal(err)
		}
		if listed { // else no id leads to what the newest round took out, and prune does not know it
			checkReached(t, store, added, s.Messages(), s.Usage(), "pruned")
		}
	})
}

// minShown is the room, in tokens, that a conversation needs to show one more id: without
// it, a later round shows the id. An id in a digest leaves no room for another. The same
// holds for a conversation without spoken messages.
const minShown = 60

var recallShown = regexp.MustCompile(`recall ([0-9a-f]{8})\b`)

// checkReached reports false if the conversation has no room to show an id.
func checkReached(t *rapid.T, store archive.Store, added, now chat.Transcript, usage tiercompact.Usage, at string) (listed bool) {
	t.Helper()
	have := make(map[string]bool)
	var ids []string
	for _, m := range now {
		have[fmt.Sprint(m.ID, m.Role, m.Parts)] = true
		for _, p := range m.Parts {
			for _, found := range recallShown.FindAllStringSubmatch(p.Text+" "+p.Args, -1) {
				ids = append(ids, found[1])
			}
		}
	}
	shown := len(ids)
	for seen := make(map[string]bool); len(ids) > 0; {
		id := ids[len(ids)-1]
		ids = ids[:len(ids)-1]
		if seen[id] {
			continue
		}
		seen[id] = true
		e, err := store.Recall(t.Context(), "x", id)
		if err != nil {
			t.Fatalf("%s: %v\n%s", at, err, show(now))
		}
		for _, m := range e.Messages {
			have[fmt.Sprint(m.ID, m.Role, m.Parts)] = true
		}
		ids = slices.Concat(ids, e.Below)
	}
	if usage.Budget-usage.Tokens < minShown || shown == 0 && !slices.ContainsFunc(now, edit.Speaks) {
		return false
	}
	for i, m := range added {
		if !have[fmt.Sprint(m.ID, m.Role, m.Parts)] {
			t.Fatalf("%s: message %d (%s) cannot be reached, budget %d, tokens %d\n%s", at, i, m.ID, usage.Budget, usage.Tokens, showTexts(now))
		}
	}
	return true
}

func showTexts(t chat.Transcript) (out string) {
	for i, m := range t {
		out += fmt.Sprintf("%d %s %s %q %s: %.200q\n", i, m.ID, m.Role, m.State, m.Recall, m.Text())
	}
	return out
}
