package cli

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// lockedText is a buffer that a command writes while a test reads it.
type lockedText struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lockedText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// startServe runs serve before an upstream, and returns its URL. It ends when ctx does.
func startServe(ctx context.Context, t *testing.T, upstream string, args ...string) (address string, done chan error) {
	t.Helper()
	address, done, _ = startServeScreen(ctx, t, upstream, args...)
	return address, done
}

// startServeScreen also returns what it prints.
func startServeScreen(ctx context.Context, t *testing.T, upstream string, args ...string) (address string, done chan error, stderr *lockedText) {
	t.Helper()
	cmd, stderr := newRootCommand(), new(lockedText)
	cmd.SetArgs(append([]string{"serve", "--upstream", upstream, "--listen", "127.0.0.1:0", "--engine", "built-in"}, args...))
	cmd.SetOut(io.Discard)
	cmd.SetErr(stderr)
	done = make(chan error, 1)
	go func() { done <- cmd.ExecuteContext(ctx) }()
	at := regexp.MustCompile(`listening at (http://\S+),`)
	for {
		if m := at.FindStringSubmatch(stderr.String()); m != nil {
			return m[1], done, stderr
		}
		select {
		case err := <-done:
			t.Fatalf("serve ended: %v\n%s", err, stderr)
		case <-time.After(time.Millisecond):
		}
	}
}

func TestServeCompactsAndTheArchiveIsReadableMeanwhile(t *testing.T) {
	var last string
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		last = string(body)
		_, _ = io.WriteString(w, `{"message":{"role":"assistant","content":"Yes"},"done":true}`)
	}))
	defer up.Close()
	dir := filepath.Join(t.TempDir(), "state")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	address, done := startServe(ctx, t, up.URL, "-w", "4096", "--dir", dir)
	var items []string
	for range 60 {
		items = append(items, `{"role":"user","content":"What does NEEDLE_9 do in needle.go?"}`, `{"role":"assistant","content":"`+strings.Repeat("It handles a part of the work. ", 12)+`"}`)
	}
	body := `{"model":"m","messages":[` + strings.Join(append(items, `{"role":"user","content":"Go on."}`), ",") + `]}`
	answer, err := http.Post(address+"/api/chat", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	session := answer.Header.Get("X-Tiercompact-Session")
	if len(last) >= len(body) || session == "" {
		t.Fatalf("%d of %d bytes went upstream; headers %v", len(last), len(body), answer.Header)
	}
	out := func(args ...string) string {
		cmd, stdout := newRootCommand(), new(lockedText)
		cmd.SetArgs(args)
		cmd.SetOut(stdout)
		cmd.SetErr(io.Discard)
		if err := cmd.ExecuteContext(t.Context()); err != nil {
			t.Errorf("%v: %v", args, err)
		}
		return stdout.String()
	}
	kept := filepath.Join(dir, "archive")
	if text := out("archive", "list", "--archive", kept); !strings.Contains(text, session) {
		t.Errorf("archive list: %s", text)
	}
	sent := filepath.Join(t.TempDir(), "sent.json")
	if err := os.WriteFile(sent, []byte(last), 0o600); err != nil {
		t.Fatal(err)
	}
	if text := out("undo", sent, "--archive", kept); strings.Count(text, "NEEDLE_9") < 60 {
		t.Errorf("undo gives %d bytes of %d", len(text), len(body))
	}
	id := regexp.MustCompile(`recall[^a-z0-9]{1,3}([0-9a-f]{6,})`).FindStringSubmatch(last)
	if id == nil {
		t.Logf("no recall id in %.300s", last)
	} else if text := out("recall", id[1], "--archive", kept); !strings.Contains(text, "NEEDLE_9") {
		t.Errorf("recall: %.200s", text)
	}
	stop()
	if err := <-done; err != nil {
		t.Errorf("serve ended: %v", err)
	}
}

