package suite

import (
	"context"
	"errors"
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

// counted is a summarizer that counts its calls.
func counted(asked *int) tiercompact.Config {
	return tiercompact.Config{Count: quarter, Summary: tiercompact.SummaryConfig{Name: "fake", Summarizer: summarizer(func(ctx context.Context, r summarize.Request) (string, error) {
		*asked++
		return summarize.Extractive{}.Summarize(ctx, r)
	})}}
}

func TestFaultsOfBudget(t *testing.T) {
	t.Run("41 one message larger than the window", func(t *testing.T) {
		for _, size := range []int{9000, 20000, 400000} {
			in := join(chat.Transcript{user("read it")}, flow(1, size), chat.Transcript{reply("read")})
			for _, way := range ways() {
				out, err := way.run(t, tiercompact.Config{Window: 10000, Count: quarter}, in)
				if got := sizeOf(t, out); err != nil || got > 10000-1250 {
					t.Errorf("%s: a result of %d tokens leaves %d: %v", way.name, size, got, err)
				}
				strictly(t, way.name, in, out)
			}
		}
	})
	t.Run("42 a floor over the budget asks no model, again and again", func(t *testing.T) {
		asked := 0
		cfg := counted(&asked)
		cfg.Window = 4000
		c, err := tiercompact.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		s, in := c.Session("x"), append(chat.Transcript{chat.NewText(chat.System, prose(5000, 1))}, working(10, 200)[1:]...)
		for _, m := range in {
			if _, err := s.AddMessage(t.Context(), m); !errors.Is(err, tiercompact.ErrInsufficientBudget) || !strings.Contains(err.Error(), "system 50") {
				t.Fatalf("error is %v", err)
			}
		}
		_, _, err = c.Preflight(t.Context(), "y", in)
		if _, manual := s.Compact(t.Context(), ""); asked > 0 || !errors.Is(err, tiercompact.ErrInsufficientBudget) || !errors.Is(manual, tiercompact.ErrInsufficientBudget) {
			t.Errorf("the model was asked %d times; %v, %v", asked, err, manual)
		}
	})
	t.Run("42 summaries do not pile up, and none is larger than its source", func(t *testing.T) {
		for _, preset := range []tiercompact.Preset{tiercompact.Default, tiercompact.Steady} {
			s := start(t, tiercompact.Config{Window: 2000, Preset: preset})
			for i := range 6 {
				for _, m := range working(6, 150)[1:] {
					if r := add(t, s, m); r.After > r.Before {
						t.Errorf("%d tokens became %d", r.Before, r.After)
					}
				}
				summaries := 0
				for _, m := range s.Messages() {
					if m.IsSummary() {
						summaries++
					}
				}
				if summaries > 1 {
					t.Errorf("pass %d: %d summaries", i, summaries)
				}
			}
		}
	})
	t.Run("43 what was thought is not in the summary, however much it was", func(t *testing.T) {
		in := working(10, 100)
		for i := range in {
			if in[i].HasCalls() {
				in[i].Parts = append([]chat.Part{{Kind: chat.Thinking, Text: "innermost " + prose(3000, i)}}, in[i].Parts...)
			}
		}
		everyWay(t, in, func(how string, out chat.Transcript) {
			for _, m := range out {
				if m.IsSummary() && strings.Contains(m.Text(), "innermost") {
					t.Errorf("%s: the summary thinks", how)
				}
			}
		})
	})
	t.Run("46 a count that the server made of a part is not believed", func(t *testing.T) {
		warnings := 0
		s := start(t, tiercompact.Config{Window: 200000, Trace: func(e trace.Event) {
			if _, is := e.Data.(trace.Warning); is {
				warnings++
			}
		}})
		fill(t, s, 160689, pairs(40, 80000)...)
		s.Observe(16387)
		if n := s.Usage().Tokens; n != 160689 || warnings != 1 {
			t.Errorf("after a count of 16,387: %d tokens, %d warnings", n, warnings)
		}
		s.Observe(158000)
		if n := s.Usage().Tokens; n != 158000 {
			t.Errorf("after a count of 158,000: %d tokens", n)
		}
	})
	t.Run("window smaller than the floor", func(t *testing.T) {
		_, err := addAll(t, tiercompact.Config{Window: 50, Count: quarter}, working(3, 100))
		if !errors.Is(err, tiercompact.ErrInsufficientBudget) || !strings.Contains(err.Error(), "use a larger window") {
			t.Errorf("error is %v", err)
		}
	})
}

func TestFaultOfPrefix(t *testing.T) {
	t.Run("47 what was rewritten stays as it is", func(t *testing.T) {
		s := start(t, tiercompact.Config{Window: 6000, Preset: tiercompact.Steady, Thresholds: tiercompact.Defaults(tiercompact.Default).Thresholds, MinGain: 0.01})
		var last chat.Transcript
		rounds, kept := 0, 0
		for _, m := range working(60, 300) {
			r := add(t, s, m)
			now := s.Messages()
			if !r.Compacted() {
				if !slices.EqualFunc(last, now[:len(last)], unchanged) {
					t.Fatalf("no round (%s), and the prefix changed", r.Reason)
				}
			} else if rounds++; slices.Equal(applied(r), []levels.Name{levels.SoftName}) {
				for i, m := range last {
					if m.State != chat.Active && !unchanged(m, now[i]) {
						t.Errorf("soft rewrote message %d (%s) again", i, m.State)
					}
					kept++
				}
			}
			last = now
		}
		if rounds < 2 || rounds > 60 || kept == 0 {
			t.Errorf("%d rounds in 241 messages", rounds)
		}
	})
	t.Run("47 a history that is sent again comes out with the same prefix", func(t *testing.T) {
		c, err := tiercompact.New(tiercompact.Config{Window: 4000, Count: quarter})
		if err != nil {
			t.Fatal(err)
		}
		in := working(40, 200)
		var last chat.Transcript
		broken := 0
		for n := 10; n <= len(in); n += 2 {
			out, r, err := c.Preflight(t.Context(), "x", in[:n])
			if err != nil {
				t.Fatal(err)
			}
			if r.Compacted() {
				broken++
			} else if len(out) < len(last) || !slices.Equal(texts(last, everything), texts(out[:len(last)], everything)) {
				t.Fatalf("at message %d no round was made, and the prefix changed", n)
			}
			last = out
		}
		if broken < 2 || broken > 20 {
			t.Errorf("%d rounds", broken)
		}
	})
}

func unchanged(a, b chat.Message) bool { return fmt.Sprint(a.ID, a.Parts) == fmt.Sprint(b.ID, b.Parts) }

func TestFaultsOfFiles(t *testing.T) {
	t.Run("49 every copy of a file that left is told of, and comes back", func(t *testing.T) {
		for _, level := range []levels.Name{levels.SoftName, levels.HardName, levels.Emergency} {
			s := start(t, tiercompact.Config{Window: 20000})
			if err := s.Load(working(10, 300)); err != nil {
				t.Fatal(err)
			}
			before := s.Messages()
			r, err := s.CompactLevel(t.Context(), level)
			if err != nil {
				t.Fatal(err)
			}
			left := make(map[string]string) // id of a message → recall id
			for _, e := range r.Edits {
				for _, id := range e.IDs {
					left[id] = e.Recall
				}
			}
			present := make(map[string]chat.Message)
			for _, m := range s.Messages() {
				present[m.ID] = m
			}
			for _, m := range before {
				if now, ok := present[m.ID]; m.Role != chat.Tool || ok && unchanged(m, now) {
					continue
				}
				entry, err := s.Recall(t.Context(), left[m.ID])
				if err != nil || !slices.ContainsFunc(entry.Messages, func(e chat.Message) bool { return unchanged(e, m) }) {
					t.Errorf("%s: message %s left by %q, which does not bring it back: %v", level, m.ID, left[m.ID], err)
				}
			}
		}
	})
	t.Run("50 the names of what was removed stay", func(t *testing.T) {
		in := working(12, 300)
		for _, level := range []levels.Name{levels.HardName, levels.Emergency} {
			s := start(t, tiercompact.Config{Window: 20000})
			if err := s.Load(in); err != nil {
				t.Fatal(err)
			}
			if _, err := s.CompactLevel(t.Context(), level); err != nil {
				t.Fatal(err)
			}
			text := strings.Join(texts(s.Messages(), everything), "\n")
			for i := range 12 {
				if path := fmt.Sprintf("src/file%d.go", i); !strings.Contains(text, path) {
					t.Errorf("%s: %s is named nowhere\n%s", level, path, text)
				}
			}
		}
	})
}
