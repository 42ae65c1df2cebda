package s3

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/internal/archivetest"
	"github.com/tiercompact/tiercompact/internal/s3test"
)

// A fake is a server in this process that keeps a bucket in memory.
type fake struct {
	*httptest.Server
	mu       sync.Mutex
	requests []*http.Request
	answer   func(http.ResponseWriter, *http.Request) bool // true: it answered in place of the server; nil: never
}

func newFake(t *testing.T) *fake {
	t.Helper()
	s3test.Alone(t, s3test.Key, s3test.Secret)
	backend := s3mem.New()
	if err := backend.CreateBucket("bucket"); err != nil {
		t.Fatal(err)
	}
	real := gofakes3.New(backend, gofakes3.WithLogger(gofakes3.DiscardLog())).Server()
	f := new(fake)
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		f.requests = append(f.requests, r)
		answer := f.answer
		f.mu.Unlock()
		if r.Method == http.MethodPut && r.ContentLength == 0 {
			r.Header.Set("Content-Length", "0") // gofakes3 misses it, real servers do not
		}
		if answer == nil || !answer(w, r) {
			real.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(f.Close)
	return f
}

// config returns the configuration for the fake's bucket.
func (f *fake) config() Config {
	return Config{Bucket: "bucket", Prefix: "some/prefix/", Region: "us-east-1", Endpoint: f.URL, Attempts: 2}
}

func (f *fake) open(t *testing.T) *Store {
	t.Helper()
	s, err := Open(t.Context(), f.config())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// answers has the fake answer with an S3 error.
func (f *fake) answers(status int, code, message string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answer = func(w http.ResponseWriter, r *http.Request) bool {
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(status)
		if r.Method != http.MethodHead {
			w.Write([]byte(`<?xml version="1.0"?><Error><Code>` + code + `</Code><Message>` + message + `</Message></Error>`))
		}
		return true
	}
}

func TestS3IsAStore(t *testing.T) {
	f := newFake(t)
	err := archivetest.Check(t.Context(), func() archive.Store {
		s, err := Open(t.Context(), f.config())
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
	if err != nil {
		t.Error(err)
	}
}

func TestObjectsOfASession(t *testing.T) {
	f := newFake(t)
	s := f.open(t)
	if err := errors.Join(s.Put(t.Context(), archivetest.Step("a talk", 7)), s.Event(t.Context(), "a talk", []byte(`{"n":1}`)), s.Close()); err != nil {
		t.Fatal(err)
	}
	const folder = "s~a-talk~691950b377141c66e073/"
	for name, holds := range map[string]string{
		"archive.json":                              `{"v":1,"format":"tiercompact archive"}`,
		folder + "session.json":                     `"session":"a talk","steps":[[7,7]]`,
		folder + "transcript-pre-compact-007.jsonl": `{"v":1,"id":"s","role":"system"`,
		folder + "summary-007.json":                 `"summary":{"goals":["<ship>"]}`,
		folder + "step-007.jsonl":                   `{"v":1,"session":"a talk","step":7`,
		folder + "events.jsonl":                     `{"n":1}`,
	} {
		r, err := http.Get(f.URL + "/bucket/some/prefix/" + name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r.Body)
		r.Body.Close()
		if err != nil || r.StatusCode != http.StatusOK || !strings.Contains(string(got), holds) {
			t.Errorf("%s: %s, %v; the object holds %s, want it to hold %s", name, r.Status, err, got, holds)
		}
	}
}

func TestWhereASessionIs(t *testing.T) {
	s := newFake(t).open(t)
	adapter, address := archive.Where(s, "talk", 7)
	if adapter != "s3" || address != "s3://bucket/some/prefix/talk/transcript-pre-compact-007.jsonl" {
		t.Errorf("Where = %s, %s", adapter, address)
	}
	if err := s.Put(t.Context(), archivetest.Step("a/b", 1)); err != nil {
		t.Fatal(err)
	}
	if ids, err := archive.Sessions(t.Context(), s); err != nil || len(ids) != 1 || ids[0] != "a/b" {
		t.Errorf("Sessions = %v, %v", ids, err)
	}
}

func TestTheKeyOfTheServerGoesWithEachObject(t *testing.T) {
	f := newFake(t)
	c := f.config()
	c.KMSKey = "alias/archive"
	s, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Event(t.Context(), "s", []byte(`{}`)), s.Put(t.Context(), archivetest.Step("s", 1)), s.Close()); err != nil {
		t.Fatal(err)
	}
	puts, records := 0, 0
	for _, r := range f.requests {
		if r.Method != http.MethodPut {
			continue
		}
		puts++
		h := r.Header
		if h.Get("X-Amz-Server-Side-Encryption") != "aws:kms" || h.Get("X-Amz-Server-Side-Encryption-Aws-Kms-Key-Id") != "alias/archive" {
			t.Errorf("%s: %v", r.URL, h)
		}
		if strings.HasSuffix(r.URL.Path, "/session.json") {
			records++ // created, and rewritten with the number of the step
		} else if h.Get("If-None-Match") != "*" {
			t.Errorf("%s is put whatever is there", r.URL)
		}
	}
	if puts < 7 || records != 2 {
		t.Errorf("only %d objects, session.json %d times", puts, records)
	}
}

// A put with a lost answer is sent again, and recognizes its own object.
func TestALostAnswerIsNoOtherProcess(t *testing.T) {
	f := newFake(t)
	s := f.open(t)
	real := f.Config.Handler
	lost := make(map[string]bool)
	f.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut && !lost[r.URL.Path] {
			lost[r.URL.Path] = true
			real.ServeHTTP(httptest.NewRecorder(), r)
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		real.ServeHTTP(w, r)
	})
	if err := s.Put(t.Context(), archivetest.Step("s", 1)); err != nil {
		t.Fatal(err)
	}
	if len(lost) < 5 {
		t.Errorf("only %d answers were lost", len(lost))
	}
	if err := s.Put(t.Context(), archivetest.Step("s", 1)); !errors.Is(err, archive.ErrExists) {
		t.Errorf("put again: %v", err)
	}
}

func TestAConflictOfConditionalWritesIsSettled(t *testing.T) {
	f := newFake(t)
	s := f.open(t)
	met := 0
	f.answer = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPut || met == 2 {
			return false
		}
		met++
		w.WriteHeader(http.StatusConflict)
		w.Write([]byte(`<Error><Code>` + conflict + `</Code></Error>`))
		return true
	}
	if err := s.Put(t.Context(), archivetest.Step("s", 1)); err != nil {
		t.Error(err)
	}
}

func TestWithoutCredentials(t *testing.T) {
	s3test.Alone(t, "", "")
	_, err := Open(t.Context(), Config{Bucket: "bucket", Endpoint: "http://127.0.0.1:1"})
	if err == nil || !strings.Contains(err.Error(), "no credentials; set AWS_ACCESS_KEY_ID") {
		t.Errorf("Open: %v", err)
	}
	t.Setenv("AWS_PROFILE", "absent")
	_, err = Open(t.Context(), Config{Bucket: "bucket", Endpoint: "http://127.0.0.1:1"})
	if err == nil || !strings.Contains(err.Error(), "profile absent") {
		t.Errorf("Open with a profile that is not there: %v", err)
	}
}

func TestCredentialsOfAProfile(t *testing.T) {
	f := newFake(t)
	s3test.Alone(t, "", "")
	file := filepath.Join(t.TempDir(), "credentials")
	text := "[other]\naws_access_key_id = " + s3test.Key + "\naws_secret_access_key = " + s3test.Secret + "\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", file)
	t.Setenv("AWS_PROFILE", "other")
	f.open(t)
	if got := f.requests[0].Header.Get("Authorization"); !strings.Contains(got, "Credential="+s3test.Key+"/") {
		t.Errorf("signed with %s", got)
	}
}

