package suite

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	tiercompact "github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/levels"
	"github.com/tiercompact/tiercompact/redact"
	"github.com/tiercompact/tiercompact/summarize"
	"github.com/tiercompact/tiercompact/trace"
)

// The ways in which a callback fails.
const (
	hangs    = "hangs"                  // until it is released, whatever its context says
	dawdles  = "returns late"           // an hour late, and does its work then
	panics   = "panics"                 //
	ends     = "ends its goroutine"     //
	errs     = "returns an error"       // if it can
	isAbsurd = "returns what cannot be" // if it can
)

var errTrouble = errors.New("trouble")

// A trouble makes one callback of a config fail.
type trouble struct {
	at, way string
	release chan struct{}

	mu    sync.Mutex
	on    bool
	met   int // calls that failed
	going int // calls that hang
	most  int // max that hung at once
}

// set makes the callback at fail in a way from now on; "" ends that.
func (x *trouble) set(at, way string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.at, x.way, x.on = at, way, way != ""
}

// free releases hanging calls.
func (x *trouble) free() {
	x.mu.Lock()
	defer x.mu.Unlock()
	close(x.release)
	x.release = make(chan struct{})
}

// calls returns how often a callback failed.
func (x *trouble) calls() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.met
}

// meet is called by each callback. It fails in the set way, or returns the way that the
// callback must perform itself, "" for none.
func (x *trouble) meet(at string) string {
	x.mu.Lock()
	on, way, release := x.on && x.at == at, x.way, x.release
	if on {
		x.met++
	}
	if on && (way == hangs || way == dawdles) {
		x.going++
		x.most = max(x.most, x.going)
	}
	x.mu.Unlock()
	if !on {
		return ""
	}
	switch way {
	case hangs:
		<-release
	case dawdles:
		time.Sleep(time.Hour)
	case panics:
		panic("trouble")
	case ends:
		runtime.Goexit()
	default:
		return way
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.going--
	return ""
}

// err is meet for callbacks that return errors.
func (x *trouble) err(at string) (way string, err error) {
	if way = x.meet(at); way == errs {
		return way, errTrouble
	}
	return way, nil
}

func (x *trouble) Summarize(ctx context.Context, r summarize.Request) (string, error) {
	r.Progress(summarize.Progress{Call: 1})
	way, err := x.err("Summarizer")
	if err != nil {
		return "", err
	}
	if way == isAbsurd {
		return strings.Repeat("- bug 3 is fixed\n", 3<<20), nil // 50 MB, 3 million lines
	}
	return summarize.Extractive{}.Summarize(ctx, r)
}

func (x *trouble) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	way, err := x.err("Embedder")
	if err != nil {
		return nil, err
	}
	out, err := scored{}.Embed(ctx, texts)
	if way == isAbsurd {
		x.mu.Lock()
		defer x.mu.Unlock()
		switch x.met % 5 {
		case 0:
			return nil, nil
		case 1:
			out[0] = []float32{float32(math.NaN()), 1}
		case 2:
			out[len(out)-1] = make([]float32, 20_000)
		case 3:
			for i := range out {
				out[i] = make([]float32, 1<<15)
				out[i][0] = 1
			}
		case 4:
			return append(out, out...), nil
		}
	}
	return out, err
}

