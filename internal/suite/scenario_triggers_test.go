package suite

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	tiercompact "github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/levels"
	"github.com/tiercompact/tiercompact/summarize"
	"github.com/tiercompact/tiercompact/trace"
)

func TestEveryMessageChecksAfterEachRole(t *testing.T) {
	for _, m := range []chat.Message{user("go on"), reply("done"), chat.NewText(chat.System, "be brief"), chat.NewResult("c", "ok"), calling("d")} {
		s := loaded(t, tiercompact.Config{Window: 10000}, append(turns("", 10, 380), calling("c"))...)
		if r := add(t, s, m); !r.Compacted() {
			t.Errorf("%s: %q", m.Role, r.Reason)
		}
	}
}

func TestAssistantOnlyWaitsForTheEndOfTheTurn(t *testing.T) {
	cfg := tiercompact.Config{Window: 10000, Trigger: tiercompact.AssistantOnly}
	heard := hearing(&cfg)
	s := loaded(t, cfg, turns("", 10, 380)...)
	waiting := chat.Transcript{user("1"), user("2"), user("3"), user("4"), user("5"), user("6"), chat.NewText(chat.System, "note"), calling("c"), chat.NewResult("c", "ok")}
	for i, m := range waiting {
		if r := add(t, s, m); r.Reason != tiercompact.ByRole {
			t.Errorf("message %d, %s: %q", i, m.Role, r.Reason)
		}
	}
	for i, m := range s.Messages() {
		if m.State != chat.Active {
			t.Errorf("message %d is %q before any check", i, m.State)
		}
	}
	if r := add(t, s, reply("done")); !r.Compacted() {
		t.Errorf("the turn is complete: %q", r.Reason)
	}
	if n := len(eventsOf[trace.TriggerDecision](*heard)); n != len(waiting)+1 {
		t.Errorf("%d decisions are told of %d messages", n, len(waiting)+1)
	}
}

func TestAssistantOnlyOverTheBudget(t *testing.T) {
	over := func(t *testing.T) *tiercompact.Session {
		s := loaded(t, tiercompact.Config{Window: 10000, Trigger: tiercompact.AssistantOnly}, turns("", 10, 430)...)
		fill(t, s, 0, calling("c"))
		return s
	}
	big := prose(300, 1)
	if r := add(t, over(t), chat.NewResult("c", big)); !r.Compacted() {
		t.Errorf("a tool message: %q", r.Reason)
	}
	then := map[string]func(s *tiercompact.Session) (tiercompact.Report, error){
		"preflight": func(s *tiercompact.Session) (tiercompact.Report, error) { return s.Preflight(t.Context()) },
		"the assistant's next": func(s *tiercompact.Session) (tiercompact.Report, error) {
			return s.AddMessage(t.Context(), reply("done"))
		},
	}
	for name, next := range then {
		s := over(t)
		r := add(t, s, user(big))
		if r.Reason != tiercompact.ByRole || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "over the budget; run Preflight") {
			t.Errorf("a user message: %q, warnings %q", r.Reason, r.Warnings)
		}
		if r, err := next(s); err != nil || !r.Compacted() || r.After > r.Usage.Budget {
			t.Errorf("%s deals with it: %q, %v", name, r.Reason, err)
		}
	}
}

func TestManualTriggerAndAutoOffNeverCompactByThemselves(t *testing.T) {
	for name, cfg := range map[string]tiercompact.Config{"manual": {Trigger: tiercompact.Manual}, "auto off": {NoAuto: true}} {
		cfg.Window, cfg.Count = 10000, quarter
		s := loaded(t, cfg, turns("", 11, 430)...)
		if r := add(t, s, user("far over")); r.Reason != tiercompact.SwitchedOff {
			t.Errorf("%s: %q", name, r.Reason)
		}
		in := s.Messages()
		c, err := tiercompact.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.Preflight(t.Context())
		_, whole, wholeErr := c.Preflight(t.Context(), "", in)
		if off := cfg.NoAuto; err != nil || wholeErr != nil || r.Compacted() == off || whole.Compacted() == off {
			t.Errorf("%s: preflights %q and %q (%v, %v)", name, r.Reason, whole.Reason, err, wholeErr)
		}
	}
}

