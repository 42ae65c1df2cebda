package suite

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	tiercompact "github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/edit"
)

// resent is a session of a client that sends its whole history with every
// request: a system prompt, then for each request a user message, a call, its
// result and an answer. No message has an id.
func resent(requests int) (system chat.Message, turns []chat.Transcript) {
	for i := range requests {
		id := fmt.Sprint("call", i)
		turns = append(turns, chat.Transcript{
			said(chat.User, 60, 3*i), calling(id), chat.NewResult(id, prose(150, 3*i+1)), said(chat.Assistant, 60, 3*i+2),
		})
	}
	return said(chat.System, 100, 999), turns
}

// A habit is what a client changes in its history from request to request. The
// last turn of history is the newest: all but its answer is in the request.
type habit func(n int, system chat.Message, history chat.Transcript) chat.Transcript

// sendAll sends 36 requests through Preflight, and returns what came back for
// each and how many summaries were made.
func sendAll(t *testing.T, cfg tiercompact.Config, habit habit) (requests []chat.Transcript, summaries int) {
	t.Helper()
	cfg.Window, cfg.Policy.HardCapBuffer, cfg.Count = 4000, tiercompact.Tokens(0), quarter
	c, err := tiercompact.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	system, turns := resent(36)
	var history chat.Transcript
	for n, turn := range turns {
		in := habit(n, system, slices.Concat(history, turn[:3]))
		out, r, err := c.Preflight(t.Context(), "x", in)
		if err != nil {
			t.Fatalf("request %d: %v", n, err)
		}
		if r.Compacted() {
			summaries++
		}
		strictly(t, fmt.Sprint("request ", n), in, out)
		requests = append(requests, out)
		history = append(history, turn...)
	}
	return requests, summaries
}

func plain(_ int, system chat.Message, history chat.Transcript) chat.Transcript {
	return slices.Concat(chat.Transcript{system}, history)
}

func clock(n int) string { return fmt.Sprintf("\nIt is %02d:%02d. cwd: /src/%d", n/60, n%60, n%3) }

func saying(m chat.Message, more string) chat.Message {
	return m.With(m.State, chat.Part{Kind: chat.Text, Text: m.Text() + more})
}

// newestUser returns the place of the newest user message.
func newestUser(t chat.Transcript) int {
	return chat.Newest(t, func(m chat.Message) bool { return m.Role == chat.User })
}

func TestPreflightMakesNoSummaryOfTheNewestRequestAlone(t *testing.T) {
	const reminder = "<system-reminder>\nThe todo list is empty. Do not mention this.\n</system-reminder>"
	machine := chat.NewText(chat.User, reminder)
	machine.Machine = true
	habits := map[string]habit{
		"a clock and the working directory in the system prompt": func(n int, system chat.Message, history chat.Transcript) chat.Transcript {
			return plain(n, saying(system, clock(n)), history)
		},
		"a clock in a second system message": func(n int, system chat.Message, history chat.Transcript) chat.Transcript {
			return slices.Concat(chat.Transcript{system, chat.NewText(chat.System, clock(n))}, history)
		},
		"a clock in the first user message": func(n int, system chat.Message, history chat.Transcript) chat.Transcript {
			history = slices.Clone(history)
			history[0] = saying(history[0], clock(n))
			return plain(n, system, history)
		},
		"a reminder in the newest user message": func(n int, system chat.Message, history chat.Transcript) chat.Transcript {
			history = slices.Clone(history)
			i := newestUser(history)
			history[i] = saying(history[i], "\n"+reminder+clock(n))
			return plain(n, system, history)
		},
		"a reminder in the newest result": func(n int, system chat.Message, history chat.Transcript) chat.Transcript {
			history = slices.Clone(history)
			last := &history[len(history)-1]
			*last = chat.NewResult(last.Parts[0].ID, last.Text()+"\n"+reminder)
			return plain(n, system, history)
		},
		"a reminder as a message before the newest user message": func(n int, system chat.Message, history chat.Transcript) chat.Transcript {
			return plain(n, system, slices.Insert(slices.Clone(history), newestUser(history), chat.NewText(chat.System, reminder)))
		},
		"a reminder as the last message": func(n int, system chat.Message, history chat.Transcript) chat.Transcript {
			return plain(n, system, append(slices.Clone(history), machine))
		},
		"a clock, and a reminder every third request": func(n int, system chat.Message, history chat.Transcript) chat.Transcript {
			if n%3 == 0 {
				history = append(slices.Clone(history), machine)
			}
			return plain(n, saying(system, clock(n)), history)
		},
	}
	same, want := sendAll(t, tiercompact.Config{}, plain)
	if want < 3 || want > 12 {
		t.Fatalf("%d summaries of a history that only grows", want)
	}
	for name, habit := range habits {
		out, got := sendAll(t, tiercompact.Config{}, habit)
		if got > want+1 { // what is said more fills the window a little earlier
			t.Errorf("%s: %d summaries in 36 requests, %d without", name, got, want)
		}
		if strings.HasPrefix(name, "a clock and the working") {
			for n := range out {
				if got != want || !slices.EqualFunc(out[n][1:], same[n][1:], unchanged) {
					t.Fatalf("%s: request %d is another\n%s\nthan\n%s", name, n, show(out[n]), show(same[n]))
				}
			}
		}
	}
}