func TestServePrintsRoundsAndWarnings(t *testing.T) {
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"message":{"role":"assistant","content":"Yes"},"done":true,"prompt_eval_count":100}`)
	}))
	defer up.Close()
	for _, verbose := range []bool{false, true} {
		args := []string{"-w", "4096", "--dir", filepath.Join(t.TempDir(), "state")}
		if verbose {
			args = append(args, "--verbose")
		}
		ctx, stop := context.WithCancel(t.Context())
		address, done, screen := startServeScreen(ctx, t, up.URL, args...)
		var items []string
		for i := range 20 {
			items = append(items, `{"role":"user","content":"What is next?"}`)
			if i%19 == 0 { // the first request and the last
				answer, err := http.Post(address+"/api/chat", "application/json", strings.NewReader(`{"model":"m","messages":[`+strings.Join(items, ",")+`]}`))
				if err != nil {
					t.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, answer.Body)
				answer.Body.Close()
			}
			items = append(items, `{"role":"assistant","content":"`+strings.Repeat("It handles a part of the work. ", 40)+`"}`)
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		text := screen.String()
		if n := len(regexp.MustCompile(`(?m)^tiercompact: auto-\w+: (soft|hard|emergency): \d+ tokens, \d+ before$`).FindAllString(text, -1)); n != 1 {
			t.Errorf("verbose %v: %d lines of rounds:\n%s", verbose, n, text)
		}
		if passes := strings.Count(text, "no round"); (passes == 1) != verbose || passes > 1 {
			t.Errorf("verbose %v: %d lines of requests without a round:\n%s", verbose, passes, text)
		}
		if !strings.Contains(text, "the upstream seems to cut the prompt silently") {
			t.Errorf("no warning:\n%s", text)
		}
	}
}
func TestServeRefusesAWrongState(t *testing.T) {
	for state, want := range map[string]string{
		".compact": "--dir takes the folder", "http://localhost": "--dir takes the folder",
		"redis://:secret@127.0.0.1:1/0": "does not answer", "redis://:secret@localhost:1/notanumber": "the URL of the state is wrong",
	} {
		_, notes, err := runLine(t, "serve", "--upstream", "http://127.0.0.1:1", "--listen", "127.0.0.1:0", "--dir", t.TempDir(), "--state", state)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error()+notes, "secret") {
			t.Errorf("%s: %v, %s", state, err, notes)
		}
	}
}

// TestServeHasAPage reads it, with a conversation that went through.
func TestServeHasAPage(t *testing.T) {
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"message":{"role":"assistant","content":"Yes"},"done":true}`)
	}))
	defer up.Close()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	address, done := startServe(ctx, t, up.URL, "-w", "4096", "--dir", t.TempDir())
	body := `{"model":"m","messages":[{"role":"user","content":"` + strings.Repeat("What does needle.go do? ", 60) + `"},{"role":"assistant","content":"` + strings.Repeat("It handles a part. ", 600) + `"},{"role":"user","content":"Go on."}]}`
	r, _ := http.NewRequest(http.MethodPost, address+"/api/chat", strings.NewReader(body))
	r.Header.Set("X-Tiercompact-Session", "shown")
	if answer, err := http.DefaultClient.Do(r); err != nil {
		t.Fatal(err)
	} else {
		answer.Body.Close()
	}
	for path, want := range map[string]string{"/_tiercompact/": "shown", "/_tiercompact/session?id=shown": "in use", "/_tiercompact/search?q=handles": "match"} {
		answer, err := http.Get(address + path)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || answer.StatusCode != http.StatusOK || !strings.Contains(string(text), want) {
			t.Errorf("%s: %d, %v, without %q: %s", path, answer.StatusCode, err, want, text)
		}
	}
	stop()
	if err := <-done; err != nil {
		t.Errorf("serve ended: %v", err)
	}
}

func TestServeSaysWhatDoesNotApplyToResponses(t *testing.T) {
	for _, test := range []struct {
		flags []string
		want  string // "": nothing
	}{
		{nil, ""},
		{[]string{"--native"}, "are compacted, but without --native\n"},
		{[]string{"--native", "--recall-tool"}, "are compacted, but without --native\n"},
		{[]string{"--recall-tool"}, ""},
	} {
		ctx, stop := context.WithCancel(t.Context())
		address, done, stderr := startServeScreen(ctx, t, "http://127.0.0.1:1", append(test.flags, "--dir", t.TempDir())...)
		answer, err := http.Get(address + "/healthz") // the note is printed before the first answer
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		stop()
		<-done
		if text := stderr.String(); !strings.Contains(text, test.want) || test.want == "" && strings.Contains(text, "/v1/responses") {
			t.Errorf("%v prints %s", test.flags, text)
		}
	}
}
