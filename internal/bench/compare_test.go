package bench_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/bench"
	"github.com/tiercompact/tiercompact/internal/bench/corpus"
)

const rule = "Always run make check before you commit anything here."

// asked is work with a system message and two typed messages.
func asked() (before, after chat.Transcript) {
	before, after = work()
	before = append(chat.Transcript{chat.NewText(chat.System, rule)}, before...)
	return append(before, chat.NewText(chat.User, "now fix the store as well, please, and its tests")), after
}

func TestUnchangedMessagesAreWhole(t *testing.T) {
	before, next := asked()
	c := bench.Compare(before, before, next, words)
	if c.After != c.Before || c.Refill != 0 || c.Orphans != 0 || c.Invented != 0 {
		t.Errorf("%+v", c.Figures)
	}
	if want := (bench.Diff{Unchanged: len(before)}); c.Messages != want {
		t.Errorf("messages: %+v, want %+v", c.Messages, want)
	}
	if c.Identifiers.Of() != 1 || c.Needed.Kept.Of() != 1 || c.Edits.Kept.Of() != 1 || c.Needed.Size.Of() != 1 {
		t.Errorf("%+v", c.Figures)
	}
	if want := (bench.Protected{System: bench.ActionKept, FirstUser: bench.ActionKept, LatestUser: bench.ActionKept}); c.Protected != want {
		t.Errorf("%+v", c.Protected)
	}
}

func TestComparisonFollowsEachMessage(t *testing.T) {
	before, next := asked()
	summary := chat.NewText(chat.Assistant, "<summary> read src/user.go, then made up src/other.go </summary>")
	masked := before[3]
	masked.Parts = []chat.Part{{Kind: chat.Result, ID: "c", Text: "[cleared]"}}
	after := chat.Transcript{before[0], before[1], summary, before[2], masked, before[len(before)-1]}
	c := bench.Compare(before, after, next, words)
	if want := (bench.Diff{Unchanged: 4, Changed: 1, Gone: 5, New: 1, NewTokens: 12}); c.Messages != want {
		t.Errorf("messages: %+v, want %+v", c.Messages, want)
	}
	if c.Invented != 1 {
		t.Errorf("%d invented, want src/other.go alone", c.Invented)
	}
	if want := bench.Size(before[:2], words); c.Prefix != want || c.Prefix+c.Refill != c.After.Tokens {
		t.Errorf("prefix %d and refill %d of %d tokens, want a prefix of %d", c.Prefix, c.Refill, c.After.Tokens, want)
	}
	if c.Edits.Kept != (bench.Share{Part: 0, Whole: 1}) || c.Newest.Tokens == 0 || c.Newest.Tokens >= c.Before.Tokens {
		t.Errorf("edits %+v, newest %+v", c.Edits, c.Newest)
	}
}

func TestProtectedReportsHowMuchRemains(t *testing.T) {
	before, _ := asked()
	last := before[len(before)-1]
	tests := []struct {
		name  string
		after chat.Transcript
		want  bench.Protected
	}{
		{"gone", before[2:5], bench.Protected{System: bench.ActionGone, FirstUser: bench.ActionGone, LatestUser: bench.ActionGone}},
		{"in a summary", chat.Transcript{chat.NewText(chat.User, "Rules: "+rule+" Task: fix first_name."), last},
			bench.Protected{System: bench.ActionQuoted, FirstUser: bench.ActionQuoted, LatestUser: bench.ActionKept}},
		{"cut short", chat.Transcript{chat.NewText(chat.System, rule[:45]), chat.NewText(chat.User, last.Text()[:42])},
			bench.Protected{System: bench.ActionChanged, FirstUser: bench.ActionGone, LatestUser: bench.ActionChanged}},
		{"as a developer's", append(chat.Transcript{chat.NewText(chat.Developer, rule)}, before[1:]...),
			bench.Protected{System: bench.ActionKept, FirstUser: bench.ActionKept, LatestUser: bench.ActionKept}},
	}
	for _, test := range tests {
		c := bench.Compare(before, test.after, nil, words)
		if c.Protected != test.want {
			t.Errorf("%s: %+v, want %+v", test.name, c.Protected, test.want)
		}
		if c.Needed.Kept.Whole+c.Edits.Kept.Whole > 0 {
			t.Errorf("%s: nothing is known of what came next", test.name)
		}
	}
	if c := bench.Compare(nil, nil, nil, words); c.Protected != (bench.Protected{}) || !c.Protected.Whole() {
		t.Errorf("of nothing: %+v", c.Protected)
	}
}

func TestComparisonLooksThroughFormats(t *testing.T) {
	before := chat.Transcript{
		chat.NewText(chat.User, "read it"),
		{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Text, Text: "I read."}, {Kind: chat.Call, ID: "toolu_1", Name: "Read", Args: `{"path": "a.go", "n": 12345678901234567890}`}}},
		chat.NewResult("toolu_1", "     1→package a"),
	}
	after := chat.Transcript{
		before[0],
		{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Text, Text: "I read."}, {Kind: chat.Call, ID: "call_0", Name: "Read", Args: `{"n":12345678901234567890,"path":"a.go"}`}}},
		chat.NewResult("call_0", "package a"),
	}
	c := bench.Compare(before, after, nil, words)
	if c.Messages.Unchanged != 3 || c.Refill != 0 {
		t.Errorf("%+v", c.Figures)
	}
	masked := append(chat.Transcript(nil), after[:2]...)
	if c := bench.Compare(before, append(masked, chat.NewResult("call_0", "[cleared]")), nil, words); c.Messages.Changed != 1 {
		t.Errorf("a result whose text and id changed: %+v", c.Messages)
	}
	after[1].Parts[1].Args = `{"n":12345678901234567891,"path":"a.go"}`
	if c := bench.Compare(before, after, nil, words); c.Messages.Unchanged != 2 {
		t.Errorf("another number: %+v", c.Messages)
	}
}

