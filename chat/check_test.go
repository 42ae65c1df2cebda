package chat_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
)

func calls(ids ...string) chat.Message {
	m := chat.Message{Role: chat.Assistant}
	for _, id := range ids {
		m.Parts = append(m.Parts, chat.Part{Kind: chat.Call, ID: id, Name: "run", Args: `{"command":"ls"}`})
	}
	return m
}

func text(role chat.Role, s string) chat.Message { return chat.NewText(role, s) }

func result(id string) chat.Message { return chat.NewResult(id, "done") }

// found returns the kinds, positions and ids that a check reports.
func found(problems []chat.Problem) []chat.Problem {
	var out []chat.Problem
	for _, p := range problems {
		out = append(out, chat.Problem{Index: p.Index, ID: p.ID, Kind: p.Kind})
	}
	return out
}

func TestCheckFindsEachKind(t *testing.T) {
	user, system := text(chat.User, "do it"), text(chat.System, "be brief")
	said := text(chat.Assistant, "done")
	bad := calls("a")
	bad.Parts[0].Args = `{"command": "ls`
	tests := []struct {
		name string
		t    chat.Transcript
		want []chat.Problem
	}{
		{"nothing", chat.Transcript{system, user, calls("a"), result("a"), said}, nil},
		{"parallel calls, answers in another order", chat.Transcript{user, calls("a", "b"), result("b"), result("a"), said}, nil},
		{"open calls at the end", chat.Transcript{user, calls("a", "b"), result("b")}, nil},
		{"no messages", nil, []chat.Problem{{Index: -1, Kind: chat.NoMessages}}},
		{"only system messages", chat.Transcript{system}, []chat.Problem{{Index: -1, Kind: chat.NoUser}}},
		{"empty user message", chat.Transcript{user, said, text(chat.User, " \n")}, []chat.Problem{{Index: 2, Kind: chat.EmptyMessage}}},
		{"unanswered call", chat.Transcript{user, calls("a", "b"), result("b"), user}, []chat.Problem{
			{Index: 1, ID: "a", Kind: chat.Unanswered}, {Index: 3, Kind: chat.SameRole}}},
		{"result before its call", chat.Transcript{user, result("a"), calls("a"), said}, []chat.Problem{
			{Index: 1, ID: "a", Kind: chat.Orphan}, {Index: 2, ID: "a", Kind: chat.Unanswered}}},
		{"result apart", chat.Transcript{user, calls("a"), said, result("a")}, []chat.Problem{{Index: 3, ID: "a", Kind: chat.Apart}}},
		{"repeated id, each answered", chat.Transcript{user, calls("a"), result("a"), calls("a"), result("a")}, []chat.Problem{
			{Index: 3, ID: "a", Kind: chat.RepeatedID}}},
		{"one id twice in a message, answered once", chat.Transcript{user, calls("a", "a"), result("a"), said}, []chat.Problem{
			{Index: 1, ID: "a", Kind: chat.RepeatedID}, {Index: 1, ID: "a", Kind: chat.Unanswered}}},
		{"arguments cut off", chat.Transcript{user, bad, result("a"), said}, []chat.Problem{{Index: 1, ID: "a", Kind: chat.BadArguments}}},
		{"late system message", chat.Transcript{system, user, system, said}, []chat.Problem{{Index: 2, Kind: chat.LateSystem}}},
		{"two system messages at the front", chat.Transcript{system, system, user, said}, nil},
		{"two assistant texts", chat.Transcript{user, said, said}, []chat.Problem{{Index: 2, Kind: chat.SameRole}}},
	}
	for _, test := range tests {
		if got := found(chat.Check(test.t)); !slices.Equal(got, test.want) {
			t.Errorf("%s: Check finds %v, want %v", test.name, got, test.want)
		}
	}
}

func TestCheckCallsEveryFaultAWarning(t *testing.T) {
	for _, p := range chat.Check(chat.Transcript{result("a"), calls("b"), text(chat.User, ""), text(chat.User, "")}) {
		if p.Severity != chat.SeverityWarning || p.Text == "" {
			t.Errorf("%+v is no warning with a text", p)
		}
	}
}

