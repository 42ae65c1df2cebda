package levels_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/edit"
	"github.com/tiercompact/tiercompact/levels"
)

// jobs is what a call shows that waits for something.
func jobs(state string, seconds int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "run 4711: %s for %d s\n", state, seconds)
	for i := range 40 {
		fmt.Fprintf(&b, "job %d queued on runner pool-%d\n", i, i%3)
	}
	return b.String()
}

// polled is a conversation that looks at one thing n times.
func polled(n int, result func(i int) string) *script {
	s := new(script).say(chat.User, "Wait for the run, and tell me how it ends.")
	for i := range n {
		s.call("bash", map[string]any{"command": "gh run view 4711"}, result(i))
	}
	return s
}

func calls(t chat.Transcript) (n int) {
	for _, m := range t {
		if m.HasCalls() {
			n++
		}
	}
	return n
}

func TestSoftFoldsACallMadeAgainAndAgain(t *testing.T) {
	ends := func(s *script) chat.Transcript {
		return s.say(chat.Assistant, "It is still running.").say(chat.User, "keep waiting").t
	}
	aside := func(text string) *script {
		s := new(script).say(chat.User, "Wait for it.")
		for range 20 {
			s.call("bash", map[string]any{"command": "gh run view 4711"}, jobs("queued", 1))
			at := len(s.t) - 2
			s.t[at] = s.t[at].With(chat.Active, append([]chat.Part{{Kind: chat.Text, Text: text}}, s.t[at].Parts...)...)
		}
		return s
	}
	paused := new(script).say(chat.User, "Wait for it.")
	for i := range 12 {
		paused.call("bash", map[string]any{"command": "sleep 30"}, "(no output)")
		paused.call("bash", map[string]any{"command": "gh run view 4711"}, jobs("queued", i))
	}
	for _, test := range []struct {
		name  string
		in    chat.Transcript
		calls int    // that stay
		head  string // of the first result
	}{
		{"the same result", ends(polled(29, func(int) string { return jobs("in_progress", 1) })), 2, "[repeated call: 29 times in a row, 27 left out; the result was the one that stands below"},
		{"nearly the same", ends(polled(29, func(i int) string { return jobs("in_progress", 30*i) })), 2, "[repeated call: 29 times in a row, 27 left out; the results were like this first one"},
		{"short results", ends(polled(9, func(int) string { return "queued" })), 2, "[repeated call: 9 times in a row, 7 left out"},
		{"three are enough", ends(polled(3, func(int) string { return jobs("queued", 1) })), 2, "[repeated call: 3 times"},
		{"two are none", ends(polled(2, func(i int) string { return strings.Repeat(fmt.Sprint("state ", string(rune('a'+i)), "\n"), 3) })), 2, "state a"},
		{"what changes stays", ends(polled(10, func(i int) string { return map[bool]string{true: "queued", false: "running"}[i < 5] })), 4, "[repeated call: 5 times in a row, 3 left out"},
		{"a word to each call", ends(aside("Still running.")), 2, "[repeated call: 20 times"},
		{"much to each call", ends(aside(strings.Repeat("What I think of it. ", 20))), 20, ""},
		{"with a pause between", ends(paused), 4, ""},
		{"the newest stay", polled(29, func(int) string { return jobs("in_progress", 1) }).t, 3, "[repeated call: 29 times in a row, 26 left out"},
	} {
		out := soften(t, levels.Soft{}, test.in)
		if got := calls(out); got != test.calls {
			t.Errorf("%s: %d calls stay", test.name, got)
		}
		if first := out[2].Parts[0].Text; !strings.HasPrefix(first, test.head) {
			t.Errorf("%s: %q", test.name, first)
		}
		if again := soften(t, levels.Soft{}, out); calls(again) != calls(out) {
			t.Errorf("%s: a second time %d calls stay", test.name, calls(again))
		}
	}
}

// A repeat ends if another message is in between.
func TestAMessageEndsARepeat(t *testing.T) {
	s := polled(6, func(int) string { return jobs("queued", 1) }).say(chat.User, "and now?")
	for range 6 {
		s.call("bash", map[string]any{"command": "gh run view 4711"}, jobs("queued", 1))
	}
	out := soften(t, levels.Soft{}, s.say(chat.Assistant, "queued").say(chat.User, "go on").say(chat.Assistant, "ok").t)
	if calls(out) != 4 {
		t.Errorf("%d calls stay", calls(out))
	}
}

