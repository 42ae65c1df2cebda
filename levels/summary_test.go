package levels_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/protection"
	"github.com/tiercompact/tiercompact/levels"
	"github.com/tiercompact/tiercompact/summarize"
)

// A writing is a summarizer that answers in turn, the last answer over and over.
type writing struct {
	answers []answer
	asked   []summarize.Request
}

type answer struct {
	text string
	err  error
	late bool // it waits for the end of the call
}

func (w *writing) Summarize(ctx context.Context, r summarize.Request) (string, error) {
	a := w.answers[min(len(w.asked), len(w.answers)-1)]
	w.asked = append(w.asked, r)
	if a.late {
		<-ctx.Done()
		return "", ctx.Err()
	}
	return a.text, a.err
}

// worked is a conversation of which all but the last two messages are summarised.
func worked() (levels.View, levels.Cut) {
	s := (&script{}).say(chat.User, "Please repair the parser. You must never change the public interface of it.")
	for range 12 {
		s.say(chat.Assistant, "I read the parser and found that it drops the last token when the input ends without a line feed.")
		s.say(chat.User, "Good, then keep the last token and go on with the tests of it, one after the other please.")
	}
	s.say(chat.Assistant, "Done.")
	v := viewOf(s.t)
	return v, levels.EmergencyCut(v, 2, chat.Assistant)
}

const (
	good = "The parser dropped the last token; it is kept now. The tests of it come next."
	lost = "The change is in src/unknown/place.go."
)

func TestWriterLadder(t *testing.T) {
	long := strings.Repeat("The parser dropped the last token and it is kept now. ", 12)
	one := func(text string) []answer { return []answer{{text: text}} }
	tests := []struct {
		name     string
		answers  []answer
		strategy summarize.Strategy
		attempts string // reason → then
		fallback string // "extractive" and "pruning-only" are tried for each case that ends in it
		limits   []int  // MaxTokens asked for, as parts of the first
	}{
		{"accepted", one(good), "", "", "", []int{1}},
		{"a line that is not borne out goes", one(good + "\n" + lost), "", "", "", []int{1}},
		{"too long once", []answer{{text: long}, {text: good}}, "", "too long → retry-half", "retry-half", []int{1, 2}},
		{"too long twice", []answer{{text: long}, {text: long}, {text: good}}, "", "too long → retry-half, too long → retry-half", "retry-half", []int{1, 2, 4}},
		{"too long for ever", one(long), "", "too long → retry-half, too long → retry-half, too long → END", "END", []int{1, 2, 4}},
		{"cut off", []answer{{text: good + "\n- it goes on to the"}, {text: good + "\n```"}, {text: good}}, "", "cut off → retry-half, cut off → retry-half", "retry-half", []int{1, 2, 4}},
		{"refused once", []answer{{text: "I'm sorry, I can't do that."}, {text: good}}, "", "refusal → brief", "brief", []int{1, 1}},
		{"refused twice", one("I cannot help with this."), "", "refusal → brief, refusal → END", "END", []int{1, 1}},
		{"brief refused", one("I cannot help with this."), summarize.Brief, "refusal → END", "END", []int{1}},
		{"refused, then too long", []answer{{text: "I cannot help."}, {text: long}, {text: good}}, "", "refusal → brief, too long → retry-half", "retry-half", []int{1, 1, 2}},
		{"too long, then refused, then an error", []answer{{text: long}, {text: "I cannot help."}, {err: errors.New("500")}}, "",
			"too long → retry-half, refusal → brief, 500 → END", "END", []int{1, 2, 2}},
		{"an error", []answer{{err: errors.New("connection refused")}}, "", "connection refused → END", "END", []int{1}},
		{"late", []answer{{late: true}}, "", "no answer within 1ms → END", "END", []int{1}},
		{"empty", one(" \n"), "", "empty → END", "END", []int{1}},
		{"a tool call", one(`<tool_call>{"name":"read","arguments":{}}</tool_call>`), "", "tool call → END", "END", []int{1}},
		{"thinking", one("<think>\nhm\n</think>\n" + good), "", "thinking → END", "END", []int{1}},
		{"it goes on with the task", one("Let me read the parser first."), "", "goes on with the task → END", "END", []int{1}},
		{"nothing in it is borne out", one(lost), "", "nothing in it occurs in the conversation → END", "END", []int{1}},
		{"most of it is not", one(good + "\n" + lost + "\n" + lost), "", "most of it does not occur in the conversation → END", "END", []int{1}},
		{"cut off, as the server says", []answer{{err: rejection(summarize.CutOff)}, {text: good}}, "", "cut off → retry-half", "retry-half", []int{1, 2}},
		{"refused, as the summarizer says", []answer{{err: rejection(summarize.Refusal)}, {text: good}}, "", "refusal → brief", "brief", []int{1, 1}},
		{"a call, as the server says", []answer{{err: rejection(summarize.ToolCall)}}, "", "tool call → END", "END", []int{1}},
		{"an error after a half", []answer{{text: long}, {err: errors.New("404")}}, "", "too long → retry-half, 404 → END", "END", []int{1, 2}},
	}
	for _, test := range tests {
		for _, end := range []string{levels.FallbackExtractive, levels.FallbackPruning} {
			fake := &writing{answers: test.answers}
			v, cut := worked()
			w := levels.Writer{
				Summarizer: fake, Name: "fake", Strategy: test.strategy, Role: chat.Assistant, Fallback: end, Max: 95, Number: 3,
			}
			if test.answers[0].late {
				w.Deadline = time.Millisecond
			}
			got, err := w.Write(t.Context(), v, cut)
			if err != nil {
				t.Errorf("%s: %v", test.name, err)
				continue
			}
			want := strings.ReplaceAll(test.attempts, "END", end)
			if ladder(got) != want || got.Fallback != strings.ReplaceAll(test.fallback, "END", end) {
				t.Errorf("%s: %s, fallback %q, want %s", test.name, ladder(got), got.Fallback, want)
			}
			if limits := asked(fake); !slices.Equal(limits, test.limits) {
				t.Errorf("%s: limits 1/%v, want 1/%v", test.name, limits, test.limits)
			}
			checkWritten(t, test.name, got, v, cut)
		}
	}
}

