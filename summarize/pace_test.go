package summarize_test

import (
	"context"
	"errors"
	"testing"

	"github.com/tiercompact/tiercompact/internal/model"
	"github.com/tiercompact/tiercompact/summarize"
)

// asking summarises a long conversation, whose first call ends by cause, nil for
// none, and returns the bytes of messages that were sent: the largest request, and
// the total.
func asking(t *testing.T, m *summarize.Model, s *server, cause error) (most, all int, limit int) {
	t.Helper()
	ctx, end := context.WithCancelCause(t.Context())
	defer end(nil)
	s.asked = nil
	answers := 0
	s.answer = func(prompt string, call int) model.Answer {
		if answers++; cause != nil && answers == 1 {
			end(cause)
		}
		return echoing(prompt, call)
	}
	_, err := m.Summarize(ctx, summarize.Request{Messages: talk(60, 1000), MaxTokens: 300})
	if (err != nil) != (cause != nil) || err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	for _, q := range s.asked {
		if !q.MayUnload {
			t.Error("the model, which only summaries use, may not be unloaded")
		}
		n := len(data(promptOf(q)))
		most, all = max(most, n), all+n
	}
	return most, all, s.asked[0].MaxTokens
}

func TestAfterAMissedDeadlineHalfAsMuchIsGiven(t *testing.T) {
	late := errors.New("no answer within 2m")
	s := &server{}
	m := &summarize.Model{Chat: s, Name: "fake", Window: 8192}
	first, whole, limit := asking(t, m, s, nil)
	if before, _, _ := asking(t, m, s, context.Canceled); before == 0 {
		t.Fatal("nothing was asked")
	}
	if again, all, _ := asking(t, m, s, nil); again != first || all > whole {
		t.Errorf("after the user stopped a call: %d bytes in a request, %d before", again, first)
	}
	m = &summarize.Model{Chat: s, Name: "fake", Window: 8192}
	last, _, _ := asking(t, m, s, late)
	for range 3 {
		most, _, _ := asking(t, m, s, late)
		if most > last*11/20 {
			t.Errorf("after a call with %d bytes of messages passed its deadline, the next has %d", last, most)
		}
		last = most
	}
	most, all, short := asking(t, m, s, nil)
	if most > max(last*11/20, 1100) || all > whole/8 || short >= limit {
		t.Errorf("then %d bytes in a request of %d, %d tokens to write; at first %d of %d, %d", most, all, short, first, whole, limit)
	}
	for range 60 {
		most, all, _ = asking(t, m, s, nil)
	}
	if most != first || all > whole {
		t.Errorf("when it has answered often: %d bytes of %d, at first %d of %d", most, all, first, whole)
	}
	for range 30 {
		most, _, _ = asking(t, m, s, late)
	}
	if most == 0 || most > 2000 {
		t.Errorf("a model that never answers is still given %d bytes", most)
	}
}
