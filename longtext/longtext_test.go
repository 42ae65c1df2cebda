package tui

import (
	"strings"
	"testing"
)

func TestLongPastesArePlaceholders(t *testing.T) {
	tests := []struct {
		name, text, want string
	}{
		{"200 characters", strings.Repeat("a", 200), strings.Repeat("a", 200)},
		{"201 characters", strings.Repeat("a", 201), "[LongText#1]"},
		{"200 characters of three bytes", strings.Repeat("漢", 200), strings.Repeat("漢", 200)},
		{"201 characters of three bytes", strings.Repeat("漢", 201), "[LongText#1]"},
		{"line ends of a terminal", "a\rb\r\nc", "a\nb\nc"},
		{"200 characters after line ends are one each", strings.Repeat("a\r\n", 100), strings.Repeat("a\n", 100)},
		{"nothing", "", ""},
	}
	for _, test := range tests {
		var p pastes
		if got := p.shown(test.text); got != test.want {
			t.Errorf("%s: shown as %q, want %q", test.name, got, test.want)
		}
		if got, want := p.expanded(test.want), unixLines(test.text); got != want {
			t.Errorf("%s: sent as %q, want %q", test.name, got, want)
		}
	}
}

func TestPlaceholdersAreExpandedOnce(t *testing.T) {
	first := strings.Repeat("x", 201)
	second := strings.Repeat("y", 201) + "[LongText#1]"
	p := pastes{texts: []string{first, second}}
	tests := []struct{ name, input, want string }{
		{"two pastes", "[LongText#1] and [LongText#2]", first + " and " + second},
		{"not inside what was pasted", "[LongText#2]", second},
		{"one twice", "[LongText#1][LongText#1]", first + first},
		{"a number that nothing was pasted for", "[LongText#3] [LongText#0] [LongText#01]", "[LongText#3] [LongText#0] [LongText#01]"},
		{"a number beyond all bounds", "[LongText#99999999999999999999]", "[LongText#99999999999999999999]"},
		{"no placeholder", "LongText#1 [LongText#] [longtext#1]", "LongText#1 [LongText#] [longtext#1]"},
	}
	for _, test := range tests {
		if got := p.expanded(test.input); got != test.want {
			t.Errorf("%s: %q is sent as %q, want %q", test.name, test.input, got, test.want)
		}
	}
}

func FuzzExpanded(f *testing.F) {
	f.Add("[LongText#1] [LongText#2]", strings.Repeat("[LongText#1]", 20))
	f.Fuzz(func(t *testing.T, input, pasted string) {
		var p pastes
		shown := p.shown(pasted)
		if got, want := p.expanded("<"+shown+">"), "<"+unixLines(pasted)+">"; len(p.texts) > 0 && got != want {
			t.Errorf("a paste is sent as %q, want %q", got, want)
		}
		if p.texts = nil; p.expanded(input) != input {
			t.Errorf("%q is changed though nothing was pasted", input)
		}
	})
}