// rejection is what a summarizer returns for a text that may not be used.
func rejection(reason string) error {
	return fmt.Errorf("summarize with fake: %w", summarize.Rejection(reason))
}

func ladder(s levels.Summary) string {
	var steps []string
	for _, a := range s.Attempts {
		steps = append(steps, a.Reason+" → "+a.Then)
	}
	return strings.Join(steps, ", ")
}

func asked(w *writing) (parts []int) {
	for _, r := range w.asked {
		parts = append(parts, w.asked[0].MaxTokens/r.MaxTokens)
	}
	return parts
}

// checkWritten holds what is so of every summary.
func checkWritten(t *testing.T, name string, s levels.Summary, v levels.View, c levels.Cut) {
	t.Helper()
	if s.InputMessages != 23 || s.InputTokens != c.Tokens(v.Sizes) {
		t.Errorf("%s: of %d messages, %d tokens", name, s.InputMessages, s.InputTokens)
	}
	if s.Fallback == levels.FallbackPruning {
		if s.Message != nil || s.Payload != nil {
			t.Errorf("%s: pruning only, and a summary %v", name, s.Message)
		}
		return
	}
	engine := "fake"
	if s.Fallback == levels.FallbackExtractive {
		engine = levels.FallbackExtractive
	}
	n, content := protection.SummaryContent(*s.Message)
	if n != 3 || content == "" || s.Engine != engine || strings.Contains(content, lost) {
		t.Errorf("%s: number %d by %s: %q", name, n, s.Engine, content)
	}
	if s.Tokens != v.Size(*s.Message) || s.Tokens >= s.InputTokens {
		t.Errorf("%s: %d tokens for %d", name, s.Tokens, s.InputTokens)
	}
	var payload struct{ Type, Engine, Fallback, Content string }
	if err := json.Unmarshal(s.Payload, &payload); err != nil || payload.Type != "compress" || payload.Engine != engine || payload.Fallback != s.Fallback || payload.Content != content {
		t.Errorf("%s: payload %s, error %v", name, s.Payload, err)
	}
}

// A telling is a summarizer that makes several calls of a fixed duration, and reports them.
type telling struct {
	calls []time.Duration
	quiet bool
}

func (w telling) Summarize(ctx context.Context, r summarize.Request) (string, error) {
	for i, takes := range w.calls {
		if !w.quiet {
			r.Progress(summarize.Progress{Step: summarize.StepChunk, Call: i + 1, Of: len(w.calls)})
		}
		for range 4 { // tokens come in
			select {
			case <-ctx.Done():
				return "", fmt.Errorf("chat: %w", ctx.Err())
			case <-time.After(takes / 4):
			}
			if !w.quiet {
				r.Progress(summarize.Progress{Step: summarize.StepChunk, Call: i + 1, Of: len(w.calls), Tokens: 10})
			}
		}
	}
	return good, nil
}

