package edit_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/edit"
)

// talk returns a conversation of one message for each word: u user, a assistant, s
// system, c a call, r its result, t thinking and text; "u!" is empty. Ids are the
// indices of the words.
func talk(words string) (t chat.Transcript) {
	for w := range strings.FieldsSeq(words) {
		m := message(w)
		m.ID = string(rune('0' + len(t)))
		t = append(t, m)
	}
	return t
}

func message(word string) chat.Message {
	switch word[0] {
	case 'u':
		if word == "u!" {
			return chat.NewText(chat.User, "")
		}
		return chat.NewText(chat.User, "do it")
	case 's':
		return chat.NewText(chat.System, "be brief")
	case 'c':
		return chat.Message{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Call, ID: word, Name: "run", Args: `{"command":"ls"}`}}}
	case 'r':
		return chat.NewResult("c"+word[1:], "done")
	case 't':
		return chat.Message{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Thinking, Text: "hm"}, {Kind: chat.Text, Text: "done"}}}
	}
	return chat.NewText(chat.Assistant, "done")
}

func drop(start, end int) edit.Edit { return edit.Edit{Start: start, End: end} }

// put replaces messages start to end.
func put(start, end int, messages ...chat.Message) edit.Edit {
	return edit.Edit{Start: start, End: end, New: messages}
}

func named(id string, m chat.Message) chat.Message {
	m.ID = id
	return m
}

// with returns message i of t with its last part changed.
func with(t chat.Transcript, i int, change func(*chat.Part)) chat.Message {
	parts := slices.Clone(t[i].Parts)
	change(&parts[len(parts)-1])
	return t[i].With(chat.Outlined, parts...)
}

func says(s string) func(*chat.Part) { return func(p *chat.Part) { p.Text = s } }

func args(s string) func(*chat.Part) { return func(p *chat.Part) { p.Args = s } }

func only(i int) func(int) bool { return func(k int) bool { return k == i } }

func size(m chat.Message) (n int) {
	for _, p := range m.Parts {
		n += len(p.Text) + len(p.Args)
	}
	return n
}

func ids(t chat.Transcript) string {
	var b strings.Builder
	for _, m := range t {
		b.WriteString(m.ID)
	}
	return b.String()
}

