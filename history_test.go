package tiercompact_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
)

// resent returns a history of n questions and answers, as a client sends it.
func resent(n int) (t chat.Transcript) {
	for i := range n {
		t = append(t, chat.NewText(chat.User, fmt.Sprintf("Question %d about part_%d.go?", i, i)),
			chat.NewText(chat.Assistant, strings.Repeat(fmt.Sprintf("Answer %d: part_%d.go calls helper_%d. ", i, i, i), 12)))
	}
	return append(t, chat.NewText(chat.User, "And now?"))
}

func steadyCompactor(t *testing.T, window int) *tiercompact.Compactor {
	t.Helper()
	cfg := tiercompact.Defaults(tiercompact.Steady)
	cfg.Window = window
	c, err := tiercompact.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func textsOf(t chat.Transcript) string {
	var all []string
	for _, m := range t {
		all = append(all, string(m.Role)+": "+m.Text())
	}
	return strings.Join(all, "\n")
}

func TestStoredRoundsAreRepeatedOnTheHistory(t *testing.T) {
	h := tiercompact.History{ID: "s", Messages: resent(40)}
	first, rounds, report, err := steadyCompactor(t, 4000).CompactHistory(t.Context(), h, tiercompact.Rounds{})
	if err != nil || !report.Compacted() || rounds.Len() != 1 {
		t.Fatalf("%+v, %v", report, err)
	}
	text, err := json.Marshal(rounds)
	if err != nil {
		t.Fatal(err)
	}
	var stored tiercompact.Rounds
	if err := json.Unmarshal(text, &stored); err != nil {
		t.Fatal(err)
	}
	again, _, report, err := steadyCompactor(t, 4000).CompactHistory(t.Context(), h, stored)
	if err != nil || report.Compacted() || textsOf(again) != textsOf(first) {
		t.Errorf("in another process: %+v, %v\n%s\nbefore\n%s", report, err, textsOf(again), textsOf(first))
	}
	h.Messages = append(h.Messages, chat.NewText(chat.Assistant, "This."), chat.NewText(chat.User, "Then?"))
	grown, _, _, err := steadyCompactor(t, 4000).CompactHistory(t.Context(), h, stored)
	if err != nil || !strings.HasPrefix(textsOf(grown), textsOf(first)+"\n") {
		t.Errorf("grown, %v\n%s\nbefore\n%s", err, textsOf(grown), textsOf(first))
	}
	h.Messages = resent(40)
	h.Messages[21] = chat.NewText(chat.Assistant, "Another answer.")
	if _, left := stored.Replay(h.Messages); left.Len() != 0 {
		t.Error("a round is repeated on other messages")
	}
}

func TestARoundCanComeLater(t *testing.T) {
	c := steadyCompactor(t, 4000)
	h := tiercompact.History{ID: "s", Messages: resent(40), Later: true}
	got, rounds, report, err := c.CompactHistory(t.Context(), h, tiercompact.Rounds{})
	if err != nil || report.Reason != tiercompact.ByTurn || rounds.Len() != 0 || textsOf(got) != textsOf(h.Messages) {
		t.Errorf("%+v, %v", report, err)
	}
	h.Messages = resent(3)
	if _, _, report, err := c.CompactHistory(t.Context(), h, rounds); err != nil || report.Reason != tiercompact.BelowThreshold {
		t.Errorf("%+v, %v", report, err)
	}
}

func TestTheReserveOfARequestCounts(t *testing.T) {
	c := steadyCompactor(t, 4000)
	h := tiercompact.History{ID: "s", Messages: resent(18)}
	_, _, report, err := c.CompactHistory(t.Context(), h, tiercompact.Rounds{})
	if err != nil {
		t.Fatal(err)
	}
	h.Reserve = 1 << 30 // a client that asks for more than there is
	_, _, with, err := c.CompactHistory(t.Context(), h, tiercompact.Rounds{})
	if err != nil || with.Usage.Budget != report.Usage.Budget-1000 {
		t.Errorf("a budget of %d, %d without the reserve, %v", with.Usage.Budget, report.Usage.Budget, err)
	}
}

func TestAHistoryThatCannotFitComesBackAsSmallAsItCan(t *testing.T) {
	h := tiercompact.History{ID: "s", Messages: resent(40), Tools: []byte(`"` + strings.Repeat("tool ", 5000) + `"`)}
	got, _, report, err := steadyCompactor(t, 4000).CompactHistory(t.Context(), h, tiercompact.Rounds{})
	if !errors.Is(err, tiercompact.ErrInsufficientBudget) || len(got) == 0 || len(got) >= len(h.Messages) {
		t.Errorf("%d messages, %+v, %v", len(got), report.Usage, err)
	}
}

func TestDamagedRoundsAreRefused(t *testing.T) {
	for _, text := range []string{`[]`, `{"rewrites":[{"was":[],"after":[{"was":3}]}]}`, `{"steps":"x"}`} {
		if err := json.Unmarshal([]byte(text), new(tiercompact.Rounds)); err == nil {
			t.Errorf("%s is accepted", text)
		}
	}
}
