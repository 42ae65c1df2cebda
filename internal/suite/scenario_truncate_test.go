package suite

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	tiercompact "github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/levels"
)

// logged returns a tool output of about n tokens, with an error in its middle.
func logged(n, salt int) string {
	return "first line of the log\n" + prose(n/2, salt) + "\nerror: disk 7 exploded\n" + prose(n/2, salt+50) + "\nlast line of the log\n"
}

// tight is a session of 4,000 tokens without a buffer.
func tight(t *testing.T, messages ...chat.Message) *tiercompact.Session {
	t.Helper()
	return loaded(t, tiercompact.Config{Window: 4000, Policy: tiercompact.PolicyConfig{HardCapBuffer: tiercompact.Tokens(0)}}, messages...)
}

// fits holds that a round that ended in fit left at most an eighth less than
// the budget of what is not fixed.
func fits(t *testing.T, s *tiercompact.Session, r tiercompact.Report, fixed int) {
	t.Helper()
	if got := applied(r); len(got) == 0 || got[len(got)-1] != levels.FitName {
		t.Errorf("applied %v (%s), want fit at the end", got, r.Reason)
	}
	if most := 4000 - (4000-fixed)/8; r.After > most {
		t.Errorf("%d tokens are left, want at most %d: an eighth free", r.After, most)
	}
}

func TestOverTheBudgetEmergencyThenFitFollowThePickedLevelAndNeverHard(t *testing.T) {
	s := tight(t, turns("", 6, 100)...)
	fill(t, s, 0, calling("p"))
	r := add(t, s, chat.NewResult("p", logged(4000, 1)))
	if got := fmt.Sprint(applied(r)); got != "[emergency fit]" {
		t.Errorf("over the budget applied %s", got)
	}
	s = loaded(t, tiercompact.Config{Window: 10000, Policy: tiercompact.PolicyConfig{Reserve: 4000, HardCapBuffer: tiercompact.Tokens(0)}}, join(turns("", 10, 200), reads("alpha", 1000), turns("e", 2, 300))...)
	if r = add(t, s, user("go on")); r.Picked != levels.SoftName || fmt.Sprint(applied(r)) != "[soft]" {
		t.Errorf("at %d of 10,000, the budget 6,000: picked %s, applied %v", r.Before, r.Picked, applied(r))
	}
	s = loaded(t, tiercompact.Config{Window: 10000, Policy: tiercompact.PolicyConfig{Reserve: 4000, HardCapBuffer: tiercompact.Tokens(0)}}, turns("", 16, 200)...)
	if r = add(t, s, user("go on")); r.Picked != levels.SoftName || fmt.Sprint(applied(r)) != "[emergency]" {
		t.Errorf("without a file: picked %s, applied %v", r.Picked, applied(r))
	}
}

func TestFitCutsTheLargestOutputFirstToHeadErrorsAndTail(t *testing.T) {
	s := tight(t, user("run all"), calling("p", "q"), as("q", chat.NewResult("q", logged(900, 1))))
	r := add(t, s, as("p", chat.NewResult("p", logged(3500, 5))))
	fits(t, s, r, 0)
	small, _ := byID(s, "q")
	if big, _ := byID(s, "p"); small.Text() != logged(900, 1) || big.State != chat.Outlined {
		t.Fatalf("the small one is %q, the large one %q", small.State, big.State)
	} else {
		for _, want := range []string{"first line of the log", "error: disk 7 exploded", "last line of the log"} {
			if !strings.Contains(big.Text(), want) {
				t.Errorf("%q was cut out:\n%s", want, big.Text())
			}
		}
	}
}

func TestFitCutsFileBodies(t *testing.T) {
	s := tight(t, user("start"), reply("yes?"))
	r, err := s.AddFile(t.Context(), "alpha.go", source("alpha", 5000))
	if err != nil {
		t.Fatal(err)
	}
	fits(t, s, r, 0)
	if m := s.Messages()[len(s.Messages())-1]; !strings.Contains(m.Text(), "alpha.go") || !strings.Contains(m.Text(), "package alpha") {
		t.Errorf("the file is now\n%s", m.Text())
	}
}

func TestFitCutsStringLeavesOfArguments(t *testing.T) {
	args, _ := json.Marshal(map[string]any{"path": "alpha.go", "content": source("alpha", 5000), "mode": 420})
	call := as("call", chat.Message{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Call, ID: "w", Name: "write", Args: string(args)}}})
	s := tight(t, user("write it"))
	fits(t, s, add(t, s, call), 0)
	m, _ := byID(s, "call")
	var now struct {
		Path    string
		Content string `json:"content_left_out"`
		Mode    int
	}
	if err := json.Unmarshal([]byte(m.Parts[0].Args), &now); err != nil || now.Path != "alpha.go" || now.Mode != 420 || now.Content == "" || len(now.Content) > 8000 {
		t.Errorf("%v; the arguments are now %.200s", err, m.Parts[0].Args)
	}
}

