package suite

import (
	"fmt"
	"strings"
	"testing"

	tiercompact "github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/levels"
)

// rated returns a message of 60 tokens that scored gives a score.
func rated(id string, role chat.Role, score float64) chat.Message {
	text := fmt.Sprintf("score %.2f %s", score, prose(50, len(id)*7+int(score*100)))
	return as(id, chat.NewText(role, text))
}

// ratedFlow returns a call of a score, and n results, p1 and so on after its id.
func ratedFlow(id string, score float64, n int) chat.Transcript {
	call := rated(id, chat.Assistant, score)
	var out chat.Transcript
	for i := range n {
		call.Parts = append(call.Parts, chat.Part{Kind: chat.Call, ID: fmt.Sprint(id, i), Name: "bash", Args: "{}"})
		out = append(out, as(fmt.Sprintf("%s%d", id, i), chat.NewResult(fmt.Sprint(id, i), prose(50, i))))
	}
	return append(chat.Transcript{call}, out...)
}

// alternating returns messages a, b, c … of scores, the user's first.
func alternating(scores ...float64) (out chat.Transcript) {
	for i, score := range scores {
		out = append(out, rated(string(rune('a'+i)), []chat.Role{chat.User, chat.Assistant}[i%2], score))
	}
	return out
}

// newest are five messages and the query behind them.
func newest() chat.Transcript {
	out := chat.Transcript{as("query", user("the query is this"))}
	for i := range 5 {
		out = append(chat.Transcript{as(fmt.Sprint("n", i+1), said([]chat.Role{chat.Assistant, chat.User}[i%2], 60, 40+i))}, out...)
	}
	return out
}

// hardOn loads messages and has hard rank them; the pin is off.
func hardOn(t *testing.T, cfg tiercompact.Config, messages ...chat.Message) *tiercompact.Session {
	t.Helper()
	cfg.Window, cfg.Embed.Embedder, cfg.Embed.Name = 100000, scored{}, "scored"
	s := loaded(t, cfg, messages...)
	compactTo(t, s, levels.HardName)
	return s
}

func TestHardKeepsAGroupThatReachesIntoTheLastFive(t *testing.T) {
	in := join(alternating(.9, .1, .8, .2, .7, .3), ratedFlow("g", .01, 5), chat.Transcript{as("said", reply("ran")), as("query", user("the query is this"))})
	s := hardOn(t, tiercompact.Config{Policy: tiercompact.PolicyConfig{NoPinFirstUser: true}}, in...)
	if err := sameIDs(s.Messages(), "a c e g g0 g1 g2 g3 g4 said query"); err != nil {
		t.Error(err)
	}
}

func TestHardPassesOverAGroupThatDoesNotFit(t *testing.T) {
	// n = 8, room for 4: a takes one, g needs four of three, b c d take those.
	in := join(alternating(.9), ratedFlow("g", .8, 3), chat.Transcript{rated("b", chat.Assistant, .7), rated("c", chat.User, .6), rated("d", chat.Assistant, .5), as("e", user("kept"))}, newest()[1:])
	s := hardOn(t, tiercompact.Config{Policy: tiercompact.PolicyConfig{NoPinFirstUser: true}}, in...)
	if err := sameIDs(s.Messages(), "a b c d e n4 n3 n2 n1 query"); err != nil {
		t.Error(err)
	}
}

func TestARankedGroupStaysOrGoesWhole(t *testing.T) {
	// n = 8: of 4 that stay a group of three and one more.
	in := join(ratedFlow("g", .9, 2), ratedFlow("h", .2, 2), alternating(.5, .3), newest())
	s := hardOn(t, tiercompact.Config{Policy: tiercompact.PolicyConfig{NoPinFirstUser: true}}, in...)
	if err := sameIDs(s.Messages(), "g g0 g1 a n5 n4 n3 n2 n1 query"); err != nil {
		t.Error(err)
	}
}

