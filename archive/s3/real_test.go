package s3

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/archivetest"
	"github.com/tiercompact/tiercompact/internal/s3test"
)

// A real is a server with an archive.
type real struct{ *s3test.Server }

func startReal(t *testing.T) real { return real{s3test.Start(t)} }

func (r real) config() Config {
	return Config{Bucket: s3test.Bucket, Prefix: "kept", Region: "us-east-1", Endpoint: r.URL, Attempts: 2, Timeout: 10 * time.Second}
}

func (r real) open(t *testing.T, c Config) *Store {
	t.Helper()
	s, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestRealServerKeepsAnArchive(t *testing.T) {
	g := startReal(t)
	if err := archivetest.Check(t.Context(), func() archive.Store { return g.open(t, g.config()) }); err != nil {
		t.Error(err)
	}
}

// Stores without knowledge of each other, as in several processes, race for
// numbers.
func TestRealNumberIsTakenOnce(t *testing.T) {
	g := startReal(t)
	const processes, numbers = 4, 10
	var mu sync.Mutex
	owner := make(map[int]string)
	var wg sync.WaitGroup
	for p := range processes {
		s := g.open(t, g.config())
		defer s.Close()
		wg.Go(func() {
			for n := 1; n <= numbers; n++ {
				step := archivetest.Step("race", n)
				step.Note = fmt.Sprint("of process ", p)
				switch err := s.Put(t.Context(), step); {
				case err == nil:
					mu.Lock()
					if owner[n] != "" {
						t.Errorf("number %d was taken twice", n)
					}
					owner[n] = step.Note
					mu.Unlock()
				case !errors.Is(err, archive.ErrExists):
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	s := g.open(t, g.config())
	defer s.Close()
	for n, note := range owner {
		if step, err := s.Get(t.Context(), "race", n); err != nil || step.Note != note {
			t.Errorf("step %d is %q, %v; want %q", n, step.Note, err, note)
		}
	}
	checkClean(t, s, "race", len(owner))
}

func checkClean(t *testing.T, s archive.Store, session string, least int) {
	t.Helper()
	f, err := archive.Verify(t.Context(), s, session)
	if err != nil || !f.Clean() || f.Steps < least {
		t.Errorf("%d steps, at least %d expected; damages %v, notes %v, %v", f.Steps, least, f.Damages, f.Notes, err)
	}
}

// A cut is a transport that calls a function in the middle of the body of a request, once.
type cut struct {
	mu   sync.Mutex
	left int // requests with a body until it happens
	do   func()
}

func (c *cut) RoundTrip(r *http.Request) (*http.Response, error) {
	c.mu.Lock()
	if r.Method == http.MethodPut && c.do != nil {
		if c.left--; c.left < 0 {
			do := c.do
			c.do = nil
			size := max(1, r.ContentLength/2)
			r = r.Clone(r.Context())
			body := r.Body
			r.Body = struct {
				io.Reader
				io.Closer
			}{io.MultiReader(io.LimitReader(body, size), after(do), body), body}
		}
	}
	c.mu.Unlock()
	return http.DefaultTransport.RoundTrip(r)
}

// after is an empty reader that calls a function when it is read.
type after func()

func (f after) Read([]byte) (int, error) {
	time.Sleep(20 * time.Millisecond) // the data sent so far arrives
	f()
	return 0, io.EOF
}

// TestRealServerKilled kills the server in the middle of every object of a round.
// Every message that leaves the conversation is in the archive, and the archive is
// undamaged.
func TestRealServerKilled(t *testing.T) {
	g := startReal(t)
	kills := 0
	for at := range 12 {
		session := fmt.Sprint("killed ", at)
		transport := &cut{left: at, do: func() { kills++; g.Kill() }}
		c := g.config()
		c.Transport = transport
		s := g.open(t, c)
		added, conversation := talk(t, s, session, g.Again)
		g.Again() // it may have been killed while it received events
		if err := s.Close(); err != nil && !g.Killed() {
			t.Errorf("%s: Close: %v", session, err)
		}
		g.Again()
		s = g.open(t, g.config())
		checkNothingLost(t, s, conversation, added)
		checkClean(t, s, session, 1)
		s.Close()
	}
	if kills < 8 {
		t.Errorf("only %d kills", kills)
	}
}

// talk adds messages to a session that compacts into s. If archiving fails, again
// is called, and the talk continues.
func talk(t *testing.T, s archive.Store, id string, again func()) ([]chat.Message, *tiercompact.Session) {
	t.Helper()
	c, err := tiercompact.New(tiercompact.Config{Window: 2000, Archive: s})
	if err != nil {
		t.Fatal(err)
	}
	session := c.Session(id)
	var added []chat.Message
	for n := range 30 {
		m := chat.NewText([]chat.Role{chat.User, chat.Assistant}[n%2], fmt.Sprintf("message %d: ", n)+strings.Repeat(fmt.Sprintf("word%d of the talk, ", n), 12))
		m.ID = fmt.Sprint("m", n)
		added = append(added, m)
		if _, err := session.AddMessage(t.Context(), m); err != nil {
			again()
		}
	}
	return added, session
}

func checkNothingLost(t *testing.T, s archive.Store, session *tiercompact.Session, added []chat.Message) {
	t.Helper()
	have := make(map[string]bool)
	for _, m := range session.Messages() {
		have[m.Text()] = true
	}
	steps, err := s.Steps(t.Context(), session.ID())
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range steps {
		step, err := s.Get(t.Context(), session.ID(), info.Number)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range step.Before {
			have[m.Text()] = true
		}
	}
	for _, m := range added {
		if !have[m.Text()] {
			t.Errorf("session %s: message %s is neither in the conversation nor in the archive", session.ID(), m.ID)
		}
	}
}

func TestRealWrongCredentials(t *testing.T) {
	g := startReal(t)
	other := strings.Repeat("another-", 5)
	for _, c := range [][2]string{{s3test.Key, other}, {"nobody-s-key", s3test.Secret}} {
		t.Setenv("AWS_ACCESS_KEY_ID", c[0])
		t.Setenv("AWS_SECRET_ACCESS_KEY", c[1])
		_, err := Open(t.Context(), g.config())
		if err == nil || !strings.Contains(err.Error(), "the credentials are wrong") || strings.Contains(err.Error(), c[1]) {
			t.Errorf("Open: %v", err)
		}
	}
}

func TestRealBucketThatIsNotThere(t *testing.T) {
	g := startReal(t)
	c := g.config()
	c.Bucket = "no-such-bucket"
	_, err := Open(t.Context(), c)
	if err == nil {
		s, _ := Open(t.Context(), c)
		err = s.Put(t.Context(), archivetest.Step("s", 1))
	}
	if err == nil || !strings.Contains(err.Error(), "make the bucket") {
		t.Errorf("%v", err)
	}
}

// late is a transport that dates requests by a wrong clock.
type late time.Duration

func (l late) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	return http.DefaultTransport.RoundTrip(resigned(r, time.Now().UTC().Add(time.Duration(l))))
}

func TestRealClockThatIsWrong(t *testing.T) {
	g := startReal(t)
	for _, by := range []time.Duration{-time.Hour, time.Hour} {
		c := g.config()
		c.Transport = late(by)
		_, err := Open(t.Context(), c)
		if err == nil || !strings.Contains(err.Error(), "the clock of this machine") {
			t.Errorf("by %v: Open: %v", by, err)
		}
	}
	c := g.config()
	c.Transport = late(time.Minute)
	s, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Put(t.Context(), archivetest.Step("s", 1)); err != nil {
		t.Errorf("a minute is no matter: %v", err)
	}
}

func TestRealDamageIsNamed(t *testing.T) {
	g := startReal(t)
	s := g.open(t, g.config())
	defer s.Close()
	if err := s.Put(t.Context(), archivetest.Step("s", 1)); err != nil {
		t.Fatal(err)
	}
	path := g.Objects + "/bucket/kept/s/step-001.jsonl"
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(b), "of step 1", "of step 7", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := archive.Verify(t.Context(), s, "s")
	if err != nil || len(f.Damages) != 1 || f.Damages[0].Entry != "same" || !strings.Contains(f.Damages[0].Error(), "s3://bucket/kept/s/step-001.jsonl: line 4") {
		t.Errorf("Verify = %+v, %v", f, err)
	}
}