func TestFitFreesAnEighthSoThatTheNextMessageDoesNotCallItAgain(t *testing.T) {
	for name, in := range map[string]chat.Transcript{
		"outputs": {guarded(said(chat.System, 800, 9)), user("run all"), calling("p", "q", "r"), chat.NewResult("p", logged(1200, 1)), chat.NewResult("q", logged(1100, 3)), chat.NewResult("r", logged(1000, 5))},
		"prose":   {guarded(said(chat.System, 800, 9)), user("start"), said(chat.Assistant, 1200, 1), user("go on"), said(chat.Assistant, 1150, 3), said(chat.Assistant, 1000, 5)},
	} {
		s := tight(t, in[:len(in)-1]...)
		fits(t, s, add(t, s, in[len(in)-1]), 800)
		if r := add(t, s, user("and now?")); r.Compacted() {
			t.Errorf("%s: the next message makes %v again", name, applied(r))
		}
	}
}

// thought returns an assistant message of n tokens that no level may cut.
func thought(id string, n int) chat.Message {
	return as(id, chat.Message{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Thinking, Text: prose(n, len(id))}, {Kind: chat.Text, Text: id}}})
}

func TestFitCutsSummaryAndProseBeforeItDropsMessages(t *testing.T) {
	s := tight(t, join(turns("", 8, 200), chat.Transcript{as("k1", said(chat.Assistant, 1300, 1)), as("k2", said(chat.User, 600, 2)), as("k3", said(chat.Assistant, 1900, 3))})...)
	r := add(t, s, as("k4", user("go on")))
	fits(t, s, r, 0)
	if err := sameIDs(s.Messages(), "u0 summary-1 k1 k2 k3 k4"); err != nil {
		t.Error(err)
	}
	if k3, _ := byID(s, "k3"); k3.State != chat.Outlined || !strings.Contains(k3.Text(), "recall") {
		t.Errorf("the longest prose is %q", k3.State)
	}
	if sum, _ := byID(s, "summary-1"); !strings.HasPrefix(sum.Text(), "<COMPACT-SUMMARY v1>\n## Facts on record") {
		t.Errorf("the summary is more than its facts:\n%s", sum.Text())
	}
}

func TestFitGoesFromFourMessagesToTwoToOne(t *testing.T) {
	for _, test := range []struct {
		each int
		want string
	}{
		{900, "first summary-1 k1 k2 k3 k4"},
		{1500, "first summary-1 k3 k4"},
		{3000, "first summary-1 k4"},
	} {
		s := tight(t, join(chat.Transcript{as("first", user("start"))}, turns("", 4, 100)[1:3:3], chat.Transcript{as("x", reply("x"))}, chat.Transcript{thought("k1", test.each), thought("k2", test.each), thought("k3", test.each)})...)
		if _, err := s.AddMessage(t.Context(), thought("k4", test.each)); err != nil {
			t.Errorf("%d each: %v", test.each, err)
		}
		got := strings.Join(ids(s.Messages()), " ")
		if got = strings.Replace(got, " u1", "", 1); got != test.want {
			t.Errorf("%d each: left are %s, want %s", test.each, got, test.want)
		}
	}
}

func TestInsufficientBudgetReportsTheFloor(t *testing.T) {
	s := tight(t, guarded(said(chat.System, 900, 1)), said(chat.Developer, 100, 2), said(chat.User, 300, 3), guarded(said(chat.Assistant, 1200, 4)))
	s.SetTools([]byte(prose(800, 5)))
	fill(t, s, 0, join(flow(4, 500), chat.Transcript{reply("ran")})...)
	_, err := s.AddMessage(t.Context(), said(chat.User, 1300, 6))
	var budget *tiercompact.BudgetError
	if !errors.As(err, &budget) || !errors.Is(err, tiercompact.ErrInsufficientBudget) {
		t.Fatalf("error is %v", err)
	}
	if budget.System != 1000 || budget.Tools != 800 || budget.Pinned != 1500 || budget.Last != 1300 {
		t.Errorf("the floor is told as %+v", *budget)
	}
	for _, want := range []string{"4000 allowed", "system 1000", "tools 800", "pinned 1500", "last turn 1300", "protect less", "larger window"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q: %v", want, err)
		}
	}
	if u := s.Usage(); u.Tokens > 4600+300 {
		t.Errorf("%d tokens are left: the floor is 4,600 and stubs", u.Tokens)
	}
}