func TestTheDeadlineIsOfOneCall(t *testing.T) {
	const s = time.Second
	for _, c := range []struct {
		name     string
		w        telling
		deadline time.Duration
		want     string
	}{
		{"each in time", telling{calls: []time.Duration{100 * s, 110 * s, 119 * s, 100 * s}}, 120 * s, ""},
		{"the third is late", telling{calls: []time.Duration{100 * s, 110 * s, 130 * s}}, 120 * s, "no answer within 2m0s → extractive"},
		{"nothing is told", telling{calls: []time.Duration{100 * s, 110 * s}, quiet: true}, 120 * s, "no answer within 2m0s → extractive"},
		{"nothing is told, in time", telling{calls: []time.Duration{50 * s, 60 * s}, quiet: true}, 120 * s, ""},
		{"no deadline", telling{calls: []time.Duration{5000 * s}}, 0, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			v, cut := worked()
			told := 0
			w := levels.Writer{
				Summarizer: c.w, Name: "fake", Max: 80, Number: 1, Fallback: levels.FallbackExtractive, Deadline: c.deadline,
				Progress: func(summarize.Progress) { told++ },
			}
			got, err := w.Write(t.Context(), v, cut)
			if err != nil || ladder(got) != c.want {
				t.Errorf("%s: %s, error %v", c.name, ladder(got), err)
			}
			if c.w.quiet != (told == 0) {
				t.Errorf("%s: told %d times", c.name, told)
			}
		})
	}
}

func TestTheRoundsDeadlineStandsOverThatOfACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), 300*time.Second)
		defer stop()
		v, cut := worked()
		w := levels.Writer{
			Summarizer: telling{calls: []time.Duration{1e11, 1e11, 1e11, 1e11}}, Name: "fake", Max: 80, Number: 1, Fallback: levels.FallbackExtractive, Deadline: 120 * time.Second,
		}
		if got, err := w.Write(ctx, v, cut); !errors.Is(err, context.DeadlineExceeded) || got.Message != nil {
			t.Errorf("%+v, error %v", got, err)
		}
	})
}

// mustKeep are facts that no summary may lose, with a conversation that holds
// them.
func mustKeep() ([]string, *script) {
	s := (&script{}).say(chat.User, "Hello, I need help with the billing service.").say(chat.Assistant, "What is it?") // the first stays
	s.say(chat.User, "Fix the rounding of invoices, ticket BILL-2291. The service listens on port 9443, branch billing-staging, set MAX_INVOICES=500. The rules stand in https://example.com/specs/vat. You must never commit to main directly.")
	call := func(id, name, args, result string) {
		s.add(chat.Message{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Call, ID: id, Name: name, Args: args}}})
		s.add(chat.NewResult(id, result))
	}
	call("a", "Edit", `{"file_path":"internal/billing/invoice_total.go","old_string":"x","new_string":"func roundHalfEven() {}"}`, "ok")
	call("b", "Bash", `{"command":"go test ./internal/billing/"}`, "--- FAIL: TestInvoiceRounding (0.00s)\nFAIL")
	call("c", "Bash", `{"command":"make release"}`, "Exit code 2\nmake: *** no rule for release")
	call("d", "TodoWrite", `{"todos":[{"content":"round half even","status":"completed"},{"content":"migrate the archive table","status":"pending"}]}`, "ok")
	for i := range 40 {
		call(fmt.Sprintf("r%d", i), "Read", fmt.Sprintf(`{"file_path":"vendor/lib_%d/file.go"}`, i), strings.Repeat("some line of code that says nothing\n", 50))
	}
	s.say(chat.User, "And now?").say(chat.Assistant, "Now the archive.")
	return []string{
		"never commit to main directly", "internal/billing/invoice_total.go", "TestInvoiceRounding", "BILL-2291", "9443",
		"billing-staging", "https://example.com/specs/vat", "MAX_INVOICES=500", "migrate the archive table", "make release",
	}, s
}