func TestCompactRunsAtOnce(t *testing.T) {
	for name, test := range map[string]struct {
		cfg  tiercompact.Config
		last chat.Message
	}{
		"after a user message":   {tiercompact.Config{Trigger: tiercompact.AssistantOnly}, user("x")},
		"with the trigger off":   {tiercompact.Config{Trigger: tiercompact.Manual}, reply("x")},
		"with auto off":          {tiercompact.Config{NoAuto: true}, reply("x")},
		"where it frees little":  {tiercompact.Config{MinGain: 0.9}, reply("x")},
		"below every threshold":  {tiercompact.Config{}, reply("x")},
		"in an open tool call":   {tiercompact.Config{}, calling("open")},
		"with a message counter": {tiercompact.Config{Policy: tiercompact.PolicyConfig{MessageThreshold: 1000}}, reply("x")},
	} {
		test.cfg.Window = 100000
		heard := hearing(&test.cfg)
		s := loaded(t, test.cfg, turns("", 20, 300)...)
		if r := add(t, s, test.last); r.Compacted() {
			t.Fatalf("%s: compacted by itself", name)
		}
		for n := 1; n <= 2; n++ { // the second inside the cooldown of the first
			r, err := s.Compact(t.Context(), "keep the port")
			if err != nil || !slices.Equal(applied(r), []levels.Name{levels.LayerName}) || r.Kept != (tiercompact.Kept{Turns: 6, Pairs: 4}) {
				t.Errorf("%s, compaction %d: %v, kept %+v, %q, %v", name, n, applied(r), r.Kept, r.Reason, err)
			}
			fill(t, s, 0, turns(fmt.Sprint("n", n), 8, 200)...)
		}
		decisions := eventsOf[trace.TriggerDecision](*heard)
		if last := decisions[len(decisions)-1]; last.Note != "keep the port" || !last.Triggered {
			t.Errorf("%s: the trace tells %+v", name, last)
		}
	}
}

func TestAMessageThatArrivesWhileARoundIsPlannedIsKeptAndReportsBusy(t *testing.T) {
	began, goOn := make(chan struct{}), make(chan struct{})
	cfg := tiercompact.Config{Window: 100000, Summary: tiercompact.SummaryConfig{Summarizer: summarizer(func(ctx context.Context, r summarize.Request) (string, error) {
		close(began)
		<-goOn
		return summarize.Extractive{}.Summarize(ctx, r)
	})}}
	s := loaded(t, cfg, turns("", 20, 300)...)
	done := make(chan error)
	go func() {
		_, err := s.CompactLevel(context.Background(), levels.Emergency)
		done <- err
	}()
	<-began
	late := as("late", said(chat.User, 60000, 1))
	if r := add(t, s, late); r.Reason != tiercompact.Busy {
		t.Errorf("report says %q", r.Reason)
	}
	if err := held(append(turns("", 20, 300), late), s.Messages()); err != nil {
		t.Errorf("while it is planned: %v", err)
	}
	close(goOn)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	got := s.Messages()
	if last := got[len(got)-1]; !unchanged(last, late) || len(summaries(got)) != 1 || last.State != chat.Active {
		t.Errorf("the message does not stand behind the round\n%s", show(got))
	}
}

func TestEachMessageHasAState(t *testing.T) {
	s := loaded(t, tiercompact.Config{Window: 20000}, join(turns("", 6, 300), reads("alpha", 3000), turns("e", 2, 100))...)
	states := func() string {
		seen := make(map[chat.State]bool)
		for _, m := range s.Messages() {
			seen[m.State] = true
		}
		return fmt.Sprint(seen[chat.Active], seen[chat.Outlined], seen[chat.Summarized])
	}
	if got := states(); got != "true false false" {
		t.Errorf("as added: active, outlined, summary are %s", got)
	}
	if compactTo(t, s, levels.SoftName); states() != "true true false" {
		t.Errorf("after soft: %s", states())
	}
	if compactTo(t, s, levels.Emergency); states() != "true false true" {
		t.Errorf("after emergency: %s", states())
	}
}

func TestMessageAndContextThresholdsLeadStraightToTheSummary(t *testing.T) {
	for name, cfg := range map[string]tiercompact.Config{
		"message_threshold": {Policy: tiercompact.PolicyConfig{MessageThreshold: 23}},
		"context_threshold": {Policy: tiercompact.PolicyConfig{ContextThreshold: 0.20}},
	} {
		for _, escalation := range []tiercompact.Escalation{tiercompact.Direct, tiercompact.Cascade} {
			cfg.Window, cfg.Escalation, cfg.MinGain = 50000, escalation, 0.99
			s := loaded(t, cfg, join(chat.Transcript{as("start", user("start"))}, reads("old", 3000), turns("", 8, 200), reads("alpha", 1000), chat.Transcript{as("r", reply("read"))})...)
			r := add(t, s, as("last", said(chat.User, max(50, 10000-s.Usage().Tokens), 1)))
			if !slices.Equal(applied(r), []levels.Name{levels.Emergency}) {
				t.Fatalf("%s, %s: at %d messages and %.3f applied %v (%s)", name, escalation, len(s.Messages()), r.Usage.Share, applied(r), r.Reason)
			}
			if err := sameIDs(s.Messages(), "start summary-1 alpha-call alpha r last"); err != nil {
				t.Errorf("%s, %s: %v", name, escalation, err)
			}
			if outlines(s) != "" {
				t.Errorf("%s, %s: files were compressed too: %s", name, escalation, outlines(s))
			}
		}
	}
}

