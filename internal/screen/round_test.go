package screen

import (
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/levels"
)

func TestSaidTellsWhatALevelDid(t *testing.T) {
	edits := []tiercompact.Edit{
		{Level: levels.SoftName, Start: 1, End: 2, Put: 1, Why: "outline of shop/a.go"},
		{Level: levels.SoftName, Start: 2, End: 3, Put: 1, Why: "outline of b.go, digest"},
		{Level: levels.SoftName, Start: 3, End: 4, Put: 1, Why: "outline of c.go, digest"},
		{Level: levels.SoftName, Start: 4, End: 5, Put: 1, Why: "superseded"},
		{Level: levels.HardName, Start: 5, End: 9},
		{Level: levels.HardName, Start: 9, End: 9, Put: 1},
		{Level: levels.Emergency, Start: 1, End: 8, Put: 1, New: []chat.Message{{State: chat.Summarized}}},
		{Level: levels.LayerName, Start: 1, End: 2, Put: 1, New: []chat.Message{{State: chat.Summarized}}},
	}
	for want, a := range map[string]tiercompact.Applied{
		"outlined shop/a.go, b.go and 1 more|digest (2)|superseded":                                    {Level: levels.SoftName},
		"4 messages dropped|lexical":                                                                   {Level: levels.HardName, Engine: "lexical", Fallback: "lexical"},
		"7 messages summarised|ollama accepted without 2 lines that nothing bears out|fallback: brief": {Level: levels.Emergency, Engine: "ollama", Fallback: "brief", Removed: 2},
		"1 message summarised":                                                                         {Level: levels.LayerName},
		"":                                                                                             {Level: levels.FitName},
	} {
		if got := strings.Join((Screen{}).Said(tiercompact.Report{Edits: edits}, a), "|"); got != want {
			t.Errorf("%s said %q, want %q", a.Level, got, want)
		}
	}
}

func TestTriedSaysWhatCameToNothing(t *testing.T) {
	a := tiercompact.Applied{Attempts: []tiercompact.Attempt{{Engine: "ollama", Reason: "it is empty", Then: "brief"}}}
	if got := strings.Join(Tried(a), "|"); got != "ollama failed: it is empty; next: brief" {
		t.Errorf("tried %q", got)
	}
}

func TestPlannedIsOneLine(t *testing.T) {
	e := tiercompact.Edit{Level: levels.SoftName, Start: 1, End: 2, Put: 1, Why: "outline of /home/dev1/shop/src/a.go", Before: 1200, After: 90}
	many, none := e, e
	many.End, none.End = 5, 1
	for want, test := range map[string]struct {
		screen Screen
		edit   tiercompact.Edit
	}{
		"soft       message 2            1,200 → 90       outline of …/shop/src/a.go": {Screen{Width: 76}, e},
		"soft       messages 2-5         1,200 → 90       outline of …/shop/src/a.go": {Screen{Width: 76}, many},
		"soft       before 2             1,200 -> 90       outline of .../src/a.go":   {Screen{Width: 76, ASCII: true}, none},
	} {
		if got := test.screen.Planned(test.edit); got != want {
			t.Errorf("planned %q, want %q", got, want)
		}
	}
}

func TestWhySaysEachReason(t *testing.T) {
	seen := make(map[string]bool)
	for _, reason := range []string{
		tiercompact.BelowThreshold, tiercompact.InCooldown, tiercompact.ByRole, tiercompact.ByMinGain,
		tiercompact.NothingToDo, tiercompact.SwitchedOff, tiercompact.Busy,
	} {
		why := Why(reason)
		if why == "" || seen[why] {
			t.Errorf("%s is told as %q", reason, why)
		}
		seen[why] = true
	}
}

func TestThresholdsAreThoseOfTheCompactor(t *testing.T) {
	own := levels.Thresholds{levels.SoftName: 0.1, levels.HardName: 0.2, levels.Emergency: 0.3}
	for want, cfg := range map[float64]tiercompact.Config{
		0.1: {Thresholds: own, Preset: tiercompact.Eager}, 0.5: {Preset: tiercompact.Eager}, 0.6: {}, 0.7: {Preset: tiercompact.Steady},
	} {
		if got := Thresholds(cfg); got.Lowest() != want {
			t.Errorf("%+v for soft %v", got, want)
		}
	}
}

func TestEntryHoldsAllOfIt(t *testing.T) {
	got := Entry(archive.Entry{ID: "x", Below: []string{"a", "b"}, Text: "a piece", Messages: []chat.Message{
		chat.NewText(chat.User, "hello"),
		{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Thinking, Text: "hm"}, {Kind: chat.Image}, {Kind: chat.Call, Name: "read", Args: "{}"}}},
	}})
	want := "below it: a, b\n\na piece\n--- user ---\nhello\n\n--- assistant ---\n(image)\nread {}\n"
	if got != want {
		t.Errorf("entry\n%q, want\n%q", got, want)
	}
}

func TestColoursAreByUsage(t *testing.T) {
	at := levels.Thresholds{levels.SoftName: 0.6, levels.HardName: 0.75, levels.Emergency: 0.9}
	for usage, want := range map[float64]Paint{0: Green, 0.6: Yellow, 0.8: Violet, 1.2: Red} {
		if got := PaintOf(at, usage); got != want {
			t.Errorf("usage %v is painted %q, want %q", usage, got, want)
		}
	}
	if got := (Screen{Colour: true}).Paint(Red, "x"); got != "\x1b[31mx\x1b[0m" {
		t.Errorf("painted %q", got)
	}
	if got := (Screen{}).Paint(Red, "x"); got != "x" {
		t.Errorf("painted %q without colours", got)
	}
}
