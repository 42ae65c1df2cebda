package chat_test

import (
	"slices"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
)

func serverParts(parts ...string) chat.Message {
	m := chat.Message{Role: chat.Assistant}
	for _, p := range parts {
		id := p[1:]
		switch p[0] {
		case '+':
			m.Parts = append(m.Parts, chat.Part{Kind: chat.ServerCall, ID: id, Name: "web_search", Args: "{}"})
		case '-':
			m.Parts = append(m.Parts, chat.Part{Kind: chat.ServerResult, ID: id, Text: "found"})
		case '>':
			m.Parts = append(m.Parts, chat.Part{Kind: chat.Call, ID: id, Name: "read", Args: "{}"})
		default:
			m.Parts = append(m.Parts, chat.Part{Kind: chat.Text, Text: p})
		}
	}
	return m
}

func TestCallsOfAServersToolsArePaired(t *testing.T) {
	user := chat.NewText(chat.User, "q")
	for _, c := range []struct {
		name   string
		t      chat.Transcript
		groups [][]int
		open   int
		kinds  []string
	}{
		{"in one message", chat.Transcript{user, serverParts("+a", "-a", "done")}, [][]int{{0}, {1}}, 2, nil},
		{"two at once", chat.Transcript{user, serverParts("+a", "+b", "-b", "-a", "done"), user}, [][]int{{0}, {1}, {2}}, 3, nil},
		{"paused", chat.Transcript{user, serverParts("look", "+a")}, [][]int{{0}, {1}}, 1, nil},
		{"a paused turn that went on", chat.Transcript{user, serverParts("+a"), serverParts("-a", "done")}, [][]int{{0}, {1, 2}}, 3, nil},
		{"with a call of the client between", chat.Transcript{user, serverParts("+a", ">c"), chat.NewResult("c", "r"), serverParts("-a", "done")}, [][]int{{0}, {1, 2, 3}}, 4, nil},
		{"never answered", chat.Transcript{user, serverParts("+a", "done"), user}, [][]int{{0}, {1}, {2}}, 3, []string{chat.Unanswered, chat.SameRole}},
		{"never called", chat.Transcript{user, serverParts("-a", "done")}, [][]int{{0}, {1}}, 2, []string{chat.Orphan}},
		{"answered by the client", chat.Transcript{user, serverParts("+a"), chat.NewResult("a", "r"), user}, [][]int{{0}, {1}, {2}, {3}}, 4, []string{chat.Unanswered, chat.Orphan, chat.SameRole}},
		{"one id for both kinds", chat.Transcript{user, serverParts(">a", "+a", "-a"), chat.NewResult("a", "r")}, [][]int{{0}, {1, 2}}, 1, []string{chat.RepeatedID}},
	} {
		groups, _ := chat.Groups(c.t)
		if !slices.EqualFunc(groups, c.groups, slices.Equal) {
			t.Errorf("%s: groups %v, want %v", c.name, groups, c.groups)
		}
		if got := chat.Open(c.t); got != c.open {
			t.Errorf("%s: open from %d, want %d", c.name, got, c.open)
		}
		var kinds []string
		for _, p := range chat.Check(c.t) {
			kinds = append(kinds, p.Kind)
		}
		if !slices.Equal(kinds, c.kinds) {
			t.Errorf("%s: %v, want %v", c.name, kinds, c.kinds)
		}
	}
}

func TestUnknownBlocksHaveAText(t *testing.T) {
	for kind, want := range map[chat.Kind][2]bool{ // says something, must not be rewritten
		chat.Opaque: {true, true}, chat.ServerCall: {true, true}, chat.ServerResult: {false, true},
		chat.Thinking: {false, false}, chat.Text: {false, false}, chat.Image: {true, false},
	} {
		m := chat.Message{Role: chat.User, Parts: []chat.Part{{Kind: kind}}}
		if m.Says() != want[0] || m.HasOpaque() != want[1] {
			t.Errorf("%s: says %v, opaque %v", kind, m.Says(), m.HasOpaque())
		}
	}
	m := chat.Message{Parts: []chat.Part{{Kind: chat.Text, Text: "a"}, {Kind: chat.Opaque, Text: "b"}, {Kind: chat.ServerResult, Text: "c"}, {Kind: chat.Thinking, Text: "d"}}}
	if m.Text() != "a\nb\nc" {
		t.Errorf("%q", m.Text())
	}
}

func TestACallWithoutANameIsReported(t *testing.T) {
	m := serverParts("+a", "-a", ">c")
	for i := range m.Parts {
		m.Parts[i].Name = " "
	}
	got := chat.Check(chat.Transcript{chat.NewText(chat.User, "q"), m, chat.NewResult("c", "r")})
	if len(got) != 2 || got[0].Kind != chat.NoName || got[0].ID != "a" || got[1].ID != "c" {
		t.Error(got)
	}
}
