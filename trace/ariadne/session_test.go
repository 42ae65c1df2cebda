package ariadne_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/summarize"
	"github.com/tiercompact/tiercompact/trace"
	"github.com/tiercompact/tiercompact/trace/ariadne"
	"github.com/tiercompact/tiercompact/trace/ariadne/ariadnetest"
)

// prose returns n bytes of text in which nothing repeats.
func prose(n, salt int) string {
	var b strings.Builder
	for k := salt * 1000; b.Len() < n; k++ {
		fmt.Fprintf(&b, "w%d ", k)
	}
	return b.String()[:n]
}

// read returns a call that reads a file of Go, and its result.
func read(i int) []chat.Message {
	id, text := fmt.Sprint("call", i), "package users\n"
	for k := range 60 {
		text += fmt.Sprintf("\n// Find%d_%d finds a user.\nfunc Find%[1]d_%[2]d(id int) error {\n\treturn errors.New(\"no user %[2]d\")\n}\n", i, k)
	}
	call := chat.Message{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Call, ID: id, Name: "read", Args: fmt.Sprintf(`{"path":"f%d.go"}`, i)}}}
	return []chat.Message{call, chat.NewResult(id, text)}
}

// turns returns a conversation of n turns, with a file in every third.
func turns(n int) []chat.Message {
	out := []chat.Message{chat.NewText(chat.System, "You write Go.")}
	for i := range n {
		out = append(out, chat.NewText(chat.User, "Do you see it? "+prose(300, 3*i)))
		if i%3 == 0 {
			out = append(out, read(i)...)
		}
		out = append(out, chat.NewText(chat.Assistant, "It is there. "+prose(1200, 3*i+1)))
	}
	return out
}

// a scene is what one session does.
type scene struct {
	name string
	cfg  tiercompact.Config
	plot func(t *testing.T, s *tiercompact.Session)
	want []string // events that it must have told of, "level" or "error:TYPE"
}

func talk(t *testing.T, s *tiercompact.Session) {
	for _, m := range turns(60) {
		if _, err := s.AddMessage(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond) // the clock is a made one
	}
}

func load(t *testing.T, s *tiercompact.Session, n int) {
	if err := s.Load(turns(n)); err != nil {
		t.Fatal(err)
	}
}

type broken struct{}

func (broken) Summarize(context.Context, summarize.Request) (string, error) {
	return "", errors.New("the \x1b[31mserver is down")
}

func scenes() []scene {
	return []scene{
		{"levels", tiercompact.Config{Window: 8000}, talk, []string{"soft"}},
		{"hard", tiercompact.Config{Window: 8000, Level: "hard"}, talk, []string{"hard"}},
		{"emergency", tiercompact.Config{Window: 8000, Level: "emergency"}, talk, []string{"emergency", "compact.summary_created"}},
		{"steady", tiercompact.Config{Window: 8000, Preset: tiercompact.Steady}, talk, []string{"emergency"}},
		{"summarizer is down", tiercompact.Config{Window: 8000, Level: "emergency", Summarizer: broken{}, SummarizerName: "m"}, talk, []string{"error:summary"}},
		{"no room", tiercompact.Config{Window: 1000}, func(t *testing.T, s *tiercompact.Session) {
			_, err := s.AddMessage(t.Context(), chat.NewText(chat.System, prose(9000, 1)))
			if !errors.Is(err, tiercompact.ErrInsufficientBudget) {
				t.Error(err)
			}
		}, []string{"error:insufficient_budget", "compact.warning"}},
		{"cut prompt", tiercompact.Config{Window: 8000}, func(t *testing.T, s *tiercompact.Session) {
			load(t, s, 30)
			s.Observe(4096)
		}, []string{"compact.warning"}},
		{"preflight", tiercompact.Config{Window: 8000}, func(t *testing.T, s *tiercompact.Session) {
			load(t, s, 60)
			if _, err := s.Preflight(t.Context()); err != nil {
				t.Error(err)
			}
		}, []string{"layers", "compact.pruned_messages"}},
		{"by hand", tiercompact.Config{Window: 80000}, func(t *testing.T, s *tiercompact.Session) {
			load(t, s, 20)
			if _, err := s.Compact(t.Context(), "keep <b> & \xff names"); err != nil {
				t.Error(err)
			}
		}, []string{"layers", "compact.archival"}},
	}
}

