package suite

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	tiercompact "github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/levels"
	"github.com/tiercompact/tiercompact/summarize"
)

func TestTheBudgetIsTheWindowLessBufferAndReserve(t *testing.T) {
	var auto tiercompact.Size
	for _, test := range []struct {
		window        int
		buffer        tiercompact.Size
		reserve, want int
	}{
		{128000, auto, 0, 126500},
		{128000, auto, 4000, 122500},
		{8000, auto, 0, 7000}, // the default buffer is at most an eighth
		{8000, tiercompact.Tokens(1500), 0, 6500},
		{8000, tiercompact.Tokens(7000), 0, 1000}, // one that was set is taken as it is
		{8000, tiercompact.Tokens(0), 0, 8000},
	} {
		s := start(t, tiercompact.Config{Window: test.window, Policy: tiercompact.PolicyConfig{HardCapBuffer: test.buffer, Reserve: test.reserve}})
		if got := s.Usage().Budget; got != test.want {
			t.Errorf("window %d, buffer %v, reserve %d: budget %d, want %d", test.window, test.buffer, test.reserve, got, test.want)
		}
	}
}

func TestWhatIsCounted(t *testing.T) {
	args := `{"path":"` + prose(50, 1) + `"}`
	image := func(data string) chat.Message {
		return chat.Message{Role: chat.User, Parts: []chat.Part{{Kind: chat.Image, Image: &chat.Picture{MediaType: "image/png", Width: 512, Height: 512, Data: data}}}}
	}
	s := start(t, tiercompact.Config{Window: 100000})
	var last tiercompact.Usage
	grown := func(what string, least, most int, part func(tiercompact.Usage) int) {
		t.Helper()
		now := s.Usage()
		if got := part(now) - part(last); got < least || got > most || now.Tokens-last.Tokens != got {
			t.Errorf("%s counts %d, all of it %d; want %d to %d", what, got, now.Tokens-last.Tokens, least, most)
		}
		last = now
	}
	messages := func(u tiercompact.Usage) int { return u.Messages }
	fill(t, s, 0, said(chat.System, 100, 1))
	grown("a system message", 100, 100, func(u tiercompact.Usage) int { return u.System })
	fill(t, s, 0, said(chat.Developer, 100, 2))
	grown("a developer message", 100, 100, func(u tiercompact.Usage) int { return u.Developer })
	s.SetTools([]byte(prose(300, 3)))
	grown("tool schemas", 300, 300, func(u tiercompact.Usage) int { return u.Tools })
	fill(t, s, 0, user("")) // nothing but what it costs beside its text
	grown("an empty message", 1, frame, messages)
	fill(t, s, 0, chat.Message{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Call, ID: "c", Name: "read_the_file", Args: args}}})
	grown("a call by name and arguments", frame+quarter("read_the_file")+quarter(args), frame+quarter("read_the_file")+quarter(args)+20, messages)
	for _, bytes := range []int{4000, 400000} { // by its size, not by its bytes
		fill(t, s, 0, image(strings.Repeat("A", bytes)))
		grown(fmt.Sprintf("an image of %d bytes", bytes), 200, 500, messages)
	}
}

func TestPreflightCompactsOverTheBudgetToo(t *testing.T) {
	c, err := tiercompact.New(tiercompact.Config{Window: 10000, Policy: tiercompact.PolicyConfig{Reserve: 4000, HardCapBuffer: tiercompact.Tokens(0)}, Count: quarter})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		total  int
		reason string
	}{{6000, tiercompact.BelowThreshold}, {6001, ""}} { // of 10,000: usage is far below 0.85
		if _, r, err := c.Preflight(t.Context(), "", pairs(20, test.total)); err != nil || r.Reason != test.reason || r.After > 6000 {
			t.Errorf("%d tokens: %q, %d left, %v", test.total, r.Reason, r.After, err)
		}
	}
}

func TestPreflightCountsTheTools(t *testing.T) {
	c, err := tiercompact.New(tiercompact.Config{Window: 10000, Count: quarter, Policy: tiercompact.PolicyConfig{HardCapBuffer: tiercompact.Tokens(0)}})
	if err != nil {
		t.Fatal(err)
	}
	in := pairs(20, 8000)
	_, without, _ := c.Preflight(t.Context(), "", in)
	_, with, _ := c.Preflight(t.Context(), "", in, tiercompact.WithTools([]byte(prose(500, 1))))
	if without.Compacted() || !with.Compacted() || with.Before != 8500 {
		t.Errorf("without tools %q, with %q at %d", without.Reason, with.Reason, with.Before)
	}
}

