package archive

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/edit"
)

// readFrom returns a round on three messages that drops the first, and the rest as
// read from a format without thinking and without names of results. That format
// omits messages that become empty.
func readFrom() (step Step, file chat.Transcript) {
	hm := chat.Message{ID: "h", Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Thinking, Text: "hm"}}}
	call := chat.Message{ID: "c", Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Thinking, Text: "read it"}, {Kind: chat.Call, ID: "1", Name: "read", Args: `{"path": "a", "n": 1}`}}}
	result := chat.Message{ID: "r", Role: chat.Tool, Parts: []chat.Part{{Kind: chat.Result, ID: "1", Name: "read", Text: "api_key=" + secret}}}
	step = Step{Session: "s", Number: 1, Before: chat.Transcript{text("a"), hm, call, result}, Edits: replace(1, 0, 1).Edits}
	call.Parts, result.Parts = call.Parts[1:], []chat.Part{{Kind: chat.Result, ID: "1", Text: "api_key=" + secret}}
	call.ID, result.ID = "", ""
	return step, chat.Transcript{call, result}
}

func TestUndoKnowsAConversationByItsFile(t *testing.T) {
	step, file := readFrom()
	step.Written = NewWritten([]Reading{{"thin", file}, {"same", file}, {"empty", nil}}, nil)
	if len(step.Written) != 1 {
		t.Errorf("one conversation is known by %+v", step.Written)
	}
	m := NewMemory()
	must(t, m.Put(t.Context(), step))
	u, err := Undo(t.Context(), m, "s", append(file, text("later")))
	if err != nil || ids(u.Messages) != "a h c r later" || u.Left != 2 || u.Format != "thin" || u.Messages[1].Parts[0].Kind != chat.Thinking {
		t.Errorf("%+v, %v", u, err)
	}
	again := file[0]
	again.Parts = []chat.Part{{Kind: chat.Call, ID: "1", Name: "read", Args: `{"n":1,"path":"a"}`}}
	if u, err := Undo(t.Context(), m, "s", chat.Transcript{again, file[1]}); err != nil || u.Round.Number != 1 {
		t.Errorf("the arguments in another order: %v", err)
	}
}