func TestApplyRefuses(t *testing.T) {
	four, tools := talk("u a u a"), talk("u a c r a")
	open, thinks := talk("u a u c r"), talk("u t u a")
	broken := talk("u c r a")
	broken[1].Parts[0].Args = `{"command`
	twin := talk("u a u a")
	twin[1].ID = "0"
	both := talk("u c1 c2 r1 a")
	both[3].Parts = append(both[3].Parts, chat.Part{Kind: chat.Result, ID: "c2", Text: "done"})
	tests := []struct {
		name  string
		t     chat.Transcript
		edits []edit.Edit
		rules edit.Rules
		want  string
	}{
		{"a run that ends before it starts", four, []edit.Edit{drop(2, 1)}, edit.Rules{}, "out of bounds"},
		{"a run before the first message", four, []edit.Edit{drop(-1, 1)}, edit.Rules{}, "out of bounds"},
		{"a run behind the last", four, []edit.Edit{drop(3, 5)}, edit.Rules{}, "out of bounds"},
		{"overlapping runs", four, []edit.Edit{drop(0, 2), drop(1, 3)}, edit.Rules{}, "overlapping"},
		{"an insertion inside a run", four, []edit.Edit{drop(0, 2), put(1, 1, named("x", message("u")))}, edit.Rules{}, "overlapping"},
		{"two messages of one id before", twin, nil, edit.Rules{}, "have one id"},
		{"two messages of one id after", four, []edit.Edit{put(1, 1, four[0])}, edit.Rules{}, "have one id"},

		{"2: a call without its result", tools, []edit.Edit{drop(3, 4)}, edit.Rules{}, "without its partner"},
		{"2: a result without its call", tools, []edit.Edit{drop(2, 3)}, edit.Rules{}, "without its partner"},
		{"2: one of two results without its call", both, []edit.Edit{drop(2, 3)}, edit.Rules{}, "1 results without their partner were 0"},
		{"2: a result before its call", tools, []edit.Edit{put(2, 4, tools[3], tools[2])}, edit.Rules{Moved: only(3)}, "without its partner"},
		{"2: an open group that goes", open, []edit.Edit{drop(3, 5)}, edit.Rules{}, "open group is gone"},

		{"3: a locked message that goes", four, []edit.Edit{drop(1, 3)}, edit.Rules{Locked: only(1)}, "protected message 1 (1) is gone"},
		{"3: a locked message that changes", four, []edit.Edit{put(1, 2, with(four, 1, says("ok")))}, edit.Rules{Locked: only(1)}, "protected message 1 (1) is changed"},
		{"3: another order", talk("u a s u a"), []edit.Edit{put(1, 3, talk("u a s u a")[2], talk("u a s u a")[1])}, edit.Rules{}, "comes after"},
		{"3: a moved one passes another moved one", talk("s s u a"), []edit.Edit{put(0, 2, talk("s s")[1], talk("s s")[0])},
			edit.Rules{Moved: func(i int) bool { return i < 2 }}, "comes after"},

		{"4: the latest user message goes", talk("u a u a u a"), []edit.Edit{drop(4, 6)}, edit.Rules{}, "latest user message 4 (4) is gone"},
		{"4: no user message is left", talk("u a"), []edit.Edit{drop(0, 1)}, edit.Rules{}, "latest user message"},
		{"4: nobody typed, and no user message is left", machine(talk("u a")), []edit.Edit{drop(0, 1)}, edit.Rules{}, "no user message is left"},

		{"5: a message without parts", four, []edit.Edit{put(1, 2, named("1", chat.Message{Role: chat.Assistant}))}, edit.Rules{}, "empty"},
		{"5: a text that says nothing", four, []edit.Edit{put(1, 2, with(four, 1, says(" \n")))}, edit.Rules{}, "empty text"},
		{"5: text that is no UTF-8", four, []edit.Edit{put(1, 2, with(four, 1, says("a\xff")))}, edit.Rules{}, "UTF-8"},
		{"5: arguments that are no UTF-8", tools, []edit.Edit{put(2, 3, with(tools, 2, args("\"\xff\"")))}, edit.Rules{}, "UTF-8"},
		{"5: arguments that are no JSON any more", tools, []edit.Edit{put(2, 3, with(tools, 2, args(`{"command`)))}, edit.Rules{}, "no JSON"},
		{"5: thinking that changed", thinks, []edit.Edit{put(1, 2, thinks[1].With(chat.Outlined, chat.Part{Kind: chat.Thinking, Text: "h"}, thinks[1].Parts[1]))}, edit.Rules{}, "thinking changed"},
		{"5: thinking that is gone", thinks, []edit.Edit{put(1, 2, thinks[1].With(chat.Outlined, thinks[1].Parts[1]))}, edit.Rules{}, "1 parts were 2"},
		{"a role that changed", four, []edit.Edit{put(1, 2, named("1", message("s")))}, edit.Rules{}, "role changed"},
		{"a part that became another", tools, []edit.Edit{put(3, 4, with(tools, 3, func(p *chat.Part) { p.Kind = chat.Text }))}, edit.Rules{}, "became another"},
		{"a call that got another id", tools, []edit.Edit{put(2, 3, with(tools, 2, func(p *chat.Part) { p.ID = "z" }))}, edit.Rules{}, "became another"},
		{"a call that got another tool", tools, []edit.Edit{put(2, 3, with(tools, 2, func(p *chat.Part) { p.Name = "rm" }))}, edit.Rules{}, "became another"},

		{"6: a conversation that grew", four, []edit.Edit{put(1, 2, with(four, 1, says("done and done")))}, edit.Rules{Size: size}, "tokens were"},

		{"11: two user messages meet", four, []edit.Edit{drop(1, 2)}, edit.Rules{}, "two user messages meet"},
		{"11: two assistant texts meet", talk("u a u a u a"), []edit.Edit{drop(2, 3)}, edit.Rules{}, "two assistant messages meet"},
		{"11: two user messages meet over tool flow", talk("u c r a u a"), []edit.Edit{drop(3, 4)}, edit.Rules{}, "two user messages meet"},
		{"11: another speaks last", four, []edit.Edit{drop(3, 4)}, edit.Rules{}, "speaks last"},
	}
	for _, test := range tests {
		before := slices.Clone(test.t)
		out, err := edit.Apply(test.t, test.edits, test.rules)
		if err == nil || !strings.Contains(err.Error(), test.want) || out != nil {
			t.Errorf("%s: %v and error %v, want an error with %q", test.name, out, err, test.want)
		}
		if !slices.EqualFunc(before, test.t, edit.Same) {
			t.Errorf("%s: the input was changed", test.name)
		}
	}
	if _, err := edit.Apply(broken, []edit.Edit{put(1, 2, with(broken, 1, args(`{"com`)))}, edit.Rules{}); err != nil {
		t.Errorf("arguments that were no JSON may not stay so: %v", err)
	}
}

func machine(t chat.Transcript) chat.Transcript {
	for i := range t {
		t[i].Machine = t[i].Role == chat.User
	}
	return t
}

