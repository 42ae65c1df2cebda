package levels

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/protection"
	"github.com/tiercompact/tiercompact/summarize"
)

// Fallbacks if a summarizer fails. FallbackRetry and FallbackBrief are intermediate
// steps; one of the last two is final.
const (
	FallbackRetry      = "retry-half"   // again, with half the limit
	FallbackBrief      = "brief"        // again, with the strategy brief
	FallbackExtractive = "extractive"   // the same sections, without a model
	FallbackPruning    = "pruning-only" // no summary is added
)

// A Writer requests a session summary and checks it, and falls back if the summarizer
// fails.
type Writer struct {
	Summarizer summarize.Summarizer
	Name       string // of the summarizer, for reports
	Strategy   summarize.Strategy
	Role       chat.Role                // of the summary
	Fallback   string                   // FallbackExtractive or FallbackPruning
	Max        int                      // max tokens of the whole message, without excerpts of files
	Text       int                      // max tokens of the text, within Max; 0: the rest of Max
	Facts      int                      // max tokens of the facts section, within Max
	Ledger     int                      // max tokens of the names that would be lost, within Max
	Lines      int                      // tokens of Max that only lines of names use
	Target     int                      // tokens up to which excerpts of files fill the conversation; 0: no excerpts
	Note       string                   // the user's wish
	Deadline   time.Duration            // of one model call; 0: none
	Progress   func(summarize.Progress) // reports the progress of the summarizer; nil: no reports
	Number     int                      // of the summary, from 1
	Redact     func(string) string      // redacts the summarizer's input; nil: no redaction
	Clean      func(string) string      // removes secrets from the summary; nil: no redaction

	clean []chat.Message // source of facts and of the built-in summary
}

// A Summary is a session summary and how it was made.
type Summary struct {
	Message       *chat.Message // nil if the fallback is pruning only
	Engine        string        // what wrote the text
	Fallback      string        // the last fallback; "" for none
	Attempts      []Attempt     // failures before, in order
	InputMessages int
	InputTokens   int
	Tokens        int
	Removed       int    // lines that verification removed
	Failed        string // why the last model call gave no answer; "" if it answered, or if there was no call
	Payload       json.RawMessage
	strategy      summarize.Strategy // of the text
}

// An Attempt is a text that was not accepted, or a call that failed.
type Attempt struct {
	Engine, Reason, Then string // Then is the fallback taken
}

// limitedTo returns w with limits under which the summary of a number of tokens is
// smaller than they are.
func (w Writer) limitedTo(tokens int) Writer {
	w.Max = min(w.Max, max(1, tokens*2/3))
	w.Lines = min(w.Lines, w.Max/3)
	return w
}

// contentLimit returns the tokens of w.Max that are left for the message's content.
func (w Writer) contentLimit(v View) int {
	empty := protection.NewSummary(w.Number, w.Role, "", sizedRecall)
	return max(0, w.Max-v.Size(empty))
}

// sizedRecall has about the size of any recall id.
const sizedRecall = "0123abcd"

// factsWithin and namesWithin are the maximum tokens of the facts section and of the
// names in a number of tokens of content: a quarter each, so that half is left for the
// text. The text may use what the facts leave, and the names may use what the text
// leaves.
func (w Writer) factsWithin(content int) int { return min(w.Facts, content/4) }
func (w Writer) namesWithin(content int) int { return min(w.Ledger, content/4) }

// ownContent returns the tokens of the content that are not only for lines of names.
func (w Writer) ownContent(v View) int { return max(0, w.contentLimit(v)-w.Lines) }

// textWithin is the maximum tokens of the text, given the tokens that are left.
func (w Writer) textWithin(left int) int {
	if w.Text > 0 {
		left = min(left, w.Text)
	}
	return max(1, left) // 0 would be no limit
}

