package chat_test

import (
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
)

func TestLongPastesArePlaceholders(t *testing.T) {
	tests := []struct {
		name      string
		threshold int
		text      string
		want      string
		sent      string // "": text
	}{
		{name: "200 characters", text: strings.Repeat("a", 200), want: strings.Repeat("a", 200)},
		{name: "201 characters", text: strings.Repeat("a", 201), want: "[LongText#1]"},
		{name: "200 characters of three bytes", text: strings.Repeat("漢", 200), want: strings.Repeat("漢", 200)},
		{name: "201 characters of three bytes", text: strings.Repeat("漢", 201), want: "[LongText#1]"},
		{name: "line ends of a terminal", text: "a\rb\r\nc", want: "a\nb\nc", sent: "a\nb\nc"},
		{name: "line ends are one character each", text: strings.Repeat("a\r\n", 100), want: strings.Repeat("a\n", 100), sent: strings.Repeat("a\n", 100)},
		{name: "what looks like a placeholder", text: "see [LongText#1]", want: "[LongText#1]"},
		{name: "what looks like one of another paste", text: "[LongText#7]", want: "[LongText#1]"},
		{name: "nothing", text: "", want: ""},
		{name: "a lower threshold", threshold: 3, text: "abcd", want: "[LongText#1]"},
		{name: "at a lower threshold", threshold: 3, text: "abc", want: "abc"},
		{name: "a higher threshold", threshold: 1000, text: strings.Repeat("a", 1000), want: strings.Repeat("a", 1000)},
		{name: "no text is short", threshold: -1, text: "", want: "[LongText#1]"},
	}
	for _, test := range tests {
		p := chat.Pastes{Threshold: test.threshold}
		shown := p.Add(test.text)
		if shown != test.want {
			t.Errorf("%s: shown as %q, want %q", test.name, shown, test.want)
		}
		want := test.sent
		if want == "" {
			want = test.text
		}
		if got := p.Expand("a " + shown + "."); got != "a "+want+"." {
			t.Errorf("%s: sent as %q, want %q", test.name, got, want)
		}
	}
}

func TestPlaceholdersAreExpandedOnce(t *testing.T) {
	first := strings.Repeat("x", 201)
	second := strings.Repeat("y", 201) + "[LongText#1]"
	var p chat.Pastes
	for i, text := range []string{first, second, first} {
		if got, want := p.Add(text), "[LongText#"+string(rune('1'+i))+"]"; got != want {
			t.Fatalf("paste %d is %s, want %s", i, got, want)
		}
	}
	tests := []struct{ name, input, want string }{
		{"two pastes", "[LongText#1] and [LongText#2]", first + " and " + second},
		{"equal pastes are two", "[LongText#3]", first},
		{"not inside what was pasted", "[LongText#2]", second},
		{"one twice", "[LongText#1][LongText#1]", first + first},
		{"in other brackets", "[[LongText#1]]", "[" + first + "]"},
		{"a number that nothing was pasted for", "[LongText#4] [LongText#0] [LongText#01]", "[LongText#4] [LongText#0] [LongText#01]"},
		{"a number beyond all bounds", "[LongText#99999999999999999999]", "[LongText#99999999999999999999]"},
		{"no placeholder", "LongText#1 [LongText#] [longtext#1] [LongText# 1]", "LongText#1 [LongText#] [longtext#1] [LongText# 1]"},
	}
	for _, test := range tests {
		for range 2 { // again, as an input of the history is
			if got := p.Expand(test.input); got != test.want {
				t.Errorf("%s: %q is sent as %q, want %q", test.name, test.input, got, test.want)
			}
		}
	}
}

func FuzzExpand(f *testing.F) {
	f.Add("[LongText#1] [LongText#2]", strings.Repeat("[LongText#1]", 20), "short\r")
	f.Fuzz(func(t *testing.T, input, one, other string) {
		var p chat.Pastes
		lines := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace
		shown := "<" + p.Add(one) + "|" + p.Add(other) + ">"
		if got, want := p.Expand(shown), "<"+lines(one)+"|"+lines(other)+">"; got != want {
			t.Errorf("pastes are sent as %q, want %q", got, want)
		}
		if p = (chat.Pastes{}); p.Expand(input) != input {
			t.Errorf("%q is changed though nothing was pasted", input)
		}
	})
}
