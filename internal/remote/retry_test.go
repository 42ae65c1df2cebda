package remote_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tiercompact/tiercompact/internal/model"
	"github.com/tiercompact/tiercompact/internal/remote"
)

// made makes a call to a server whose first answers are given, and all others "ok".
// It returns the answer and the number of requests.
func made(t *testing.T, ctx context.Context, accept string, first ...http.HandlerFunc) (body string, requests int, err error) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent, _ := io.ReadAll(r.Body)
		requests++
		if requests <= len(first) {
			first[requests-1](w, r)
			return
		}
		fmt.Fprintf(w, "%q\n", sent)
	}))
	defer s.Close()
	err = remote.Make(ctx, "", func(h *http.Client) error {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, strings.NewReader("question"))
		if err != nil {
			return err
		}
		r.Header.Set("Accept", accept)
		resp, err := h.Do(r)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		body = string(b)
		return err
	})
	return body, requests, err
}

func busy(status int, after string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", after)
		w.WriteHeader(status)
		io.WriteString(w, `{"error":"server busy, the model's context length is 5"}`)
	}
}

func reset(parts string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if parts != "" {
			io.WriteString(w, parts)
			w.(http.Flusher).Flush()
		}
		panic(http.ErrAbortHandler)
	}
}

func TestABusyServerIsAskedOnceMore(t *testing.T) {
	for name, c := range map[string]struct {
		accept   string
		first    []http.HandlerFunc
		requests int
		text     string // of the error; "": none
	}{
		"429":                      {"", []http.HandlerFunc{busy(429, "0")}, 2, ""},
		"503":                      {"", []http.HandlerFunc{busy(503, "0")}, 2, ""},
		"a date":                   {"", []http.HandlerFunc{busy(503, "Mon, 02 Jan 2006 15:04:05 GMT")}, 2, ""},
		"503 twice":                {"", []http.HandlerFunc{busy(503, "0"), busy(503, "0")}, 2, "server answers 503: server busy"},
		"an hour":                  {"", []http.HandlerFunc{busy(429, "3600")}, 1, "server answers 429: server busy"},
		"500":                      {"", []http.HandlerFunc{busy(500, "0")}, 1, "context length"},
		"reset":                    {"", []http.HandlerFunc{reset("")}, 2, ""},
		"reset in an answer":       {"", []http.HandlerFunc{reset("{")}, 2, ""},
		"reset before a stream":    {remote.LineStream, []http.HandlerFunc{reset("")}, 2, ""},
		"reset in a stream":        {remote.LineStream, []http.HandlerFunc{reset("{}\n")}, 1, "connection broke: in the middle of the answer"},
		"reset in a first line":    {remote.LineStream, []http.HandlerFunc{reset("{\"a")}, 2, ""},
		"reset in a stream of OAI": {"text/event-stream", []http.HandlerFunc{reset("data: {}\n")}, 1, "connection broke"},
		"reset twice":              {"", []http.HandlerFunc{reset(""), reset("")}, 2, "connection broke: before the answer"},
	} {
		t.Run(name, func(t *testing.T) {
			body, requests, err := made(t, t.Context(), c.accept, c.first...)
			if requests != c.requests || c.text == "" && (err != nil || body != "\"question\"\n") || c.text != "" && (err == nil || !strings.Contains(err.Error(), c.text)) {
				t.Errorf("%q after %d requests, error %v; want %d, %q", body, requests, err, c.requests, c.text)
			}
		})
	}
}

// deadlineAfter is a context whose deadline is far away, and the time left once a server
// has answered, however long the answer took.
type deadlineAfter struct {
	context.Context
	answered *atomic.Bool
	left     time.Duration
}

func (d deadlineAfter) Deadline() (time.Time, bool) {
	if d.answered.Load() {
		return time.Now().Add(d.left), true
	}
	return time.Now().Add(time.Hour), true
}

func TestNoCallIsMadeAgainPastItsDeadline(t *testing.T) {
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Minute)
	defer stop()
	if _, requests, err := made(t, ctx, "", busy(503, "1"), busy(503, "1")); requests != 2 || err == nil {
		t.Errorf("with time: %d requests, error %v", requests, err)
	}
	var answered atomic.Bool
	short := deadlineAfter{t.Context(), &answered, 3 * time.Second}
	_, requests, err := made(t, short, "", func(w http.ResponseWriter, r *http.Request) {
		answered.Store(true)
		busy(503, "4")(w, r)
	})
	var f *remote.Failure
	if requests != 1 || !errors.As(err, &f) || f.Status != 503 || errors.Is(err, model.ErrSlow) {
		t.Errorf("without time: %d requests, error %v", requests, err)
	}
}
