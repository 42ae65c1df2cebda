package suite

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	tiercompact "github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
)

// longWindows are the windows that long sessions are run in.
var longWindows = []int{4096, 8192, 16384, 131072}

// longRuns returns how many sessions are run through AddMessage and through
// Preflight. TIERCOMPACT_LONG=full runs them all.
func longRuns() (added, preflight int) {
	if os.Getenv("TIERCOMPACT_LONG") == "full" {
		return 1000, 50
	}
	return 24, 4
}

// kindOf spreads runs over presets and windows; the short form leaves the
// largest window to one run.
func kindOf(run, runs int) tiercompact.Config {
	preset := []tiercompact.Preset{tiercompact.Default, tiercompact.Eager, tiercompact.Steady}[run%3]
	window := longWindows[run/3%len(longWindows)]
	if runs < 100 && run > 0 && window > 16384 {
		window = 4096
	}
	return tiercompact.Config{Preset: preset, Window: window, Model: "llama3.2:3b"}
}

// TestLongSessionsNeverOverflow adds sessions of three times their window,
// message by message: each fits the budget after each message.
func TestLongSessionsNeverOverflow(t *testing.T) {
	runs, _ := longRuns()
	began, rounds, tokens := time.Now(), 0, 0
	for run := range runs {
		cfg := kindOf(run, runs)
		made, size := addLong(t, cfg, newTalk(uint64(run), cfg.Window))
		rounds, tokens = rounds+made, tokens+size
	}
	t.Logf("%d sessions of %d tokens in all, %d rounds, %s", runs, tokens, rounds, time.Since(began).Round(time.Second))
}

func addLong(t *testing.T, cfg tiercompact.Config, talk *talk) (rounds, tokens int) {
	t.Helper()
	at := fmt.Sprintf("seed %d, window %d, preset %s", talk.seed, cfg.Window, cfg.Preset)
	s := newSession(t, cfg)
	for size := 0; tokens < 3*cfg.Window; {
		r, err := s.AddMessage(t.Context(), talk.next())
		if err != nil {
			t.Fatalf("%s, message %d: %v", at, talk.n, err)
		}
		if r.Usage.Tokens > r.Usage.Budget {
			t.Fatalf("%s, message %d: %d tokens of %d (%s)", at, talk.n, r.Usage.Tokens, r.Usage.Budget, r.Reason)
		}
		tokens += r.Before - size
		size = r.Usage.Tokens
		if r.Compacted() {
			rounds++
		}
	}
	if u := s.Usage(); u.Tokens > u.Budget || rounds < 2 {
		t.Errorf("%s: ends at %d tokens of %d after %d rounds", at, u.Tokens, u.Budget, rounds)
	}
	return rounds, tokens
}

// TestLongPreflightsNeverOverflow sends a growing history again and again.
func TestLongPreflightsNeverOverflow(t *testing.T) {
	_, runs := longRuns()
	began, rounds := time.Now(), 0
	for run := range runs {
		cfg := kindOf(run, runs)
		rounds += preflightLong(t, cfg, newTalk(uint64(1e6+run), cfg.Window))
	}
	t.Logf("%d sessions, %d rounds, %s", runs, rounds, time.Since(began).Round(time.Second))
}

func preflightLong(t *testing.T, cfg tiercompact.Config, talk *talk) (rounds int) {
	t.Helper()
	at := fmt.Sprintf("seed %d, window %d, preset %s", talk.seed, cfg.Window, cfg.Preset)
	c, err := tiercompact.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	var history chat.Transcript
	for gone := 0; ; {
		m := talk.next()
		history = append(history, m)
		if m.Role == chat.Assistant {
			continue // the model is called for a user message or a result
		}
		out, r, err := c.Preflight(t.Context(), "x", history)
		if err != nil {
			t.Fatalf("%s, message %d: %v", at, len(history), err)
		}
		if r.Usage.Tokens > r.Usage.Budget {
			t.Fatalf("%s, message %d: %d tokens of %d", at, len(history), r.Usage.Tokens, r.Usage.Budget)
		}
		if a, b := orphans(out); a > len(talk.open) || b > 0 {
			t.Fatalf("%s, message %d: %d calls and %d results without partner", at, len(history), a, b)
		}
		if r.Compacted() {
			rounds, gone = rounds+1, gone+r.Freed()
		}
		if gone+r.Usage.Tokens >= 3*cfg.Window {
			break
		}
	}
	if rounds < 2 {
		t.Errorf("%s: %d rounds", at, rounds)
	}
	return rounds
}