func TestRefusedConfigs(t *testing.T) {
	s3test.Alone(t, s3test.Key, s3test.Secret)
	for _, c := range []Config{
		{}, {Bucket: "No Such Name"}, {Bucket: "bucket", Endpoint: "http://me:word@host"}, {Bucket: "bucket", Endpoint: "ftp://host"},
		{Bucket: "bucket", Endpoint: "http://host/path"}, {Bucket: "bucket", Endpoint: "://"},
	} {
		if _, err := Open(t.Context(), c); err == nil || strings.Contains(err.Error(), "word") {
			t.Errorf("Open(%+v) = %v", c, err)
		}
	}
	for _, address := range []string{"", "bucket", "s3://", "s3:///prefix", "s3://key:word@bucket/x", "https://bucket"} {
		if _, err := Parse(address); err == nil || strings.Contains(err.Error(), "word") {
			t.Errorf("Parse(%q) = %v", address, err)
		}
	}
	if c, err := Parse("s3://bucket/a/b/"); err != nil || c.Bucket != "bucket" || c.Prefix != "a/b/" {
		t.Errorf("Parse = %+v, %v", c, err)
	}
}

func TestDamagedObjectsAreNamed(t *testing.T) {
	f := newFake(t)
	s := f.open(t)
	if err := s.Put(t.Context(), archivetest.Step("s", 1)); err != nil {
		t.Fatal(err)
	}
	spoil(t, f.URL+"/bucket/some/prefix/s/step-001.jsonl", "of step 1", "of step 2")
	_, err := s.Recall(t.Context(), "s", "same")
	want := "s3://bucket/some/prefix/s/step-001.jsonl: line 4: entry same"
	if !errors.Is(err, archive.ErrDamaged) || !strings.Contains(err.Error(), want) {
		t.Errorf("Recall: %v, want %s", err, want)
	}
	found, err := archive.Verify(t.Context(), s, "s")
	if err != nil || len(found.Damages) != 1 || found.Damages[0].Entry != "same" {
		t.Errorf("Verify = %+v, %v", found, err)
	}
	if _, err := s.Recall(t.Context(), "s", "r1"); err != nil {
		t.Errorf("the other entry: %v", err)
	}
}

// spoil changes an object without the store.
func spoil(t *testing.T, url, old, put string) {
	t.Helper()
	r, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b := new(strings.Builder)
	if _, err := io.Copy(b, r.Body); err != nil || !strings.Contains(b.String(), old) {
		t.Fatalf("%s holds %s, %v", url, b, err)
	}
	request, err := http.NewRequest(http.MethodPut, url, strings.NewReader(strings.Replace(b.String(), old, put, 1)))
	if err != nil {
		t.Fatal(err)
	}
	if r, err = http.DefaultClient.Do(request); err != nil || r.StatusCode != http.StatusOK {
		t.Fatal(r.Status, err)
	}
	r.Body.Close()
}