// Protected messages stay, and the calls beside them are folded.
func TestAProtectedCallIsNotFolded(t *testing.T) {
	s := polled(9, func(int) string { return jobs("queued", 1) }).say(chat.Assistant, "queued").say(chat.User, "go on").say(chat.Assistant, "ok")
	for i := range s.t {
		if s.t[i].ID == "m7" {
			s.t[i].Protected = true
		}
	}
	v := viewOf(s.t)
	out := applied(t, v, must(levels.Soft{}.Plan(t.Context(), v)))
	found := false
	for _, m := range out {
		found = found || m.ID == "m7" && m.State == chat.Active
	}
	if !found {
		t.Error("a protected call is gone")
	}
}

func TestHardFoldsACallMadeAgainAndAgain(t *testing.T) {
	in := polled(29, func(int) string { return jobs("in_progress", 1) }).talk(6).t
	v := viewOf(in)
	edits := levels.Hard{}.Plan(v, make([]float64, len(in)))
	out := applied(t, v, must(edit.Separate(v.Messages, edits, v.Separator(levels.HardName))))
	if calls(out) != 2 || !strings.HasPrefix(out[2].Text(), "[repeated call: 29 times in a row, 27 left out; ") {
		t.Errorf("%d calls stay, first result %q", calls(out), out[2].Text())
	}
	for _, e := range edits {
		if e.Start == 2 && e.Recall == "" {
			t.Error("no recall id for what was folded")
		}
	}
}

const unchanged = "File unchanged since last read. The content from the earlier Read tool_result in this conversation is still current — refer to that instead of re-reading."

// reread is a conversation that reads a file, then others, then the file again, for which a
// tool answers with a stub.
func reread(stub string, after int) *script {
	s := new(script).say(chat.User, "Refactor the store.")
	s.call("Read", map[string]any{"file_path": "/p/store.go"}, goFile(6000))
	for i := range 6 {
		s.call("Read", map[string]any{"file_path": fmt.Sprintf("/p/part%d.go", i)}, goFile(900+10*i))
	}
	s.call("Read", map[string]any{"file_path": "/p/store.go"}, stub)
	return s.talk(after).say(chat.Assistant, "Now I edit.").say(chat.User, "go on")
}

// holds reports whether a stub and the result that it refers to are in t.
func holds(t chat.Transcript, stub string) (stands, text bool) {
	for _, m := range t {
		stands = stands || m.Text() == stub
		text = text || m.ID == "m2"
	}
	return stands, text
}

func TestAStubStaysWithWhatItRefersTo(t *testing.T) {
	for _, stub := range []string{unchanged, "<file_unchanged/>"} {
		for _, after := range []int{0, 2, 8, 20} {
			in := reread(stub, after).t
			v := viewOf(in)
			for seed := range 8 { // scores that put either first
				scores := make([]float64, len(in))
				for i := range scores {
					scores[i] = float64((i*7+seed*5)%11) / 11
				}
				edits := levels.Hard{}.Plan(v, scores)
				out := applied(t, v, must(edit.Separate(v.Messages, edits, v.Separator(levels.HardName))))
				if stands, text := holds(out, stub); stands && !text {
					t.Errorf("hard, %d messages after, scores %d: %q refers to nothing", after, seed, stub)
				}
			}
			for name, cut := range map[string]levels.Cut{"emergency": levels.EmergencyCut(v, 4, chat.Assistant), "layers": levels.LayersCut(v, 1, 1)} {
				gone := make(map[string]bool)
				for i, g := range cut.Gone {
					gone[in[i].ID] = g
				}
				stub := fmt.Sprintf("m%d", 16)
				if !gone[stub] && gone["m2"] {
					t.Errorf("%s, %d messages after: the stub refers to nothing", name, after)
				}
				if name == "emergency" && after == 20 && !gone["m2"] {
					t.Errorf("%s: what nobody refers to stays", name)
				}
			}
		}
	}
}
