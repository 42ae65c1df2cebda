package suite

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	tiercompact "github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/levels"
)

// The tests in this file are the examples of the contract, each under its preset. They count
// four bytes as a token.

func quarter(text string) int { return (len(text) + 3) / 4 }

// frame is the number of tokens of a message without text.
const frame = 5

// prose returns n tokens of text in which nothing repeats.
func prose(n, salt int) string {
	var b strings.Builder
	for k := salt * 1000; b.Len() < 4*n; k++ {
		fmt.Fprintf(&b, "w%d ", k)
	}
	return b.String()[:4*n]
}

// said returns a message of exactly n tokens.
func said(role chat.Role, n, salt int) chat.Message {
	return chat.NewText(role, prose(n-frame, salt))
}

// goFile returns n tokens of Go.
func goFile(n int) string {
	var b strings.Builder
	b.WriteString("package users\n\nimport \"errors\"\n")
	for k := 0; b.Len() < 4*n; k++ {
		fmt.Fprintf(&b, "\n// Find%d finds a user.\nfunc Find%d(id int) error {\n\tif id < %d {\n\t\treturn errors.New(\"no user %d\")\n\t}\n\treturn nil\n}\n", k, k, k, k)
	}
	return b.String()[:4*n]
}

// readOf returns a call that reads path, and its result of exactly n tokens.
func readOf(id, path string, n int) []chat.Message {
	call := chat.Message{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Call, ID: id, Name: "read", Args: fmt.Sprintf(`{"path":%q}`, path)}}}
	return []chat.Message{call, chat.NewResult(id, goFile(n-frame))}
}

func start(t *testing.T, cfg tiercompact.Config) *tiercompact.Session {
	t.Helper()
	cfg.Count = quarter
	c, err := tiercompact.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c.Session("x")
}

// fill loads messages and one more of role that brings the session to exactly
// total tokens.
func fill(t *testing.T, s *tiercompact.Session, total int, messages ...chat.Message) {
	t.Helper()
	if err := s.Load(messages); err != nil {
		t.Fatal(err)
	}
	if left := total - s.Usage().Tokens; left > 0 {
		if err := s.Load([]chat.Message{said(chat.Assistant, left, 99)}); err != nil {
			t.Fatal(err)
		}
	}
}

