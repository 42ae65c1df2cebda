package summarize_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tiercompact/tiercompact/internal/model"
	"github.com/tiercompact/tiercompact/summarize"
)

// slow reports the times of a server that reads and writes a number of tokens a
// second. The longest call is in takes.
type slow struct {
	*server
	reads, writes float64
	takes         time.Duration
}

func (s *slow) Chat(ctx context.Context, r model.Request, each func(model.Delta) error) (model.Answer, error) {
	a, err := s.server.Chat(ctx, r, each)
	a.PromptTime = time.Duration(float64(a.PromptTokens) / s.reads * float64(time.Second))
	a.Time = time.Duration(float64(a.Tokens) / s.writes * float64(time.Second))
	full := time.Duration(float64(r.MaxTokens) / s.writes * float64(time.Second)) // if the answer has all its tokens
	s.takes = max(s.takes, a.PromptTime+full)
	return a, err
}

func TestTheSpeedThatWasSeenBoundsTheInput(t *testing.T) {
	for _, deadline := range []time.Duration{0, time.Hour, 2 * time.Minute, time.Minute, 30 * time.Second} {
		s := &slow{server: &server{answer: echoing}, reads: 100, writes: 10}
		m := &summarize.Model{Chat: s, Name: "fake", Window: 8192}
		r := summarize.Request{Messages: talk(40, 1000), MaxTokens: 600}
		if _, err := m.Summarize(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		first := s.takes
		s.takes, s.asked = 0, nil
		r.Messages = talk(41, 1000)
		r.Deadline = deadline
		text, err := m.Summarize(t.Context(), r)
		if err != nil || text == "" {
			t.Fatalf("within %s: %q, %v", deadline, text, err)
		}
		if deadline > 0 && s.takes > deadline || (deadline == 0 || deadline == time.Hour) && s.takes < first*9/10 {
			t.Errorf("within %s: a call takes %s; without a deadline, %s", deadline, s.takes, first)
		}
	}
}

func TestAllCallsEndWithinTheDeadlineOfTheContext(t *testing.T) {
	s := &slow{server: &server{answer: echoing}, reads: 100, writes: 10}
	m := &summarize.Model{Chat: s, Name: "fake", Window: 4096}
	r := summarize.Request{Messages: talk(120, 1000), MaxTokens: 300}
	if _, err := m.Summarize(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	before := len(s.asked)
	s.asked = nil
	ctx, stop := context.WithTimeout(t.Context(), 3*time.Minute)
	defer stop()
	r.Messages = talk(121, 1000)
	if _, err := m.Summarize(ctx, r); err != nil || len(s.asked) >= before || time.Duration(len(s.asked))*s.takes > 4*time.Minute {
		t.Errorf("%d calls of at most %s, before %d; error %v", len(s.asked), s.takes, before, err)
	}
}

func TestADeadlineThatCannotBeMetIsNotTried(t *testing.T) {
	s := &slow{server: &server{answer: echoing}, reads: 20, writes: 2}
	m := &summarize.Model{Chat: s, Name: "fake", Window: 8192}
	r := summarize.Request{Messages: talk(40, 1000), MaxTokens: 600}
	if _, err := m.Summarize(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	asked := len(s.asked)
	r.Deadline = 20 * time.Second
	_, err := m.Summarize(t.Context(), r)
	if !errors.Is(err, model.ErrSlow) || !strings.Contains(fmt.Sprint(err), "writes 2.0 tokens a second, so no summary ends within 20s") || len(s.asked) != asked {
		t.Errorf("%d requests, error %v", len(s.asked)-asked, err)
	}
	for try := 0; len(s.asked) == asked; try++ { // it may be faster now
		if _, err = m.Summarize(t.Context(), r); try > 10 {
			t.Fatalf("it is never tried again: %v", err)
		}
	}
}

// cutting counts no more tokens of a prompt than its window, and reads no more, as
// Ollama's /v1 does.
type cutting struct {
	*server
	window int
}

func (c cutting) Chat(ctx context.Context, r model.Request, each func(model.Delta) error) (model.Answer, error) {
	a, err := c.server.Chat(ctx, r, each)
	a.PromptTokens = min(a.PromptTokens, c.window)
	return a, err
}

func TestAPromptThatTheServerCutIsRejected(t *testing.T) {
	for _, n := range []int{14, 60} { // one request, and several
		s := &server{answer: echoing}
		m := &summarize.Model{Chat: cutting{s, 2048}, Name: "fake", Window: 8192}
		r := summarize.Request{Messages: talk(n, 1000), MaxTokens: 300}
		_, err := m.Summarize(t.Context(), r)
		var rejected summarize.Rejection
		if !errors.As(err, &rejected) || !strings.HasPrefix(string(rejected), summarize.PromptCut+": it read 2048 of about ") || len(s.asked) > 2 {
			t.Fatalf("%d messages: %v after %d requests", n, err, len(s.asked))
		}
		s.longest, s.asked = 0, nil
		if text, err := m.Summarize(t.Context(), r); err != nil || text == "" || s.longest > 2048 {
			t.Errorf("%d messages, again: %q, %v; the longest request has %d tokens", n, text, err, s.longest)
		}
		for _, q := range s.asked {
			if q.Window != 8192 {
				t.Errorf("the model is loaded again, with %d", q.Window)
			}
		}
	}
}

func TestACallWhoseConnectionBrokeIsMadeOnceMore(t *testing.T) {
	for breaks, want := range map[int]int{1: 2, 2: 2} {
		s := &server{answer: echoing}
		m := &summarize.Model{Chat: breaking{s, &breaks}, Name: "fake", Window: 8192}
		total := breaks
		text, err := m.Summarize(t.Context(), summarize.Request{Messages: talk(4, 400), MaxTokens: 300})
		if len(s.asked) != want || (total == 1) != (err == nil && text != "") || total == 2 && !errors.Is(err, model.ErrBroken) {
			t.Errorf("%d breaks: %q after %d requests, error %v", total, text, len(s.asked), err)
		}
	}
}

// breaking ends some first calls in the middle of the answer.
type breaking struct {
	*server
	breaks *int
}

func (b breaking) Chat(ctx context.Context, r model.Request, each func(model.Delta) error) (model.Answer, error) {
	a, err := b.server.Chat(ctx, r, each)
	if *b.breaks > 0 {
		*b.breaks--
		return model.Answer{}, fmt.Errorf("chat: %w", model.ErrBroken)
	}
	return a, err
}

// thinking thinks for ever.
type thinking struct{ pieces int }

func (s *thinking) Chat(ctx context.Context, _ model.Request, each func(model.Delta) error) (model.Answer, error) {
	for ; ctx.Err() == nil && s.pieces < 100_000; s.pieces++ {
		if err := each(model.Delta{Thinking: "hm "}); err != nil {
			return model.Answer{}, err
		}
	}
	return model.Answer{}, ctx.Err()
}

func TestAModelThatThinksForEverIsCutOff(t *testing.T) {
	s := new(thinking)
	_, err := (&summarize.Model{Chat: s, Name: "fake", Window: 8192}).Summarize(t.Context(), summarize.Request{Messages: talk(4, 400), MaxTokens: 300})
	var rejected summarize.Rejection
	if !errors.As(err, &rejected) || rejected != summarize.Thinks || s.pieces > 1000 {
		t.Errorf("%v after %d pieces", err, s.pieces)
	}
}
