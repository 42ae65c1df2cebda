package ollamatest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strconv"
	"sync"
	"testing"
)

// A Counter is a proxy that counts the requests to a server.
type Counter struct {
	URL string // address for clients, instead of the server's

	mu       sync.Mutex // guards the fields below
	requests map[string]int
	texts    int
	prompt   int
	asked    int
	refusals int
}

// Count starts a counter for the server at url; it ends with the test.
func Count(t testing.TB, upstream string) *Counter {
	t.Helper()
	target, err := url.Parse(upstream)
	if err != nil {
		t.Fatal(err)
	}
	c := &Counter{requests: make(map[string]int)}
	proxy := &httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(target) },
		ModifyResponse: c.answered,
		FlushInterval:  -1,
		ErrorHandler:   func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client has left
		}
		c.countRequest(r.URL.Path, body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	c.URL = server.URL
	return c
}

// Requests returns the number of requests to a path; "" counts all.
func (c *Counter) Requests(path string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if path != "" {
		return c.requests[path]
	}
	all := 0
	for _, n := range c.requests {
		all += n
	}
	return all
}

// Texts returns the number of texts sent to be embedded.
func (c *Counter) Texts() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.texts
}

// LongestPrompt returns the largest number of tokens that the server counted in a
// prompt.
func (c *Counter) LongestPrompt() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.prompt
}

// LargestWindow returns the largest num_ctx in a request, 0 for none.
func (c *Counter) LargestWindow() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.asked
}

// Refusals returns the number of requests that the server rejected with status 400,
// as it does with inputs that are too long.
func (c *Counter) Refusals() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.refusals
}

func (c *Counter) countRequest(path string, body []byte) {
	var r struct {
		Input   json.RawMessage `json:"input"`
		Options struct {
			NumCtx int `json:"num_ctx"`
		} `json:"options"`
	}
	_ = json.Unmarshal(body, &r) // the server judges what is not JSON
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests[path]++
	c.texts += countTexts(r.Input)
	c.asked = max(c.asked, r.Options.NumCtx)
}

// countTexts counts the texts of an input: one, or a list.
func countTexts(input []byte) int {
	var list []json.RawMessage
	switch {
	case len(input) == 0 || string(input) == "null":
		return 0
	case json.Unmarshal(input, &list) == nil:
		return len(list)
	}
	return 1
}

func (c *Counter) answered(r *http.Response) error {
	if r.StatusCode == http.StatusBadRequest {
		c.mu.Lock()
		c.refusals++
		c.mu.Unlock()
	}
	r.Body = &tail{ReadCloser: r.Body, ended: c.promptOf}
	return nil
}

var promptCount = regexp.MustCompile(`"prompt_(?:eval_count|tokens)":(\d+)`)

func (c *Counter) promptOf(end []byte) {
	for _, m := range promptCount.FindAllSubmatch(end, -1) {
		n, err := strconv.Atoi(string(m[1]))
		if err != nil {
			continue
		}
		c.mu.Lock()
		c.prompt = max(c.prompt, n)
		c.mu.Unlock()
	}
}

// A tail passes the end of the data read through it to ended.
type tail struct {
	io.ReadCloser
	end   []byte
	ended func([]byte)
}

const tailSize = 2048 // counts are in the last line

func (t *tail) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	t.end = append(t.end, p[:n]...)
	if over := len(t.end) - tailSize; over > 0 {
		t.end = append(t.end[:0], t.end[over:]...)
	}
	if err != nil && t.ended != nil {
		t.ended(t.end)
		t.ended = nil
	}
	return n, err
}
