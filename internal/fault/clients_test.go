package fault_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/fault"
	"github.com/tiercompact/tiercompact/internal/model"
	"github.com/tiercompact/tiercompact/internal/ollama"
	"github.com/tiercompact/tiercompact/internal/ollamatest"
	"github.com/tiercompact/tiercompact/internal/openai"
)

// A reported fault is one that a user hears of: what happened, and after a
// semicolon, what to do. "" means that it is no error.
type reported struct {
	fault       fault.Fault
	chat, embed string // in the error; "": none
	remedy      string
	requests    int // of a chat; 0: 1
	slow        bool
}

func reports() []reported {
	const (
		broke = "connection broke: "
		log   = "log"
	)
	return []reported{
		{fault: fault.Refused(), chat: "connection re", embed: "connection re", remedy: "start", requests: -1},
		{fault: fault.Reset(), chat: broke, embed: broke, remedy: "try again", requests: 2},
		{fault: fault.ResetLater(), chat: broke + "in the middle of the answer", embed: broke, remedy: "try again"},
		{fault: fault.CutMidLine(), chat: broke + "in the middle of the answer", embed: broke, remedy: "try again"},
		{fault: fault.Hang(), chat: "no answer in time", embed: "no answer in time", remedy: "busy or loading", slow: true},
		{fault: fault.Stall(), chat: "no answer in time", embed: "no answer in time", remedy: "busy or loading", slow: true},
		{fault: fault.Drip(time.Second), chat: "no answer in time", embed: "no answer in time", remedy: "busy or loading", slow: true},
		{fault: fault.Busy(http.StatusTooManyRequests, "0"), chat: "server answers 429: server busy", embed: "server answers 429", remedy: "try again later", requests: 2},
		{fault: fault.Busy(http.StatusTooManyRequests, "60"), chat: "server answers 429: server busy", embed: "server answers 429", remedy: "try again later"},
		{fault: fault.Busy(http.StatusServiceUnavailable, "0"), chat: "server answers 503: server busy", embed: "server answers 503", remedy: "try again later", requests: 2},
		{fault: fault.Garbage(), chat: "answer is garbled: ", embed: "answer is garbled: ", remedy: "address"},
		{fault: fault.NotGzip(), chat: "answer is garbled: gzip", embed: "answer is garbled: gzip", remedy: "address"},
		{fault: fault.Gzip()},
		{fault: fault.Huge(), chat: "answer is garbled: ", embed: "answer is garbled: ", remedy: "address"},
		{fault: fault.BadUTF8()},
		{fault: fault.SplitLines()},
		{fault: fault.WrongDimensions(), embed: "answer is garbled: ", remedy: "address"},
		{fault: fault.NaN(), embed: "answer is garbled: ", remedy: "address"},
		{fault: fault.EmptyAnswer(), embed: "answer is garbled: 0 vectors for 2 texts", remedy: "address"},
		{fault: fault.Status(http.StatusNotFound), chat: "not on the server", embed: "not on the server", remedy: ""},
		{fault: fault.Status(http.StatusInternalServerError), chat: "server answers 500: model runner", embed: "server answers 500", remedy: log},
	}
}

// A client is one of the two clients of servers.
type client interface {
	Chat(ctx context.Context, r model.Request, each func(model.Delta) error) (model.Answer, error)
	Embed(ctx context.Context, name string, texts []string) ([][]float32, error)
}

func TestFaultsEndWithWhatAUserNeedsToKnow(t *testing.T) {
	s := fault.Fake(t)
	s.Answer = func(string) string { return "one two three four" }
	checkReports(t, s.URL, "llama3.2:3b", "nomic-embed-text")
}

// What only changes the form of an answer changes nothing of it.
func TestHarmlessFaultsChangeNoAnswer(t *testing.T) {
	s := fault.Fake(t)
	s.Answer = func(string) string { return "one two three four" }
	for _, f := range []fault.Fault{fault.Gzip(), fault.SplitLines()} {
		for _, protocol := range []string{"Ollama", "OpenAI"} {
			p := fault.New(t, s.URL)
			var c client
			var err error
			if c, err = ollama.New(p.URL); protocol == "OpenAI" {
				c, err = openai.New(p.URL, "")
			}
			if err != nil {
				t.Fatal(err)
			}
			ask := func() (string, [][]float32) {
				a, err := c.Chat(t.Context(), model.Request{Model: "llama3.2:3b", Messages: []chat.Message{chat.NewText(chat.User, "Say four words.")}}, nil)
				v, embedErr := c.Embed(t.Context(), "nomic-embed-text", []string{"one text", "another text"})
				if err != nil || embedErr != nil {
					t.Fatal(f.Name, protocol, err, embedErr)
				}
				return a.Message.Text(), v
			}
			text, vectors := ask()
			p.Set(f)
			again, other := ask()
			if text != "one two three four" || again != text || !slices.EqualFunc(vectors, other, slices.Equal[[]float32]) {
				t.Errorf("%s, %s: %q became %q; %d and %d vectors", f.Name, protocol, text, again, len(vectors), len(other))
			}
		}
	}
}