// told says what a span tells of, in the words of scene.want.
func told(a ariadnetest.Arrival) []string {
	out := []string{a.Name}
	var data struct {
		Level string `json:"level"`
		Type  string `json:"error_type"`
	}
	decode(a.Data, &data)
	switch a.Name {
	case "compact.level_applied":
		out = append(out, data.Level)
	case "compact.error":
		out = append(out, "error:"+data.Type)
	}
	return out
}

func TestEveryEventOfASessionIsTakenInTime(t *testing.T) {
	for _, sc := range scenes() {
		t.Run(sc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := ariadnetest.New()
				var log bytes.Buffer
				sink, err := ariadne.New(ariadne.Config{URL: "http://ariadne.test/base", Client: server.Client(), Stderr: &log})
				if err != nil {
					t.Fatal(err)
				}
				sent := make(map[string][]time.Time)
				sc.cfg.Trace = func(e trace.Event) {
					sent[e.Name] = append(sent[e.Name], time.Now())
					sink.Emit(e)
				}
				c, err := tiercompact.New(sc.cfg)
				if err != nil {
					t.Fatal(err)
				}
				sc.plot(t, c.Session("a/b c"))
				time.Sleep(200 * time.Millisecond) // of no Close or Flush
				check(t, server, sc.want, sent)
				if err := sink.Close(t.Context()); err != nil || sink.Lost() > 0 || log.Len() > 0 {
					t.Errorf("%v, %d lost, %s", err, sink.Lost(), log.String())
				}
			})
		})
	}
}

// check compares what arrived with when it was sent, name by name.
func check(t *testing.T, server *ariadnetest.Server, want []string, sent map[string][]time.Time) {
	t.Helper()
	for _, p := range server.Problems() {
		t.Error(p)
	}
	all := server.Arrivals()
	if len(all) == 0 || all[0].Type != "trace" || all[0].Group != "a/b c" || all[0].Metadata["session"] != "a/b c" || all[0].Name != "compaction of a/b c" {
		t.Fatalf("the first of %d events is %+v", len(all), all[:min(1, len(all))])
	}
	var heard []string
	arrived := make(map[string][]time.Time)
	for _, a := range server.Spans() {
		heard = append(heard, told(a)...)
		arrived[a.Name] = append(arrived[a.Name], a.At)
		if a.Kind != "compaction" {
			t.Errorf("kind %q", a.Kind)
		}
	}
	for _, name := range want {
		if !slices.Contains(heard, name) {
			t.Errorf("nothing tells of %s", name)
		}
	}
	for name, times := range sent {
		if len(arrived[name]) != len(times) {
			t.Errorf("%d %s arrived, %d were sent", len(arrived[name]), name, len(times))
			continue
		}
		for i, at := range times {
			if late := arrived[name][i].Sub(at); late > 200*time.Millisecond {
				t.Errorf("%s %d arrived after %v", name, i, late)
			}
		}
	}
}

func TestWhatARoundDidStandsBelowItsDecision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := ariadnetest.New()
		sink, err := ariadne.New(ariadne.Config{URL: "http://x", Client: server.Client(), Name: "n", GroupID: "g", Kind: "k", Metadata: map[string]string{"user": "u"}})
		if err != nil {
			t.Fatal(err)
		}
		c, err := tiercompact.New(tiercompact.Config{Window: 8000, Level: "emergency", Trace: sink.Emit})
		if err != nil {
			t.Fatal(err)
		}
		talk(t, c.Session("s"))
		if err := sink.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		first := server.Arrivals()[0]
		if first.Name != "n" || first.Group != "g" || first.Metadata["user"] != "u" || first.Metadata["session"] != "s" {
			t.Errorf("%+v", first)
		}
		names := map[string]string{"": ""}
		rounds := 0
		for _, a := range server.Spans() {
			names[a.Span] = a.Name
			want := "compact.trigger_decision"
			switch a.Name {
			case "compact.token_estimate":
				want = ""
			case "compact.trigger_decision":
				want = "compact.token_estimate"
			case "compact.level_applied":
				rounds++
			}
			if got := names[a.Parent]; got != want {
				t.Errorf("%s stands below %q, want %q", a.Name, got, want)
			}
		}
		if rounds == 0 {
			t.Error("no round was made")
		}
	})
}
