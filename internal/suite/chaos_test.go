package suite

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	tiercompact "github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/levels"
	"github.com/tiercompact/tiercompact/summarize"
)

// slow is a summarizer and an embedder that yield to other goroutines.
type slow struct{}

func (slow) Summarize(ctx context.Context, r summarize.Request) (string, error) {
	time.Sleep(200 * time.Microsecond)
	return summarize.Extractive{}.Summarize(ctx, r)
}

func (slow) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	time.Sleep(200 * time.Microsecond)
	return scored{}.Embed(ctx, texts)
}

// allowed reports whether an error may come of any use of a session.
func allowed(err error) bool {
	for _, fine := range []error{nil, tiercompact.ErrBusy, tiercompact.ErrNotFound, tiercompact.ErrNothingToUndo, tiercompact.ErrInsufficientBudget} {
		if errors.Is(err, fine) {
			return true
		}
	}
	return false
}

func TestManyAtOnceLoseNothing(t *testing.T) {
	for _, preset := range []tiercompact.Preset{tiercompact.Default, tiercompact.Steady} {
		store := archive.NewMemory()
		c, err := tiercompact.New(tiercompact.Config{
			Window: 2500, Preset: preset, Count: quarter, Archive: store,
			Embed: tiercompact.EmbedConfig{Embedder: slow{}, Name: "slow"}, Summary: tiercompact.SummaryConfig{Summarizer: slow{}, Name: "slow"},
		})
		if err != nil {
			t.Fatal(err)
		}
		s := c.Session("x")
		var all sync.WaitGroup
		var mu sync.Mutex
		var added []string
		for g := range 8 {
			all.Go(func() {
				random := rand.New(rand.NewPCG(uint64(g), 1))
				for i := range 40 {
					id, err := act(t, c, s, random, fmt.Sprintf("%d-%d", g, i))
					if !allowed(err) {
						t.Error(err)
					}
					if id != "" {
						mu.Lock()
						added = append(added, id)
						mu.Unlock()
					}
				}
			})
		}
		all.Wait()
		checkAllThere(t, store, s.Messages(), added)
	}
}

// act performs one random operation, and returns the text of the message that it added.
func act(t *testing.T, c *tiercompact.Compactor, s *tiercompact.Session, random *rand.Rand, name string) (added string, err error) {
	ctx := t.Context()
	messages := s.Messages()
	pick := func() string {
		if len(messages) == 0 {
			return "none"
		}
		return messages[random.IntN(len(messages))].ID
	}
	switch n := random.IntN(20); n {
	default:
		role := []chat.Role{chat.User, chat.Assistant}[n%2]
		text := name + " says " + prose(20+random.IntN(150), random.IntN(1000))
		_, err = s.AddMessage(ctx, chat.NewText(role, text))
		return text, err
	case 10:
		_, err = s.Undo(ctx)
	case 11:
		s.Observe(random.IntN(4000) - 100)
	case 12:
		if random.IntN(4) == 0 {
			err = s.Protect(pick())
		}
	case 13:
		_, err = s.Preflight(ctx)
	case 14:
		_, err = s.Compact(ctx, "note")
	case 15:
		err = s.SetWindow(1500 + random.IntN(3000))
	case 16:
		s.SetTools([]byte(`[{"name":"read"}]`))
		_ = s.Usage()
		_, err = s.Recall(ctx, "none")
	case 17:
		_, err = s.Plan(ctx)
	case 18:
		_, _, err = c.Preflight(ctx, "shared", working(10+random.IntN(3), 150))
	case 19:
		_, _, err = c.Preflight(ctx, "", working(10, 150))
	}
	return "", err
}

