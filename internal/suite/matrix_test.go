package suite

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	tiercompact "github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/levels"
	"github.com/tiercompact/tiercompact/wire"
)

// corpus is the folder of real sessions, beside a checkout; they are not part of it.
const corpus = "../shared/transcripts"

// A session is one chat of a file of the corpus.
type session struct {
	name string
	wire.Conversation
}

// sessions reads the corpus. Files of formats that are not read are left out,
// and listed.
func sessions(t testing.TB) []session {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(corpus, "*", "*"))
	if len(files) == 0 {
		t.Skipf("no sessions in %s: the matrix runs on real transcripts, put some there", corpus)
	}
	var out []session
	for _, file := range files {
		data := readFile(t, file)
		for n := 1; ; n++ {
			c, err := wire.DecodeBytes(data, wire.Options{Name: file, Chat: n})
			if err != nil {
				if n == 1 {
					t.Logf("left out: %v", err)
				}
				break
			}
			if len(c.Messages) > 0 {
				out = append(out, session{fmt.Sprintf("%s#%d", strings.TrimPrefix(file, corpus+"/"), n), c})
			}
		}
	}
	return out
}

func readFile(t testing.TB, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestMatrix runs every session of the corpus through windows, levels and presets, once as
// compact does and once message by message, each twice, and checks the invariants on the
// results. By default it runs a part; TIERCOMPACT_MATRIX=full runs all.
func TestMatrix(t *testing.T) {
	windows, step := []int{4096, 16384}, 5
	if os.Getenv("TIERCOMPACT_MATRIX") == "full" {
		windows, step = []int{4096, 8192, 16384, 32768, 65536}, 1
	}
	all := sessions(t)
	began, runs, floors := time.Now(), 0, 0
	for i, s := range all {
		if i%step != 0 {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			for _, window := range windows {
				for _, level := range append([]levels.Name{""}, levelNames()...) {
					for _, preset := range []tiercompact.Preset{tiercompact.Default, tiercompact.Eager, tiercompact.Steady} {
						cfg := tiercompact.Config{Window: window, Level: level, Preset: preset, Model: "llama3.2:3b"}
						for _, how := range []string{"compact", "replay"} {
							runs += 2
							if !checkCell(t, s, cfg, how) {
								floors++
							}
						}
					}
				}
			}
		})
	}
	t.Logf("%d runs over %d sessions in %s; in %d cells the floor is over the budget", runs, (len(all)+step-1)/step, time.Since(began).Round(time.Second), floors)
}

// checkCell runs one cell twice; it reports whether the conversation fits.
func checkCell(t *testing.T, s session, cfg tiercompact.Config, how string) bool {
	at := fmt.Sprintf("%s window %d level %q preset %s", how, cfg.Window, cfg.Level, cfg.Preset)
	first, usage, err := runCell(t, s, cfg, how)
	again, _, _ := runCell(t, s, cfg, how)
	var budget *tiercompact.BudgetError
	switch {
	case errors.As(err, &budget):
		checkFloor(t, at, first, cfg, budget)
	case err != nil:
		t.Errorf("%s: %v", at, err)
		return true
	case usage.Tokens > usage.Budget:
		t.Errorf("%s: %d tokens of %d, and no error", at, usage.Tokens, usage.Budget)
	}
	if a, b := encode(t, s, first), encode(t, s, again); !bytes.Equal(a, b) {
		t.Errorf("%s: two runs gave different bytes", at)
	}
	calls, results := orphans(s.Messages)
	if c, r := orphans(first); c > calls || r > results {
		t.Errorf("%s: %d calls and %d results without partner were %d and %d", at, c, r, calls, results)
	}
	if want, got := texts(s.Messages, protected), texts(first, protected); !slices.Equal(want, got) {
		t.Errorf("%s: protected messages are not what they were", at)
	}
	if made := chat.New(chat.Check(s.Messages), chat.Check(first)); len(made) > 0 {
		t.Errorf("%s: the check finds %v", at, made)
	}
	return err == nil
}

func runCell(t *testing.T, s session, cfg tiercompact.Config, how string) (chat.Transcript, tiercompact.Usage, error) {
	t.Helper()
	c, err := tiercompact.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	x := c.Session("x")
	x.SetTools(s.Tools)
	if how == "compact" {
		if err := x.Load(s.Messages); err != nil {
			t.Fatal(err)
		}
		if cfg.Level != "" {
			_, err = x.CompactLevel(t.Context(), cfg.Level)
		} else {
			_, err = x.Check(t.Context())
		}
		return x.Messages(), x.Usage(), err
	}
	for _, m := range s.Messages {
		_, err = x.AddMessage(t.Context(), m)
		if err != nil && !errors.Is(err, tiercompact.ErrInsufficientBudget) {
			return x.Messages(), x.Usage(), err
		}
	}
	return x.Messages(), x.Usage(), err
}

// checkFloor checks that the floor really is over the budget: fixed messages, and at most 80
// tokens for each message that was cut to a stub.
func checkFloor(t *testing.T, at string, left chat.Transcript, cfg tiercompact.Config, e *tiercompact.BudgetError) {
	t.Helper()
	fixed := e.System + e.Tools + e.Pinned + e.Last
	most := fixed + 80*len(left)
	for _, m := range left {
		for _, p := range m.Parts {
			if p.Kind == chat.Thinking {
				most += len(p.Text) / 2
			}
		}
	}
	if e.Floor <= e.Budget || most <= e.Budget {
		t.Errorf("%s: %v, but %d messages and %d tokens that cannot be cut are left\n%s", at, e, len(left), fixed, show(left))
	}
	if len(left) > 24 {
		t.Errorf("%s: does not fit, and %d messages are left", at, len(left))
	}
}

func texts(t chat.Transcript, which func(chat.Message) bool) []string {
	var out []string
	for _, m := range t {
		if which(m) {
			out = append(out, fmt.Sprint(m.Role, m.Parts))
		}
	}
	return out
}

func encode(t *testing.T, s session, messages chat.Transcript) []byte {
	t.Helper()
	c := s.Conversation
	c.Messages = messages
	var b bytes.Buffer
	if err := wire.Encode(&b, c, ""); err != nil {
		t.Errorf("encode: %v", err)
	}
	return b.Bytes()
}