// A talk is a random coding session without end.
type talk struct {
	seed   uint64
	random *rand.Rand
	window int
	n      int      // messages so far
	open   []string // ids of calls without a result
}

func newTalk(seed uint64, window int) *talk {
	return &talk{seed: seed, random: rand.New(rand.NewPCG(seed, 7)), window: window}
}

// next returns the next message: a task, calls and their results, an answer.
func (k *talk) next() chat.Message {
	k.n++
	switch {
	case k.n == 1:
		return chat.NewText(chat.System, k.text(k.window/40))
	case len(k.open) > 0:
		id := k.open[0]
		k.open = k.open[1:]
		return chat.NewResult(id, k.output())
	case k.n == 2 || k.random.IntN(5) == 0:
		return chat.NewText(chat.User, k.text(k.window/20))
	case k.random.IntN(3) == 0:
		return chat.NewText(chat.Assistant, k.text(k.window/12))
	}
	return k.calls()
}

func (k *talk) calls() chat.Message {
	m := chat.Message{Role: chat.Assistant}
	if k.random.IntN(3) == 0 {
		m.Parts = append(m.Parts, chat.Part{Kind: chat.Thinking, Text: k.text(k.window / 60)})
	}
	for i := range 1 + k.random.IntN(3) {
		id := fmt.Sprintf("call-%d-%d", k.n, i)
		path := fmt.Sprintf("src/part%d.go", k.random.IntN(12))
		p := chat.Part{Kind: chat.Call, ID: id, Name: "read", Args: fmt.Sprintf(`{"path":%q}`, path)}
		if k.random.IntN(4) == 0 {
			p.Name, p.Args = "write", fmt.Sprintf(`{"path":%q,"content":%q}`, path, k.code(k.window/10))
		}
		m.Parts = append(m.Parts, p)
		k.open = append(k.open, id)
	}
	return m
}

// output is what a tool says: mostly little, at times a fourth of the window.
func (k *talk) output() string {
	most := k.window / 16
	if k.random.IntN(6) == 0 {
		most = k.window / 4
	}
	switch k.random.IntN(4) {
	case 0:
		return "--- FAIL: TestPart (0.01s)\n" + k.text(most) + "\nFAIL"
	case 1:
		return k.text(most)
	}
	return k.code(most)
}

var longWords = strings.Fields("the parser reads next_token from src/part3.go and retryCount is 42 because cfg.Limit was never set so loadConfig fails with E1234 after 日本語 のテキスト im Überlauf port 8443 must stay open until DEP-77 is done")

// text returns at most about n tokens of words.
func (k *talk) text(n int) string {
	var b strings.Builder
	for range 1 + k.random.IntN(max(1, n/2)) {
		b.WriteString(longWords[k.random.IntN(len(longWords))])
		b.WriteByte(" \n"[k.random.IntN(12)/11])
	}
	return b.String()
}

// code returns at most about n tokens of Go.
func (k *talk) code(n int) string {
	var b strings.Builder
	b.WriteString("package part\n")
	for range 1 + k.random.IntN(max(1, n/50)) {
		f := k.random.IntN(1000)
		fmt.Fprintf(&b, "\n// Do%d does step %d.\nfunc Do%d(in string) (int, error) {\n\tif len(in) > %d {\n\t\treturn 0, fmt.Errorf(\"step %d: too long\")\n\t}\n\treturn %d, nil\n}\n", f, f, f, f, f, f)
	}
	return b.String()
}
