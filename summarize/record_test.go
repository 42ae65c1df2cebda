package summarize_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/summarizetest"
	"github.com/tiercompact/tiercompact/summarize"
)

// recordOf is the record of messages.
func recordOf(messages []chat.Message) *summarize.Record {
	r := summarize.NewRecord("")
	for _, m := range messages {
		r.Add(m)
	}
	return r
}

// A record that grows by messages says what the facts of all of them say, however
// often it is read.
func TestARecordSaysWhatTheFactsSay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		session := drawSession(t)
		limit := rapid.IntRange(0, 300).Draw(t, "limit")
		r := summarize.NewRecord("")
		for _, m := range session {
			r.Add(m)
			_ = r.Text()
		}
		none := func(string) bool { return false }
		if got, want := r.Facts(nil, none, limit, nil), summarize.FactsOf(session, "", limit, nil); got != want {
			t.Fatalf("the record says\n%s\nthe facts\n%s", got, want)
		}
	})
}

// No number of steps loses what the record has.
func TestARecordIsKeptAsText(t *testing.T) {
	session := append(summarizetest.Session(), plantedSession()...)
	text := recordOf(session).Text()
	for range 20 {
		r := summarize.NewRecord(text)
		r.Add(chat.NewText(chat.Assistant, "It goes on."))
		text = r.Text()
	}
	for _, want := range append(planted, "OPS-412", "You must never log session tokens.", "TestRestoreAfterDeploy", "--retain") {
		if !strings.Contains(text, want) {
			t.Errorf("%q is lost:\n%s", want, text)
		}
	}
}

// What the reader still has is not repeated, but how things ended is said.
func TestARecordLeavesOutWhatTheReaderHas(t *testing.T) {
	session := sessionOf(ran{"go test ./...", "--- FAIL: TestCart (0.00s)\nFAIL"})
	session = append(session, chat.NewText(chat.User, "Never change the cart's total."), chat.NewText(chat.Assistant, "ok"))
	session = append(session, sessionOf(ran{"go test ./...", "ok  \tshop\t0.1s"})[1:]...)
	for i := range session {
		session[i].ID = fmt.Sprint("m", i)
	}
	got := recordOf(session).Facts(nil, func(id string) bool { return id == "m3" }, 500, nil)
	if strings.Contains(got, "Never change") || strings.Contains(got, "Last errors") || !strings.Contains(got, "go test ./... → ok") || !strings.Contains(got, "Make everything green.") {
		t.Errorf("got\n%s", got)
	}
}

// A very long session's record is bounded.
func TestARecordIsBounded(t *testing.T) {
	r := summarize.NewRecord("")
	for i := range 6000 {
		r.Add(chat.NewText(chat.User, fmt.Sprintf("Request number %d is about the module called part%d of the program.", i, i)))
	}
	text := r.Text()
	if n := strings.Count(text, "\n"); n > 4100 || !strings.Contains(text, "Request number 0 ") || !strings.Contains(text, "Request number 5999 ") {
		t.Errorf("%d lines", n)
	}
}