func (x *trouble) count(text string) int {
	if x.meet("Count") != isAbsurd {
		return quarter(text)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return []int{-1, math.MaxInt, math.MinInt, 1 << 40, 2000}[x.met%5]
}

func (x *trouble) now() time.Time {
	if x.meet("Now") == isAbsurd {
		return time.Time{}.AddDate(20_000, 0, 0)
	}
	return time.Now()
}

// A troubledStore is an archive that fails.
type troubledStore struct {
	archive.Store
	*trouble
}

func (s troubledStore) Put(ctx context.Context, a archive.Step) error {
	way, err := s.err("Archive.Put")
	if err != nil {
		return err
	}
	if way == isAbsurd {
		return archive.ErrExists // whatever the number
	}
	return s.Store.Put(ctx, a)
}

func (s troubledStore) Event(ctx context.Context, session string, line []byte) error {
	if _, err := s.err("Archive.Event"); err != nil {
		return err
	}
	return s.Store.Event(ctx, session, line)
}

func (s troubledStore) Steps(ctx context.Context, session string) ([]archive.StepInfo, error) {
	if _, err := s.err("Archive.Steps"); err != nil {
		return nil, err
	}
	return s.Store.Steps(ctx, session)
}

func (s troubledStore) Get(ctx context.Context, session string, number int) (archive.Step, error) {
	if _, err := s.err("Archive.Get"); err != nil {
		return archive.Step{}, err
	}
	return s.Store.Get(ctx, session, number)
}

func (s troubledStore) Recall(ctx context.Context, session, id string) (archive.Entry, error) {
	if _, err := s.err("Archive.Recall"); err != nil {
		return archive.Entry{}, err
	}
	return s.Store.Recall(ctx, session, id)
}

func (s troubledStore) Close() error {
	_, err := s.err("Archive.Close")
	return err
}

func (s troubledStore) Where(string, int) (adapter, location string) {
	s.meet("Archive.Where")
	return "test", ""
}

// A troubledFile is a session file that fails.
type troubledFile struct {
	*archive.SessionFile
	*trouble
}

func (f troubledFile) write(do func() error) error {
	if _, err := f.err("Recorder"); err != nil {
		return err
	}
	return do()
}

func (f troubledFile) Append(m chat.Message) error {
	return f.write(func() error { return f.SessionFile.Append(m) })
}

func (f troubledFile) Load(ms []chat.Message) error {
	return f.write(func() error { return f.SessionFile.Load(ms) })
}

func (f troubledFile) Round(r archive.Round) error {
	return f.write(func() error { return f.SessionFile.Round(r) })
}

func (f troubledFile) Undo(at time.Time) error {
	return f.write(func() error { return f.SessionFile.Undo(at) })
}

func (f troubledFile) Cut(n int) error {
	return f.write(func() error { return f.SessionFile.Cut(n) })
}

func (f troubledFile) Set(i int, m chat.Message) error {
	return f.write(func() error { return f.SessionFile.Set(i, m) })
}

// The deadlines of the tests; time is simulated.
const (
	modelDeadline    = 20 * time.Second
	archiveDeadline  = 30 * time.Second
	callbackDeadline = 5 * time.Second
)

func (x *trouble) config(t testing.TB, store archive.Store) tiercompact.Config {
	t.Helper()
	own, err := redact.New(redact.Options{Extra: []func(string) string{func(s string) string {
		x.meet("Redact")
		return s
	}}})
	if err != nil {
		t.Fatal(err)
	}
	return tiercompact.Config{
		Window: 2500, Preset: tiercompact.Default, Hard: tiercompact.HardConfig{Until: tiercompact.Half},
		Summary: tiercompact.SummaryConfig{Summarizer: x, Name: "model"}, Embed: tiercompact.EmbedConfig{Embedder: x, Name: "vectors"},
		Archive: troubledStore{store, x}, Count: x.count, Now: x.now, Redact: tiercompact.RedactConfig{Redactor: own},
		Policy:   tiercompact.PolicyConfig{Protect: func(chat.Message) bool { x.meet("Protect"); return false }},
		Trace:    func(trace.Event) { x.meet("Trace") },
		Progress: func(summarize.Progress) { x.meet("Progress") },
		ReadBack: func(left chat.Transcript) []archive.Reading {
			x.meet("ReadBack")
			return []archive.Reading{{Format: "openai", Messages: left}}
		},
		Deadlines: tiercompact.DeadlineConfig{Ranking: modelDeadline, Summary: modelDeadline, Round: 3 * modelDeadline, Archive: archiveDeadline, Callback: callbackDeadline},
	}
}

// callbacks lists all callbacks, with the deadline of each, whether it can return an error,
// and an invalid result.
func callbacks() []struct {
	name         string
	within       time.Duration
	fails, wrong bool
} {
	return []struct {
		name         string
		within       time.Duration
		fails, wrong bool
	}{
		{"Summarizer", modelDeadline, true, true},
		{"Embedder", modelDeadline, true, true},
		{"Archive.Put", archiveDeadline, true, true},
		{"Archive.Event", archiveDeadline, true, false},
		{"Archive.Steps", archiveDeadline, true, false},
		{"Archive.Get", archiveDeadline, true, false},
		{"Archive.Recall", archiveDeadline, true, false},
		{"Archive.Close", archiveDeadline, true, false},
		{"Archive.Where", archiveDeadline, false, false},
		{"Recorder", archiveDeadline, true, false},
		{"Count", callbackDeadline, false, true},
		{"Protect", callbackDeadline, false, false},
		{"Trace", callbackDeadline, false, false},
		{"Progress", callbackDeadline, false, false},
		{"Now", callbackDeadline, false, true},
		{"ReadBack", callbackDeadline, false, false},
		{"Redact", callbackDeadline, false, false},
	}
}

// slack is the extra time of a call after its deadline: a callback that respects its context
// returns within a second, and one of Count is checked every quarter.
const slack = time.Second + callbackDeadline/2

// A caller calls a session, and checks that each call returns in time.
type caller struct {
	t      *testing.T
	within time.Duration
	said   strings.Builder // by reports and errors
}

func (c *caller) call(name string, do func() (tiercompact.Report, error)) (tiercompact.Report, error) {
	c.t.Helper()
	began := time.Now()
	report, err := do()
	if took := time.Since(began); took > c.within+slack {
		c.t.Errorf("%s took %s, more than %s", name, took, c.within)
	}
	if !allowed(err) && !errors.Is(err, errTrouble) && !errors.Is(err, archive.ErrExists) {
		if _, named := errors.AsType[*tiercompact.CallbackError](err); !named {
			c.t.Errorf("%s: %v", name, err)
		}
	}
	fmt.Fprintln(&c.said, name, err, report.Warnings)
	for _, a := range report.Applied {
		fmt.Fprintln(&c.said, a.Why, a.Attempts)
	}
	return report, err
}

// Whatever a callback does, each method returns in time, an added message is in the
// conversation, and the session continues once the callback works again.
func TestNoCallbackHangsOrBreaksASession(t *testing.T) {
	if _, err := tiercompact.New(tiercompact.Config{Window: 1000}); err != nil { // loads what is shared by all
		t.Fatal(err)
	}
	for _, c := range callbacks() {
		for _, way := range []string{hangs, dawdles, panics, ends, errs, isAbsurd} {
			if way == errs && !c.fails || way == isAbsurd && !c.wrong {
				continue
			}
			for _, level := range []levels.Name{"", levels.HardName} {
				t.Run(strings.Join([]string{c.name, way, string(level)}, "/"), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) { troubled(t, c.name, way, level, c.within) })
				})
			}
		}
	}
}

