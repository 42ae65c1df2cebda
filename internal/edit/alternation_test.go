package edit_test

import (
	"testing"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/edit"
)

// mark is a Marker whose ids begin with the role's first letter.
func mark(role chat.Role, m chat.Message, _ [][]chat.Message) chat.Message {
	return chat.Message{ID: "[" + string(role[0]) + m.ID + "]", Role: role, State: chat.Marked, Parts: []chat.Part{{Kind: chat.Text, Text: "left out"}}}
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

func TestSeparatorsHaveIDsOfTheirOwn(t *testing.T) {
	in := talk("u a u a u a")
	always := func(role chat.Role, m chat.Message, left [][]chat.Message) chat.Message {
		return named("1", mark(role, m, left))
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
