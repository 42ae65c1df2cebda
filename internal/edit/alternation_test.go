package edit_test

import (
	"testing"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/edit"
)

// mark is a Marker whose ids begin with the role's first letter.
func mark(role chat.Role, m chat.Message, _ edit.Gap) []edit.Mark {
	return []edit.Mark{{At: -1, Message: chat.Message{ID: "[" + string(role[0]) + m.ID + "]", Role: role, State: chat.Marked, Parts: []chat.Part{{Kind: chat.Text, Text: "left out"}}}}}
}

func TestSeparateParts(t *testing.T) {
	sum := named("S", message("a"))
	tests := []struct {
		name  string
		t     string
		edits []edit.Edit
		want  string
	}{
		{"no edits", "u a u a", nil, "0123"},
		{"two user messages", "u a u a", []edit.Edit{drop(1, 2)}, "0[a2]23"},
		{"two assistant texts", "u a u a u a", []edit.Edit{drop(2, 3)}, "01[u3]345"},
		{"tool flow between", "u c r a u a", []edit.Edit{drop(3, 4)}, "012[a4]45"},
		{"tool flow behind", "u a c r u a", []edit.Edit{drop(1, 2)}, "023[a4]45"},
		{"a system message between", "u a s u a", []edit.Edit{drop(1, 2)}, "02[a3]34"},
		{"two that met before stay so, before a dropped exchange", "u u a u a", []edit.Edit{drop(2, 4)}, "014"},
		{"two that met before stay so", "u u a u a", []edit.Edit{drop(2, 3)}, "01[a3]34"},
		{"a summary before an assistant text", "u a u a u a", []edit.Edit{put(1, 3, sum)}, "0S[u3]345"},
		{"two inside one edit", "u a u a", []edit.Edit{put(0, 2, named("x", message("a")), named("y", message("a")))}, "x[uy]y23"},
		{"the assistant spoke last", "u a u a", []edit.Edit{drop(3, 4)}, "012[a2]"},
		{"the user spoke last", "u a u", []edit.Edit{put(2, 3, named("x", message("a")))}, "01[ux]x[ux]+"},
		{"the assistant spoke last, and calls again", "u a u a c", []edit.Edit{drop(3, 4)}, "012[a2]4"},
		{"nobody speaks any more", "u a", []edit.Edit{drop(0, 2)}, ""},
		{"only tool flow is left", "u c r a", []edit.Edit{drop(0, 1), drop(3, 4)}, "12"},
	}
	for _, test := range tests {
		in := talk(test.t)
		edits, err := edit.Separate(in, test.edits, mark)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		out, err := edit.Apply(in, edits, edit.Rules{NoUser: true})
		if err != nil || ids(out) != test.want {
			t.Errorf("%s: %s, error %v, want %s", test.name, ids(out), err, test.want)
		}
	}
}

// A mark that quotes a removed message is where that message was, not after what
// followed it. The ids of marks with a place are in round brackets.
func TestMarksHaveThePlaceOfWhatTheyQuote(t *testing.T) {
	tests := []struct {
		name  string
		t     string
		edits []edit.Edit
		gone  []int // indexes in the gap of what the marks quote
		want  string
	}{
		{"before tool flow that stays", "u a u c r u a", []edit.Edit{drop(1, 3)}, []int{0}, "0(a5)3456"},
		{"between tool flow that stays", "u c r a u c r u a", []edit.Edit{drop(3, 5)}, []int{2}, "012(a7)5678"},
		{"after all tool flow", "u c r a u a", []edit.Edit{drop(3, 4)}, []int{2}, "012(a4)45"},
		{"two answers and a record between them", "u a u c r a u a", []edit.Edit{drop(1, 3), drop(5, 6)}, []int{0, 1, 4}, "0(a6)(u6)34(a6)+67"},
		{"before the results of a call: no place", "u c a r u a", []edit.Edit{drop(2, 3)}, []int{1}, "013[a4]45"},
		{"a run that gets new messages", "u a c r u a", []edit.Edit{put(1, 2, named("x", message("s")))}, []int{0}, "0(a4)x2345"},
		{"before an older message, after what moved to the front: no place", "s u a u a u a u", []edit.Edit{put(2, 7, named("3", message("u")), named("5", message("u")), named("2", message("a")))}, []int{0}, "01[a3]3[a5]527"},
		{"the last message", "u a c r", []edit.Edit{drop(1, 2)}, []int{0}, "0(a0)23"},
	}
	for _, test := range tests {
		in := talk(test.t)
		quoting := func(role chat.Role, m chat.Message, gap edit.Gap) (marks []edit.Mark) {
			for i, at := range test.gone {
				if at >= len(gap.Gone) || !gap.Gone[at] {
					return mark(role, m, gap)
				}
				role := []chat.Role{chat.Assistant, chat.User}[i%2]
				marks = append(marks, edit.Mark{At: at, Message: named("("+string(role[0])+m.ID+")", mark(role, m, gap)[0].Message)})
			}
			return marks
		}
		edits, err := edit.Separate(in, test.edits, quoting)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		out, err := edit.Apply(in, edits, edit.Rules{NoUser: true, Moved: func(i int) bool { return test.t[0] == 's' && (i == 3 || i == 5) }})
		if err != nil || ids(out) != test.want {
			t.Errorf("%s: %s, error %v, want %s", test.name, ids(out), err, test.want)
		}
	}
}

func TestSeparatorsHaveIDsOfTheirOwn(t *testing.T) {
	in := talk("u a u a u a")
	always := func(role chat.Role, m chat.Message, gap edit.Gap) []edit.Mark {
		return []edit.Mark{{Message: named("1", mark(role, m, gap)[0].Message), At: -1}}
	} // including the id of the removed message
	edits, err := edit.Separate(in, []edit.Edit{drop(1, 2), drop(3, 4)}, always)
	if err != nil {
		t.Fatal(err)
	}
	out, err := edit.Apply(in, edits, edit.Rules{})
	if err != nil || ids(out) != "01+21++45" {
		t.Errorf("%s, error %v", ids(out), err)
	}
}

func TestSeparateRefusesRunsThatDoNotFit(t *testing.T) {
	if edits, err := edit.Separate(talk("u a"), []edit.Edit{drop(1, 4)}, mark); err == nil || edits != nil {
		t.Errorf("%v, error %v", edits, err)
	}
}