func TestKeptMessagesDoNotCountInHardsHalf(t *testing.T) {
	old := func() chat.Transcript { return alternating(.9, .8, .7, .6, .5, .4, .3, .2) }
	behind := newest()[1:5]
	protect := func(t chat.Transcript, i int) chat.Transcript {
		t[i] = guarded(t[i])
		return t
	}
	for _, test := range []struct {
		name string
		cfg  tiercompact.Config
		in   chat.Transcript
		want string
	}{
		{"8 old ones", tiercompact.Config{Policy: tiercompact.PolicyConfig{NoPinFirstUser: true}}, join(old(), newest()), "a b c d n5 n4 n3 n2 n1 query"},
		{"7 beside the pinned", tiercompact.Config{}, join(alternating(.1, .8, .7, .6, .5, .4, .3, .2), newest()), "a b c d n5 n4 n3 n2 n1 query"},
		{"7 beside a protected", tiercompact.Config{Policy: tiercompact.PolicyConfig{NoPinFirstUser: true}}, join(protect(old(), 7), newest()), "a b c h n5 n4 n3 n2 n1 query"},
		{"4 beside a protected group", tiercompact.Config{Policy: tiercompact.PolicyConfig{NoPinFirstUser: true}},
			join(alternating(.9, .8, .7, .6), protect(ratedFlow("g", .01, 3), 2), newest()), "a b g g0 g1 g2 n5 n4 n3 n2 n1 query"},
		{"7 beside a query further up", tiercompact.Config{Policy: tiercompact.PolicyConfig{NoPinFirstUser: true}},
			join(chat.Transcript{as("query", user("the query is this"))}, old()[1:2], ratedFlow("g", .7, 1), ratedFlow("h", .2, 1), ratedFlow("i", .1, 1), behind[:0], ratedFlow("z", .0, 4)),
			"query b g g0 z z0 z1 z2 z3"},
	} {
		s := hardOn(t, test.cfg, test.in...)
		if err := sameIDs(s.Messages(), test.want); err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

func TestHardGoesOnLowestFirstUntilBelowTheSoftThreshold(t *testing.T) {
	for _, test := range []struct {
		window int
		want   string
	}{
		{100000, "a b c d n5 n4 n3 n2 n1 query"}, // half is far below it
		{900, "a b c n5 n4 n3 n2 n1 query"},
		{700, "a n5 n4 n3 n2 n1 query"},
		{600, "n5 n4 n3 n2 n1 query"}, // all that is old
	} {
		s := loaded(t, tiercompact.Config{Window: test.window, Hard: tiercompact.HardConfig{Until: tiercompact.UntilSoft}, Policy: tiercompact.PolicyConfig{NoPinFirstUser: true, HardCapBuffer: tiercompact.Tokens(0)}, Embed: tiercompact.EmbedConfig{Embedder: scored{}}},
			join(alternating(.9, .8, .7, .6, .5, .4, .3, .2), newest())...)
		r := compactTo(t, s, levels.HardName)
		if err := sameIDs(s.Messages(), test.want); err != nil {
			t.Errorf("window %d, %d tokens to %d: %v", test.window, r.Before, r.After, err)
		}
	}
}

func TestAnAddedFileIsNotAUserMessage(t *testing.T) {
	for _, level := range []levels.Name{levels.HardName, levels.Emergency} {
		s := loaded(t, tiercompact.Config{Window: 100000, Embed: tiercompact.EmbedConfig{Embedder: scored{}}})
		file := func(path string) {
			if _, err := s.AddFile(t.Context(), path, prose(100, len(path))); err != nil {
				t.Fatal(err)
			}
		}
		file("first.txt")
		fill(t, s, 0, rated("typed", chat.User, .1), rated("b", chat.Assistant, .9), as("query", user("the query is this")), rated("c", chat.Assistant, .8))
		fill(t, s, 0, join(ratedFlow("g", .3, 1), ratedFlow("h", .2, 3))...)
		file("last.txt")
		compactTo(t, s, level)
		last := s.Messages()[len(s.Messages())-1].ID
		want := "typed b query c h h0 h1 h2 " + last // ranked by the typed query; b, c stay of first, b, c, g, g0
		if level == levels.Emergency {
			want = "summary-1 typed query h h0 h1 h2 " + last
		}
		if err := sameIDs(s.Messages(), want); err != nil {
			t.Errorf("%s: %v", level, err)
		}
	}
}

func TestSoftHardAndEmergencyNeverTouch(t *testing.T) {
	summary := func(role chat.Role) chat.Message {
		s := loaded(t, tiercompact.Config{Window: 100000, SummaryRole: role}, turns("s", 9, 200)...)
		if _, err := s.Compact(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		return summaries(s.Messages())[0]
	}
	old := turns("", 4, 300)
	asked := chat.Transcript{as("q1", user("one")), as("q2", user("two")), as("q3", user("three")), as("q4", user("four")), as("q5", user("five")), as("q6", user("six"))}
	file := as("file", user("<file path=\"alpha.go\">\n"+source("alpha", 500)+"\n</file>"))
	file.Machine = true
	for _, test := range []struct {
		name    string
		in      chat.Transcript
		keep    string
		summary bool
	}{
		{name: "a protected file", in: join(chat.Transcript{old[0], guarded(as("p", said(chat.Assistant, 400, 3)))}, old[1:], chat.Transcript{guarded(file)}, turns("e", 4, 200)), keep: "p file"},
		{name: "an open group", in: join(old, turns("e", 2, 200), reads("alpha", 500)), keep: "alpha-call alpha"},
		{name: "a result that no assistant message follows", in: join(old, reads("alpha", 500), asked), keep: "alpha-call alpha"},
		{name: "a file that no assistant message follows", in: join(old, chat.Transcript{file}, asked), keep: "file"},
		{name: "the session summary", in: join(chat.Transcript{old[0], summary(chat.Assistant)}, old[1:], turns("e", 4, 200)), keep: "summary-1", summary: true},
		{name: "the session summary as a system message", in: join(chat.Transcript{old[0], summary(chat.System)}, old[1:], turns("e", 4, 200)), keep: "summary-1", summary: true},
	} {
		for _, level := range []levels.Name{levels.SoftName, levels.HardName, levels.Emergency} {
			if test.summary && level == levels.Emergency {
				continue // a new summary replaces it
			}
			s := loaded(t, tiercompact.Config{Window: 100000}, test.in...)
			var want chat.Transcript
			for id := range strings.FieldsSeq(test.keep) {
				m, _ := byID(s, id)
				want = append(want, m)
			}
			compactTo(t, s, level)
			if err := held(want, s.Messages()); err != nil {
				t.Errorf("%s, %s: %v\n%s", test.name, level, err, show(s.Messages()))
			}
		}
	}
}

func TestAnUnansweredCallFurtherUpIsNotOpen(t *testing.T) {
	lost := rated("lost", chat.Assistant, .01)
	lost.Parts = append(lost.Parts, chat.Part{Kind: chat.Call, ID: "never", Name: "bash", Args: "{}"})
	s := hardOn(t, tiercompact.Config{Policy: tiercompact.PolicyConfig{NoPinFirstUser: true}}, join(chat.Transcript{lost}, alternating(.9), newest())...)
	if _, ok := byID(s, "lost"); ok {
		t.Errorf("a call that was never answered stays\n%s", show(s.Messages()))
	}
}

func TestRewrittenMessagesStayAsTheyAre(t *testing.T) {
	settled := func(t *testing.T) (*tiercompact.Session, chat.Message) {
		s := loaded(t, tiercompact.Config{Window: 100000, Policy: tiercompact.PolicyConfig{NoPinFirstUser: true}, Embed: tiercompact.EmbedConfig{Embedder: scored{}}}, join(chat.Transcript{user("start")}, reads("alpha", 2000), turns("", 4, 100))...)
		compactTo(t, s, levels.SoftName)
		fill(t, s, 0, newest()...)
		m, _ := byID(s, "alpha")
		if m.State != chat.Outlined {
			t.Fatalf("alpha is %q", m.State)
		}
		return s, m
	}
	s, was := settled(t)
	compactTo(t, s, levels.SoftName)
	if now, _ := byID(s, "alpha"); !unchanged(was, now) {
		t.Error("soft has edited an outline again")
	}
	for _, level := range []levels.Name{levels.HardName, levels.Emergency} {
		s, _ := settled(t)
		compactTo(t, s, level)
		if _, ok := byID(s, "alpha"); ok {
			t.Errorf("%s may take an outline out, and did not\n%s", level, show(s.Messages()))
		}
	}
}