// Write returns the summary of c. It returns an error only if ctx ends.
func (w Writer) Write(ctx context.Context, v View, c Cut) (Summary, error) {
	w = w.limitedTo(c.Tokens(v.Sizes))
	messages, previous := c.Summarised(v)
	was, facts, _ := summarize.Split(previous)
	content := w.ownContent(v)
	if w.clean = messages; w.Clean != nil {
		w.clean = summarize.Request{Messages: messages}.Redacted(w.Clean).Messages
	}
	if v.Work != nil {
		facts = v.Work.Facts(w.clean, v.staying(c), w.factsWithin(content), v.Count)
	} else {
		facts = summarize.FactsOf(w.clean, facts, w.factsWithin(content), v.Count)
	}
	request := summarize.Request{
		Messages: messages, Previous: was, Note: w.Note, Strategy: w.Strategy,
		MaxTokens: w.textWithin(content - v.Count(facts) - w.namesWithin(content)), Count: v.Count, Facts: facts,
		Work: v.Work, Stays: v.staying(c),
	}
	s := Summary{InputMessages: len(messages), InputTokens: c.Tokens(v.Sizes)}
	text, err := w.summaryText(ctx, request, &s)
	if err != nil {
		return s, fmt.Errorf("summarize %d messages: %w", len(messages), err)
	}
	if s.Fallback == FallbackPruning {
		return s, nil
	}
	s.finishSummary(w, v, c, text, facts)
	return s, nil
}

// staying reports the messages that stay beside a summary of c, by id.
func (v View) staying(c Cut) func(id string) bool {
	ids := make(map[string]bool, len(v.Messages))
	for i, m := range v.Messages {
		ids[m.ID] = !c.Gone[i]
	}
	return func(id string) bool { return ids[id] }
}

func (s *Summary) finishSummary(w Writer, v View, c Cut, text, facts string) {
	clean := func(text string) string {
		if w.Clean == nil {
			return text
		}
		return w.Clean(text)
	}
	text, facts = clean(text), clean(facts)
	said := text + "\n" + facts
	files := clean(pickExcerpts(v, c, w.excerptRoom(v, c, said)))
	room := w.contentLimit(v)
	original, all := c.original(v)
	secret := func(text string) bool { return clean(text) != text }
	limit := w.namesBeside(v, said)
	listed := min(limit, v.listRoom(pickMessages(v.Messages, c.Gone, false)))
	if limit > listed {
		listed = min(listed, limit*3/10)
	}
	names, lines := all.Names(original, said, files, listed, limit-listed-headings)
	names, lines = slices.DeleteFunc(names, secret), slices.DeleteFunc(lines, secret)
	if len(lines) > 0 {
		w.Max -= v.Count(summarize.WithLines("", lines)) + 1
	}
	recall := c.Recall(v)
	content, m := w.joinContent(text, facts, names, recall, room, v)
	if content == "" {
		s.recordFallback(s.Engine, "no line fits into the limit", FallbackPruning)
		return
	}
	if files != "" || len(lines) > 0 {
		content = summarize.WithFiles(summarize.WithLines(content, lines), files)
		m = protection.NewSummary(w.Number, w.Role, content, recall)
	}
	m.ID = v.unusedID(m.ID)
	s.Message, s.Tokens = &m, v.Size(m)
	s.Payload, _ = json.Marshal(struct { // strings and numbers: it cannot fail
		Type     string `json:"type"`
		Version  int    `json:"version"`
		Strategy string `json:"strategy"`
		Engine   string `json:"engine"`
		Fallback string `json:"fallback,omitempty"`
		Content  string `json:"content"`
	}{string(chat.Summary), w.Number, string(s.strategy), s.Engine, s.Fallback, content})
}

// namesBeside returns the maximum tokens that the list of names may have in a summary
// that already contains the text said.
func (w Writer) namesBeside(v View, said string) int {
	return max(0, min(w.Ledger, w.contentLimit(v)-v.Count(said)))
}

// joinContent returns the content without excerpts of files, and its message, which
// has at most w.Max tokens; "" if nothing fits.
func (w Writer) joinContent(text, facts string, names []string, recall string, room int, v View) (content string, m chat.Message) {
	for room > 0 {
		content = summarize.Finish(text, facts, names, room, v.Count)
		m = protection.NewSummary(w.Number, w.Role, content, recall)
		over := v.Size(m) - w.Max
		if content == "" || over <= 0 {
			return content, m
		}
		room -= over // head and content together may count more than each alone
	}
	return "", m
}

// headings is the approximate number of tokens of the headings of a summary.
const headings = 20

// excerptRoom returns the tokens that are left for excerpts of files beside the
// remaining messages, the text and the names: at most three quarters of what the
// summary replaces.
func (w Writer) excerptRoom(v View, c Cut, said string) int {
	gone := c.Tokens(v.Sizes)
	return min(w.Target-(v.Total()-gone), gone*3/4) - v.Count(said) - w.namesBeside(v, said) - headings
}