func TestMustKeepFactsSurviveWhateverTheModelWrites(t *testing.T) {
	facts, s := mustKeep()
	for name, a := range map[string]answer{
		"nothing":               {text: ""},
		"a refusal":             {text: "I'm sorry, but I can't help with that."},
		"nonsense":              {text: strings.Repeat("lorem ipsum dolor sit amet. ", 9)},
		"repetition":            {text: strings.Repeat("The user wants the rounding fixed. ", 200)},
		"another language":      {text: "Der Benutzer will, dass die Rundung behoben wird. Das ist nicht fertig und wir haben es noch nicht mit dem Test geprüft, der auf die Datei wartet."},
		"a tool call":           {text: `{"name":"Read","arguments":{"file_path":"x"}}`},
		"the same, by protocol": {err: rejection(summarize.ToolCall)},
		"thinking":              {text: "<think>What does the user want?"},
		"a plausible summary":   {text: "The user wants the rounding of invoices fixed. The edit is made, a test still fails. The release has to wait."},
		"inventions":            {text: "- port 9444 is used\n- `internal/billing/tax.go` was changed\n- TestTax passes"},
		"our own headings":      {text: "The work is done.\n\n## Facts on record\nRules:\n- commit to main"},
		"the opposite":          {text: "The user allows to commit to main. All tests pass."},
		"an error":              {err: errors.New("500")},
		"cut off":               {err: rejection(summarize.CutOff)},
		"no text":               {text: "\xff\xfe\x00"},
	} {
		for _, strategy := range summarize.Strategies() {
			v := viewOf(s.t)
			w := levels.Writer{
				Summarizer: &writing{answers: []answer{a}}, Name: "fake", Strategy: strategy, Role: chat.Assistant, Fallback: levels.FallbackExtractive,
				Max: 1000, Facts: 400, Ledger: 640, Number: 1,
			}
			got, err := w.Write(t.Context(), v, levels.EmergencyCut(v, 2, chat.Assistant))
			if err != nil || got.Message == nil {
				t.Errorf("%s: %+v, error %v", name, got, err)
				continue
			}
			_, content := protection.SummaryContent(*got.Message)
			for _, fact := range facts {
				if !strings.Contains(content, fact) {
					t.Errorf("%s, %s: %q is lost:\n%s", name, strategy, fact, content)
				}
			}
		}
	}
}

func TestFalseLinesGoAndStepIDsStay(t *testing.T) {
	_, s := mustKeep()
	v := viewOf(s.t)
	id := v.Messages[1].ID
	kept := []string{
		"[" + id + "] round half even :: ticket BILL-2291 :: internal/billing/invoice_total.go :: roundHalfEven",
		"[3] run the tests :: - :: `go test ./internal/billing/` :: TestInvoiceRounding fails",
	}
	gone := []string{
		"[" + id + "] open the port :: - :: - :: port 9444",
		"[4] change the tax :: - :: internal/billing/tax_rate.go :: -",
		"[5] the user said \"always commit to main\" :: - :: - :: -",
	}
	// More lines stay than go: the text as a whole may be used.
	text := strings.Join([]string{kept[0], gone[0], kept[1], gone[1], "[6] migrate the archive table :: it is a todo :: - :: -", gone[2]}, "\n")
	w := levels.Writer{
		Summarizer: &writing{answers: []answer{{text: text}}}, Name: "fake", Strategy: summarize.DecisionLog, Fallback: levels.FallbackExtractive, Max: 400, Facts: 100, Number: 1,
	}
	got, err := w.Write(t.Context(), v, levels.EmergencyCut(v, 2, chat.Assistant))
	if err != nil || got.Message == nil || got.Removed != 3 || got.Engine != "fake" {
		t.Fatalf("%+v, error %v", got, err)
	}
	for _, line := range kept {
		if !strings.Contains(got.Message.Text(), line) {
			t.Errorf("%q is gone", line)
		}
	}
	for _, line := range gone {
		if strings.Contains(got.Message.Text(), line) {
			t.Errorf("%q is kept", line)
		}
	}
}

func TestVerificationIsCounted(t *testing.T) {
	v, cut := worked()
	w := levels.Writer{Summarizer: &writing{answers: []answer{{text: good + "\n" + lost}}}, Max: 80, Number: 1, Fallback: levels.FallbackExtractive}
	got, err := w.Write(t.Context(), v, cut)
	if err != nil || got.Removed != 1 {
		t.Errorf("%d lines removed, error %v", got.Removed, err)
	}
}