func TestMessageThresholdCountsMessagesOutsideOfSummaries(t *testing.T) {
	for _, noPin := range []bool{false, true} { // the pinned message is before the summary, and no longer counts
		s := loaded(t, tiercompact.Config{Window: 1000000, Policy: tiercompact.PolicyConfig{MessageThreshold: 10, NoPinFirstUser: noPin}}, turns("", 4, 50)...)
		made := []int(nil)
		for i := 9; i <= 24; i++ {
			if r := add(t, s, said([]chat.Role{chat.Assistant, chat.User}[i%2], 50, i)); r.Compacted() {
				made = append(made, i)
			}
		}
		if want := []int{10, 16, 22}; !slices.Equal(made, want) { // four stay each time, six more come
			t.Errorf("pin off %t: rounds at message %v, want %v", noPin, made, want)
		}
	}
}

func TestMessageThresholdDoesNotWaitLikeEmergency(t *testing.T) {
	s := loaded(t, tiercompact.Config{Window: 10000, MinGain: 0.99, Policy: tiercompact.PolicyConfig{MessageThreshold: 24, HardCapBuffer: tiercompact.Tokens(0)}}, turns("", 10, 450)...)
	for i, want := range []string{tiercompact.ByMinGain, tiercompact.ByMinGain, tiercompact.ByMinGain, ""} {
		if r := add(t, s, said([]chat.Role{chat.User, chat.Assistant}[i%2], 50, i)); r.Picked != levels.Emergency || r.Reason != want {
			t.Errorf("message %d: picked %s, %q, want %q", 21+i, r.Picked, r.Reason, want)
		}
	}
}

func TestContextThresholdIsReachedAtIt(t *testing.T) {
	for _, test := range []struct {
		total int
		want  levels.Name
	}{{7499, levels.SoftName}, {7500, levels.Emergency}} {
		s := loaded(t, tiercompact.Config{Window: 10000, Policy: tiercompact.PolicyConfig{ContextThreshold: 0.75}}, turns("", 10, 300)...)
		if r := add(t, s, said(chat.User, test.total-6000, 1)); r.Before != test.total || r.Picked != test.want {
			t.Errorf("at %d picked %s, want %s", r.Before, r.Picked, test.want)
		}
	}
}

func TestEveryCheckIsReported(t *testing.T) {
	for _, test := range []struct {
		reason string
		cfg    tiercompact.Config
		tokens int
		before func(s *tiercompact.Session) error
	}{
		{tiercompact.BelowThreshold, tiercompact.Config{}, 1000, nil},
		{tiercompact.ByRole, tiercompact.Config{Trigger: tiercompact.AssistantOnly}, 7000, nil},
		{tiercompact.SwitchedOff, tiercompact.Config{NoAuto: true}, 7000, nil},
		{tiercompact.ByMinGain, tiercompact.Config{MinGain: 0.9}, 8000, nil},
		{tiercompact.NothingToDo, tiercompact.Config{}, 6500, nil},
		{tiercompact.InCooldown, tiercompact.Config{}, 6500, func(s *tiercompact.Session) error {
			_, err := s.Compact(t.Context(), "")
			if err == nil {
				err = s.Load(turns("n", 4, 450))
			}
			return err
		}},
		{"usage", tiercompact.Config{}, 8000, nil},
	} {
		test.cfg.Window = 10000
		heard := hearing(&test.cfg)
		s := loaded(t, test.cfg, turns("", 20, test.tokens/40)...)
		if test.before != nil {
			if err := test.before(s); err != nil {
				t.Fatal(err)
			}
		}
		*heard = nil
		add(t, s, user("go on"))
		d := eventsOf[trace.TriggerDecision](*heard)
		if len(eventsOf[trace.TokenEstimate](*heard)) != 1 || len(d) != 1 || d[0].Reason != test.reason || d[0].Triggered != (test.reason == "usage") {
			t.Errorf("want %q: told %d estimates, decisions %+v", test.reason, len(eventsOf[trace.TokenEstimate](*heard)), d)
		}
	}
}
