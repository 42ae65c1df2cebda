package suite

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	tiercompact "github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/chattest"
	"github.com/tiercompact/tiercompact/internal/edit"
	"github.com/tiercompact/tiercompact/levels"
)

// TestRandom checks every invariant (docs/INVARIANTS.md) on random conversations, through
// every level, preset, trigger and policy. -rapid.checks=10000 runs it long.
func TestRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := drawConfig(t)
		in := chattest.Transcript(t, 60)
		manual := rapid.Bool().Draw(t, "manual")
		first := run(t, cfg, in, manual)
		if second := run(t, cfg, in, manual); first != second {
			t.Fatalf("the same input came out differently:\n%s\nand\n%s", first, second)
		}
	})
}

// levelNames are the levels that usage picks.
func levelNames() (names []levels.Name) {
	for _, l := range levels.All() {
		names = append(names, l.Name)
	}
	return names
}

// TestRandomAtEachLevel is TestRandom for each level alone, with fewer conversations.
func TestRandomAtEachLevel(t *testing.T) {
	for _, level := range levelNames() {
		t.Run(string(level), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				cfg := drawConfig(t)
				cfg.Level = level
				run(t, cfg, chattest.Transcript(t, 20), false)
			})
		})
	}
}

func drawConfig(t *rapid.T) tiercompact.Config {
	cfg := tiercompact.Defaults(rapid.SampledFrom([]tiercompact.Preset{tiercompact.Default, tiercompact.Eager, tiercompact.Steady}).Draw(t, "preset"))
	cfg.Window = rapid.SampledFrom([]int{700, 1500, 4096, 16384}).Draw(t, "window")
	cfg.Level = rapid.SampledFrom(append([]levels.Name{"", ""}, levelNames()...)).Draw(t, "level")
	cfg.Trigger = rapid.SampledFrom([]tiercompact.Trigger{tiercompact.EveryMessage, tiercompact.AssistantOnly}).Draw(t, "trigger")
	cfg.Emergency.KeepLast = rapid.SampledFrom([]int{cfg.Emergency.KeepLast, cfg.Emergency.KeepLast, 2, 0}).Draw(t, "keep last")
	cfg.Policy.NoPinFirstUser = rapid.Bool().Draw(t, "no pin")
	cfg.SummaryRole = rapid.SampledFrom([]chat.Role{chat.Assistant, chat.Assistant, chat.System}).Draw(t, "summary role")
	cfg.Summary.Fallback = rapid.SampledFrom([]string{levels.FallbackExtractive, levels.FallbackPruning}).Draw(t, "fallback")
	return cfg
}