// A difference in anything that a format stores makes another conversation.
func TestUndoTellsConversationsApart(t *testing.T) {
	step, file := readFrom()
	step.Written = NewWritten([]Reading{{"thin", file}}, nil)
	m := NewMemory()
	must(t, m.Put(t.Context(), step))
	for name, change := range map[string]func(call, result *chat.Message){
		"another id":         func(c, _ *chat.Message) { c.Parts[0].ID = "2" },
		"another tool":       func(c, _ *chat.Message) { c.Parts[0].Name = "write" },
		"another number":     func(c, _ *chat.Message) { c.Parts[0].Args = `{"path":"a","n":2}` },
		"more behind":        func(c, _ *chat.Message) { c.Parts[0].Args += " x" },
		"another result":     func(_, r *chat.Message) { r.Parts[0].Text += "." },
		"another name":       func(_, r *chat.Message) { r.Parts[0].Name = "read" },
		"another role":       func(_, r *chat.Message) { r.Role = chat.User },
		"thinking":           func(c, _ *chat.Message) { c.Parts = append(c.Parts, chat.Part{Kind: chat.Thinking, Text: "hm"}) },
		"a text beside":      func(c, _ *chat.Message) { c.Parts = append(c.Parts, chat.Part{Kind: chat.Text, Text: "a"}) },
		"a call as its text": func(c, _ *chat.Message) { c.Parts[0] = chat.Part{Kind: chat.Text, Text: c.Parts[0].Args} },
	} {
		now := slices.Clone(file)
		now[0].Parts, now[1].Parts = slices.Clone(file[0].Parts), slices.Clone(file[1].Parts)
		change(&now[0], &now[1])
		if _, err := Undo(t.Context(), m, "s", now); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, now := range map[string]chat.Transcript{"the front alone": file[:1], "the end alone": file[1:], "nothing": nil, "as it was left": step.Before[1:]} {
		if _, err := Undo(t.Context(), m, "s", now); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A file has a secret that the archive does not have, in another place than after
// the round. A message that an earlier undo restored without the secret is recognized too.
func TestUndoBringsASecretBackFromAFile(t *testing.T) {
	step, file := readFrom()
	clean, changes := Clean(file, redactKey)
	if !changes || clean[1].Text() != "api_key=<REDACTED>" {
		t.Fatalf("%t, %+v", changes, clean)
	}
	if _, changes := Clean(file[:1], redactKey); changes {
		t.Error("what has no secret is changed")
	}
	step.Written = NewWritten([]Reading{{"thin", file}}, []Reading{{"thin", clean}})
	d, err := OpenDir(t.TempDir(), DirOptions{})
	must(t, err)
	defer d.Close()
	must(t, Redacted(d, redactKey).Put(t.Context(), step))
	u, err := Undo(t.Context(), d, "s", file)
	if err != nil || len(u.Round.Redacted) > 0 || u.Messages[3].Text() != "api_key="+secret {
		t.Errorf("%+v, %v", u, err)
	}
	u, err = Undo(t.Context(), d, "s", clean)
	if err != nil || !slices.Equal(u.Round.Redacted, []int{3}) || u.Messages[3].Text() != "api_key=<REDACTED>" {
		t.Errorf("%+v, %v", u, err)
	}
}

// leaving returns a round of a session with these remaining messages.
func leaving(session string, number, second int, before chat.Transcript, left ...string) Step {
	s := Step{Session: session, Number: number, Before: before, Edits: replace(number, 0, len(before)).Edits, Time: time.Unix(int64(second), 0)}
	var t chat.Transcript
	for _, name := range left {
		t = append(t, text(name))
	}
	s.Edits.Seen, s.Edits.Sum, s.Edits.Steps[0][0].New = len(before), edit.Sum(before), t
	s.Written = NewWritten([]Reading{{"f", t}}, nil)
	return s
}

func TestUndoInTakesTheNewestRoundOfAllSessions(t *testing.T) {
	m := NewMemory()
	old := chat.Transcript{text("p"), text("q"), text("r")}
	must(t, m.Put(t.Context(), leaving("z", 1, 1, old, "x")))
	must(t, m.Put(t.Context(), leaving("a", 1, 2, chat.Transcript{text("x"), text("y"), text("w")}, "x", "y2")))
	sessions := []string{"z", "a", "empty"}
	now := chat.Transcript{text("x"), text("y2"), text("later")}
	u, err := UndoIn(t.Context(), m, sessions, now)
	if err != nil || u.Round.Session != "a" || ids(u.Messages) != "x y w later" {
		t.Fatalf("%q of %+v, %v", ids(u.Messages), u.Round, err)
	}
	u, err = UndoIn(t.Context(), m, sessions, u.Messages)
	if err != nil || u.Round.Session != "z" || ids(u.Messages) != "p q r y w later" {
		t.Fatalf("%q of %+v, %v", ids(u.Messages), u.Round, err)
	}

	must(t, m.Put(t.Context(), leaving("copy", 1, 3, old, "x")))
	sessions = append(sessions, "copy")
	if u, err := UndoIn(t.Context(), m, sessions, now[:1]); err != nil || u.Round.Session != "copy" {
		t.Errorf("two sessions of one conversation: %+v, %v", u.Round, err)
	}
	must(t, m.Put(t.Context(), leaving("other", 4, 4, old[:2], "x")))
	var two *AmbiguousError
	if _, err := UndoIn(t.Context(), m, append(sessions, "other"), now[:1]); !errors.As(err, &two) || two.Rounds[0].Session == two.Rounds[1].Session {
		t.Errorf("two conversations that left one: %v", err)
	}
}

func TestNotLeftErrorSaysWhatIsKnown(t *testing.T) {
	m := NewMemory()
	before := chat.Transcript{text("p"), text("q"), text("r")}
	must(t, m.Put(t.Context(), leaving("s", 1, 1, before, "x", "y")))
	must(t, m.Put(t.Context(), Step{Session: "s", Number: 2, Undoes: 1, Time: time.Unix(2, 0), Written: NewWritten([]Reading{{"f", chat.Transcript{text("P"), text("Q")}}}, nil)}))
	for _, test := range []struct {
		name string
		now  chat.Transcript
		want NotLeftError
	}{
		{"not compacted", append(before[:3:3], text("later")), NotLeftError{Made: StepInfo{Number: 1}}},
		{"taken back", chat.Transcript{text("P"), text("Q"), text("later")}, NotLeftError{Made: StepInfo{Number: 1}}},
		{"changed", chat.Transcript{text("x"), text("z"), text("later")}, NotLeftError{Near: StepInfo{Number: 1}, Alike: 1}},
		{"cut", chat.Transcript{text("x")}, NotLeftError{Near: StepInfo{Number: 1}, Alike: 1}},
		{"another", chat.Transcript{text("z")}, NotLeftError{}},
	} {
		var got *NotLeftError
		if _, err := UndoIn(t.Context(), m, []string{"s", "none"}, test.now); !errors.As(err, &got) {
			t.Fatalf("%s: %v", test.name, err)
		}
		if got.Made.Number != test.want.Made.Number || got.Near.Number != test.want.Near.Number || got.Alike != test.want.Alike {
			t.Errorf("%s: made %d, near %d, alike %d", test.name, got.Made.Number, got.Near.Number, got.Alike)
		}
		if got.Rounds != 1 || !slices.Equal(got.Sessions, []string{"s", "none"}) || !slices.Equal(got.Empty, []string{"none"}) {
			t.Errorf("%s: %+v", test.name, got)
		}
	}
}

// A message with thinking only comes back with its secret if the conversation is as
// the round left it.
func TestUndoBringsASecretThoughtBack(t *testing.T) {
	hm := chat.Message{ID: "h", Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Thinking, Text: "api_key=" + secret}}}
	m := NewMemory()
	must(t, Redacted(m, redactKey).Put(t.Context(), Step{Session: "s", Number: 1, Before: chat.Transcript{text("a"), hm}, Edits: replace(1, 0, 1).Edits}))
	u, err := Undo(t.Context(), m, "s", chat.Transcript{hm})
	if err != nil || len(u.Round.Redacted) > 0 || u.Messages[1].Parts[0].Text != "api_key="+secret {
		t.Errorf("%+v, %v", u, err)
	}
}