func TestPreflightKeepsProtectedMessagesThatChange(t *testing.T) {
	protected := func(m chat.Message) bool { return strings.HasPrefix(m.Text(), "Policy") }
	with := func(tail func(n int) string) habit {
		return func(n int, system chat.Message, history chat.Transcript) chat.Transcript {
			history = slices.Clone(history)
			for i := 4; i < len(history); i += 20 { // some of them in the range of every round
				history[i] = chat.NewText(chat.User, fmt.Sprintf("Policy %d%s", i, tail(n)))
			}
			return plain(n, system, history)
		}
	}
	_, want := sendAll(t, tiercompact.Config{Policy: tiercompact.PolicyConfig{Protect: protected}}, with(func(int) string { return "" }))
	out, got := sendAll(t, tiercompact.Config{Policy: tiercompact.PolicyConfig{Protect: protected}}, with(clock))
	if got > want+1 {
		t.Errorf("%d summaries, %d where they do not change", got, want)
	}
	for n, request := range out {
		for i := 4; i < 4*n+3; i += 20 {
			text := fmt.Sprintf("Policy %d%s", i, clock(n))
			if !slices.ContainsFunc(request, func(m chat.Message) bool { return m.Text() == text }) {
				t.Fatalf("request %d: %q is gone\n%s", n, text, show(request))
			}
		}
	}
}

func TestPreflightNeverDropsWhatTheClientChanged(t *testing.T) {
	c, err := tiercompact.New(tiercompact.Config{Window: 4000, Policy: tiercompact.PolicyConfig{HardCapBuffer: tiercompact.Tokens(0), KeepRecentTurns: 2, KeepToolIOPairs: 2}, Count: quarter})
	if err != nil {
		t.Fatal(err)
	}
	system, turns := resent(14)
	history := plain(0, system, slices.Concat(turns...))
	first, r, err := c.Preflight(t.Context(), "x", history)
	if err != nil || !r.Compacted() {
		t.Fatal(r.Reason, err)
	}
	again := func(name string, in chat.Transcript, made bool) chat.Transcript {
		t.Helper()
		out, r, err := c.Preflight(t.Context(), "x", in)
		if err != nil || r.Compacted() == made {
			t.Errorf("%s: made again %t, want %t; %v", name, !r.Compacted(), made, err)
		}
		strictly(t, name, in, out)
		return out
	}
	if out := again("as it was", history, true); edit.Sum(out) != edit.Sum(first) {
		t.Errorf("another history\n%s\nthan\n%s", show(out), show(first))
	}
	inserted := slices.Insert(slices.Clone(history), 1, chat.NewText(chat.Developer, "Note 7."))
	if out := again("a message before what was replaced", inserted, true); out[1].Text() != "Note 7." {
		t.Errorf("the note does not stand where it was put\n%s", show(out))
	}
	edited := slices.Clone(history)
	edited[6] = chat.NewResult("call1", "the port is 9443\n"+prose(149, 4))
	again("a result that was replaced says something else", edited, false)
	out := again("within what was replaced", slices.Insert(slices.Clone(edited), 7, chat.NewText(chat.System, "Mark 8.")), false)
	if !slices.ContainsFunc(out, func(m chat.Message) bool { return m.Text() == "Mark 8." }) {
		t.Errorf("a message is gone\n%s", show(out))
	}
	if out := again("taken back", history[:12], true); len(out) != 12 {
		t.Errorf("of 12 messages %d are left", len(out))
	}
}

func TestPreflightArchivesUnderItsID(t *testing.T) {
	store := archive.NewMemory()
	c, err := tiercompact.New(tiercompact.Config{Window: 10000, Policy: tiercompact.PolicyConfig{HardCapBuffer: tiercompact.Tokens(0)}, Count: quarter, Archive: store})
	if err != nil {
		t.Fatal(err)
	}
	s := c.Session("x")
	if err := s.Load(pairs(20, 9000)); err != nil {
		t.Fatal(err)
	}
	one := func(what string, compact func() (tiercompact.Report, error), number int) {
		t.Helper()
		if r, err := compact(); err != nil || !r.Compacted() || r.Step != number {
			t.Errorf("%s: step %d, want %d; %q, %v", what, r.Step, number, r.Reason, err)
		}
	}
	preflight := func(id string, seed int) func() (tiercompact.Report, error) {
		return func() (tiercompact.Report, error) {
			_, r, err := c.Preflight(t.Context(), id, append(chat.Transcript{said(chat.User, 200, seed)}, pairs(20, 9000)...))
			return r, err
		}
	}
	one("a session", func() (tiercompact.Report, error) { return s.Preflight(t.Context()) }, 1)
	one("a preflight of the same id", preflight("x", 1), 2) // neither takes the other's number
	one("the session once more", func() (tiercompact.Report, error) {
		fill(t, s, 8600, turns("n", 8, 200)...)
		return s.Compact(t.Context(), "")
	}, 3)
	one("a preflight of another", preflight("y", 2), 1)
	one("one without id", preflight("", 3), 1)
	if got, err := store.Sessions(t.Context()); err != nil || !slices.Equal(got, []string{"preflight", "x", "y"}) {
		t.Errorf("the archive has %q, %v", got, err)
	}
	if _, err := s.Undo(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := s.Undo(t.Context()); err != nil {
		t.Error(err)
	}
	if err := held(pairs(20, 9000), s.Messages()); err != nil {
		t.Error(err)
	}
}