func troubled(t *testing.T, at, way string, level levels.Name, within time.Duration) {
	x := &trouble{release: make(chan struct{})}
	store := archive.NewMemory()
	cfg := x.config(t, store)
	cfg.Level = level
	c, err := tiercompact.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	s := c.Session("x")
	file := filepath.Join(t.TempDir(), "x.session")
	f, err := archive.CreateSession(file, archive.Meta{Session: "x"})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := s.Record(troubledFile{f, x}); err != nil {
		t.Fatal(err)
	}
	in := working(8, 200)
	for _, m := range in { // rounds are made already, and can be undone
		if _, err := s.AddMessage(t.Context(), m); !allowed(err) {
			t.Fatal(err)
		}
	}
	x.set(at, way)
	call := &caller{t: t, within: within}
	var added []string
	message := func(i int) {
		m := said([]chat.Role{chat.User, chat.Assistant}[i%2], 150, i)
		r, err := call.call("AddMessage", func() (tiercompact.Report, error) { return s.AddMessage(t.Context(), m) })
		if r.Message == "" || !slices.ContainsFunc(s.Messages(), func(have chat.Message) bool { return have.ID == r.Message }) && !r.Compacted() {
			t.Errorf("message %d is not in the conversation: %v", i, err)
		}
		added = append(added, m.Text())
	}
	for i := range 12 {
		message(i)
	}
	for i, other := range others(t, c, s) {
		call.call(other.name, other.do)
		if i%2 == 0 {
			message(100 + i)
		}
	}
	x.set("", "")
	x.free()
	time.Sleep(2 * time.Hour) // late calls have ended
	synctest.Wait()
	x.mu.Lock()
	if x.most > 1 {
		t.Errorf("%d calls hung at once", x.most)
	}
	x.mu.Unlock()
	name, _, _ := strings.Cut(at, ".")
	names := []string{name + " ", "{" + map[string]string{"Summarizer": "model", "Embedder": "vectors"}[name] + " no "}
	told := call.said.String()
	named := slices.ContainsFunc(names, func(name string) bool { return strings.Contains(told, name) })
	if x.calls() > 0 && way != errs && !named && !quiet(at, way) {
		t.Errorf("nothing names %s: %s", name, told)
	}
	recovers(t, s, call)
	checkAllThere(t, store, s.Messages(), added)
	st, err := archive.ReadSession(file)
	if err != nil {
		t.Fatal(err)
	}
	same(t, 0, st.Messages, s.Messages())
}