func TestNewReturnsOnlyNewProblems(t *testing.T) {
	user, said := text(chat.User, "do it"), text(chat.Assistant, "done")
	before := chat.Check(chat.Transcript{user, calls("a"), user, calls("b"), said, said})
	after := chat.Check(chat.Transcript{user, calls("b"), said, said, said, result("c")})
	got := chat.New(before, after)
	want := []chat.Problem{{Index: 4, Kind: chat.SameRole}, {Index: 5, ID: "c", Kind: chat.Orphan}}
	if !slices.Equal(found(got), want) {
		t.Errorf("New = %v, want %v", found(got), want)
	}
	for _, p := range got {
		if p.Severity != chat.SeverityError {
			t.Errorf("%+v is no error", p)
		}
	}
	if rest := chat.New(before, before); rest != nil {
		t.Errorf("a transcript has new problems against itself: %v", rest)
	}
}

// Logs of tools have turns that end with a call, so that two user messages have no text of
// the assistant between them.
func TestOneRoleTwiceWithToolFlowBetweenIsANote(t *testing.T) {
	user, said := text(chat.User, "do it"), text(chat.Assistant, "done")
	for _, test := range []struct {
		name string
		t    chat.Transcript
		want []chat.Severity
	}{
		{"a call and its result", chat.Transcript{user, calls("a"), result("a"), user}, []chat.Severity{chat.SeverityNote}},
		{"a call without a result", chat.Transcript{user, calls("a"), user}, []chat.Severity{chat.SeverityNote}},
		{"texts around a call", chat.Transcript{user, said, calls("a"), result("a"), said}, []chat.Severity{chat.SeverityNote}},
		{"nothing", chat.Transcript{user, user, said}, []chat.Severity{chat.SeverityWarning}},
		{"a system message", chat.Transcript{user, text(chat.System, "be brief"), user}, []chat.Severity{chat.SeverityWarning}},
		{"a call before both", chat.Transcript{user, calls("a"), result("a"), user, user}, []chat.Severity{chat.SeverityNote, chat.SeverityWarning}},
	} {
		var got []chat.Severity
		for _, p := range chat.Check(test.t) {
			if p.Kind == chat.SameRole {
				got = append(got, p.Severity)
			}
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
	with, without := chat.Check(chat.Transcript{user, calls("a"), result("a"), user}), chat.Check(chat.Transcript{user, user})
	if fresh := chat.New(with, without); fresh != nil {
		t.Errorf("without the tool flow: %v", fresh)
	}
}

func TestAddedCopies(t *testing.T) {
	user, said, on := text(chat.User, "do it"), text(chat.Assistant, "done"), text(chat.User, "go on")
	marker := text(chat.User, "[marker a gap]")
	marker.State = chat.Marked
	before := chat.Transcript{user, said, on, said, calls("a"), result("a"), marker}
	for _, test := range []struct {
		name  string
		after chat.Transcript
		want  []int
	}{
		{"unchanged", before, nil},
		{"fewer", chat.Transcript{user, said, on}, nil},
		{"an answer three times", chat.Transcript{user, said, on, said, user, said}, []int{4, 5}},
		{"a call and its result again", chat.Transcript{user, calls("a"), result("a"), calls("b"), result("b")}, []int{3, 4}},
		{"another role", chat.Transcript{user, text(chat.User, "done"), text(chat.User, "done")}, nil},
		{"what is new", chat.Transcript{user, text(chat.Assistant, "a summary"), text(chat.Assistant, "a summary")}, nil},
		{"markers", chat.Transcript{user, marker, said, marker, said}, nil},
		{"empty ones", chat.Transcript{user, text(chat.User, ""), text(chat.User, "")}, nil},
	} {
		var got []int
		for _, p := range chat.AddedCopies(append(before, text(chat.User, "")), test.after) {
			got = append(got, p.Index)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	for _, n := range []int{100, 1000, 10000} {
		var t chat.Transcript
		for range n / 2 {
			t = append(t, calls("a", "b"), result("a"))
		}
		b.Run(fmt.Sprint("messages=", n), func(b *testing.B) {
			for b.Loop() {
				chat.Check(t)
			}
		})
	}
}
