package cli

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/screen"
	"github.com/tiercompact/tiercompact/levels"
)

// beats is a replay in which every kind of event happens once.
func beats() []replayStep {
	usage := func(tokens int) tiercompact.Usage {
		return tiercompact.Usage{Tokens: tokens, Window: 1000, Budget: 875, Share: float64(tokens) / 1000}
	}
	quiet := func(role chat.Role, tokens int, text string) replayStep {
		return replayStep{message: chat.NewText(role, text), report: tiercompact.Report{
			Picked: levels.None, Reason: tiercompact.BelowThreshold, Before: tokens, After: tokens, Usage: usage(tokens)}}
	}
	round := func(before, after int, applied ...tiercompact.Applied) replayStep {
		return replayStep{message: chat.NewResult("a", "listing"), report: tiercompact.Report{
			Picked: applied[0].Level, Applied: applied, Before: before, After: after, Usage: usage(after)}}
	}
	call := replayStep{message: chat.Message{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Call, Name: "read_file", Args: `{"path":"a.go"}`}}},
		report: tiercompact.Report{Reason: tiercompact.InCooldown, Before: 640, After: 640, Usage: usage(640)}}
	soft := round(650, 410, tiercompact.Applied{Level: levels.SoftName, Before: 650, After: 410})
	soft.report.Edits = []tiercompact.Edit{
		{Level: levels.SoftName, Start: 1, End: 2, Put: 1, Why: "outline of a.go"},
		{Level: levels.SoftName, Start: 3, End: 4, Put: 1, Why: "digest"},
		{Level: levels.SoftName, Start: 5, End: 6, Put: 1, Why: "digest"},
	}
	both := round(1340, 900, tiercompact.Applied{Level: levels.Emergency, Before: 1340, After: 950, Engine: "extractive", Fallback: "extractive",
		Attempts: []tiercompact.Attempt{{Engine: "ollama/llama3.2:3b", Reason: "too long", Then: "retry-half"}, {Engine: "ollama/llama3.2:3b", Reason: "server is not reachable", Then: "extractive"}}},
		tiercompact.Applied{Level: levels.FitName, Before: 950, After: 900})
	both.report.Edits = []tiercompact.Edit{{Level: levels.Emergency, Start: 1, End: 4, Put: 1, Why: "summarised: 3 messages"}}
	both.report.Warnings = []string{"protected messages take 600 of 1000 tokens, over half of the window"}
	both.err = &tiercompact.BudgetError{Budget: 875, Tokens: 900, Floor: 900, System: 800}
	all := []replayStep{quiet(chat.System, 40, "be brief"), quiet(chat.User, 90, "\x1b[31mlist\x1b[0m it"), quiet(chat.Assistant, 300, "漢字"),
		quiet(chat.User, 500, ""), soft, call, both, quiet(chat.Assistant, 900, "done")}
	for i := range all {
		all[i].index, all[i].messages, all[i].left = i, i+1, i+1
	}
	all[6].left = 5
	return all
}

func TestTimelineLooksAsItDid(t *testing.T) {
	for name, line := range map[string]timeline{
		"fine":   {screen: screen.Screen{Width: 80}},
		"ascii":  {screen: screen.Screen{Width: 80, ASCII: true}, fold: true},
		"colour": {screen: screen.Screen{Width: 120, Colour: true}},
		"narrow": {screen: screen.Screen{Width: 60}, cfg: tiercompact.Config{Preset: tiercompact.Eager}},
	} {
		var b bytes.Buffer
		line.w, line.title = &b, "session.jsonl"
		line.cfg.Window = 1000
		show(t, &line, beats())
		golden(t, filepath.Join("testdata", "timeline-"+name+".golden"), b.Bytes())
	}
}

// show runs a view through a replay.
func show(t *testing.T, s replayView, all []replayStep) {
	t.Helper()
	if line, ok := s.(*timeline); ok {
		line.messages = len(all)
		s.showStart(line.cfg)
	}
	sum := newTally(tiercompact.Usage{Window: 1000, Budget: 875})
	for _, b := range all {
		sum.countStep(b)
		s.showMessage(b)
	}
	if err := s.showEnding(sum.totalEnding(5)); err != nil {
		t.Error(err)
	}
}

func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; run go test -update and look at the difference:\n%s", file, got)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestTimelineTellsThatItCouldNotBeWritten(t *testing.T) {
	line := timeline{w: full{}, screen: screen.Screen{Width: 80}}
	line.showStart(tiercompact.Config{Window: 1000})
	if err := line.showEnding(ending{}); err == nil {
		t.Error("no error from a full disk")
	}
}

func TestEndThatDoesNotFitIsAnError(t *testing.T) {
	over := ending{Usage: tiercompact.Usage{Tokens: 900, Budget: 875}}
	if err := over.budgetError(); !errors.Is(err, tiercompact.ErrInsufficientBudget) || exitCode(err) != exitBudget {
		t.Errorf("err() = %v", err)
	}
	over.Fits = true
	if err := over.budgetError(); err != nil {
		t.Errorf("err() = %v where the end fits", err)
	}
}
