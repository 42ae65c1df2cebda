package suite

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	tiercompact "github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/levels"
	"github.com/tiercompact/tiercompact/summarize"
)

// TestTextsThatStayAreInOrderAndOnce compacts conversations of distinct texts at every
// level, also again and again, with and without a summary.
func TestTextsThatStayAreInOrderAndOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := tiercompact.Defaults(rapid.SampledFrom([]tiercompact.Preset{tiercompact.Default, tiercompact.Steady}).Draw(t, "preset"))
		cfg.Window = rapid.SampledFrom([]int{1000, 2500, 100000}).Draw(t, "window")
		cfg.Level = rapid.SampledFrom(append([]levels.Name{""}, levelNames()...)).Draw(t, "level")
		cfg.Policy.KeepRecentTurns, cfg.Policy.KeepToolIOPairs = rapid.IntRange(1, 4).Draw(t, "turns"), rapid.IntRange(1, 4).Draw(t, "pairs")
		if cfg.Summary.Fallback = rapid.SampledFrom([]string{levels.FallbackExtractive, levels.FallbackPruning}).Draw(t, "fallback"); cfg.Summary.Fallback == levels.FallbackPruning {
			cfg.Summary.Summarizer = summarizer(func(context.Context, summarize.Request) (string, error) { return "", errors.New("down") })
		}
		c, err := tiercompact.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		s := c.Session("x")
		var all chat.Transcript
		for i, m := range drawTurns(t, 40) {
			report, _ := s.AddMessage(t.Context(), m)
			m.ID = report.Message
			all = append(all, m)
			switch now := s.Messages(); {
			case rapid.IntRange(0, 30).Draw(t, "by hand") > 0:
			case rapid.Bool().Draw(t, "layers"):
				_, _ = s.Compact(t.Context(), "")
			default:
				_, _ = s.CompactLevel(t.Context(), rapid.SampledFrom(levelNames()).Draw(t, "by name"))
				if fault := sequenceFault(now, s.Messages()); fault != "" {
					t.Fatalf("message %d: %s\n%s\nbecame\n%s", i, fault, show(now), show(s.Messages()))
				}
			}
		}
		if fault := sequenceFault(all, s.Messages()); fault != "" {
			t.Fatalf("%s\n%s\nbecame\n%s", fault, show(all), show(s.Messages()))
		}
	})
}

// drawTurns draws turns with and without calls, answers and requests in a row. Each text
// is distinct.
func drawTurns(t *rapid.T, turns int) (out chat.Transcript) {
	text := func(what string) string {
		return fmt.Sprintf("%s number%d. %s", what, len(out), strings.Repeat("Some words of it. ", rapid.SampledFrom([]int{0, 2, 30}).Draw(t, "length")))
	}
	for range turns {
		m := user(text("Request"))
		m.Protected = rapid.IntRange(0, 15).Draw(t, "protected") == 0
		out = append(out, m)
		for range rapid.IntRange(0, 3).Draw(t, "calls") {
			id := fmt.Sprint("c", len(out))
			call := chat.Message{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Call, ID: id, Name: "run", Args: fmt.Sprintf(`{"command":"make step%d"}`, len(out))}}}
			out = append(out, call, chat.NewResult(id, text("Log")))
		}
		for range rapid.SampledFrom([]int{0, 1, 1, 1, 2}).Draw(t, "answers") {
			out = append(out, reply(text("Answer")))
		}
	}
	return out
}

// sequenceFault returns how the texts of out are not a subsequence of those of in, each at
// most once and in order; "" if they are. Summaries, records of what was left out and the
// changed texts of outlines are not compared, nor are the messages that may move to the
// front. A message that quotes another one has the position of the first later message
// with the quoted text.
func sequenceFault(in, out chat.Transcript) string {
	at := make(map[string]int, len(in))
	for i, m := range in {
		at[m.ID] = i
	}
	last, moves := -1, mayMove(in)
	for k, m := range out {
		i, known := at[m.ID]
		switch {
		case m.IsSummary() || known && moves[i] || strings.HasPrefix(m.Text(), "[marker "):
		case known && i <= last:
			return fmt.Sprintf("message %d of %d, %.80q, comes after message %d", k, len(out), m.Text(), last)
		case known:
			last = i
		case m.State == chat.Outlined:
		default:
			next := last + 1
			for next < len(in) && !(in[next].Role == m.Role && quotesText(m.Text(), in[next].Text())) {
				next++
			}
			if next == len(in) {
				return fmt.Sprintf("message %d of %d, %s %.80q, is not a later one than message %d", k, len(out), m.Role, m.Text(), last)
			}
			last = next
		}
	}
	return ""
}

// mayMove reports the messages that three layers may move to the front: those of a group
// with a protected one, and the first that a person typed.
func mayMove(t chat.Transcript) []bool {
	moves, found := make([]bool, len(t)), false
	groups, of := chat.Groups(t)
	for i, m := range t {
		first := !found && m.Typed()
		found = found || first
		if first || protected(m) || m.Role == chat.System || m.Role == chat.Developer {
			for _, k := range groups[of[i]] {
				moves[k] = true
			}
		}
	}
	return moves
}

// quotesText reports whether text is whole, or parts of it in order.
func quotesText(text, whole string) bool {
	for part := range strings.SplitSeq(text, "…") {
		_, rest, found := strings.Cut(whole, strings.TrimSpace(part))
		if !found {
			return false
		}
		whole = rest
	}
	return true
}
