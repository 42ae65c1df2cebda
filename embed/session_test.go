package embed_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	tiercompact "github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/embed"
	"github.com/tiercompact/tiercompact/levels"
)

// replay adds a conversation message by message, with level hard, and returns how
// often the model ranked.
func replay(t *testing.T, m *embed.Model, window int, messages chat.Transcript) (rankings int) {
	t.Helper()
	c, err := tiercompact.New(tiercompact.Config{Window: window, Level: levels.HardName, Embedder: m, EmbedderName: m.Name})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, msg := range messages {
		report, err := c.Session("s").AddMessage(t.Context(), msg)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range report.Applied {
			if a.Engine == m.Name {
				rankings++
			}
			if a.Fallback != "" {
				t.Errorf("the ranking fell back: %s", a.Why)
			}
		}
	}
	return rankings
}

// dialogue returns a conversation of n questions with answers, some of them long.
func dialogue(n int) chat.Transcript {
	var messages chat.Transcript
	for i := range n {
		messages = append(messages,
			chat.NewText(chat.User, fmt.Sprintf("what does function%d do in module%d?", i, i%7)),
			chat.NewText(chat.Assistant, strings.Repeat(fmt.Sprintf("function%d reads table%d and writes report%d.\n", i, i*3, i*5), 1+i%30)))
	}
	return messages
}

func TestReplayingASessionTwiceEmbedsNothingTheSecondTime(t *testing.T) {
	s, dir := &server{limit: 800}, t.TempDir()
	for i := range 2 {
		m := &embed.Model{Server: s, Name: "m", Cache: openCache(t, dir)}
		rankings := replay(t, m, 3000, dialogue(40))
		sent := s.sent()
		if rankings < 3 || i == 0 && len(sent) < 80 || i == 1 && len(sent) > 0 {
			t.Errorf("replay %d: %d rankings, %d texts embedded", i, rankings, len(sent))
		}
		seen := make(map[string]bool)
		for _, text := range sent {
			if seen[text] {
				t.Errorf("embedded twice: %q", text)
			}
			seen[text] = true
		}
	}
}

// killed names the folder of the cache to a child process.
const killed = "TIERCOMPACT_EMBED_KILLED"

// TestAKilledRunLosesTheBatchInFlight kills a process during its fifth batch,
// without a chance to clean up.
func TestAKilledRunLosesTheBatchInFlight(t *testing.T) {
	const batch, before = 8, 4
	texts := numbered(100)
	if dir := os.Getenv(killed); dir != "" {
		s := &server{fail: func(request int) error {
			if request > before {
				fmt.Println("in flight")
				select {}
			}
			return nil
		}}
		m := &embed.Model{Server: s, Name: "m", Batch: batch, Cache: openCache(t, dir)}
		_, err := m.Embed(t.Context(), texts)
		t.Fatal("was not killed:", err)
	}
	dir := t.TempDir()
	killInFlight(t, dir)
	s := &server{}
	m := &embed.Model{Server: s, Name: "m", Cache: openCache(t, dir)}
	if _, err := m.Embed(t.Context(), texts); err != nil {
		t.Fatal(err)
	}
	if sent := len(s.sent()); sent != len(texts)-before*batch {
		t.Errorf("%d texts were embedded again, %d were done", sent-(len(texts)-before*batch), before*batch)
	}
}

// killInFlight runs this test in another process until that reports a batch in
// flight, and kills it.
func killInFlight(t *testing.T, dir string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestAKilledRunLosesTheBatchInFlight$")
	cmd.Env = append(os.Environ(), killed+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	reached := false
	for s := bufio.NewScanner(out); !reached && s.Scan(); {
		reached = s.Text() == "in flight"
	}
	cmd.Process.Kill()
	cmd.Wait()
	if !reached {
		t.Fatal("the process ended before a batch was in flight")
	}
}

// canceller ends a context with its nth request.
type canceller struct {
	server
	n    int
	stop context.CancelFunc
}

func (c *canceller) Embed(ctx context.Context, name string, texts []string) ([][]float32, error) {
	if c.n--; c.n == 0 {
		c.stop()
	}
	return c.server.Embed(ctx, name, texts)
}

func TestACancelledRankingKeepsWhatWasEmbedded(t *testing.T) {
	dir := t.TempDir()
	ctx, stop := context.WithCancel(t.Context())
	c := &canceller{n: 3, stop: stop}
	m := &embed.Model{Server: c, Name: "m", Batch: 10, Cache: openCache(t, dir)}
	if _, err := m.EmbedChunks(ctx, numbered(40)); err == nil {
		t.Fatal("no error")
	}
	s := &server{}
	m = &embed.Model{Server: s, Name: "m", Cache: openCache(t, dir)}
	if _, err := m.EmbedChunks(t.Context(), numbered(40)); err != nil || len(s.sent()) != 20 {
		t.Errorf("error %v", err)
	}
}