func TestApplyMakes(t *testing.T) {
	four, tools := talk("u a u a"), talk("u a u c r a u a")
	note := named("x", message("u"))
	tests := []struct {
		name  string
		t     chat.Transcript
		edits []edit.Edit
		rules edit.Rules
		want  string
	}{
		{"nothing", four, nil, edit.Rules{Size: size}, "0123"},
		{"nothing of nothing", nil, nil, edit.Rules{}, ""},
		{"a dropped exchange", four, []edit.Edit{drop(0, 2)}, edit.Rules{Size: size}, "23"},
		{"edits in any order", talk("u a u a u a"), []edit.Edit{drop(2, 4), drop(0, 2)}, edit.Rules{}, "45"},
		{"neighbouring runs and an insertion between them", talk("u a u a"), []edit.Edit{drop(1, 2), put(1, 1, named("x", message("a")))}, edit.Rules{}, "0x23"},
		{"an insertion at the end", talk("u a"), []edit.Edit{put(2, 2, note, named("y", message("a")))}, edit.Rules{}, "01xy"},
		{"a whole group", tools, []edit.Edit{drop(3, 5)}, edit.Rules{}, "012567"},
		{"a replacement of the same id", four, []edit.Edit{put(1, 2, with(four, 1, says("ok")))}, edit.Rules{Size: size}, "0123"},
		{"a locked message beside a run", four, []edit.Edit{drop(0, 2)}, edit.Rules{Locked: only(2)}, "23"},
		{"protected messages to the front", talk("u a s u a"), []edit.Edit{put(0, 3, talk("u a s")[2], talk("u a s")[0], talk("u a s")[1])}, edit.Rules{Moved: only(2)}, "20134"},
		{"no user message, if allowed", four, []edit.Edit{put(0, 4, named("x", message("a")))}, edit.Rules{NoUser: true}, "x"},
		{"two that met before", talk("u u a"), nil, edit.Rules{}, "012"},
		{"faults of the input", talk("u r1 c2 a u! a"), []edit.Edit{drop(1, 2)}, edit.Rules{}, "02345"},
		{"an unanswered call goes", talk("u r1 c2 a u a"), []edit.Edit{drop(2, 3)}, edit.Rules{}, "01345"},
	}
	for _, test := range tests {
		out, err := edit.Apply(test.t, test.edits, test.rules)
		if err != nil || ids(out) != test.want {
			t.Errorf("%s: %s, error %v, want %s", test.name, ids(out), err, test.want)
		}
	}
}

func TestErrorNamesTheRun(t *testing.T) {
	_, err := edit.Apply(talk("u a"), []edit.Edit{drop(1, 7)}, edit.Rules{})
	if err == nil || err.Error() != "edit of messages 1 to 7: out of bounds or overlapping" {
		t.Errorf("error %v", err)
	}
}

func TestSortedPutsInsertionsFirst(t *testing.T) {
	in := []edit.Edit{drop(2, 3), drop(1, 2), put(1, 1), drop(0, 1)}
	got := edit.Sorted(in)
	for i, want := range [][2]int{{0, 1}, {1, 1}, {1, 2}, {2, 3}} {
		if got[i].Start != want[0] || got[i].End != want[1] {
			t.Errorf("edit %d is %d to %d, want %v", i, got[i].Start, got[i].End, want)
		}
	}
	if in[0].Start != 2 {
		t.Error("the list given was sorted")
	}
}

func TestFirstChanged(t *testing.T) {
	four := talk("u a u a")
	other := slices.Clone(four)
	other[2] = with(four, 2, says("other"))
	state := slices.Clone(four)
	state[0].State = chat.Outlined
	tests := []struct {
		name          string
		before, after chat.Transcript
		want          int
	}{
		{"equal", four, four, -1},
		{"both empty", nil, nil, -1},
		{"one changed", four, other, 2},
		{"a state", four, state, 0},
		{"longer", four[:3], four, 3},
		{"shorter", four, four[:1], 1},
		{"one dropped", four, slices.Concat(four[:1], four[2:]), 1},
	}
	for _, test := range tests {
		if got := edit.FirstChanged(test.before, test.after); got != test.want {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
	}
}

func TestEditsOfOpaquePartsAreRejected(t *testing.T) {
	for _, kind := range []chat.Kind{chat.Opaque, chat.ServerCall, chat.ServerResult} {
		old := chat.Message{ID: "a", Role: chat.Assistant, Parts: []chat.Part{{Kind: kind, ID: "s", Text: "block"}, {Kind: chat.Text, Text: "long text"}}}
		before := chat.Transcript{{ID: "u", Role: chat.User, Parts: []chat.Part{{Kind: chat.Text, Text: "q"}}}, old}
		shorter := old.With(chat.Outlined, old.Parts[0], chat.Part{Kind: chat.Text, Text: "text"})
		if _, err := edit.Apply(before, []edit.Edit{{Start: 1, End: 2, New: []chat.Message{shorter}}}, edit.Rules{}); err == nil {
			t.Errorf("a message with a %s was rewritten", kind)
		}
	}
	call := chat.Message{ID: "a", Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.ServerCall, ID: "s", Name: "f"}}}
	result := chat.Message{ID: "b", Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.ServerResult, ID: "s"}, {Kind: chat.Text, Text: "done"}}}
	before := chat.Transcript{{ID: "u", Role: chat.User, Parts: []chat.Part{{Kind: chat.Text, Text: "q"}}}, call, result, {ID: "v", Role: chat.User, Parts: []chat.Part{{Kind: chat.Text, Text: "next"}}}}
	for at := 1; at < 3; at++ {
		if _, err := edit.Apply(before, []edit.Edit{{Start: at, End: at + 1}}, edit.Rules{}); err == nil {
			t.Errorf("one half was dropped: message %d", at)
		}
	}
	if _, err := edit.Apply(before, []edit.Edit{{Start: 1, End: 3, New: []chat.Message{chat.NewText(chat.Assistant, "gone")}}}, edit.Rules{}); err != nil {
		t.Error(err)
	}
}