func add(t *testing.T, s *tiercompact.Session, m chat.Message) tiercompact.Report {
	t.Helper()
	r, err := s.AddMessage(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func applied(r tiercompact.Report) (names []levels.Name) {
	for _, a := range r.Applied {
		names = append(names, a.Level)
	}
	return names
}

// staleFile is a conversation of 20,000 tokens less one message of 100: a file
// of 11,250 tokens that nothing refers to in the last messages.
func staleFile(t *testing.T, s *tiercompact.Session) {
	t.Helper()
	first := append([]chat.Message{said(chat.User, 400, 1)}, readOf("r1", "users.go", 11250)...)
	fill(t, s, 19900-3*1000, first...)
	for i := range 3 {
		fill(t, s, 0, said([]chat.Role{chat.User, chat.Assistant, chat.User}[i], 1000, 2+i))
	}
}

func TestSoftAt62Percent(t *testing.T) {
	s := start(t, tiercompact.Config{Window: 32000})
	staleFile(t, s)
	r := add(t, s, said(chat.Assistant, 100, 9))
	if r.Before != 20000 || r.Picked != levels.SoftName || !slices.Equal(applied(r), []levels.Name{levels.SoftName}) {
		t.Fatalf("at %d tokens picked %s, applied %v (%s)", r.Before, r.Picked, applied(r), r.Reason)
	}
	if r.After > 9250 || s.Usage().Tokens != r.After {
		t.Errorf("%d tokens are left, report says %d; want at most 9,250", s.Usage().Tokens, r.After)
	}
}

// scored embeds the query as [1 0], and each other text so that its cosine to the query is the
// number after "score".
type scored struct{}

func (scored) Embed(_ context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, text := range texts {
		score := 0.05
		if strings.HasPrefix(text, "the query") {
			score = 1
		}
		fmt.Sscanf(text, "score %g", &score)
		out[i] = []float32{float32(score), float32(math.Sqrt(1 - score*score))}
	}
	return out, nil
}

// ranked is a conversation of 21 messages at 78 %, the query last, whose old messages have
// scores. One of them is a stale file.
func ranked(t *testing.T, cfg tiercompact.Config) (*tiercompact.Session, tiercompact.Report) {
	t.Helper()
	cfg.Window, cfg.Embed.Embedder, cfg.Embed.Name = 10000, scored{}, "scored"
	s := start(t, cfg)
	scores := []float64{0.85, 0.12, 0.45, 0.38, 0.40, 0.90, 0.11, 0.80, 0.10, 0.70, 0.09, 0.60, 0.08, 0.07, 0.06}
	for i := range 20 {
		role := []chat.Role{chat.User, chat.Assistant}[i%2]
		text := "kept anyway "
		if i < len(scores) {
			text = fmt.Sprintf("score %.2f ", scores[i])
		}
		if i == 1 {
			text += "```go users.go\n" + goFile(200) + "\n```\n"
		}
		text += prose(370-quarter(text), i)
		if err := s.Load([]chat.Message{{ID: fmt.Sprint(i), Role: role, Parts: []chat.Part{{Kind: chat.Text, Text: text}}}}); err != nil {
			t.Fatal(err)
		}
	}
	left := 7800 - s.Usage().Tokens
	query := "the query " + prose(left, 50)
	return s, add(t, s, chat.Message{ID: "query", Role: chat.User, Parts: []chat.Part{{Kind: chat.Text, Text: query[:4*(left-frame)]}}})
}

func ids(t chat.Transcript) (out []string) {
	for _, m := range t {
		if m.State != chat.Marked {
			out = append(out, m.ID)
		}
	}
	return out
}

func TestHardKeepsTheMoreRelevantHalf(t *testing.T) {
	s, r := ranked(t, tiercompact.Config{Policy: tiercompact.PolicyConfig{NoPinFirstUser: true}})
	if r.Picked != levels.HardName || !slices.Equal(applied(r), []levels.Name{levels.HardName}) {
		t.Fatalf("at %d tokens picked %s, applied %v (%s)", r.Before, r.Picked, applied(r), r.Reason)
	}
	// 15 old ones: 0.90 0.85 0.80 0.70 0.60 0.45 0.40 stay, 0.38 and 0.12 go.
	want := []string{"0", "2", "4", "5", "7", "9", "11", "15", "16", "17", "18", "19", "query"}
	if got := ids(s.Messages()); !slices.Equal(got, want) {
		t.Errorf("messages %v stay, want %v", got, want)
	}
	if r.Applied[0].Engine != "scored" {
		t.Errorf("ranked by %q", r.Applied[0].Engine)
	}
}

// The pinned first message is not part of n: 14 old ones, 7 stay beside it.
func TestHardCountsPinnedApart(t *testing.T) {
	s, _ := ranked(t, tiercompact.Config{})
	want := []string{"0", "2", "3", "4", "5", "7", "9", "11", "15", "16", "17", "18", "19", "query"}
	if got := ids(s.Messages()); !slices.Equal(got, want) {
		t.Errorf("messages %v stay, want %v", got, want)
	}
}

// Under cascade soft comes first, and hard goes on below the soft threshold.
func TestHardUnderCascade(t *testing.T) {
	_, r := ranked(t, tiercompact.Config{Escalation: tiercompact.Cascade, Ranking: levels.Fused, Hard: tiercompact.HardConfig{Until: tiercompact.UntilSoft}})
	if got := applied(r); !slices.Contains(got, levels.HardName) || r.Usage.Share >= 0.60 {
		t.Errorf("applied %v, usage %.2f", got, r.Usage.Share)
	}
}

// breathing is at 61 % with a stale file of 6.5 % and a second one that goes
// stale later.
func breathing(t *testing.T, cfg tiercompact.Config) (*tiercompact.Session, tiercompact.Report) {
	t.Helper()
	cfg.Window = 100000
	s := start(t, cfg)
	messages := append([]chat.Message{said(chat.User, 500, 1)}, readOf("r1", "users.go", 6500)...)
	messages = append(messages, said(chat.Assistant, 40000, 2), said(chat.User, 500, 3))
	fill(t, s, 0, append(messages, readOf("r2", "other.go", 8000)...)...)
	return s, add(t, s, said(chat.Assistant, 61000-s.Usage().Tokens, 4))
}

func TestCooldown(t *testing.T) {
	s, r := breathing(t, tiercompact.Config{})
	if !r.Compacted() || r.Before != 61000 || r.After > 55000 {
		t.Fatalf("61 %%: %v, %d tokens to %d", r.Reason, r.Before, r.After)
	}
	for _, step := range []struct {
		usage  int
		reason string
	}{{60000, tiercompact.InCooldown}, {65000, tiercompact.InCooldown}, {70000, ""}} {
		role := []chat.Role{chat.User, chat.Assistant}[step.usage/5000%2]
		r = add(t, s, said(role, step.usage-s.Usage().Tokens, step.usage))
		if r.Reason != step.reason || r.Before != step.usage {
			t.Errorf("at %d tokens: %q, want %q", r.Before, r.Reason, step.reason)
		}
	}
}

// With a minimum gain the round at 61 % would free too little: it is put off.
func TestMinGain(t *testing.T) {
	s, r := breathing(t, tiercompact.Config{MinGain: 0.15})
	if r.Reason != tiercompact.ByMinGain || s.Usage().Tokens != 61000 {
		t.Errorf("%q, %d tokens", r.Reason, s.Usage().Tokens)
	}
}

func TestThresholds(t *testing.T) {
	tests := []struct {
		preset tiercompact.Preset
		usage  int
		want   levels.Name
	}{
		{tiercompact.Default, 5999, levels.None},
		{tiercompact.Default, 6000, levels.SoftName},
		{tiercompact.Default, 7500, levels.HardName},
		{tiercompact.Default, 8750, levels.HardName},
		{tiercompact.Default, 9000, levels.Emergency},
		{tiercompact.Eager, 4999, levels.None},
		{tiercompact.Eager, 5000, levels.SoftName},
		{tiercompact.Eager, 6500, levels.HardName},
		{tiercompact.Eager, 8000, levels.Emergency},
		{tiercompact.Steady, 6999, levels.None},
		{tiercompact.Steady, 7000, levels.SoftName},
		{tiercompact.Steady, 8000, levels.HardName},
		{tiercompact.Steady, 9000, levels.Emergency},
	}
	for _, test := range tests {
		s := start(t, tiercompact.Config{Window: 10000, Preset: test.preset, Policy: tiercompact.PolicyConfig{HardCapBuffer: tiercompact.Tokens(0)}})
		fill(t, s, 0, said(chat.User, 100, 1))
		if r := add(t, s, said(chat.Assistant, test.usage-100, 2)); r.Picked != test.want {
			t.Errorf("%s at %d of 10,000 picks %s, want %s", test.preset, test.usage, r.Picked, test.want)
		}
	}
}

func TestPreflightThreshold(t *testing.T) {
	for _, test := range []struct {
		tokens int
		reason string
	}{{96000, tiercompact.BelowThreshold}, {108799, tiercompact.BelowThreshold}, {108800, ""}} {
		c, err := tiercompact.New(tiercompact.Config{Window: 128000, Count: quarter})
		if err != nil {
			t.Fatal(err)
		}
		in := pairs(20, test.tokens)
		out, r, err := c.Preflight(t.Context(), "", in)
		if err != nil || r.Before != test.tokens || r.Reason != test.reason {
			t.Errorf("%d tokens counted as %d: %q (%v), want %q", test.tokens, r.Before, r.Reason, err, test.reason)
		}
		if test.reason != "" && &out[0] != &in[0] {
			t.Errorf("%d tokens: other messages came back", test.tokens)
		}
		if r.Usage.Budget != 126500 {
			t.Errorf("budget is %d, want 126,500", r.Usage.Budget)
		}
	}
}

// pairs returns n pairs of user and assistant messages, of total tokens.
func pairs(n, total int) chat.Transcript {
	var out chat.Transcript
	for i := range 2 * n {
		role := []chat.Role{chat.User, chat.Assistant}[i%2]
		size := total*(i+1)/(2*n) - total*i/(2*n)
		m := said(role, size, i)
		m.ID = fmt.Sprintf("p%d", i)
		out = append(out, m)
	}
	return out
}

func TestMessageThresholdWaitsForTheAssistant(t *testing.T) {
	s := start(t, tiercompact.Config{Window: 100000, Trigger: tiercompact.AssistantOnly, Policy: tiercompact.PolicyConfig{MessageThreshold: 10}})
	fill(t, s, 0, pairs(3, 600)[:5]...)
	for i := range 6 {
		if r := add(t, s, said(chat.User, 50, 20+i)); r.Reason != tiercompact.ByRole && r.Reason != tiercompact.BelowThreshold {
			t.Errorf("user message %d of a burst: %q", i+1, r.Reason)
		}
	}
	r := add(t, s, said(chat.Assistant, 50, 40))
	if !slices.Equal(applied(r), []levels.Name{levels.Emergency}) {
		t.Errorf("the assistant's message applied %v (%s)", applied(r), r.Reason)
	}
}

func TestMessageThresholdIsReachedAt120(t *testing.T) {
	s := start(t, tiercompact.Config{Window: 1000000, Trigger: tiercompact.AssistantOnly, Policy: tiercompact.PolicyConfig{MessageThreshold: 120}})
	fill(t, s, 0, pairs(59, 11800)...)
	if r := add(t, s, said(chat.User, 100, 300)); r.Compacted() || len(s.Messages()) != 119 {
		t.Errorf("message %d compacts", len(s.Messages()))
	}
	if r := add(t, s, said(chat.Assistant, 100, 301)); !r.Compacted() {
		t.Errorf("the 120th message, from the assistant, does not compact: %s", r.Reason)
	}
}

func TestAssistantOnlyWaits(t *testing.T) {
	s := start(t, tiercompact.Config{Window: 10000, Trigger: tiercompact.AssistantOnly})
	fill(t, s, 0, pairs(10, 7000)...)
	if r := add(t, s, said(chat.User, 1000, 60)); r.Reason != tiercompact.ByRole || r.Picked != levels.HardName {
		t.Errorf("a user message from 70 to 80 %%: picked %s, %q", r.Picked, r.Reason)
	}
	if r := add(t, s, said(chat.Assistant, 100, 61)); !r.Compacted() {
		t.Errorf("the assistant's message after it: %q", r.Reason)
	}
}

func TestManualKeepsSixTurns(t *testing.T) {
	s := start(t, tiercompact.Config{Window: 100000})
	fill(t, s, 0, pairs(20, 30000)...)
	r, err := s.Compact(t.Context(), "keep the port")
	if err != nil || !r.Compacted() {
		t.Fatalf("manual compaction at 30 %%: %q, %v", r.Reason, err)
	}
	want := []string{"p0", "summary-1"} // the pinned task, the summary, six turns
	for i := 28; i < 40; i++ {
		want = append(want, fmt.Sprintf("p%d", i))
	}
	if got := ids(s.Messages()); !slices.Equal(got, want) {
		t.Errorf("left %v, want %v", got, want)
	}
}

func TestManualKeepsFourToolPairs(t *testing.T) {
	s := start(t, tiercompact.Config{Window: 100000})
	messages := []chat.Message{said(chat.User, 100, 1)}
	for i := range 10 {
		messages = append(messages, readOf(fmt.Sprintf("r%d", i), fmt.Sprintf("f%d.go", i), 1000)...)
	}
	fill(t, s, 0, append(messages, said(chat.Assistant, 100, 2))...)
	if _, err := s.Compact(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	calls := 0
	for _, m := range s.Messages() {
		if m.HasCalls() {
			calls++
		}
	}
	if calls != 4 {
		t.Errorf("%d pairs stay, want 4", calls)
	}
}

func TestSecondCompactionLeavesOneSummary(t *testing.T) {
	s := start(t, tiercompact.Config{Window: 100000})
	fill(t, s, 0, pairs(20, 30000)...)
	for n := 1; n <= 2; n++ {
		if r, err := s.Compact(t.Context(), ""); err != nil || !r.Compacted() {
			t.Fatalf("compaction %d: %q, %v", n, r.Reason, err)
		}
		var heads []string
		for _, m := range s.Messages() {
			if m.IsSummary() {
				heads = append(heads, strings.SplitN(m.Text(), "\n", 2)[0])
			}
		}
		if want := fmt.Sprintf("<COMPACT-SUMMARY v%d>", n); len(heads) != 1 || heads[0] != want {
			t.Errorf("after compaction %d the summaries are %q", n, heads)
		}
		fill(t, s, 0, pairs(12, 12000)...)
	}
}

func TestProtectedAloneOverBudget(t *testing.T) {
	s := start(t, tiercompact.Config{Window: 8000})
	fill(t, s, 0, said(chat.System, 6000, 1), said(chat.Developer, 1500, 2))
	_, err := s.AddMessage(t.Context(), said(chat.User, 200, 3))
	var budget *tiercompact.BudgetError
	if !errors.As(err, &budget) || !errors.Is(err, tiercompact.ErrInsufficientBudget) {
		t.Fatalf("error is %v", err)
	}
	if budget.System != 7500 || budget.Last != 200 || !strings.Contains(err.Error(), "protect less, or use a larger window") {
		t.Errorf("error says %v", err)
	}
	if len(s.Messages()) != 3 {
		t.Errorf("%d messages are left of 3", len(s.Messages()))
	}
}
