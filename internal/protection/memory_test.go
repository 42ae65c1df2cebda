package protection_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/protection"
)

func text(role chat.Role, s string) chat.Message { return chat.NewText(role, s) }

func user() chat.Message { return text(chat.User, "do it") }

func said() chat.Message { return text(chat.Assistant, "done") }

func machine() chat.Message {
	m := text(chat.User, "<reminder>")
	m.Machine = true
	return m
}

func protected(m chat.Message) chat.Message {
	m.Protected = true
	return m
}

func calls(ids ...string) chat.Message {
	m := chat.Message{Role: chat.Assistant}
	for _, id := range ids {
		m.Parts = append(m.Parts, chat.Part{Kind: chat.Call, ID: id, Name: "run", Args: "{}"})
	}
	return m
}

func result(id string) chat.Message { return chat.NewResult(id, "ok") }

func summary(role chat.Role) chat.Message { return protection.NewSummary(1, role, "so far", "") }

func marker(role chat.Role) chat.Message { return protection.NewMarker(role, 2, "0123abcd", nil) }

const (
	protectedH = protection.Protected
	first      = protection.First
	session    = protection.Session
	open       = protection.Open
	unread     = protection.Unread
	latest     = protection.Latest
)

func TestHolds(t *testing.T) {
	roles := protection.Policy{Roles: []chat.Role{chat.System, chat.Developer}}
	tests := []struct {
		name   string
		policy protection.Policy
		t      chat.Transcript
		want   []protection.Protection
	}{
		{"nothing", roles, nil, nil},
		{"the first and the latest user message", roles, chat.Transcript{user(), said(), user(), said()}, []protection.Protection{first, 0, latest, 0}},
		{"one user message is both", roles, chat.Transcript{user(), said()}, []protection.Protection{first | latest, 0}},
		{"pin off", protection.Policy{NoPinFirst: true}, chat.Transcript{user(), said(), user()}, []protection.Protection{0, 0, latest}},
		{"roles", roles, chat.Transcript{text(chat.System, "s"), text(chat.Developer, "d"), user()}, []protection.Protection{protectedH, protectedH, first | latest}},
		{"no roles", protection.Policy{}, chat.Transcript{text(chat.System, "s"), user()}, []protection.Protection{0, first | latest}},
		{"a mark", roles, chat.Transcript{user(), protected(said()), user()}, []protection.Protection{first, protectedH, latest}},
		{"the first user message, protected", roles, chat.Transcript{protected(user()), said(), user()},
			[]protection.Protection{protectedH | first, 0, latest}},
		{"a matcher", protection.Policy{Match: func(m chat.Message) bool { return strings.Contains(m.Text(), "done") }},
			chat.Transcript{user(), said()}, []protection.Protection{first | latest, protectedH}},
		{"what a machine wrote is neither first nor latest", roles, chat.Transcript{machine(), user(), said(), user(), said(), machine(), said()},
			[]protection.Protection{0, first, 0, latest, 0, 0, 0}},
		{"nobody typed: the latest that says something", roles, chat.Transcript{machine(), said(), machine(), said()}, []protection.Protection{0, 0, latest, 0}},
		{"an empty user message", roles, chat.Transcript{text(chat.User, " "), user(), said(), text(chat.User, "")}, []protection.Protection{0, first | latest, 0, 0}},
		{"a summary before role rules", roles, chat.Transcript{user(), summary(chat.System), said()}, []protection.Protection{first | latest, session, 0}},
		{"a protected summary", roles, chat.Transcript{user(), protected(summary(chat.Assistant)), said()}, []protection.Protection{first | latest, session, 0}},
		{"a marker is no message of anybody", roles, chat.Transcript{marker(chat.User), said(), user(), protected(marker(chat.Assistant)), marker(chat.User), said()},
			[]protection.Protection{0, 0, first | latest, 0, 0, 0}},
		{"an open group", roles, chat.Transcript{user(), calls("a", "b"), result("a")}, []protection.Protection{first | latest, open, open | unread}},
		{"a call alone", roles, chat.Transcript{user(), calls("a")}, []protection.Protection{first | latest, open}},
		{"a group that is closed by a user message", roles, chat.Transcript{user(), calls("a"), result("a"), user()}, []protection.Protection{first, 0, unread, latest}},
		{"an unanswered call further up", roles, chat.Transcript{user(), calls("a"), user(), said()}, []protection.Protection{first, 0, latest, 0}},
		{"a file that was not read", roles, chat.Transcript{user(), said(), machine(), user()}, []protection.Protection{first, 0, unread, latest}},
		{"what a round has put in behind a file has not read it", roles, chat.Transcript{user(), machine(), marker(chat.Assistant), summary(chat.Assistant), user()},
			[]protection.Protection{first, unread, 0, session, latest}},
		{"results that were read", roles, chat.Transcript{user(), calls("a"), result("a"), said()}, []protection.Protection{first | latest, 0, 0, 0}},
	}
	for _, test := range tests {
		if got := test.policy.Protections(test.t); !slices.Equal(got, test.want) {
			t.Errorf("%s: holds %06b, want %06b", test.name, got, test.want)
		}
	}
}

