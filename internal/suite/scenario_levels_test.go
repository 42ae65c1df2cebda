package suite

import (
	"slices"
	"strings"
	"testing"

	tiercompact "github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/levels"
	"github.com/tiercompact/tiercompact/trace"
)

// outlines returns the ids of what was outlined, in order.
func outlines(s *tiercompact.Session) string {
	var out []string
	for _, m := range s.Messages() {
		if m.State == chat.Outlined {
			out = append(out, m.ID)
		}
	}
	return strings.Join(out, " ")
}

func TestSoftCompressesEveryStaleFileInOnePass(t *testing.T) {
	s := loaded(t, tiercompact.Config{Window: 20000}, join(chat.Transcript{user("start")}, reads("alpha", 4000), reads("beta", 3000), reads("gamma", 3000), turns("", 2, 700))...)
	r := add(t, s, user("look at gamma.go once more"))
	if r.Picked != levels.SoftName || outlines(s) != "alpha beta" || len(s.Messages()) != 12 {
		t.Errorf("at %d of 20,000 picked %s; outlined are %q of %d messages", r.Before, r.Picked, outlines(s), len(s.Messages()))
	}
}

func TestAFileIsStaleThreeMessagesAfterItsLastReference(t *testing.T) {
	edit := chat.Message{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Call, ID: "e", Name: "read", Args: `{"path":"alpha.go","offset":1,"limit":2}`}}}
	for _, test := range []struct {
		name   string
		behind chat.Transcript // the file
		want   string
	}{
		{"two messages behind it", chat.Transcript{reply("read"), user("good")}, ""},
		{"three", chat.Transcript{reply("read"), user("good"), reply("what next?")}, "alpha"},
		{"its path, two ago", chat.Transcript{reply("read"), user("alpha.go is it"), reply("yes"), user("good")}, ""},
		{"its path, three ago", chat.Transcript{reply("read"), user("alpha.go is it"), reply("yes"), user("good"), reply("next?")}, "alpha"},
		{"a name that it alone defines", chat.Transcript{reply("read"), user("good"), reply("loadalpha3(9) fails"), user("fix that")}, ""},
		{"a word that stands in it", chat.Transcript{reply("read"), user("good"), reply("the package returns"), user("fix that")}, "alpha"},
		{"a read of a part of it", chat.Transcript{reply("read"), user("good"), edit, chat.NewResult("e", "package alpha\n")}, ""},
	} {
		s := loaded(t, tiercompact.Config{Window: 100000}, join(chat.Transcript{user("start")}, reads("alpha", 2000), test.behind)...)
		if compactTo(t, s, levels.SoftName); outlines(s) != test.want {
			t.Errorf("%s: outlined is %q, want %q", test.name, outlines(s), test.want)
		}
	}
}

// afterFour is a conversation of 92 %, pinned or not, with a file among the last four.
func afterFour(t *testing.T, cfg tiercompact.Config) (*tiercompact.Session, tiercompact.Report) {
	t.Helper()
	cfg.Window, cfg.Policy.HardCapBuffer = 20000, tiercompact.Tokens(0)
	s := loaded(t, cfg, join(turns("", 6, 1000), reads("alpha", 3000), reads("beta", 3000), chat.Transcript{as("r", reply("read"))})...)
	return s, add(t, s, as("last", said(chat.User, 18400-s.Usage().Tokens, 77)))
}

func TestEmergencyKeepsFourMessagesBesideOneSummary(t *testing.T) {
	for _, test := range []struct {
		noPin bool
		want  string
	}{
		{true, "summary-1 beta-call beta r last"},
		{false, "u0 summary-1 beta-call beta r last"},
	} {
		s, r := afterFour(t, tiercompact.Config{Policy: tiercompact.PolicyConfig{NoPinFirstUser: test.noPin}})
		if r.Picked != levels.Emergency || !slices.Equal(applied(r), []levels.Name{levels.Emergency}) {
			t.Fatalf("at %d of 20,000 picked %s, applied %v", r.Before, r.Picked, applied(r))
		}
		if err := sameIDs(s.Messages(), test.want); err != nil {
			t.Errorf("pin off %t: %v", test.noPin, err)
		}
	}
}

func TestEmergencyCompressesFilesThatAreNotStale(t *testing.T) {
	if s, _ := afterFour(t, tiercompact.Config{}); outlines(s) != "beta" {
		t.Errorf("outlined is %q, want the file that was just read", outlines(s))
	}
}

func TestEmergencyKeepsAGroupThatReachesIntoTheLastFour(t *testing.T) {
	call := as("call", calling("p", "q", "r"))
	s := loaded(t, tiercompact.Config{Window: 10000, Policy: tiercompact.PolicyConfig{NoPinFirstUser: true}}, join(turns("", 4, 800), chat.Transcript{
		call, as("p", chat.NewResult("p", "one")), as("q", chat.NewResult("q", "two")), as("r", chat.NewResult("r", "three")),
		as("said", reply("ran")), as("more", user("more")), as("end", reply("done")),
	})...)
	compactTo(t, s, levels.Emergency)
	if err := sameIDs(s.Messages(), "summary-1 call p q r said more end"); err != nil {
		t.Error(err)
	}
}