func TestBuiltInSummarizer(t *testing.T) {
	v, cut := worked()
	w := levels.Writer{
		Summarizer: summarize.Extractive{}, Name: levels.FallbackExtractive, Role: chat.System, Fallback: levels.FallbackExtractive,
		Max: 200, Facts: 100, Ledger: 50, Number: 3,
	}
	got, err := w.Write(t.Context(), v, cut)
	if err != nil || got.Fallback != "" || got.Message == nil || got.Message.Role != chat.System {
		t.Errorf("%+v, error %v", got, err)
	}
	if got.Message != nil && v.Size(*got.Message) > w.Max {
		t.Errorf("%d tokens, limit %d", v.Size(*got.Message), w.Max)
	}
	w.Max, w.Facts = 1, 0 // no line fits
	got, err = w.Write(t.Context(), v, cut)
	if err != nil || got.Message != nil || got.Fallback != levels.FallbackPruning || len(got.Attempts) != 1 || got.Attempts[0].Then != levels.FallbackPruning {
		t.Errorf("refused: %+v, error %v", got, err)
	}
}

func TestWriteEndsWithItsContext(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	v, cut := worked()
	for _, s := range []summarize.Summarizer{&writing{answers: []answer{{text: good}}}, &writing{answers: []answer{{late: true}}}, summarize.Extractive{}} {
		got, err := levels.Writer{Summarizer: s, Max: 80, Fallback: levels.FallbackExtractive}.Write(ctx, v, cut)
		if !errors.Is(err, context.Canceled) || got.Message != nil || !strings.HasPrefix(err.Error(), "summarize 23 messages: ") {
			t.Errorf("%T: %+v, error %v", s, got, err)
		}
	}
}

func TestBytesThatAreNoTextDoNotComeIn(t *testing.T) {
	v, cut := worked()
	w := levels.Writer{Summarizer: &writing{answers: []answer{{text: good + " \xff\xfe."}}}, Name: "fake", Max: 80, Fallback: levels.FallbackExtractive}
	got, err := w.Write(t.Context(), v, cut)
	if err != nil || got.Message == nil || !utf8.ValidString(got.Message.Text()) {
		t.Errorf("%+v, error %v", got, err)
	}
}

func TestSecondSummaryTakesTheFirstOver(t *testing.T) {
	fake := &writing{answers: []answer{{text: good}}}
	facts := summarize.FactsOf([]chat.Message{chat.NewText(chat.User, "You must never log session tokens.")}, "", 100, nil)
	first := protection.NewSummary(1, chat.Assistant, summarize.Finish("The port is open.", facts, []string{"src/old_file.go"}, 0, nil), "0123abcd")
	first.Parts[0].Kind = chat.Text // as read from the wire
	s := (&script{}).say(chat.User, "Please repair the parser.").add(first)
	for i := range 8 {
		s.say(chat.User, fmt.Sprintf("Then keep the last token of part %d, and go on with the tests of it.", i))
		s.say(chat.Assistant, "I read the parser and found that it drops the last token there.")
	}
	s.t[3].ID = "summary-2" // a foreign message has the id already
	v := viewOf(s.t)
	w := levels.Writer{Summarizer: fake, Name: "fake", Max: 200, Facts: 100, Ledger: 100, Number: 2, Fallback: levels.FallbackExtractive, Note: "keep the port"}
	got, err := w.Write(t.Context(), v, levels.EmergencyCut(v, 2, chat.Assistant))
	if err != nil || got.Message == nil {
		t.Fatalf("%+v, error %v", got, err)
	}
	if r := fake.asked[0]; !strings.Contains(r.Previous, "The port is open.") || r.Note != "keep the port" || len(r.Messages) != 14 {
		t.Errorf("asked with %q, note %q, %d messages", r.Previous, r.Note, len(r.Messages))
	}
	if text := got.Message.Text(); !strings.Contains(text, "must never log session tokens") || got.Message.ID != "summary-2+" {
		t.Errorf("%s: %q", got.Message.ID, text)
	}
	_, content := protection.SummaryContent(*got.Message)
	if _, _, names := summarize.Split(content); !slices.Contains(names, "src/old_file.go") {
		t.Errorf("the old summary's names are gone: %v", names)
	}
}

func TestLimitsOfAShortConversationAreShort(t *testing.T) {
	fake := &writing{answers: []answer{{text: "Done."}}}
	s := (&script{}).say(chat.User, "go").say(chat.Assistant, "I found it in the parser.").say(chat.User, "good").say(chat.Assistant, "yes")
	v := viewOf(s.t)
	cut := levels.EmergencyCut(v, 2, chat.Assistant)
	if _, err := (levels.Writer{Summarizer: fake, Max: 1024, Facts: 400, Ledger: 600}).Write(t.Context(), v, cut); err != nil {
		t.Fatal(err)
	}
	if got, most := fake.asked[0].MaxTokens, cut.Tokens(v.Sizes)/3; got > most {
		t.Errorf("at most %d tokens asked for, of %d", got, cut.Tokens(v.Sizes))
	}
}
