package tui

import (
	"strings"
	"testing"
	"unicode/utf8"

	"charm.land/lipgloss/v2"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/screen"
)

func TestBroken(t *testing.T) {
	tests := []struct {
		line  string
		width int
		want  []string
	}{
		{"", 5, []string{""}},
		{"fits", 4, []string{"fits"}},
		{"one two three", 8, []string{"one two", "three"}},
		{"one two three", 7, []string{"one two", "three"}},
		{"    indented code stays", 12, []string{"    indented", "code stays"}},
		{"    abcdefghij", 8, []string{"    abcd", "efghij"}},
		{"two  blanks", 5, []string{"two", "blank", "s"}},
		{"abcdefgh", 3, []string{"abc", "def", "gh"}},
		{"漢字漢字", 5, []string{"漢字", "漢字"}},
		{"漢", 1, []string{"漢"}},
		{"e\u0301e\u0301e\u0301", 2, []string{"e\u0301e\u0301", "e\u0301"}},
		{"ends ", 5, []string{"ends "}},
		{"👩\u200d👩\u200d👧漢字", 8, []string{"👩\u200d👩\u200d👧漢", "字"}},
		{"👩\u200d👩\u200d👧 漢字", 8, []string{"👩\u200d👩\u200d👧", "漢字"}},
		{"👍🏽👍🏽", 5, []string{"👍🏽", "👍🏽"}},
	}
	for _, test := range tests {
		got := wrapLine(test.line, test.width)
		if strings.Join(got, "|") != strings.Join(test.want, "|") {
			t.Errorf("broken(%q, %d) = %q, want %q", test.line, test.width, got, test.want)
		}
	}
}

func FuzzBroken(f *testing.F) {
	f.Add("one two  three 漢字 e\u0301 \u200d x", 7)
	f.Fuzz(func(t *testing.T, text string, width int) {
		text, width = safeForTerminal(text), 2+abs(width)%80
		got := wrapLine(text, width)
		for i, l := range got {
			if lipgloss.Width(strings.TrimRight(l, " ")) > width && utf8.RuneCountInString(l) > 1 && len(got) > 1 && i < len(got)-1 {
				t.Errorf("line %q of %q is wider than %d", l, text, width)
			}
		}
		if !strings.HasSuffix(text, got[len(got)-1]) {
			t.Errorf("the last line %q does not end %q", got[len(got)-1], text)
		}
		blanks := strings.NewReplacer(" ", "")
		if blanks.Replace(strings.Join(got, "")) != blanks.Replace(text) {
			t.Errorf("%q becomes %q", text, got)
		}
	})
}

func abs(n int) int { return max(n, -n, 0) }

func TestNothingOnThePageSteersTheTerminal(t *testing.T) {
	const steering = "a\x1b]0;owned\x07b\x1b[2J\u009b2J\x9b\u202ec\U000e0041\rd"
	s := screen.Screen{Width: 80}
	st := status(0.42, "")
	st.Model.Name = steering
	a := newChatApp(s, st)
	for _, m := range []chat.Message{
		chat.NewText(chat.User, steering), chat.NewText(chat.Assistant, steering), chat.NewResult("c", steering),
		{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Call, ID: "c", Name: steering, Args: steering}}},
	} {
		a.page.addMessage(m)
	}
	lines := statusLines(s, st, "")
	all := strings.Join(append(lines[:], a.page.visibleLines(60)...), "\n")
	for _, r := range all {
		if r != '\n' && screen.Steers(r) {
			t.Fatalf("%q in %q", r, all)
		}
	}
}

func TestColumnsOnNarrowScreens(t *testing.T) {
	const files, help = "  1,234 bytes  whole     m4  internal/tui/app.go", "/temperature [N|off]  how freely the model chooses its words"
	for _, test := range []struct {
		line  string
		width int
		want  []string
	}{
		{help, 80, []string{help}},
		{help, 50, []string{"/temperature [N|off]  how freely the model chooses", "                      its words"}},
		{help, 38, []string{"/temperature [N|off]", "    how freely the model chooses its", "    words"}},
		{help, 12, []string{"/temperature", "[N|off]", " how freely", " the model", " chooses its", " words"}},
		{files, 38, []string{"1,234 bytes  whole  m4", "    internal/tui/app.go"}},
		{"no columns, but too long", 12, []string{"no columns,", "but too long"}},
		{"    indented, and too long", 16, []string{"    indented,", "and too long"}},
		{"", 12, []string{""}},
	} {
		if got := wrapColumns(test.line, test.width); strings.Join(got, "|") != strings.Join(test.want, "|") {
			t.Errorf("%q in %d columns is\n%q, want\n%q", test.line, test.width, got, test.want)
		}
	}
	d := drive(screen.Screen{}, 40, 60)
	x := open(t, 8192)
	told, err := x.does(t, "/help")
	if err != nil {
		t.Fatal(err)
	}
	d.send(Event{Kind: Noted, Text: told, Status: d.status})
	if s := d.screenshot(t); !strings.Contains(s, "\n  /temperature [N|off]\n      how freely the model chooses its\n      words, from 0 to 2\n") {
		t.Errorf("/help on 40 columns:\n%s", s)
	}
	for l := range strings.SplitSeq(told, "\n") { // on 80, each is one line
		if strings.HasPrefix(l, "/") && (len(l) > 78 || l[20:22] != "  " || l[22] == ' ') {
			t.Errorf("/help is not in columns: %q", l)
		}
	}
}