// checkAllThere checks that every text is in the conversation or in a transcript of the archive.
func checkAllThere(t *testing.T, store archive.Store, now chat.Transcript, added []string) {
	t.Helper()
	have := make(map[string]bool)
	keep := func(ms chat.Transcript) {
		for _, m := range ms {
			have[m.Text()] = true
		}
	}
	keep(now)
	infos, err := store.Steps(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range infos {
		step, err := store.Get(t.Context(), "x", info.Number)
		if err != nil {
			t.Fatal(err)
		}
		keep(step.Before)
	}
	for _, text := range added {
		if !have[text] {
			t.Errorf("lost: %.40s", text)
		}
	}
}

// A failing store fails on demand, before or after its work.
type failing struct {
	archive.Store
	before, behind func() bool
}

var errDisk = errors.New("disk full")

func (f failing) Put(ctx context.Context, s archive.Step) error {
	if f.before() {
		return errDisk
	}
	if err := f.Store.Put(ctx, s); err != nil {
		return err
	}
	if f.behind() {
		return errDisk
	}
	return nil
}

func TestArchiveThatFailsChangesNothingAndRecovers(t *testing.T) {
	never, now := func() bool { return false }, true
	sometimes := func() bool { return now }
	for name, f := range map[string]failing{"before": {before: sometimes, behind: never}, "behind": {before: never, behind: sometimes}} {
		t.Run(name, func(t *testing.T) {
			f.Store, now = archive.NewMemory(), true
			s := start(t, tiercompact.Config{Window: 2000, Archive: f})
			in := working(8, 200)
			for i, m := range in {
				if r, err := s.AddMessage(t.Context(), m); err != nil && !errors.Is(err, errDisk) || r.Compacted() {
					t.Fatal(err)
				}
				if got := len(s.Messages()); got != i+1 {
					t.Fatalf("%d messages of %d are left", got, i+1)
				}
			}
			now = false
			if r, err := s.Compact(t.Context(), ""); err != nil || !r.Compacted() {
				t.Fatalf("the archive is well again: %q, %v", r.Reason, err)
			}
			now = true
			if _, err := s.Undo(t.Context()); !errors.Is(err, errDisk) {
				t.Errorf("undo: %v", err)
			}
			now = false
			if _, err := s.Undo(t.Context()); err != nil {
				t.Errorf("undo: %v", err)
			}
			if got := s.Messages(); fmt.Sprint(texts(got, everything)) != fmt.Sprint(texts(in, everything)) {
				t.Error("undo did not bring back what was")
			}
		})
	}
}

// An ending context ends at its n-th check.
type ending struct {
	context.Context
	left *int
}

func (e ending) Err() error {
	if *e.left--; *e.left < 0 {
		return context.Canceled
	}
	return nil
}

func TestContextThatEndsAnywhereLosesNothing(t *testing.T) {
	for n := range 40 {
		s := start(t, tiercompact.Config{Window: 2500, Preset: tiercompact.Steady, Embed: tiercompact.EmbedConfig{Embedder: slow{}, Name: "slow"}, Summary: tiercompact.SummaryConfig{Summarizer: slow{}, Name: "slow"}})
		if err := s.Load(working(12, 200)); err != nil {
			t.Fatal(err)
		}
		before := s.Messages()
		ctx := ending{t.Context(), &n}
		r, err := s.AddMessage(ctx, chat.NewText(chat.User, "and now?"))
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Fatalf("%d: %v", n, err)
		}
		if err != nil && !r.Compacted() && len(s.Messages()) != len(before)+1 {
			t.Errorf("%d: %d messages of %d", n, len(s.Messages()), len(before)+1)
		}
		if _, err := s.Compact(t.Context(), ""); err != nil {
			t.Errorf("%d: the session is of no use after it: %v", n, err)
		}
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	c, err := tiercompact.New(tiercompact.Config{Window: 2500, Count: quarter, Summary: tiercompact.SummaryConfig{Summarizer: slow{}}})
	if err != nil {
		t.Fatal(err)
	}
	in := working(12, 200)
	if out, _, err := c.Preflight(done, "y", in); err != nil && len(out) != len(in) {
		t.Errorf("a preflight without time returns %d messages of %d", len(out), len(in))
	}
}

// After every operation on a recorded session the file has the session's state, and a session
// resumed from it continues in the same way.
func TestSessionFileFollowsTheSession(t *testing.T) {
	for seed := range uint64(24) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { checkRecorded(t, seed) })
	}
}

