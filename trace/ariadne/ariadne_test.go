package ariadne_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tiercompact/tiercompact/trace"
	"github.com/tiercompact/tiercompact/trace/ariadne"
	"github.com/tiercompact/tiercompact/trace/ariadne/ariadnetest"
)

func decode(raw []byte, into any) { _ = json.Unmarshal(raw, into) }

var at = time.Date(2026, 3, 4, 5, 6, 7, 8e6, time.UTC)

func warning(session string, i int) trace.Event {
	return trace.New(session, at, at.Add(time.Duration(i)*time.Second), trace.Warning{Severity: trace.Low, Message: fmt.Sprint("number ", i)})
}

// lines is a log that several goroutines may write to.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func open(t *testing.T, url string, client *http.Client) (*ariadne.Sink, *lines) {
	t.Helper()
	log := new(lines)
	sink, err := ariadne.New(ariadne.Config{URL: url, Client: client, Stderr: log})
	if err != nil {
		t.Fatal(err)
	}
	return sink, log
}

// word stands for a secret.
const word = "w0rd"

func TestWhatIsToldHoldsNoSecretOfTheURL(t *testing.T) {
	sink, log := open(t, "http://user:"+word+"@x/a?q="+word, ariadnetest.Client(answer(400, "", "")))
	sink.Emit(warning("s", 0))
	_ = sink.Close(t.Context())
	if want := "[Ariadne] http://x/a/ingest: answers 400 Bad Request; 1 event is lost so far, the session goes on\n"; log.String() != want {
		t.Error(log.String())
	}
}

func TestURLMustBeOne(t *testing.T) {
	for _, url := range []string{"", "localhost:8080", "ftp://x", "http://", "://", "/ingest", "http://u:" + word + "@x:port"} {
		if _, err := ariadne.New(ariadne.Config{URL: url}); err == nil || !strings.HasPrefix(err.Error(), "open Ariadne: URL must be like") || strings.Contains(err.Error(), word) {
			t.Errorf("%q: %v", url, err)
		}
	}
}

func TestEventsReachAServerOverTheNetwork(t *testing.T) {
	server := ariadnetest.New()
	over := httptest.NewServer(server)
	defer over.Close()
	sink, log := open(t, over.URL+"/", nil)
	sink.Emit(warning("one", 0))
	sink.Emit(warning("two", 1))
	if err := sink.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	sink.Emit(warning("one", 2))
	if err := sink.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, a := range server.Arrivals() {
		got = append(got, a.Type+" "+a.Trace[:4])
	}
	one, two := got[0][6:], got[2][6:]
	if want := []string{"trace " + one, "span " + one, "trace " + two, "span " + two, "span " + one}; fmt.Sprint(got) != fmt.Sprint(want) || one == two {
		t.Errorf("%v %v", got, server.Problems())
	}
	if log.String() != "" {
		t.Error(log.String())
	}
}

func TestSameEventsHaveTheSameIDs(t *testing.T) {
	var runs [3]string
	for i, first := range []int{0, 0, 1} {
		server := ariadnetest.New()
		sink, _ := open(t, "http://x", server.Client())
		e := warning("s", 2)
		e.Start = at.Add(time.Duration(first))
		sink.Emit(e)
		_ = sink.Close(t.Context())
		for _, a := range server.Arrivals() {
			runs[i] += a.Trace + a.Span
		}
	}
	if runs[0] == "" || runs[0] != runs[1] || runs[0] == runs[2] {
		t.Errorf("%q", runs)
	}
}

func TestEventsThatAreNoJSONAreLeftOut(t *testing.T) {
	server := ariadnetest.New()
	sink, log := open(t, "http://x", server.Client())
	bad := trace.New("s", at, at, trace.SummaryCreated{Payload: json.RawMessage("{")})
	sink.Emit(bad)
	_ = sink.Flush(t.Context())
	sink.Emit(warning("s", 1))
	sink.Emit(bad)
	_ = sink.Close(t.Context())
	if len(server.Spans()) != 1 || sink.Lost() != 2 || !strings.Contains(log.String(), "[Ariadne] events that are no JSON are left out; 1 event is lost") {
		t.Errorf("%d spans, %d lost, %s", len(server.Spans()), sink.Lost(), log.String())
	}
}

func TestManySessionsAreForgottenAndBeginAnew(t *testing.T) {
	server := ariadnetest.New()
	sink, err := ariadne.New(ariadne.Config{URL: "http://x", Client: server.Client(), Size: 20000})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5000 {
		sink.Emit(warning(fmt.Sprint("s", i), i))
	}
	later := warning("s1", 7)
	later.Start = at.Add(time.Second)
	sink.Emit(later)
	_ = sink.Close(t.Context())
	if n := len(server.Spans()); n != 5001 || len(server.Problems()) > 0 {
		t.Errorf("%d spans, %v", n, server.Problems())
	}
	if n := len(server.Arrivals()) - 5001; n != 5001 {
		t.Errorf("%d traces", n)
	}
}
