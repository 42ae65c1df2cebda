package files

import (
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
)

func heldIn(text string) []Excerpt {
	m := chat.Message{Role: chat.Assistant, State: chat.Summarized, Parts: []chat.Part{{Kind: chat.Summary, Text: text}}}
	var out []Excerpt
	for _, c := range ScanMessage(m, nil).Copies {
		out = append(out, Excerpt{Path: c.Path, Edited: c.Kind == Edit, First: c.First, Text: c.Text(m)})
	}
	return out
}

func TestPiecesOfASummaryAreFoundAgain(t *testing.T) {
	pieces := []Excerpt{
		{Path: "src/a.go", First: 1, Text: "package a\n"},
		{Path: "src/a.go", First: 40, Text: "func A() {\n\n\treturn\n}\n"},
		{Path: "src/a.go", Text: "func B() {}\n"}, // its line is unknown
		{Path: "src/a.go", Edited: true, Text: "func C() {}\n"},
		{Path: "src/a.go", Edited: true, First: 7, Text: "func D() {}\n"},
		{Path: `odd "name".py`, Text: "x = 1\n"},
		{Path: "b.py", First: 3, Text: "@@ not a number\n"},
	}
	got := heldIn("## Goals\n- fix src/a.go\n\n" + Held(pieces))
	if len(got) != len(pieces) {
		t.Fatalf("%d pieces, want %d: %+v", len(got), len(pieces), got)
	}
	for i := range got {
		if got[i] != pieces[i] {
			t.Errorf("piece %d is %+v, want %+v", i, got[i], pieces[i])
		}
	}
	if Held(nil) != "" {
		t.Error("nothing is not empty")
	}
}

// FuzzHeld holds that no line of a piece is lost, whatever it contains.
func FuzzHeld(f *testing.F) {
	f.Add("a.go", "package a\n", "b.go", "@@ 3\nx\n", true)
	f.Add("a.go", "</file>\n", "a.go", "<file path=\"c\">\n", false)
	f.Fuzz(func(t *testing.T, path, text, other, more string, edited bool) {
		held := Held([]Excerpt{{Path: path, First: 1, Text: text}, {Path: other, Edited: edited, Text: more}})
		for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n")+"\n"+strings.TrimSuffix(more, "\n"), "\n") {
			if !strings.Contains(held, line+"\n") {
				t.Errorf("%q is not in %q", line, held)
			}
		}
		heldIn(held)
	})
}
