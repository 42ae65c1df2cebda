package chat_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
)

func TestTextJoinsTexts(t *testing.T) {
	part := func(k chat.Kind, s string) chat.Part { return chat.Part{Kind: k, Text: s} }
	tests := []struct {
		name  string
		parts []chat.Part
		want  string
	}{
		{"no parts", nil, ""},
		{"one text", []chat.Part{part(chat.Text, "a\nb")}, "a\nb"},
		{"text, result and summary", []chat.Part{part(chat.Text, "a"), part(chat.Result, "b"), part(chat.Summary, "c")}, "a\nb\nc"},
		{"thinking, calls and images say nothing here", []chat.Part{part(chat.Thinking, "hm"), {Kind: chat.Call, Args: "{}"}, {Kind: chat.Image}, part(chat.Text, "a")}, "a"},
		{"empty texts leave no line", []chat.Part{part(chat.Text, ""), part(chat.Text, "a"), part(chat.Text, "")}, "a"},
	}
	for _, test := range tests {
		if got := (chat.Message{Parts: test.parts}).Text(); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

func TestSaysAndTyped(t *testing.T) {
	image := chat.Message{Role: chat.User, Parts: []chat.Part{{Kind: chat.Image}}}
	machine, marked := text(chat.User, "a"), text(chat.User, "a")
	machine.Machine, marked.State = true, chat.Marked
	outlined := text(chat.User, "a")
	outlined.State = chat.Outlined
	tests := []struct {
		name        string
		m           chat.Message
		says, typed bool
	}{
		{"a text", text(chat.User, "a"), true, true},
		{"an image", image, true, true},
		{"an outlined text", outlined, true, true},
		{"spaces", text(chat.User, " \n\t"), false, false},
		{"no parts", chat.Message{Role: chat.User}, false, false},
		{"thinking alone", chat.Message{Role: chat.User, Parts: []chat.Part{{Kind: chat.Thinking, Text: "hm"}}}, false, false},
		{"a machine's", machine, true, false},
		{"a marker", marked, true, false},
		{"an assistant's", text(chat.Assistant, "a"), true, false},
		{"a call alone", calls("a"), false, false},
		{"a result", result("a"), true, false},
	}
	for _, test := range tests {
		if test.m.Says() != test.says || test.m.Typed() != test.typed {
			t.Errorf("%s: says %t, typed %t", test.name, test.m.Says(), test.m.Typed())
		}
	}
}

func TestWithLeavesTheMessageAsItWas(t *testing.T) {
	m := chat.Message{ID: "m1", Role: chat.Tool, Protected: true, Parts: []chat.Part{{Kind: chat.Result, ID: "a", Text: "long"}}}
	got := m.With(chat.Outlined, chat.Part{Kind: chat.Result, ID: "a", Text: "short"})
	if m.Text() != "long" || m.Changed || m.State != chat.Active {
		t.Errorf("the message itself became %+v", m)
	}
	if got.Text() != "short" || !got.Changed || got.State != chat.Outlined || got.ID != "m1" || !got.Protected || got.Role != chat.Tool {
		t.Errorf("With = %+v", got)
	}
}

func TestIsSummaryAndHasCalls(t *testing.T) {
	summary := text(chat.Assistant, "so far").With(chat.Summarized, chat.Part{Kind: chat.Summary, Text: "so far"})
	if !summary.IsSummary() || text(chat.Assistant, "<COMPACT-SUMMARY v1>").IsSummary() {
		t.Error("a summary is recognised by its state")
	}
	if !calls("a").HasCalls() || result("a").HasCalls() || text(chat.User, "").HasCalls() {
		t.Error("only a call is one")
	}
}

func TestPairUp(t *testing.T) {
	user := text(chat.User, "do it")
	tests := []struct {
		name       string
		t          chat.Transcript
		callOf     []int
		unanswered []int
	}{
		{"nothing", nil, []int{}, []int{}},
		{"parallel calls", chat.Transcript{calls("a", "b"), result("b"), result("a")}, []int{-1, 0, 0}, []int{0, 0, 0}},
		{"one answered of two", chat.Transcript{calls("a", "b"), result("b")}, []int{-1, 0}, []int{1, 0}},
		{"a result of nothing", chat.Transcript{user, result("a"), calls("a")}, []int{-1, -1, -1}, []int{0, 0, 1}},
		{"an id again", chat.Transcript{calls("a"), result("a"), calls("a"), result("a")}, []int{-1, 0, -1, 2}, []int{0, 0, 0, 0}},
		{"an id again before it was answered: the nearest", chat.Transcript{calls("a"), calls("a"), result("a"), result("a")}, []int{-1, -1, 1, 0}, []int{0, 0, 0, 0}},
		{"a second result of one call", chat.Transcript{calls("a"), result("a"), result("a")}, []int{-1, 0, -1}, []int{0, 0, 0}},
	}
	for _, test := range tests {
		if p := chat.PairUp(test.t); !slices.Equal(p.CallOf, test.callOf) || !slices.Equal(p.Unanswered, test.unanswered) {
			t.Errorf("%s: %v and %v, want %v and %v", test.name, p.CallOf, p.Unanswered, test.callOf, test.unanswered)
		}
	}
}

func TestGroupsHoldCallsAndResultsTogether(t *testing.T) {
	user, said := text(chat.User, "do it"), text(chat.Assistant, "done")
	tests := []struct {
		name string
		t    chat.Transcript
		want string
	}{
		{"nothing", nil, "[] []"},
		{"messages alone", chat.Transcript{user, said, user}, "[[0] [1] [2]] [0 1 2]"},
		{"parallel calls", chat.Transcript{user, calls("a", "b"), result("b"), result("a"), said}, "[[0] [1 2 3] [4]] [0 1 1 1 2]"},
		{"a message between", chat.Transcript{calls("a"), user, result("a")}, "[[0 2] [1]] [0 1 0]"},
		{"a result of nothing", chat.Transcript{result("a"), calls("a"), said}, "[[0] [1] [2]] [0 1 2]"},
		{"an id in two groups", chat.Transcript{calls("a"), result("a"), calls("a"), result("a")}, "[[0 1] [2 3]] [0 0 1 1]"},
	}
	for _, test := range tests {
		groups, of := chat.Groups(test.t)
		if got := fmt.Sprint(groups, of); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

func TestOpenIsTheNewestCallsAndTheirResults(t *testing.T) {
	user, said := text(chat.User, "do it"), text(chat.Assistant, "done")
	tests := []struct {
		name string
		t    chat.Transcript
		want int
	}{
		{"nothing", nil, 0},
		{"a text last", chat.Transcript{user, calls("a"), result("a"), said}, 4},
		{"a user last", chat.Transcript{calls("a"), result("a"), user}, 3},
		{"a call last", chat.Transcript{user, calls("a")}, 1},
		{"some results", chat.Transcript{user, calls("a", "b"), result("b")}, 1},
		{"all results", chat.Transcript{user, calls("a", "b"), result("b"), result("a")}, 1},
		{"only results", chat.Transcript{result("a"), result("b")}, 2},
		{"results behind a text", chat.Transcript{said, result("a")}, 2},
	}
	for _, test := range tests {
		if got := chat.Open(test.t); got != test.want {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
	}
}

func TestNewest(t *testing.T) {
	in := chat.Transcript{text(chat.User, "a"), text(chat.Assistant, "b"), text(chat.User, "c")}
	if got := chat.Newest(in, chat.Message.Typed); got != 2 {
		t.Errorf("the newest typed message is %d", got)
	}
	if got := chat.Newest(in[:2], chat.Message.IsSummary); got != -1 {
		t.Errorf("there is no summary, and Newest says %d", got)
	}
}