// cascading is a conversation of usage tokens of 20,000, most of it a stale file of n.
func cascading(t *testing.T, cfg tiercompact.Config, usage, n int) (*tiercompact.Session, tiercompact.Report) {
	t.Helper()
	cfg.Window, cfg.Escalation, cfg.Policy.HardCapBuffer = 20000, tiercompact.Cascade, tiercompact.Tokens(0)
	s := loaded(t, cfg, join(chat.Transcript{user("start")}, reads("alpha", n))...)
	each := (usage - s.Usage().Tokens) / 9
	for _, m := range turns("", 4, each) {
		fill(t, s, 0, m)
	}
	return s, add(t, s, said(chat.User, usage-s.Usage().Tokens, 90))
}

func TestCascadeTriesSoftFirstAndStopsIfThatIsEnough(t *testing.T) {
	for _, test := range []struct {
		usage, file int
		picked      levels.Name
		want        []levels.Name
	}{
		{16000, 8000, levels.HardName, []levels.Name{levels.SoftName}},
		{18500, 9000, levels.Emergency, []levels.Name{levels.SoftName}},
		{16000, 1000, levels.HardName, []levels.Name{levels.SoftName, levels.HardName}},
		{18500, 1000, levels.Emergency, []levels.Name{levels.SoftName, levels.Emergency}}, // no hard before it
	} {
		_, r := cascading(t, tiercompact.Config{}, test.usage, test.file)
		if r.Picked != test.picked || !slices.Equal(applied(r), test.want) {
			t.Errorf("at %d, a file of %d: picked %s, applied %v, want %v", r.Before, test.file, r.Picked, applied(r), test.want)
		}
	}
}

func TestALevelAskedForByNameIsAppliedWithoutCascade(t *testing.T) {
	for _, level := range []levels.Name{levels.SoftName, levels.HardName, levels.Emergency} {
		want := []levels.Name{level}
		_, r := cascading(t, tiercompact.Config{Level: level}, 15500, 3000)
		if r.Picked != level || !slices.Equal(applied(r), want) {
			t.Errorf("Config.Level %s: picked %s, applied %v", level, r.Picked, applied(r))
		}
		s := loaded(t, tiercompact.Config{Window: 100000, Escalation: tiercompact.Cascade}, join(chat.Transcript{user("start")}, reads("alpha", 3000), turns("", 6, 300))...)
		if r = compactTo(t, s, level); r.Picked != level || !slices.Equal(applied(r), want) {
			t.Errorf("CompactLevel %s: picked %s, applied %v", level, r.Picked, applied(r))
		}
	}
}

func TestSeveralLevelsAreOneRound(t *testing.T) {
	store := archive.NewMemory()
	cfg := tiercompact.Config{Archive: store}
	heard := hearing(&cfg)
	s, r := cascading(t, cfg, 16000, 1000)
	if len(r.Applied) != 2 || steps(t, store) != 1 || len(eventsOf[trace.Archival](*heard)) != 1 {
		t.Fatalf("applied %v in %d steps", applied(r), steps(t, store))
	}
	if l := eventsOf[trace.LevelApplied](*heard); l[0].PrefillTokens != 0 || l[1].PrefillTokens != r.Prefill {
		t.Errorf("the levels prefill %d and %d, the round %d", l[0].PrefillTokens, l[1].PrefillTokens, r.Prefill)
	}
	for i, want := range []string{tiercompact.InCooldown, tiercompact.InCooldown} {
		if r := add(t, s, said([]chat.Role{chat.Assistant, chat.User}[i], 1500, 95+i)); r.Reason != want {
			t.Errorf("message %d after the round: %q", i+1, r.Reason)
		}
	}
	if _, err := s.Undo(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(s.Messages()); n != 14 || outlines(s) != "" {
		t.Errorf("one undo leaves %d messages, outlined %q", n, outlines(s))
	}
}

func TestARoundIsAtomic(t *testing.T) {
	cfg := tiercompact.Config{Archive: failing{archive.NewMemory(), always, always}, Window: 20000, Escalation: tiercompact.Cascade}
	in := join(chat.Transcript{user("start")}, reads("alpha", 1000), turns("", 4, 1600))
	s := loaded(t, cfg, in...)
	before := s.Messages()
	r, err := s.AddMessage(t.Context(), as("new", said(chat.User, 2500, 90)))
	if err == nil || r.Compacted() {
		t.Fatalf("the archive refuses, and the round says %v (%v)", applied(r), err)
	}
	if err := held(append(before, as("new", said(chat.User, 2500, 90))), s.Messages()); err != nil || len(s.Messages()) != len(before)+1 {
		t.Errorf("%d messages, %v", len(s.Messages()), err)
	}
}