func TestNeitherCooldownNorMinGainHoldForAPreflight(t *testing.T) {
	s := loaded(t, tiercompact.Config{Window: 10000, MinGain: 0.9, Policy: tiercompact.PolicyConfig{HardCapBuffer: tiercompact.Tokens(0)}}, pairs(20, 8600)...)
	for n := range 2 {
		if r, err := s.Preflight(t.Context()); err != nil || !r.Compacted() {
			t.Errorf("preflight %d: %q, %v", n+1, r.Reason, err)
		}
		fill(t, s, 8600, turns(fmt.Sprint("n", n), 8, 200)...)
	}
}

func TestPreflightWithAnIDMakesASummaryOnceAndReplaysIt(t *testing.T) {
	asked := 0
	cfg := counted(&asked)
	cfg.Window, cfg.Policy.HardCapBuffer = 10000, tiercompact.Tokens(0)
	c, err := tiercompact.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	history := pairs(20, 9000)
	first, r, err := c.Preflight(t.Context(), "x", history)
	if err != nil || !r.Compacted() || asked != 1 {
		t.Fatalf("%q, asked %d times, %v", r.Reason, asked, err)
	}
	history = append(history, as("next", said(chat.User, 100, 1)))
	again, r, err := c.Preflight(t.Context(), "x", history)
	if err != nil || r.Reason != tiercompact.BelowThreshold || asked != 1 || r.Before >= 8500 {
		t.Errorf("sent again: %q at %d after the replay, asked %d times, %v", r.Reason, r.Before, asked, err)
	}
	if len(again) != len(first)+1 || !slices.EqualFunc(first, again[:len(first)], unchanged) || again[len(first)].ID != "next" {
		t.Errorf("the replayed history is another\n%s\nthan\n%s", show(again), show(first))
	}
	if _, r, _ = c.Preflight(t.Context(), "", history); !r.Compacted() || asked != 2 {
		t.Errorf("without an id something was remembered: %q, asked %d times", r.Reason, asked)
	}
	history[2] = said(history[2].Role, 225, 77) // another conversation under the id
	if _, r, _ = c.Preflight(t.Context(), "x", history); !r.Compacted() || asked != 3 {
		t.Errorf("a round was replayed on what it has not seen: %q, asked %d times", r.Reason, asked)
	}
}

func TestTheIDsOfPreflightAreApartFromSessions(t *testing.T) {
	c, err := tiercompact.New(tiercompact.Config{Window: 10000, Count: quarter, Policy: tiercompact.PolicyConfig{HardCapBuffer: tiercompact.Tokens(0)}})
	if err != nil {
		t.Fatal(err)
	}
	s := c.Session("x")
	if err := s.Load(pairs(2, 400)); err != nil {
		t.Fatal(err)
	}
	if _, r, err := c.Preflight(t.Context(), "x", pairs(20, 9000)); err != nil || !r.Compacted() {
		t.Fatal(r.Reason, err)
	}
	if err := sameIDs(s.Messages(), "p0 p1 p2 p3"); err != nil {
		t.Error(err)
	}
	if _, err := s.Undo(t.Context()); err == nil {
		t.Error("the session can undo a round of a preflight")
	}
}

func TestCompactOfAWholeHistoryRunsBelowEveryThreshold(t *testing.T) {
	var note string
	c, err := tiercompact.New(tiercompact.Config{Window: 100000, Count: quarter, NoAuto: true, Summary: tiercompact.SummaryConfig{Summarizer: summarizer(func(ctx context.Context, r summarize.Request) (string, error) {
		note = r.Note
		return summarize.Extractive{}.Summarize(ctx, r)
	})}})
	if err != nil {
		t.Fatal(err)
	}
	out, r, err := c.Compact(t.Context(), "x", pairs(20, 9000), "keep the port")
	if err != nil || !slices.Equal(applied(r), []levels.Name{levels.LayerName}) || len(summaries(out)) != 1 || note != "keep the port" {
		t.Errorf("applied %v, %d summaries, note %q, %v", applied(r), len(summaries(out)), note, err)
	}
}

func TestTheArchiveNamesTheLevelThatWasAppliedNotTheOneByUsage(t *testing.T) {
	store := archive.NewMemory()
	s := start(t, tiercompact.Config{Window: 10000, Policy: tiercompact.PolicyConfig{HardCapBuffer: tiercompact.Tokens(6000)}, Archive: store})
	var last tiercompact.Report
	for i := range 12 {
		last = add(t, s, said(chat.Assistant, 400, i))
		if last.Compacted() {
			break
		}
	}
	infos, err := store.Steps(t.Context(), s.ID())
	if err != nil || len(infos) != 1 || last.Picked != levels.None || infos[0].Level != string(levels.Emergency) {
		t.Errorf("picked %s, archived %+v, %v; want one step of emergency", last.Picked, infos, err)
	}
}