// summaryText tries in order: the summarizer, with half the limit if its text is too
// long, or if the server cut the prompt (twice at most), with the strategy brief if it refuses, then the fallback.
func (w Writer) summaryText(ctx context.Context, r summarize.Request, s *Summary) (string, error) {
	replaced, most := s.InputTokens, r.MaxTokens
	for halved := 0; ; {
		text, failure, err := w.trySummarizer(ctx, r, replaced, s)
		if err != nil || failure == "" {
			return text, err
		}
		switch {
		case isBuiltIn(w.Summarizer):
			s.recordFallback(w.Name, failure, FallbackPruning)
			return "", nil
		case isTooLong(failure) && halved < 2:
			halved++
			r.MaxTokens = max(1, r.MaxTokens/2) // 0 would be no limit
			s.recordFallback(w.Name, failure, FallbackRetry)
			continue
		case failure == summarize.Refusal && r.Strategy != summarize.Brief:
			r.Strategy = summarize.Brief
			s.recordFallback(w.Name, failure, FallbackBrief)
			continue
		}
		s.recordFallback(w.Name, failure, w.Fallback)
		if w.Fallback == FallbackPruning {
			return "", nil
		}
		r.Strategy, r.MaxTokens = w.Strategy, most
		s.Engine, s.strategy = FallbackExtractive, w.Strategy
		r.Messages = w.clean
		return summarize.Extractive{}.Summarize(ctx, r)
	}
}

func isTooLong(failure string) bool {
	return failure == summarize.TooLong || failure == summarize.CutOff || failure == summarize.NotShorter || strings.HasPrefix(failure, summarize.PromptCut)
}

func isBuiltIn(s summarize.Summarizer) bool {
	_, ok := s.(summarize.Extractive)
	return ok
}

func (s *Summary) recordFallback(engine, reason, then string) {
	s.Attempts = append(s.Attempts, Attempt{engine, reason, then})
	s.Fallback = then
}

// trySummarizer calls the summarizer once. reason says why its text cannot be used;
// err is only the end of ctx.
func (w Writer) trySummarizer(ctx context.Context, r summarize.Request, replaced int, s *Summary) (text, failure string, err error) {
	call, began, stop := w.withCallTimeout(ctx)
	defer stop()
	r.Deadline = w.Deadline
	r.Progress = func(p summarize.Progress) {
		began(p.Call)
		if w.Progress != nil {
			w.Progress(p)
		}
	}
	if isBuiltIn(w.Summarizer) {
		r.Messages = w.clean
	}
	if w.Redact != nil {
		r = r.Redacted(w.Redact) // the text is verified against the input
	}
	text, callErr := w.Summarizer.Summarize(call, r)
	text = summarize.Cut(text, r.MaxTokens)
	text = strings.ToValidUTF8(text, "\uFFFD")
	if ctx.Err() != nil {
		return "", "", ctx.Err()
	}
	s.Failed = ""
	if callErr != nil {
		reason, answered := callFailure(call, callErr)
		if !answered {
			s.Failed = reason
		}
		return "", reason, nil
	}
	if reason := summarize.Accept(text, r, replaced); reason != "" {
		return "", reason, nil
	}
	removed := 0
	if !isBuiltIn(w.Summarizer) {
		var reason string
		if text, removed, reason = summarize.Vet(text, r); reason != "" {
			return "", reason, nil
		}
	}
	s.Engine, s.strategy, s.Removed = w.Name, r.Strategy, removed
	return text, "", nil
}

// withCallTimeout returns a context that ends when a model call exceeds the deadline.
// began reports that a call with a number begins, and restarts the timer. A
// summarizer that does not report its calls has one deadline for all.
func (w Writer) withCallTimeout(ctx context.Context) (call context.Context, began func(number int), stop func()) {
	if w.Deadline <= 0 {
		return ctx, func(int) {}, func() {}
	}
	call, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(w.Deadline, func() { cancel(fmt.Errorf("no answer within %s", w.Deadline)) })
	last := 0
	began = func(number int) {
		if number != last {
			last = number
			timer.Reset(w.Deadline)
		}
	}
	return call, began, func() { timer.Stop(); cancel(nil) }
}

// callFailure returns why a summarizer that was called under call gave no text, and
// whether it answered with something that is not a summary.
func callFailure(call context.Context, err error) (reason string, answered bool) {
	var rejected summarize.Rejection
	switch {
	case errors.As(err, &rejected):
		return string(rejected), true
	case call.Err() != nil:
		return context.Cause(call).Error(), false
	}
	return err.Error(), false
}
