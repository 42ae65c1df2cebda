package tui

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/internal/model"
)

// A silentServer sends one piece of an answer, or none, and then neither sends
// anything nor ends, like a server with a stopped process. It ends with the
// context, as an HTTP request does.
type silentServer struct{ begins bool }

func (s silentServer) Chat(ctx context.Context, _ model.Request, each func(model.Delta) error) (model.Answer, error) {
	if s.begins {
		if err := each(model.Delta{Text: "The sky"}); err != nil {
			return model.Answer{}, err
		}
	}
	<-ctx.Done()
	return model.Answer{}, ctx.Err()
}

func TestAServerThatFallsSilentInMidAnswerIsReportedAndEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out, notes bytes.Buffer
		l := lineChat{out: &out, notes: &notes}
		chat := &Talk{o: Options{Chat: silentServer{begins: true}, Silence: 2 * time.Minute}, receive: func(e Event) {
			if e.Kind == Waiting {
				l.printEvent(e)
			}
		}}
		chat.session = newSilentSession(t)
		began := time.Now()
		_, err := chat.streamAnswer(t.Context(), model.Request{Model: "smol:1b"}, func(model.Delta) {})
		if err == nil || !strings.Contains(err.Error(), "smol:1b said nothing for 2m0s in the middle of its answer") {
			t.Errorf("got error %v", err)
		}
		if took := time.Since(began); took != 2*time.Minute {
			t.Errorf("ended after %s", took)
		}
		want := "waiting for smol:1b to continue its answer; 10 seconds so far, ^C stops it\n"
		if got := notes.String(); !strings.HasPrefix(got, want) || strings.Count(got, "waiting") != 4 || out.Len() > 0 {
			t.Errorf("got notes %q and answer %q", got, out.String())
		}
	})
}

func TestAServerThatReadsThePromptIsWaitedForUntilTheUserStopsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		waits := 0
		chat := &Talk{o: Options{Chat: silentServer{}, Silence: time.Minute}, receive: func(e Event) { waits++ }}
		chat.session = newSilentSession(t)
		ctx, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		_, err := chat.streamAnswer(ctx, model.Request{Model: "smol:1b"}, func(model.Delta) {})
		if !errors.Is(err, context.DeadlineExceeded) || waits != 9 {
			t.Errorf("got error %v after %d notes", err, waits)
		}
	})
}

func newSilentSession(t *testing.T) *tiercompact.Session {
	t.Helper()
	c, err := tiercompact.New(tiercompact.Config{Window: 8192})
	if err != nil {
		t.Fatal(err)
	}
	return c.Session("s")
}