func TestFitCutsTheMiddleOfALongPinnedMessage(t *testing.T) {
	task := "the task is to port it\n" + strings.ReplaceAll(prose(3000, 1), "0 ", "0\n") + "\nand never drop port 8080"
	for _, test := range []struct {
		name   string
		noPin  bool
		behind chat.Transcript
		cut    bool
	}{
		{"further up", false, join(flow(1, 300), chat.Transcript{reply("ran"), user("go on"), thought("t", 2000)}), true},
		{"as the latest user message", false, chat.Transcript{thought("t", 2000)}, true},
		{"as the latest, where nothing is pinned", true, chat.Transcript{thought("t", 2000)}, false},
	} {
		s := loaded(t, tiercompact.Config{Window: 4000, Policy: tiercompact.PolicyConfig{HardCapBuffer: tiercompact.Tokens(0), NoPinFirstUser: test.noPin}}, as("task", user(task)))
		fill(t, s, 0, test.behind...)
		_, err := s.Check(t.Context())
		m, ok := byID(s, "task")
		switch {
		case !ok:
			t.Errorf("%s: the message is gone", test.name)
		case !test.cut && (m.Text() != task || !errors.Is(err, tiercompact.ErrInsufficientBudget)):
			t.Errorf("%s: %d bytes are left of %d, error %v", test.name, len(m.Text()), len(task), err)
		case test.cut && (err != nil || s.Usage().Tokens > 4000 || s.Usage().Tokens < 3000 || !strings.Contains(m.Text(), "the task is to port it") || !strings.Contains(m.Text(), "and never drop port 8080")):
			t.Errorf("%s: %v; %d bytes\n%s", test.name, err, len(m.Text()), m.Text())
		}
	}
	s := tight(t, user("the task is to port it\n"+strings.ReplaceAll(prose(775, 1), "0 ", "0\n")))
	fill(t, s, 0, thought("t", 3300))
	if _, err := s.Check(t.Context()); !errors.Is(err, tiercompact.ErrInsufficientBudget) || s.Messages()[0].State != chat.Active {
		t.Errorf("a pinned message below a fifth of the budget is %q: %v", s.Messages()[0].State, err)
	}
}

// The first user message stays whole if the conversation fits with the rest cut. If not,
// it keeps what the rest leaves of the budget, or half of it.
func TestFitCutsTheFirstMessageNoDeeperThanNeeded(t *testing.T) {
	words := strings.Repeat("The rule holds. ", 2000) // one line
	for _, test := range []struct {
		name        string
		task        int // tokens of the first message
		behind      chat.Transcript
		least, most int // of its tokens that stay
		recall      bool
	}{
		{"alone", 6000, nil, 3000, 3500, true},
		{"with a short turn", 6000, chat.Transcript{reply("Yes."), user("Go on.")}, 3000, 3500, true},
		{"with long results", 6000, join(chat.Transcript{reply("Yes.")}, flow(6, 900), chat.Transcript{user("Go on.")}), 1900, 3500, true},
		{"nothing is archived", 6000, chat.Transcript{reply("Yes."), user("Go on.")}, 3000, 3500, false},
		{"large, but it fits", 2500, join(chat.Transcript{reply("Yes.")}, flow(6, 900), chat.Transcript{user("Go on.")}), 2500, 2500, true},
	} {
		for _, text := range []string{words, strings.ReplaceAll(words, ". ", ".\n"), strings.Repeat("字", 16000)} {
			task := "Build the exporter. " + strings.ToValidUTF8(text[:4*test.task-60], "") + "\nPort 8080 stays closed in each of them."
			s := loaded(t, tiercompact.Config{Window: 4000, NoRecall: !test.recall, Policy: tiercompact.PolicyConfig{HardCapBuffer: tiercompact.Tokens(0)}}, as("task", user(task)))
			fill(t, s, 0, test.behind...)
			report, err := s.Check(t.Context())
			m, _ := byID(s, "task")
			cut := test.most < test.task
			switch left := len(m.Text()) / 4; {
			case err != nil || left < test.least-15 || left > test.most+15:
				t.Errorf("%s: %d of %d tokens stay, want %d to %d: %v", test.name, left, test.task, test.least, test.most, err)
			case !strings.Contains(m.Text(), "Build the exporter. ") || !strings.HasSuffix(m.Text(), "stays closed in each of them.") || !utf8.ValidString(m.Text()):
				t.Errorf("%s: head or tail is missing: %.100q", test.name, m.Text())
			case cut != strings.Contains(m.Text(), "\n[the middle is left out") || (cut && test.recall) != strings.Contains(m.Text(), "; recall "+m.Recall+"]"):
				t.Errorf("%s: the message does not say what is left out", test.name)
			case cut && !strings.Contains(fmt.Sprint(report.Warnings), "the first user message does not fit"):
				t.Errorf("%s: the report does not say it: %q", test.name, report.Warnings)
			}
		}
	}
}
