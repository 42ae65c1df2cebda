package proxy_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tiercompact/tiercompact/internal/proxy"
)

// conversation sends bytes on one connection that stays open, and returns the status
// of each answer until the proxy closes it.
func (s *setup) conversation(t *testing.T, text string) (statuses []int) {
	t.Helper()
	c, err := net.Dial("tcp", s.Server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(5 * time.Minute))
	_, _ = io.WriteString(c, text)
	from := bufio.NewReader(c)
	for {
		answer, err := http.ReadResponse(from, nil)
		if err != nil {
			if e, ok := err.(net.Error); ok && e.Timeout() {
				t.Errorf("the connection stays open after %v", statuses)
			}
			return statuses
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
		statuses = append(statuses, answer.StatusCode)
	}
}

// TestNoRequestHidesInAnother sends requests whose end two servers may see at
// different places, with another one after it that only one of them sees. The proxy
// refuses them, or answers once and closes the connection; the hidden request never
// arrives, and what arrives has one length.
func TestNoRequestHidesInAnother(t *testing.T) {
	const hidden = "GET /hidden HTTP/1.1\r\nHost: localhost\r\n\r\n"
	const body = `{"messages":[{"role":"user","content":"a"}]}`
	chunked := fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body)
	for _, test := range []struct {
		name, text string
		want       int // 0: 400 or above
	}{
		{"a length beside chunks", "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked, 200},
		{"chunks beside a length", fmt.Sprintf("Transfer-Encoding: chunked\r\nContent-Length: %d\r\n\r\n", len(chunked)+len(hidden)) + chunked, 200},
		{"chunks", "Transfer-Encoding: chunked\r\n\r\n" + chunked, 200},
		{"chunks, in capitals", "Transfer-Encoding: CHUNKED\r\n\r\n" + chunked, 200},
		{"two lengths", fmt.Sprintf("Content-Length: 0\r\nContent-Length: %d\r\n\r\n", len(hidden)), 0},
		{"a list of lengths", fmt.Sprintf("Content-Length: 0, %d\r\n\r\n", len(hidden)), 0},
		{"a signed length", "Content-Length: +0\r\n\r\n", 0},
		{"a negative length", "Content-Length: -1\r\n\r\n", 0},
		{"a length in hexadecimal", "Content-Length: 0x0\r\n\r\n", 0},
		{"a length with a blank inside", "Content-Length: 1 0\r\n\r\n", 0},
		{"a length that is too large", "Content-Length: 99999999999999999999\r\n\r\n", 0},
		{"an unknown coding", "Transfer-Encoding: xchunked\r\n\r\n" + chunked, 0},
		{"a coding before chunks", "Transfer-Encoding: gzip, chunked\r\n\r\n" + chunked, 0},
		{"chunks before a coding", "Transfer-Encoding: chunked, identity\r\n\r\n" + chunked, 0},
		{"chunks twice", "Transfer-Encoding: chunked, chunked\r\n\r\n" + chunked, 0},
		{"two codings", "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n" + chunked, 0},
		{"a quoted coding", "Transfer-Encoding: \"chunked\"\r\n\r\n" + chunked, 0},
		{"a vertical tab before the coding", "Transfer-Encoding: \x0bchunked\r\n\r\n" + chunked, 0},
		{"an empty coding", "Transfer-Encoding: \r\n\r\n" + chunked, 0},
		{"a blank before the colon", "Transfer-Encoding : chunked\r\n\r\n" + chunked, 0},
		{"a blank before the name", " Transfer-Encoding: chunked\r\n\r\n" + chunked, 0},
		{"a name with a control character", "Transfer\x00-Encoding: chunked\r\n\r\n", 0},
		{"a line without a colon", "X\nY: chunked\r\nContent-Length: 0\r\n\r\n", 0},
		{"a bare carriage return in a value", "X: a\rTransfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n", 0},
		{"a chunk of negative size", "Transfer-Encoding: chunked\r\n\r\n-1\r\n\r\n", 0},
		{"a chunk whose size overflows", "Transfer-Encoding: chunked\r\n\r\n10000000000000000\r\n", 0},
		{"a chunk that is longer than its size", "Transfer-Encoding: chunked\r\n\r\n1\r\naaaa\r\n0\r\n\r\n", 0},
		{"a chunk size in another base", "Transfer-Encoding: chunked\r\n\r\n0x1\r\na\r\n0\r\n\r\n", 0},
		{"a length in the trailer", "Transfer-Encoding: chunked\r\nTrailer: Content-Length\r\n\r\n" + strings.TrimSuffix(chunked, "\r\n") + "Content-Length: 50\r\n\r\n", 0},
		{"a second host", "Host: evil.example\r\nContent-Length: 0\r\n\r\n", 0},
	} {
		for _, path := range []string{"/api/chat", "/api/pull"} { // one that is read, and one that is not
			s := newSetup(t, 100_000, nil)
			got := s.conversation(t, "POST "+path+" HTTP/1.1\r\nHost: localhost\r\n"+test.text+hidden)
			switch {
			case len(got) != 1:
				t.Errorf("%s, %s: answers %v", test.name, path, got)
			case test.want == 0 && got[0] < 400, test.want != 0 && got[0] != test.want:
				t.Errorf("%s, %s: %d", test.name, path, got[0])
			}
			s.upstream.mu.Lock()
			for i, uri := range s.uris {
				if strings.Contains(uri, "hidden") || strings.Contains(string(s.bodies[i]), "hidden") || i > 0 {
					t.Errorf("%s, %s: upstream got %v, %q", test.name, path, s.uris, s.bodies)
				}
			}
			s.upstream.mu.Unlock()
		}
	}
}

// TestTheOldProtocolHasNoChunks sends HTTP/1.0, where chunks would be the next request.
func TestTheOldProtocolHasNoChunks(t *testing.T) {
	s := newSetup(t, 100_000, nil)
	got := s.conversation(t, "POST /api/pull HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /hidden HTTP/1.1\r\nHost: localhost\r\n\r\n")
	if slices.ContainsFunc(s.uris, func(uri string) bool { return uri == "/hidden" }) {
		t.Errorf("%v: upstream got %v", got, s.uris)
	}
	for _, text := range []string{"GET / HTTP/1.0\r\n\r\n", "GET / HTTP/1.1\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "GET / HTTP/9.9\r\nHost: localhost\r\n\r\n"} {
		if got := s.conversation(t, text); len(got) > 0 && got[0] < 400 {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// TestNoConnectionChangesItsProtocol asks for HTTP/2 on a connection: its requests
// would reach the upstream unchecked.
func TestNoConnectionChangesItsProtocol(t *testing.T) {
	s := newSetup(t, 100_000, nil)
	s.raw(t, "GET /api/tags HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n")
	if len(s.heads) != 1 || s.heads[0].Get("Upgrade") != "" || s.heads[0].Get("Http2-Settings") != "" {
		t.Errorf("headers upstream: %v", s.heads)
	}
}

// TestNoHeaderHidesFromTheProxy spells the proxy's headers and the client's address in
// ways that a server after it may read.
func TestNoHeaderHidesFromTheProxy(t *testing.T) {
	s := newSetup(t, 100_000, func(c *proxy.Config) { c.Token = token })
	got := s.raw(t, "GET /api/tags HTTP/1.1\r\nHost: localhost\r\nConnection: close, X-Tiercompact-Token\r\nx-TIERCOMPACT-token: "+token+"\r\n"+
		"x-tiercompact-mode: off\r\nX-TierCompact-Session: a\r\nX-FORWARDED-FOR: 1.2.3.4\r\nKeep: yes\r\nProxy-Connection: keep-alive\r\n\r\n")
	if got != 200 {
		t.Fatalf("%d", got)
	}
	for name := range s.heads[0] {
		if lower := strings.ToLower(name); strings.Contains(lower, "tiercompact") || strings.Contains(lower, "forwarded") || strings.HasPrefix(lower, "proxy-") {
			t.Errorf("%s went upstream", name)
		}
	}
	if s.heads[0].Get("Keep") != "yes" {
		t.Errorf("headers upstream: %v", s.heads[0])
	}
	for _, header := range []string{"X_Tiercompact_Token: " + token, "X-Tiercompact-Token: " + token + "\x00", "X-Tiercompact-Token: " + token[:8] + "\r\n " + token[8:], "X-Tiercompact-Tokens: " + token} {
		if got := s.raw(t, "GET /api/tags HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"+header+"\r\n\r\n"); got != 401 && got != 400 {
			t.Errorf("%q: %d", header, got)
		}
	}
}

// TestATokenThatIsNearlyRight sends tokens by a raw connection, as no client would.
func TestATokenThatIsNearlyRight(t *testing.T) {
	s := newSetup(t, 100_000, func(c *proxy.Config) { c.Token = token })
	for _, header := range []string{
		"", "Authorization: " + token, "Authorization: Bearer" + token, "Authorization: Bearer " + token + " " + token, "Authorization: Bearer " + token + ",",
		"Authorization: Bearer " + token[1:], "Authorization: Bearer x" + token, "Authorization: Bearer " + strings.Repeat(token, 2), "Authorization: Token " + token,
		"Authorization: Bearer " + strings.Replace(token, "-", "\u2010", 1), "Authorization: Bearer wrong\r\nAuthorization: Bearer " + token,
		"X-Api-Key: Bearer " + token, "X-Api-Key: " + token[:len(token)-1] + "4", "X-Api-Key: wrong\r\nX-Api-Key: " + token, "Cookie: token=" + token, "Api-Key: " + token,
	} {
		for _, path := range []string{"/api/tags", "/metrics", "/healthz", "/api/tags?token=" + token, "/_tiercompact/"} {
			text := "GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
			if header != "" {
				text += header + "\r\n"
			}
			if got := s.raw(t, text+"\r\n"); got != 401 {
				t.Errorf("%s, %q: %d", path, header, got)
			}
		}
	}
	if len(s.received()) != 0 {
		t.Errorf("upstream got %v", s.uris)
	}
}

// TestNoPageOfAnotherSiteGetsThrough has what a browser sends for such a page: with a
// name that now points to this machine, a form, a script, an image, a frame.
func TestNoPageOfAnotherSiteGetsThrough(t *testing.T) {
	s := newSetup(t, 100_000, func(c *proxy.Config) { c.Hosts = []string{"ui.lan"} })
	for _, test := range []struct {
		name, method, headers string
		want, own             int // own: for the proxy's own paths
	}{
		{"a name that points here now", "POST", "Host: evil.example:11435\r\nOrigin: http://evil.example:11435\r\nSec-Fetch-Site: same-origin\r\n", 403, 403},
		{"the same, without fetch metadata", "GET", "Host: evil.example\r\n", 403, 403},
		{"a form", "POST", "Host: 127.0.0.1\r\nOrigin: https://evil.example\r\nSec-Fetch-Site: cross-site\r\nContent-Type: text/plain\r\n", 403, 403},
		{"a form of an old browser", "POST", "Host: 127.0.0.1\r\nOrigin: http://evil.example\r\n", 403, 403},
		{"a frame in a sandbox", "POST", "Host: 127.0.0.1\r\nOrigin: null\r\n", 403, 403},
		{"a beacon without an origin", "POST", "Host: 127.0.0.1\r\nSec-Fetch-Site: cross-site\r\n", 403, 403},
		{"the question before a script's request", "OPTIONS", "Host: 127.0.0.1\r\nOrigin: https://evil.example\r\nAccess-Control-Request-Method: POST\r\n", 403, 403},
		{"two origins", "POST", "Host: 127.0.0.1\r\nOrigin: http://127.0.0.1\r\nOrigin: http://evil.example\r\n", 403, 403},
		{"an origin that looks like this one", "POST", "Host: 127.0.0.1\r\nOrigin: http://127.0.0.1.evil.example\r\n", 403, 403},
		{"an origin with a user", "POST", "Host: 127.0.0.1\r\nOrigin: http://127.0.0.1@evil.example\r\n", 403, 403},
		{"a page of this machine", "POST", "Host: 127.0.0.1\r\nOrigin: http://localhost:3000\r\nSec-Fetch-Site: same-site\r\n", 200, 403},
		{"an allowed page", "POST", "Host: 127.0.0.1\r\nOrigin: http://ui.lan:3000\r\nSec-Fetch-Site: cross-site\r\n", 200, 403},
		{"an editor", "POST", "Host: 127.0.0.1\r\nOrigin: vscode-webview://0a1b\r\nSec-Fetch-Site: cross-site\r\n", 200, 403},
		{"a program", "POST", "Host: 127.0.0.1\r\n", 200, 0},
	} {
		for _, path := range []string{"/api/chat", "/api/pull", "/v1/chat/completions", "/v1/compact", "/metrics", "/_tiercompact/"} {
			before := len(s.received())
			got := s.raw(t, test.method+" "+path+" HTTP/1.1\r\n"+test.headers+"Content-Length: 0\r\nConnection: close\r\n\r\n")
			own := path == "/v1/compact" || path == "/metrics" || path == "/_tiercompact/"
			switch {
			case own && test.own != 0 && got != test.own, !own && got != test.want:
				t.Errorf("%s, %s: %d", test.name, path, got)
			case got == 403 && len(s.received()) != before:
				t.Errorf("%s, %s: it went upstream", test.name, path)
			}
		}
	}
}