// quiet reports whether a callback's behaviour is not reported under its name: a rejected
// summary or ranking has a reason, and an error that only a trace would show is not
// reported at all.
func quiet(at, way string) bool {
	return way == isAbsurd && (at == "Summarizer" || at == "Embedder" || at == "Archive.Put") || at == "Archive.Where"
}

// others are the other methods of a session that call callbacks.
func others(t *testing.T, c *tiercompact.Compactor, s *tiercompact.Session) []struct {
	name string
	do   func() (tiercompact.Report, error)
} {
	none := tiercompact.Report{}
	return []struct {
		name string
		do   func() (tiercompact.Report, error)
	}{
		{"Compact", func() (tiercompact.Report, error) { return s.Compact(t.Context(), "note") }},
		{"Preflight", func() (tiercompact.Report, error) { return s.Preflight(t.Context()) }},
		{"MakeRoom", func() (tiercompact.Report, error) { return s.MakeRoom(t.Context(), 2000) }},
		{"Plan", func() (tiercompact.Report, error) { return s.Plan(t.Context()) }},
		{"Undo", func() (tiercompact.Report, error) { return s.Undo(t.Context()) }},
		{"Recall", func() (tiercompact.Report, error) { _, err := s.Recall(t.Context(), "none"); return none, err }},
		{"Search", func() (tiercompact.Report, error) { _, err := s.Search(t.Context(), "bug 3", 3); return none, err }},
		{"SetTools", func() (tiercompact.Report, error) { s.SetTools([]byte(`[{"name":"read"}]`)); return none, nil }},
		{"Protect", func() (tiercompact.Report, error) { return none, s.Protect(s.Messages()[0].ID) }},
		{"Load", func() (tiercompact.Report, error) { return none, s.Load(working(1, 20)) }},
		{"Rewind", func() (tiercompact.Report, error) {
			now := s.Messages()
			return none, s.Rewind(t.Context(), now[len(now)-2].ID)
		}},
		{"Compactor.Preflight", func() (tiercompact.Report, error) {
			in := working(10, 200)
			out, r, err := c.Preflight(t.Context(), "y", in)
			if err != nil && !r.Compacted() && len(out) != len(in) {
				t.Errorf("a preflight that fails returns %d messages of %d", len(out), len(in))
			}
			return r, err
		}},
		{"Compactor.Close", func() (tiercompact.Report, error) { return none, c.Close() }},
	}
}

// recovers checks that a session works normally afterwards.
func recovers(t *testing.T, s *tiercompact.Session, call *caller) {
	t.Helper()
	last := tiercompact.Report{}
	for i := range 60 { // late callbacks are skipped for some calls
		var err error
		last, err = call.call("AddMessage", func() (tiercompact.Report, error) {
			return s.AddMessage(t.Context(), said(chat.Assistant, 20, i))
		})
		if i > 48 && !allowed(err) {
			t.Errorf("when all is well: %v", err)
		}
	}
	if r, err := s.Compact(t.Context(), ""); !allowed(err) || r.Reason == tiercompact.Busy {
		t.Errorf("when all is well: %s, %v; before %+v", r.Reason, err, last)
	}
}