func checkRecorded(t *testing.T, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 2))
	store := archive.NewMemory()
	file := filepath.Join(t.TempDir(), "x.session")
	f, err := archive.CreateSession(file, archive.Meta{Session: "x"})
	if err != nil {
		t.Fatal(err)
	}
	flaky := &unsteady{SessionFile: f, random: random}
	cfg := tiercompact.Config{Window: 1200, Count: quarter, Archive: store, Preset: []tiercompact.Preset{tiercompact.Default, tiercompact.Steady}[seed%2]}
	s := newSession(t, cfg)
	if seed%3 == 0 { // recording begins late
		for i := range 12 {
			_, _ = s.AddMessage(t.Context(), said([]chat.Role{chat.User, chat.Assistant}[i%2], 120, i))
		}
	}
	if err := s.Record(flaky); err != nil {
		t.Fatal(err)
	}
	for i := range 60 {
		flaky.fail = seed%4 == 1 && random.IntN(5) == 0
		if err := step(t, s, random, i); !allowed(err) && !errors.Is(err, errDisk) {
			t.Fatalf("step %d: %v", i, err)
		}
		flaky.fail = false
		if random.IntN(6) > 0 {
			continue
		}
		_, _ = s.AddMessage(t.Context(), said(chat.Assistant, 10, i)) // missed records are written now
		if random.IntN(3) == 0 {
			s, flaky = reopen(t, cfg, file, flaky)
			continue
		}
		st, err := archive.ReadSession(file)
		if err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
		same(t, i, st.Messages, s.Messages())
	}
	if err := flaky.Close(); err != nil {
		t.Error(err)
	}
}

func newSession(t *testing.T, cfg tiercompact.Config) *tiercompact.Session {
	t.Helper()
	c, err := tiercompact.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c.Session("x")
}

// reopen resumes a session from its file, and checks that its state is the same.
func reopen(t *testing.T, cfg tiercompact.Config, file string, old *unsteady) (*tiercompact.Session, *unsteady) {
	t.Helper()
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	f, st, err := archive.OpenSession(file)
	if err != nil {
		t.Fatal(err)
	}
	c, err := tiercompact.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.Resume(t.Context(), st)
	if err != nil {
		t.Fatal(err)
	}
	same(t, -1, st.Messages, s.Messages())
	next := &unsteady{SessionFile: f, random: old.random}
	if err := s.Record(next); err != nil {
		t.Fatal(err)
	}
	return s, next
}

// step performs one operation on a session.
func step(t *testing.T, s *tiercompact.Session, random *rand.Rand, i int) error {
	messages := s.Messages()
	id := "none"
	if len(messages) > 0 {
		id = messages[random.IntN(len(messages))].ID
	}
	var err error
	switch n := random.IntN(16); n {
	case 0, 1:
		_, err = s.Undo(t.Context())
	case 2:
		err = s.Rewind(t.Context(), id)
	case 3:
		if random.IntN(3) == 0 {
			err = s.Protect(id)
		}
	case 4:
		_, err = s.Compact(t.Context(), "")
	case 5:
		_, err = s.CompactLevel(t.Context(), []levels.Name{levels.SoftName, levels.HardName, levels.Emergency}[random.IntN(3)])
	case 6, 7:
		for _, m := range readOf(fmt.Sprint("r", i), fmt.Sprintf("f%d.go", i%4), 150) {
			_, err = s.AddMessage(t.Context(), m)
		}
	default:
		_, err = s.AddMessage(t.Context(), said([]chat.Role{chat.User, chat.Assistant}[n%2], 20+random.IntN(100), i))
	}
	return err
}

func same(t *testing.T, i int, file, session chat.Transcript) {
	t.Helper()
	say := func(m chat.Message) string { return fmt.Sprint(m.ID, m.Role, m.Protected, m.State, m.Parts) }
	if !slices.EqualFunc(file, session, func(a, b chat.Message) bool { return say(a) == say(b) }) {
		t.Fatalf("step %d: the file says\n%s\nthe session\n%s", i, show(file), show(session))
	}
}

// unsteady is a session file on a disk that is full at times.
type unsteady struct {
	*archive.SessionFile
	random *rand.Rand
	fail   bool
}

func (u *unsteady) write(do func() error) error {
	if u.fail && u.random.IntN(2) == 0 {
		return errDisk
	}
	return do()
}

func (u *unsteady) Append(m chat.Message) error {
	return u.write(func() error { return u.SessionFile.Append(m) })
}

func (u *unsteady) Load(ms []chat.Message) error {
	return u.write(func() error { return u.SessionFile.Load(ms) })
}

func (u *unsteady) Round(r archive.Round) error {
	return u.write(func() error { return u.SessionFile.Round(r) })
}

func (u *unsteady) Undo(at time.Time) error {
	return u.write(func() error { return u.SessionFile.Undo(at) })
}

func (u *unsteady) Cut(n int) error {
	return u.write(func() error { return u.SessionFile.Cut(n) })
}

func (u *unsteady) Set(i int, m chat.Message) error {
	return u.write(func() error { return u.SessionFile.Set(i, m) })
}
