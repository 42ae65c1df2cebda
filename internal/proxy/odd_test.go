package proxy_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/internal/proxy"
)

// sendRaw sends bytes on a connection of its own, and returns the answer to a request of a
// method.
func (s *setup) sendRaw(t *testing.T, method, text string) (*http.Response, string) {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(s.Server.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	from := bufio.NewReader(c)
	for {
		answer, err := http.ReadResponse(from, &http.Request{Method: method})
		if err != nil {
			t.Fatalf("%s: %v", text[:min(len(text), 80)], err)
		}
		if answer.StatusCode == http.StatusContinue {
			continue
		}
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer, string(body)
	}
}

// Clients that few have written: old versions of HTTP, a body that waits to be asked
// for, other methods and paths.
func TestOddRequestsAreForwarded(t *testing.T) {
	var d dialogue
	for range 3 {
		d.turn()
	}
	body := d.body()
	length := fmt.Sprintf("Content-Length: %d\r\n", len(body))
	for _, test := range []struct {
		name, method, head string
		compacts           bool // it is looked at
	}{
		{"HTTP/1.0", "POST", "POST /api/chat HTTP/1.0\r\nHost: localhost\r\n" + length, true},
		{"a body that waits to be asked for", "POST", "POST /api/chat HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nExpect: 100-continue\r\n" + length, true},
		{"a query", "POST", "POST /v1/messages?beta=true&x=%zz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + length, true},
		{"a slash at the end", "POST", "POST /v1/chat/completions/ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + length, false},
		{"OPTIONS", "OPTIONS", "OPTIONS /api/chat HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + length, false},
		{"PUT", "PUT", "PUT /api/chat HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + length, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newSetup(t, 100_000, nil)
			answer, text := s.sendRaw(t, test.method, test.head+"\r\n"+body)
			if answer.StatusCode != http.StatusOK || text != ollamaAnswer || string(s.last(t)) != body {
				t.Errorf("%d %s; upstream got %s", answer.StatusCode, text, s.last(t))
			}
			if test.compacts && s.heads[0].Get("Expect") != "" {
				t.Errorf("headers upstream: %v", s.heads[0])
			}
			if looked := answer.Header.Get("X-Tiercompact-Session") != ""; looked != test.compacts {
				t.Errorf("it is looked at: %v; %v", looked, answer.Header)
			}
			s.proxy.Wait()
			if held := s.gauge(t, "held_bytes"); held != 0 {
				t.Errorf("%d bytes are held", held)
			}
		})
	}
}

// A compressed body cannot be counted: it passes as it came, or is refused if nothing may
// pass that was not looked at.
func TestACompressedBody(t *testing.T) {
	var d dialogue
	d.turn()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = io.WriteString(w, d.body())
	_ = w.Close()
	for _, closed := range []bool{false, true} {
		s := newSetup(t, 100_000, func(c *proxy.Config) { c.FailClosed = closed })
		answer, _ := s.post(t, "/api/chat", packed.String(), "Content-Encoding", "gzip")
		if closed {
			if answer.StatusCode != http.StatusUnsupportedMediaType || len(s.received()) != 0 {
				t.Errorf("closed: %d, %d requests went upstream", answer.StatusCode, len(s.received()))
			}
			continue
		}
		if answer.StatusCode != http.StatusOK || !bytes.Equal(s.last(t), packed.Bytes()) || answer.Header.Get("X-Tiercompact-Passed") == "" {
			t.Errorf("open: %d %v", answer.StatusCode, answer.Header)
		}
	}
}

// A server that compresses what clients accept, as one behind nginx does, says that a
// request does not fit in compressed text.
func TestACompressedErrorIsRead(t *testing.T) {
	s := newSetup(t, 100_000, nil)
	s.answer = func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		status, text := http.StatusOK, `{"ok":true}`
		if len(body) > 9000 {
			status, text = http.StatusBadRequest, overflows[2].body
		}
		if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, text)
			return
		}
		w.Header().Set("Content-Encoding", "gzip")
		w.WriteHeader(status)
		packed := gzip.NewWriter(w)
		_, _ = io.WriteString(packed, text)
		_ = packed.Close()
	}
	answer, text := s.post(t, "/v1/chat/completions", history("", 40), "Accept-Encoding", "gzip, deflate, br")
	if answer.StatusCode != http.StatusOK || answer.Header.Get("X-Tiercompact-Retried") != "1" || text != `{"ok":true}` {
		t.Errorf("%d %q %v", answer.StatusCode, text, answer.Header)
	}
	// What is not read goes on compressed.
	if answer, _ := s.post(t, "/api/tags", "", "Accept-Encoding", "gzip"); answer.Header.Get("Content-Encoding") != "gzip" {
		t.Errorf("%v", answer.Header)
	}
}

// Requests that a client sends without a wait for the answers are answered in their
// order, also if one has a trailer; that one ends the connection.
func TestPipelinedRequestsAreAnsweredInOrder(t *testing.T) {
	s := newSetup(t, 100_000, nil)
	one, two := say("", "", "u:one"), say("", "", "u:two")
	chunks := fmt.Sprintf("POST /api/chat HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n%x\r\n%s\r\n0\r\nX-Sum: 1\r\n\r\n", len(smallBody), smallBody)
	got := s.conversation(t, postOf("/api/chat", one, len(one))+"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"+postOf("/v1/messages", two, len(two))+chunks+postOf("/api/chat", one, len(one)))
	if fmt.Sprint(got) != "[200 200 200 200]" {
		t.Errorf("answers %v", got)
	}
	if sent := s.received(); len(sent) != 3 || string(sent[0]) != one || string(sent[1]) != two || string(sent[2]) != smallBody || s.heads[2].Get("Trailer") != "" {
		t.Errorf("upstream got %q, %v", sent, s.heads)
	}
}

// Odd names of sessions do no harm: they are names, or the request passes with a reason.
func TestOddSessionNames(t *testing.T) {
	s := newSetup(t, 100_000, withArchive(100_000))
	var d dialogue
	d.turn()
	for _, name := range []string{"../../etc/passwd", "a/b\\c", "~", "a~b", " ", "é", strings.Repeat("x", 200), strings.Repeat("x", 201), "<script>", "tiercompact:x", ".", "..", "CON", "%2e%2e"} {
		for _, level := range []string{"auto", "emergency"} {
			answer, text := s.post(t, "/api/chat", d.body(), "X-Tiercompact-Session", name, "X-Tiercompact-Mode", level)
			if answer.StatusCode != http.StatusOK || text != ollamaAnswer {
				t.Errorf("%q: %d %s", name, answer.StatusCode, text)
			}
			if passed := answer.Header.Get("X-Tiercompact-Passed"); (passed != "") != (len(name) > 200) {
				t.Errorf("%q: passed: %q", name, passed)
			}
		}
	}
	if code, text := s.get(t, "/_tiercompact/"); code != 200 || strings.Contains(text, "<script>") && strings.Contains(text, "&lt;script&gt;") == false {
		t.Errorf("the page: %d", code)
	}
}