func TestTotalAddsUp(t *testing.T) {
	before, next := asked()
	var total bench.Total
	total.Add(bench.Compare(before, before, next, words))
	total.Add(bench.Compare(before, before[2:3], nil, words))
	if total.Pairs != 2 || total.Lost != 1 || total.Before.Messages != 2*len(before) || total.Orphans != 1 {
		t.Errorf("%+v", total)
	}
	if total.Needed.Size.Of() != 1 || total.Identifiers.Of() >= 1 {
		t.Errorf("a pair of which nothing is known has no part in what was needed: %+v", total.Figures)
	}
	data, err := json.Marshal(total)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"pairs":2`, `"needed":{"kept":{"part":5,"whole":5,"share":1}`} {
		if !strings.Contains(string(data), want) {
			t.Errorf("%s has no %s", data, want)
		}
	}
	if data, _ := json.Marshal(bench.Share{}); string(data) != `{"part":0,"whole":0,"share":null}` {
		t.Errorf("a share of nothing: %s", data)
	}
}

func TestEveryMessageHasOneFate(t *testing.T) {
	roles := []chat.Role{chat.System, chat.User, chat.Assistant, chat.Tool}
	message := rapid.Custom(func(t *rapid.T) chat.Message {
		text := rapid.SampledFrom([]string{"", "a", "see src/a.go", "\xff\xfe", strings.Repeat("the same beginning, ", 3) + "x", strings.Repeat("the same beginning, ", 3) + "y"}).Draw(t, "text")
		id := rapid.SampledFrom([]string{"", "c", "d"}).Draw(t, "id")
		switch role := rapid.SampledFrom(roles).Draw(t, "role"); role {
		case chat.Tool:
			return chat.NewResult(id, text)
		case chat.Assistant:
			m := call("Edit", rapid.SampledFrom([]string{"{", "{}", `{"old_string":"see src/a.go"}`, "[[["}).Draw(t, "args"))
			m.Parts[0].ID = id
			return m
		default:
			return chat.NewText(role, text)
		}
	})
	talk := rapid.SliceOfN(message, 0, 12)
	rapid.Check(t, func(t *rapid.T) {
		before, after, next := chat.Transcript(talk.Draw(t, "before")), chat.Transcript(talk.Draw(t, "after")), chat.Transcript(talk.Draw(t, "next"))
		c := bench.Compare(before, after, next, words)
		m := c.Messages
		if m.Unchanged+m.Changed+m.Gone != len(before) || m.Unchanged+m.Changed+m.New != len(after) {
			t.Errorf("%+v of %d and %d messages", m, len(before), len(after))
		}
		if c.Prefix+c.Refill != c.After.Tokens || c.Prefix < 0 || c.Refill < 0 || m.NewTokens > c.After.Tokens {
			t.Errorf("%+v", c.Figures)
		}
		for _, s := range []bench.Share{c.Identifiers, c.Needed.Kept, c.Edits.Kept, c.Newest.Identifiers} {
			if s.Part < 0 || s.Part > s.Whole {
				t.Errorf("%+v", s)
			}
		}
	})
}

func TestPresentFindsNamesInsideOthers(t *testing.T) {
	need := make(map[string]bool)
	var text strings.Builder
	for i := range 400 {
		need[fmt.Sprintf("name_%d", 1000+i)] = true
		if i%2 == 0 {
			fmt.Fprintf(&text, "pre_name_%d_post ", 1000+i)
		}
	}
	if got := bench.Present(need, chat.Transcript{chat.NewText(chat.User, text.String())}); got != 200 {
		t.Errorf("%d of 400 remain, want 200", got)
	}
}

// The figures of tools/scorers for the same files and ways.
func TestComparisonAgreesWithTheScorers(t *testing.T) {
	all, count := goSessions(t), counter(t)
	for _, way := range bench.Baselines() {
		if way.Name != "mask but 10" { // one of them takes half a minute
			continue
		}
		w := scored[way.Name]
		var total, at60 bench.Total
		for _, session := range all {
			for percent := 30; percent < 100 && len(session) >= 40; percent += 10 {
				cut := bench.SafeCut(session, len(session)*percent/100)
				left, err := way.Make(session[:cut:cut], count)
				if err != nil {
					t.Fatal(err)
				}
				c := bench.Compare(session[:cut:cut], left, session[cut:], count)
				if total.Add(c); percent == 60 {
					at60.Add(c)
				}
			}
		}
		for i, got := range []float64{at60.Needed.Kept.Of(), at60.Needed.Size.Of(), total.Edits.Kept.Of(), total.Edits.Size.Of()} {
			if got < w[i]-0.01 || got > w[i]+0.01 {
				t.Errorf("%s: figure %d is %.3f, the scorers say %.3f", way.Name, i, got, w[i])
			}
		}
		if total.Orphans > 0 {
			t.Errorf("%s: %d orphans", way.Name, total.Orphans)
		}
	}
}

func BenchmarkCompare(b *testing.B) {
	for _, n := range []int{100, 1000, 10000} {
		before := corpus.Of(42, n).Messages
		after := before[len(before)/2:]
		b.Run(fmt.Sprint("messages=", n), func(b *testing.B) {
			for b.Loop() {
				bench.Compare(before, after, after[:10], words)
			}
		})
	}
}
