package levels_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/levels"
	"github.com/tiercompact/tiercompact/memory"
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
		{"late", []answer{{late: true}}, "", "context deadline exceeded → END", "END", []int{1}},
		{"empty", one(" \n"), "", "empty → END", "END", []int{1}},
		{"a tool call", one(`<tool_call>{"name":"read","arguments":{}}</tool_call>`), "", "tool call → END", "END", []int{1}},
		{"thinking", one("<think>\nhm\n</think>\n" + good), "", "thinking → END", "END", []int{1}},
		{"it goes on with the task", one("Let me read the parser first."), "", "goes on with the task → END", "END", []int{1}},
		{"nothing in it is borne out", one(lost), "", "nothing in it occurs in the conversation → END", "END", []int{1}},
	}
	for _, test := range tests {
		for _, end := range []string{levels.FallbackExtractive, levels.FallbackPruning} {
			fake := &writing{answers: test.answers}
			v, cut := worked()
			w := levels.Writer{
				Summarizer: fake, Name: "fake", Strategy: test.strategy, Role: chat.Assistant, Fallback: end, Max: 80, Number: 3,
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
	n, content := memory.SummaryContent(*s.Message)
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
	if got.Message != nil && v.Size(*got.Message) > w.Cap() {
		t.Errorf("%d tokens, cap %d", v.Size(*got.Message), w.Cap())
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
	first := memory.NewSummary(1, chat.Assistant, summarize.Finish("The port is open.", facts, []string{"src/old_file.go"}, 0, nil), "0123abcd")
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
	_, content := memory.SummaryContent(*got.Message)
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
