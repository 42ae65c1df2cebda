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
	"testing/synctest"
	"time"

	"github.com/tiercompact/tiercompact/internal/ariadnetest"
	"github.com/tiercompact/tiercompact/trace"
	"github.com/tiercompact/tiercompact/trace/ariadne"
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

// run runs a subtest with a simulated clock, so that the limit of a request does not
// measure the machine.
func run(t *testing.T, name string, test func(t *testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
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

// word stands in for a secret.
const word = "w0rd"

func TestReportsHaveNoSecretOfTheURL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink, log := open(t, "http://user:"+word+"@x/a?q="+word, ariadnetest.Client(answer(400, "", "")))
		sink.Emit(warning("s", 0))
		_ = sink.Close(t.Context())
		if want := "[Ariadne] http://x/a/ingest: answers 400 Bad Request; 1 event is lost so far, the session goes on\n"; log.String() != want {
			t.Error(log.String())
		}
	})
}

func TestURLMustBeOne(t *testing.T) {
	for _, url := range []string{"", " ", "ftp://x", "http://", "http://:5175", "://", "/ingest", "http://u:" + word + "@x:port"} {
		if _, err := ariadne.New(ariadne.Config{URL: url}); err == nil || !strings.HasPrefix(err.Error(), "open Ariadne: URL must be like") || strings.Contains(err.Error(), word) {
			t.Errorf("%q: %v", url, err)
		}
	}
}

func TestAddressMayHaveIngestAtItsEndAndMayLackAScheme(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for address, want := range map[string]string{
			"http://localhost:5175":          "http://localhost:5175/ingest",
			"http://localhost:5175/":         "http://localhost:5175/ingest",
			"http://localhost:5175/ingest":   "http://localhost:5175/ingest",
			"http://localhost:5175/ingest/":  "http://localhost:5175/ingest",
			"http://localhost:5175//ingest/": "http://localhost:5175/ingest",
			"localhost:5175":                 "http://localhost:5175/ingest",
			"localhost:5175/ingest":          "http://localhost:5175/ingest",
			"127.0.0.1:5175":                 "http://127.0.0.1:5175/ingest",
			" http://localhost:5175\n":       "http://localhost:5175/ingest",
			"[::1]:5175":                     "http://[::1]:5175/ingest",
			"https://h/traces/":              "https://h/traces/ingest",
			"https://h/traces/ingest":        "https://h/traces/ingest",
			"https://h/my-ingest":            "https://h/my-ingest/ingest",
			"https://h/ingest?key=k#top":     "https://h/ingest?key=k",
		} {
			var got string
			sink, log := open(t, address, ariadnetest.Client(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.URL.String() })))
			sink.Emit(warning("s", 0))
			if err := sink.Close(t.Context()); err != nil || got != want || log.String() != "" {
				t.Errorf("%q goes to %q, want %q; %v %s", address, got, want, err, log)
			}
		}
	})
}

func TestEventsReachAServerOverTheNetwork(t *testing.T) {
	for range 10 { // a machine may be slower than the limit of a request
		if deliveredOverTheNetwork(t) {
			return
		}
	}
	t.Error("no request was answered in time")
}

// deliveredOverTheNetwork reports whether all requests were answered in time.
func deliveredOverTheNetwork(t *testing.T) bool {
	t.Helper()
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
	if strings.Contains(log.String(), "no whole answer within") {
		return false
	}
	var got []string
	for _, a := range server.Arrivals() {
		got = append(got, a.Type+" "+a.Trace[:4])
	}
	if len(got) != 6 || log.String() != "" {
		t.Fatal(got, server.Problems(), log)
	}
	one, two := got[0][6:], got[2][6:]
	if want := []string{"trace " + one, "span " + one, "trace " + two, "span " + two, "trace " + one, "span " + one}; fmt.Sprint(got) != fmt.Sprint(want) || one == two {
		t.Errorf("%v %v", got, server.Problems())
	}
	return true
}

func TestSameEventsHaveTheSameIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
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
	})
}

// foreign is a payload of a kind that package trace does not know.
type foreign struct{ json.RawMessage }

func (foreign) Event() string { return "other.event" }

func TestOddEventsAreTakenToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := ariadnetest.New()
		sink, log := open(t, "http://x", server.Client())
		far := warning("far", 0)
		far.Start, far.End = time.Date(-5, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(12026, 1, 1, 0, 0, 0, 0, time.UTC)
		back := warning("back", 0)
		back.Start, back.End = at.In(time.FixedZone("", 3600)), at.Add(-time.Hour)
		odd := warning("odd", 0)
		odd.Name, odd.Status = "", "maybe"
		for _, e := range []trace.Event{
			far, back, odd,
			trace.New("no JSON", at, at, trace.SummaryCreated{Payload: json.RawMessage("{")}),
			trace.New("no text", at, at, trace.SummaryCreated{Payload: json.RawMessage(`[1]`)}),
			trace.New("nothing", at, at, foreign{json.RawMessage("null")}),
			trace.New("list", at, at, foreign{json.RawMessage(`["a"]`)}),
			trace.New("own output", at, at, foreign{json.RawMessage(`{"output":{"text":"its own"}}`)}),
			trace.New("bad UTF-8 \xff", at, at, foreign{json.RawMessage("{\"a\":\"\xff\"}")}),
			trace.New("empty", at, at, trace.Warning{}),
		} {
			sink.Emit(e)
		}
		_ = sink.Close(t.Context())
		faults := server.Faults()
		if len(server.Spans()) != 10 || sink.Lost() != 0 || len(faults) != 1 || !strings.HasSuffix(faults[0], "has no name") {
			t.Errorf("%d spans, %d lost, %s, %q", len(server.Spans()), sink.Lost(), log, faults)
		}
		for _, a := range server.Spans() {
			if strings.Contains(string(a.Data), "its own") && !strings.Contains(string(a.Data), `{"text":"its own"}`) {
				t.Errorf("%s", a.Data)
			}
		}
	})
}

func TestNoRequestIsLargerThanTheServerTakes(t *testing.T) {
	long := func(n int, of string) json.RawMessage {
		b, _ := json.Marshal(map[string]any{"engine": "ollama/m", "content": strings.Repeat(of, n)})
		return b
	}
	many := make(map[string]string)
	for i := range 25000 {
		many[fmt.Sprint("key", i)] = "short"
	}
	keys, _ := json.Marshal(many)
	tests := []struct {
		name     string
		events   int
		payload  json.RawMessage
		response string // its beginning
	}{
		{"many events", 70, long(2500, "word "), "word word"},
		{"events of nearly half the size", 7, long(20000, "word "), "word word"},
		{"one that is too large", 1, long(300000, "word "), "word word"},
		{"one of many megabytes", 1, long(1<<20, "word "), "word word"},
		{"one that grows when it is written", 1, long(100000, "\x00\"<"), "\x00\"<"},
		{"long texts in a list", 1, json.RawMessage(`{"engine":"m","content":"it is","more":["` + strings.Repeat("x", 400000) + `","b"]}`), "it is"},
		{"many short texts", 1, keys, "240,000"},
		{"characters of many bytes", 3, long(90000, "\u65e5"), "\u65e5\u65e5"},
	}
	for _, test := range tests {
		run(t, test.name, func(t *testing.T) {
			server := ariadnetest.New()
			sink, log := open(t, "http://x", server.Client())
			name := strings.Repeat("n\u00e9", 3000) // a session name that is too long for any tree
			for range test.events {
				sink.Emit(trace.New(name, at, at, trace.SummaryCreated{Strategy: "brief", Payload: test.payload}))
			}
			if err := sink.Close(t.Context()); err != nil {
				t.Error(err)
			}
			if n := len(server.Spans()); n != test.events || sink.Lost() > 0 || server.Largest() > 262144 || len(server.Faults()) > 0 {
				t.Errorf("%d spans of %d, %d lost, a body of %d, %q, %s", n, test.events, sink.Lost(), server.Largest(), server.Faults(), log)
			}
			for _, g := range server.Page() {
				for _, tr := range g.Traces {
					tr.Walk(func(s *ariadnetest.Span, _ int) {
						if test.name != "many short texts" && !strings.HasPrefix(s.Response, test.response) {
							t.Errorf("the response is %.40q", s.Response)
						}
						if s.Kind == "" {
							t.Error("no kind")
						}
					})
				}
			}
			if whole := len(test.payload) < 130000; whole == strings.Contains(string(server.Spans()[0].Data), `"cut":`) && test.name != "many short texts" {
				t.Errorf("whole: %v, data %.200s", whole, server.Spans()[0].Data)
			}
		})
	}
}

func TestManySessionsAreForgottenAndBeginAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
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
	})
}
