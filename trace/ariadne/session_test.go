package ariadne_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/ariadnetest"
	"github.com/tiercompact/tiercompact/summarize"
	"github.com/tiercompact/tiercompact/trace"
	"github.com/tiercompact/tiercompact/trace/ariadne"
)

// prose returns n bytes of text without repetitions.
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

// a scene is one session.
type scene struct {
	name string
	cfg  tiercompact.Config
	plot func(t *testing.T, s *tiercompact.Session)
	want []string // events that it must emit, "level" or "error:TYPE"
}

func talk(t *testing.T, s *tiercompact.Session) {
	for _, m := range turns(60) {
		if _, err := s.AddMessage(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond) // the clock is simulated
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

// told returns the event of a span, in the words of scene.want.
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
				sink, err := ariadne.New(ariadne.Config{URL: "http://ariadne.test/base", Client: ariadnetest.Client(http.StripPrefix("/base", server)), Stderr: &log})
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

// check compares the arrived events with the times of sending, name by name.
func check(t *testing.T, server *ariadnetest.Server, want []string, sent map[string][]time.Time) {
	t.Helper()
	for _, fault := range server.Faults() {
		t.Error(fault)
	}
	page := server.Page()
	if len(page) != 1 || page[0].ID != "a/b c" || page[0].Label != "a/b c" {
		t.Fatalf("%d groups, the first is %+v", len(page), page[:min(1, len(page))])
	}
	for _, tr := range page[0].Traces {
		checkTrace(t, tr)
	}
	var heard []string
	arrived := make(map[string][]time.Time)
	for _, a := range server.Spans() {
		heard = append(heard, told(a)...)
		arrived[a.Name] = append(arrived[a.Name], a.At)
	}
	for _, name := range want {
		if !slices.Contains(heard, name) {
			t.Errorf("no event reports %s", name)
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

// checkTrace checks one trace: its root is the estimate, or the first event before
// any check, and all of the rest is below it.
func checkTrace(t *testing.T, tr *ariadnetest.Trace) {
	t.Helper()
	if tr.Metadata["session"] != "a/b c" || tr.Took < 0 {
		t.Errorf("%+v", tr)
	}
	if len(tr.Spans) > 1 && tr.Name != "before the first check" {
		t.Errorf("trace %s has %d roots", tr.Name, len(tr.Spans))
	}
	parents := []string{""}
	tr.Walk(func(s *ariadnetest.Span, depth int) {
		parents = append(parents[:depth+1], s.Name)
		want := "compact.trigger_decision"
		switch s.Name {
		case "compact.token_estimate":
			want = ""
		case "compact.trigger_decision":
			want = "compact.token_estimate"
		case "compact.warning", "compact.error": // also beside a check
			want = parents[depth]
		}
		if parents[depth] != want {
			t.Errorf("%s is below %q, want %q", s.Name, parents[depth], want)
		}
		if want, ok := icons[s.Kind]; !ok || want != s.Icon {
			t.Errorf("%s of kind %q has the icon %q, want %q", s.Name, s.Kind, s.Icon, want)
		}
	})
}

// icons are the page's icons of the kinds.
var icons = map[string]string{
	"check": "agent", "decision": "agent", "layers": "agent", "error": "agent", "warning": "agent", "llm": "api",
	"tool.outline": "tool", "tool.ranking": "tool", "tool.summarize": "tool", "tool.cut": "tool", "tool.summary": "tool", "tool.archive": "tool",
}

func TestTracesAreNamedAsConfigured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := ariadnetest.New()
		sink, err := ariadne.New(ariadne.Config{URL: "http://x", Client: server.Client(), Name: "n", GroupID: "g", Kind: "k", Metadata: map[string]string{"user": "u"}})
		if err != nil {
			t.Fatal(err)
		}
		c, err := tiercompact.New(tiercompact.Config{Window: 8000, Level: "emergency", Summarizer: model{}, SummarizerName: "ollama/m", Trace: sink.Emit})
		if err != nil {
			t.Fatal(err)
		}
		talk(t, c.Session("s"))
		if err := sink.Close(t.Context()); err != nil || len(server.Faults()) > 0 {
			t.Fatal(err, server.Faults())
		}
		page := server.Page()
		if len(page) != 1 || page[0].ID != "g" {
			t.Fatalf("%d groups, %+v", len(page), page[0])
		}
		named := make(map[string]bool)
		for _, tr := range page[0].Traces {
			named[tr.Name] = true
			if tr.Metadata["user"] != "u" || tr.Metadata["session"] != "s" {
				t.Errorf("%+v", tr.Metadata)
			}
			tr.Walk(func(s *ariadnetest.Span, _ int) {
				if s.Kind != "k" {
					t.Errorf("kind %q", s.Kind)
				}
				if s.Name == "compact.summary_created" && !strings.Contains(s.Response, "the work is half done") {
					t.Errorf("the response of a summary is %.80q", s.Response)
				}
			})
		}
		if n := len(page[0].Traces); !named["check 1 (n)"] || !named[fmt.Sprintf("check %d (n)", n)] || !slices.ContainsFunc(page[0].Traces, func(tr *ariadnetest.Trace) bool { return strings.HasSuffix(tr.Name, ": emergency (n)") }) {
			t.Errorf("%d traces: %v", n, named)
		}
	})
}

// model is a summarizer that answers.
type model struct{}

func (model) Summarize(context.Context, summarize.Request) (string, error) {
	return "## Task\nthe work is half done\n", nil
}

// A killed process leaves no trace that seems to be running, and events after a
// pause extend their trace.
func TestTracesAreFinishedBeforeTheSinkIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := ariadnetest.New()
		sink, _ := open(t, "http://x", server.Client())
		end := at
		for _, p := range []trace.Payload{trace.Warning{Message: "early"}, trace.TokenEstimate{}, trace.TriggerDecision{Triggered: true, Level: "hard"}, trace.LevelApplied{Level: "hard"}, trace.Warning{Message: "late"}} {
			sink.Emit(trace.New("s", end, end.Add(time.Second), p))
			end = end.Add(time.Second)
			time.Sleep(time.Second)
			if faults := server.Faults(); len(faults) > 0 {
				t.Error(faults)
			}
		}
		last := make(map[string]ariadnetest.Arrival) // as the server stores them
		for _, a := range server.Arrivals() {
			if a.Type == "trace" {
				last[a.Name] = a
			}
		}
		if a := last["check 1: hard"]; len(last) != 3 || !a.Start.Equal(at.Add(time.Second)) || !a.End.Equal(end) {
			t.Errorf("%+v", last)
		}
		_ = sink.Close(t.Context())
	})
}