func TestLatestUser(t *testing.T) {
	tests := []struct {
		name string
		t    chat.Transcript
		want int
	}{
		{"nothing", nil, -1},
		{"no user", chat.Transcript{said()}, -1},
		{"typed before made", chat.Transcript{user(), said(), machine()}, 0},
		{"made, if nobody typed", chat.Transcript{machine(), said()}, 0},
		{"a marker is nobody's", chat.Transcript{said(), marker(chat.User)}, -1},
		{"one that says nothing", chat.Transcript{text(chat.User, "")}, -1},
	}
	for _, test := range tests {
		if got := protection.LatestUser(test.t); got != test.want {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
	}
}

func TestReserved(t *testing.T) {
	named := func(id string, m chat.Message) chat.Message {
		m.ID = id
		return m
	}
	tests := []struct {
		m    chat.Message
		want bool
	}{
		{named("summary-1", said()), true},
		{named("marker-x", user()), true},
		{named("m1", user()), false},
		{summary(chat.Assistant), false},
		{marker(chat.User), false},
	}
	for _, test := range tests {
		if got := protection.Reserved(test.m); got != test.want {
			t.Errorf("%s (%q): %t, want %t", test.m.ID, test.m.State, got, test.want)
		}
	}
}

func TestRecentKeepsTurnsAndPairs(t *testing.T) {
	in := chat.Transcript{
		user(),            // 0
		calls("a"),        // 1
		result("a"),       // 2
		said(),            // 3
		summary("system"), // 4
		user(),            // 5
		calls("b", "c"),   // 6
		result("c"),       // 7
		result("b"),       // 8
		said(),            // 9
		marker(chat.User), // 10
		said(),            // 11
		user(),            // 12
		calls("d"),        // 13
		result("d"),       // 14
	}
	tests := []struct {
		turns, pairs int
		want         []int
	}{
		{0, 0, nil},
		{1, 0, []int{12}},
		{0, 1, []int{13, 14}},
		{0, 2, []int{6, 7, 8, 13, 14}},
		{1, 1, []int{12, 13, 14}},
		{2, 1, []int{5, 9, 11, 12, 13, 14}},
		{2, 2, []int{5, 6, 7, 8, 9, 11, 12, 13, 14}},
		{3, 9, []int{0, 1, 2, 3, 5, 6, 7, 8, 9, 11, 12, 13, 14}},
		{9, 0, []int{0, 3, 5, 9, 11, 12}},
	}
	for _, test := range tests {
		var got []int
		for i, kept := range protection.Recent(in, test.turns, test.pairs) {
			if kept {
				got = append(got, i)
			}
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%d turns, %d pairs: %v, want %v", test.turns, test.pairs, got, test.want)
		}
	}
}

func TestReducedLowersTurnsAndPairsInTurn(t *testing.T) {
	tests := []struct {
		turns, pairs int
		want         [][2]int
	}{
		{6, 4, [][2]int{{6, 4}, {5, 4}, {5, 3}, {4, 3}, {4, 2}, {3, 2}, {3, 1}, {2, 1}, {1, 1}}},
		{2, 5, [][2]int{{2, 5}, {1, 5}, {1, 4}, {1, 3}, {1, 2}, {1, 1}}},
		{4, 1, [][2]int{{4, 1}, {3, 1}, {2, 1}, {1, 1}}},
		{1, 1, [][2]int{{1, 1}}},
	}
	for _, test := range tests {
		for k, want := range test.want {
			if turns, pairs := protection.Reduced(test.turns, test.pairs, k); [2]int{turns, pairs} != want {
				t.Errorf("%d,%d, step %d: %d,%d, want %v", test.turns, test.pairs, k, turns, pairs, want)
			}
		}
	}
}

// Invisible characters are in no summary and no marker, including parts of files.
func TestNothingHiddenIsWritten(t *testing.T) {
	const hidden = "built\x00 \x1b]0;run me\a\U000E0061\u202e\u200bnow"
	for _, m := range []chat.Message{protection.NewSummary(1, chat.Assistant, hidden, "0123abcd"), protection.NewSummary(1, chat.System, hidden, "0123abcd"), protection.NewMarker(chat.User, 2, "0123abcd", []string{hidden})} {
		if text := m.Text(); !strings.Contains(text, "built now") {
			t.Errorf("%q", text)
		}
	}
}