// run adds in message by message, then compacts by hand, and checks the
// conversation at each step. It returns what came out.
func run(t *rapid.T, cfg tiercompact.Config, in chat.Transcript, manual bool) string {
	store := archive.NewMemory()
	cfg.Archive = store
	c, err := tiercompact.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	s := c.Session("x")
	before := s.Messages()
	for i, m := range in {
		report, err := s.AddMessage(t.Context(), m)
		m.ID = report.Message
		before = append(before, m)
		after := s.Messages()
		checkStep(t, cfg, before, after, report, err, fmt.Sprintf("message %d", i))
		before = after
	}
	if manual {
		report, err := s.Compact(t.Context(), "keep the port number")
		checkStep(t, cfg, before, s.Messages(), report, err, "manual")
	}
	checkNothingLost(t, store, in, s.Messages())
	checkAlternation(t, in, s.Messages())
	out, err := json.Marshal(s.Messages())
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func checkStep(t *rapid.T, cfg tiercompact.Config, before, after chat.Transcript, report tiercompact.Report, err error, at string) {
	t.Helper()
	var budget *tiercompact.BudgetError
	if err != nil && !errors.As(err, &budget) {
		t.Fatalf("%s: %v", at, err)
	}
	if report.Reason != "" && len(before) != len(after) {
		t.Fatalf("%s: not compacted (%s), and %d messages became %d", at, report.Reason, len(before), len(after))
	}
	if report.After > report.Before {
		t.Fatalf("%s: %d tokens became %d", at, report.Before, report.After)
	}
	if report.Compacted() && err == nil && report.After > report.Usage.Budget {
		t.Fatalf("%s: %d tokens, budget %d, and no error", at, report.After, report.Usage.Budget)
	}
	if report.Usage.Tokens > report.Usage.Budget && err == nil && !report.Compacted() &&
		report.Reason != tiercompact.ByRole && report.Reason != tiercompact.Busy {
		t.Fatalf("%s: over the budget and nothing done: %s", at, report.Reason)
	}
	calls, results := orphans(before)
	if c, r := orphans(after); c > calls || r > results {
		t.Fatalf("%s: %d calls and %d results without partner became %d and %d\n%s\n%s", at, calls, results, c, r, show(before), show(after))
	}
	checkKept(t, cfg, before, after, at)
	if fault := sequenceFault(before, after); fault != "" {
		t.Fatalf("%s: %s\n%s\n%s", at, fault, show(before), show(after))
	}
}

// orphans counts calls without result and results without call, as a strict API
// sees them: results follow their call with nothing but results between.
func orphans(t chat.Transcript) (calls, results int) {
	var open []string
	for _, m := range t {
		if m.Role != chat.Tool {
			calls += len(open)
			open = nil
		}
		for _, p := range m.Parts {
			switch p.Kind {
			case chat.Call:
				open = append(open, p.ID)
			case chat.Result:
				if i := slices.Index(open, p.ID); i >= 0 {
					open = slices.Delete(open, i, i+1)
				} else {
					results++
				}
			}
		}
	}
	return calls + len(open), results
}

func protected(m chat.Message) bool {
	return m.State == chat.Active && (m.Protected || m.Role == chat.System || m.Role == chat.Developer)
}

func checkKept(t *rapid.T, cfg tiercompact.Config, before, after chat.Transcript, at string) {
	t.Helper()
	var want, got []chat.Message
	old := make(map[string]chat.Message)
	for _, m := range before {
		old[m.ID] = m
		if protected(m) {
			want = append(want, m)
		}
	}
	user := false
	for _, m := range after {
		if protected(m) {
			got = append(got, m)
		}
		user = user || m.Role == chat.User && m.State != chat.Marked && m.Says()
		if o, known := old[m.ID]; known {
			checkChanged(t, o, m, at)
		} else if len(m.Parts) == 0 || strings.TrimSpace(m.Text()) == "" {
			t.Fatalf("%s: a new message is empty", at)
		}
	}
	if fmt.Sprint(want) != fmt.Sprint(got) {
		t.Fatalf("%s: protected messages\n%v\nbecame\n%v", at, want, got)
	}
	if cfg.SummaryRole == chat.System && cfg.Emergency.KeepLast == 0 {
		return // the exception of invariant 4 (docs/INVARIANTS.md)
	}
	if last := chat.Newest(before, chat.Message.Typed); last >= 0 {
		if chat.Newest(after, func(m chat.Message) bool { return m.ID == before[last].ID }) < 0 {
			t.Fatalf("%s: the latest user message is gone", at)
		}
	}
	had := chat.Newest(before, func(m chat.Message) bool { return m.Role == chat.User && m.State != chat.Marked && m.Says() }) >= 0
	if had && !user {
		t.Fatalf("%s: no user message is left", at)
	}
}

func checkChanged(t *rapid.T, old, m chat.Message, at string) {
	t.Helper()
	if len(old.Parts) != len(m.Parts) {
		t.Fatalf("%s: message %s had %d parts, has %d", at, m.ID, len(old.Parts), len(m.Parts))
	}
	for i, p := range m.Parts {
		o := old.Parts[i]
		if p.Kind == chat.Thinking && p != o {
			t.Fatalf("%s: thinking of %s changed", at, m.ID)
		}
		if utf8.ValidString(o.Text) && !utf8.ValidString(p.Text) {
			t.Fatalf("%s: text of %s is no longer UTF-8", at, m.ID)
		}
		if json.Valid([]byte(o.Args)) && !json.Valid([]byte(p.Args)) {
			t.Fatalf("%s: arguments in %s are no longer JSON: %s", at, m.ID, p.Args)
		}
	}
}

// checkAlternation checks invariant 11 over the whole session: two messages of
// one role are adjacent only if they were in the added messages. In a conversation
// of tool flow alone the next role is unknown, so the first message that counts
// may be adjacent to the summary.
func checkAlternation(t *rapid.T, in, now chat.Transcript) {
	t.Helper()
	met := make(map[string]bool)
	pairs := func(ms chat.Transcript, yield func(a, b chat.Message)) {
		last := -1
		for i, m := range ms {
			if !edit.Speaks(m) {
				continue
			}
			if last >= 0 && ms[last].Role == m.Role {
				yield(ms[last], m)
			}
			last = i
		}
	}
	before := slices.Clone(in)
	for i := range before {
		before[i].ID = fmt.Sprintf("m%d", i+1)
	}
	pairs(before, func(a, b chat.Message) { met[b.ID] = true })
	for _, m := range before {
		if edit.Speaks(m) {
			met[m.ID] = true
			break
		}
	}
	pairs(now, func(a, b chat.Message) {
		if !met[b.ID] {
			t.Fatalf("%s messages %s and %s meet\n%s", a.Role, a.ID, b.ID, show(now))
		}
	})
}

// checkNothingLost checks that every added message is in the conversation, or in a
// transcript of the archive (invariants 8 and 10).
func checkNothingLost(t *rapid.T, store archive.Store, in, now chat.Transcript) {
	t.Helper()
	steps, err := store.Steps(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	have := make(map[string]bool)
	keep := func(ms chat.Transcript) {
		for _, m := range ms {
			have[fmt.Sprint(m.Role, m.Parts)] = true
		}
	}
	keep(now)
	for _, info := range steps {
		step, err := store.Get(t.Context(), "x", info.Number)
		if err != nil {
			t.Fatal(err)
		}
		keep(step.Before)
	}
	for i, m := range in {
		if !have[fmt.Sprint(m.Role, m.Parts)] {
			t.Fatalf("message %d is neither in the conversation nor in the archive", i)
		}
	}
}

func show(t chat.Transcript) string {
	var b strings.Builder
	for i, m := range t {
		fmt.Fprintf(&b, "%d %s %s %s", i, m.ID, m.Role, m.State)
		for _, p := range m.Parts {
			fmt.Fprintf(&b, " %s:%s(%d)", p.Kind, p.ID, len(p.Text)+len(p.Args))
		}
		b.WriteByte('\n')
	}
	return b.String()
}