func TestRealAnswersWithFaultsEndWithWhatAUserNeedsToKnow(t *testing.T) {
	checkReports(t, ollamatest.URL(t), ollamatest.Tiny, ollamatest.TinyEmbedder)
}

func checkReports(t *testing.T, upstream, chatter, embedder string) {
	for _, r := range reports() {
		for _, protocol := range []string{"Ollama", "OpenAI"} {
			t.Run(r.fault.Name+"/"+protocol, func(t *testing.T) {
				p := fault.New(t, upstream)
				p.Set(r.fault)
				var c client
				var err error
				if c, err = ollama.New(p.URL); protocol == "OpenAI" {
					c, err = openai.New(p.URL, "")
				}
				if err != nil {
					t.Fatal(err)
				}
				r.check(t, p, c, chatter, embedder)
			})
		}
	}
}

// lateContext is a context whose deadline passes when a test says so.
type lateContext struct {
	context.Context
	passed <-chan struct{}
}

func (l lateContext) Done() <-chan struct{} { return l.passed }

func (l lateContext) Err() error {
	select {
	case <-l.passed:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// lateAfter returns a context whose deadline passes a moment after the proxy has so
// many requests: the server was reached, however slow the machine is.
func lateAfter(p *fault.Proxy, requests int) (context.Context, context.CancelFunc) {
	passed, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(passed)
		for {
			select {
			case <-stopped:
				return
			case <-time.After(20 * time.Millisecond):
				if len(p.Requests()) >= requests {
					return
				}
			}
		}
	}()
	return lateContext{context.Background(), passed}, sync.OnceFunc(func() { close(stopped) })
}

// check asks for a chat and for vectors.
func (r reported) check(t *testing.T, p *fault.Proxy, c client, chatter, embedder string) {
	limited := func() (context.Context, context.CancelFunc) {
		if r.slow {
			return lateAfter(p, len(p.Requests())+1)
		}
		return context.WithTimeout(t.Context(), 5*time.Minute)
	}
	ctx, stop := limited()
	defer stop()
	a, err := c.Chat(ctx, model.Request{Model: chatter, Messages: []chat.Message{chat.NewText(chat.User, "Say four words.")}, MaxTokens: 4, Sampling: &model.Sampling{Temperature: 1, Seed: 3}}, nil)
	r.compare(t, "chat", r.chat, err)
	if err == nil && !utf8.ValidString(a.Message.Text()) {
		t.Errorf("the answer %q is not UTF-8", a.Message.Text())
	}
	if n := len(p.Requests()); r.requests >= 0 && n != max(1, r.requests) {
		t.Errorf("%d requests, want %d", n, max(1, r.requests))
	}
	ctx, stop = limited()
	defer stop()
	v, err := c.Embed(ctx, embedder, []string{"one text", "another text"})
	r.compare(t, "embed", r.embed, err)
	if err == nil && (len(v) != 2 || len(v[0]) != len(v[1]) || slices.Equal(v[0], v[1])) {
		t.Errorf("%d vectors", len(v))
	}
}

func (r reported) compare(t *testing.T, what, want string, err error) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("%s: %v", what, err)
	case want != "" && err == nil:
		t.Errorf("%s: no error, want %q", what, want)
	case want != "":
		text, remedy, ok := strings.Cut(err.Error(), "; ")
		if !strings.Contains(text, want) || !ok || !strings.Contains(remedy, r.remedy) {
			t.Errorf("%s: %v, want %q; %q", what, err, want, r.remedy)
		}
	}
}

// A server that ignores the limit, and a model that thinks without end.
func TestAnAnswerWithoutEndIsCutOffByCount(t *testing.T) {
	for protocol, line := range map[string]string{
		"Ollama": `{"message":{"role":"assistant","thinking":"hm "},"done":false}` + "\n",
		"OpenAI": `data: {"choices":[{"delta":{"reasoning_content":"hm "}}]}` + "\n\n",
	} {
		for _, r := range []model.Request{{MaxTokens: 100, Window: 4096}, {Window: 256}} {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", map[string]string{"Ollama": "application/x-ndjson", "OpenAI": "text/event-stream"}[protocol])
				for r.Context().Err() == nil {
					io.WriteString(w, line)
				}
			}))
			var c client
			c, err := ollama.New(s.URL)
			if protocol == "OpenAI" {
				c, err = openai.New(s.URL, "")
			}
			if err != nil {
				t.Fatal(err)
			}
			r.Model, r.Messages = "m", []chat.Message{chat.NewText(chat.User, "hi")}
			pieces := 0
			a, err := c.Chat(t.Context(), r, func(model.Delta) error { pieces++; return nil })
			if err != nil || a.Done != model.CutOff || pieces > 2*max(r.MaxTokens, 256) {
				t.Errorf("%s, %d of %d: %q after %d pieces, %v", protocol, r.MaxTokens, r.Window, a.Done, pieces, err)
			}
			s.Close()
		}
	}
}
