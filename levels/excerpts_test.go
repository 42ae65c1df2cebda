package levels_test

import (
	"context"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/edit"
	"github.com/tiercompact/tiercompact/levels"
	"github.com/tiercompact/tiercompact/summarize"
)

// folded replaces all but the newest keep messages of t with a summary that fills the
// conversation up to target tokens.
func folded(t *testing.T, in chat.Transcript, keep, target int) chat.Transcript {
	t.Helper()
	v := viewOf(in)
	cut := levels.EmergencyCut(v, keep, chat.Assistant)
	s, err := levels.Writer{Summarizer: summarize.Extractive{}, Max: 200, Facts: 200, Ledger: 100, Target: target, Number: 1}.Write(context.Background(), v, cut)
	if err != nil {
		t.Fatal(err)
	}
	edits, err := edit.Separate(v.Messages, levels.SummaryEdits(v, cut, s.Message, "summarised"), v.Separator(levels.Emergency))
	if err != nil {
		t.Fatal(err)
	}
	out := applied(t, v, edits)
	for i := range out {
		out[i].ID = "before " + out[i].ID
	}
	return out
}

func summaryOf(t *testing.T, in chat.Transcript) string {
	t.Helper()
	at := chat.Newest(in, chat.Message.IsSummary)
	if at < 0 {
		t.Fatal("no summary")
	}
	return in[at].Text()
}

// steps is a file of functions whose names are identifiers.
func steps() string { return strings.ReplaceAll(goFile(9000), "Step", "runStep") }

// working has a file read, one step of it edited, and another step in talk.
func working() *script {
	s := (&script{}).say(chat.User, "Let the steps log what they do.")
	s.call("Read", map[string]any{"file_path": "big.go"}, steps())
	s.call("Edit", map[string]any{"file_path": "big.go", "old_string": "\tfmt.Println(in, 7)\n", "new_string": "\tlog.Printf(\"step seven: %s\", in)\n"}, "The file big.go has been updated.")
	s.say(chat.User, "Now the same in runStep12 please, runStep12 is called most.")
	return s.say(chat.Assistant, "runStep12 comes next: I change the line of runStep12 that prints.")
}

func TestSummaryHoldsTheFilesAtWork(t *testing.T) {
	text := summaryOf(t, folded(t, working().t, 2, 1500))
	for _, want := range []string{`<file path="big.go" edited="yes">`, "\tfmt.Println(in, 12)\n", "\tlog.Printf(\"step seven: %s\", in)\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not at hand in:\n%s", want, text)
		}
	}
	if strings.Contains(text, "fmt.Println(in, 7)") {
		t.Error("text is at hand that an edit has taken away")
	}
}

func TestFilesAtHandKeepTheirRoom(t *testing.T) {
	in := working().t
	for _, target := range []int{0, 400, 600, 900, 1500, 2500} {
		out := folded(t, in, 2, target)
		has := strings.Contains(summaryOf(t, out), "<file path=")
		if has != (target > 0) {
			t.Errorf("target %d: parts of files are there: %v", target, has)
		}
		if n := total(out) - 10; has && n > target { // less what may have to part two messages
			t.Errorf("%d tokens are left, want at most %d", n, target)
		}
	}
}

// Excerpts survive the next summary, after the file itself has left the conversation;
// edited text is shown in its present form.
func TestFilesAtHandAreCarriedOver(t *testing.T) {
	s := &script{t: folded(t, working().t, 2, 1500)}
	s.call("Edit", map[string]any{"file_path": "big.go", "old_string": "\tfmt.Println(in, 12)\n", "new_string": "\tlog.Printf(\"step twelve: %s\", in)\n"}, "The file big.go has been updated.")
	s.say(chat.Assistant, "runStep12 is done, runStep7 was done before.")
	s.say(chat.User, "Show runStep12 again.").say(chat.Assistant, "Here is runStep12.")
	text := summaryOf(t, folded(t, s.t, 2, 1500))
	if !strings.Contains(text, "func runStep12(in string) error {\n") || !strings.Contains(text, "step twelve: %s") || strings.Contains(text, "fmt.Println(in, 12)") {
		t.Errorf("runStep12 is not at hand as it reads now:\n%s", text)
	}
}

// Text that stays in the conversation is not repeated.
func TestFilesAtHandStandNowhereElse(t *testing.T) {
	s := working()
	s.call("Read", map[string]any{"file_path": "big.go"}, steps())
	if text := summaryOf(t, folded(t, s.t, 2, 6000)); strings.Contains(text, "func runStep12(") {
		t.Errorf("the newest read has it:\n%s", text)
	}
}

func TestSoftFillsUpToItsTarget(t *testing.T) {
	s := (&script{}).say(chat.User, "Read these.")
	for _, name := range []string{"a.go", "b.go", "c.go"} {
		s.call("Read", map[string]any{"file_path": name}, strings.ReplaceAll(goFile(16000), "Step", "In"+name[:1]))
	}
	v := viewOf(s.talk(6).t)
	least := total(applied(t, v, must(levels.Soft{}.Plan(context.Background(), v))))
	for _, target := range []int{least / 2, least, 2 * least} {
		n := total(applied(t, v, must(levels.Soft{}.Fill(context.Background(), v, target))))
		if n > max(least, target) || target > least && n < target*3/4 {
			t.Errorf("target %d: %d tokens are left, %d by the caps", target, n, least)
		}
	}
}

// A file is at hand once, under one path, and marked if it was edited.
func TestAFileIsAtHandOnce(t *testing.T) {
	s := (&script{}).say(chat.User, "Change the steps in big.go.")
	s.call("Read", map[string]any{"file_path": "/srv/shop/big.go"}, steps())
	s.call("Edit", map[string]any{"file_path": "big.go", "old_string": "\tfmt.Println(in, 7)\n", "new_string": "\tlog.Printf(\"step seven: %s\", in)\n"}, "The file big.go has been updated.")
	s.say(chat.User, "Now the same in runStep12 please, runStep12 is called most.")
	s.say(chat.Assistant, "runStep12 comes next: I change the line of runStep12 that prints.")
	text := summaryOf(t, folded(t, s.t, 2, 1500))
	if strings.Count(text, "<file path=") != 1 || !strings.Contains(text, `<file path="/srv/shop/big.go" edited="yes">`) || strings.Contains(text, "@@ ?") {
		t.Errorf("at hand:\n%s", text)
	}
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(line, "func ") && strings.Count(text, line) > 1 {
			t.Errorf("twice: %s", line)
		}
	}
}

// A name that an edit replaced everywhere is replaced in the lines at hand, and is no line
// by itself.
func TestAnEditOfEachOccurrenceIsMadeAtHand(t *testing.T) {
	s := (&script{}).say(chat.User, "Rename the parameter of the steps.")
	s.call("Read", map[string]any{"file_path": "big.go"}, steps())
	s.call("Edit", map[string]any{"file_path": "big.go", "old_string": "fmt.Println(in", "new_string": "fmt.Println(payload", "replace_all": true}, "The file big.go has been updated.")
	s.say(chat.User, "Now look at runStep12 please, runStep12 is called most.")
	s.say(chat.Assistant, "runStep12 comes next: I change the line of runStep12 that prints.")
	text := summaryOf(t, folded(t, s.t, 2, 1500))
	if !strings.Contains(text, "\tfmt.Println(payload, 12)\n") || strings.Contains(text, "fmt.Println(in") || strings.Contains(text, "\nfmt.Println(payload\n") {
		t.Errorf("at hand:\n%s", text)
	}
}
