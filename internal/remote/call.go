package remote

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"
	"time"
)

const (
	maxBody    = 64 << 20 // of an answer; the largest valid one is a vocabulary, 10 to 25 MB
	maxLine    = 4 << 20  // of a streamed answer
	maxRefusal = 64 << 10 // of an error answer

	// LineStream is the media type of an answer that arrives line by line. The
	// length of its lines is limited, not their number.
	LineStream = "application/x-ndjson"

	eventStream = "text/event-stream"
)

var errRedirect = errors.New("server sends to another host")

// transport limits steps that no server needs long for. The model's thinking time
// is not one of them: contexts limit that. Loopback never uses a proxy.
var transport = &http.Transport{
	Proxy:               http.ProxyFromEnvironment,
	DialContext:         (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
	TLSHandshakeTimeout: 5 * time.Second,
	MaxIdleConnsPerHost: 4,
	IdleConnTimeout:     30 * time.Second,
}

// A Call is one request and its answer. It is used once, by one goroutine. The
// zero value is ready.
type Call struct {
	Secret string // must not be in errors; "": none

	status int      // status of the rejection; 0: none
	wait   string   // its Retry-After
	text   string   // its message
	class  string   // its other text
	page   bool     // the rejection is a web page
	broken error    // why the body could not be read to its end
	passed bool     // a part of a stream has reached the caller
	url    *url.URL // of the newest request; nil: none

	// The progress of that request. The transport may report it from goroutines of
	// its own.
	connected, securing, secured atomic.Bool
}

// Client returns the client to make the call with.
func (c *Call) Client() *http.Client {
	return &http.Client{Transport: c, CheckRedirect: sameHost}
}

// sameHost keeps a conversation from being sent to another host.
func sameHost(r *http.Request, via []*http.Request) error {
	if len(via) > 4 || r.URL.Host != via[0].URL.Host || r.URL.Scheme != via[0].URL.Scheme {
		return errRedirect
	}
	return nil
}

// RoundTrip implements [http.RoundTripper].
func (c *Call) RoundTrip(r *http.Request) (*http.Response, error) {
	c.url = r.URL
	resp, err := transport.RoundTrip(r.WithContext(httptrace.WithClientTrace(r.Context(), c.trace())))
	if err != nil {
		return nil, err
	}
	switch {
	case resp.StatusCode >= http.StatusBadRequest:
		c.noteRefusal(resp)
	case r.Header.Get("Accept") == LineStream:
		resp.Body = c.wholeJSONLines(resp.Body)
	default:
		resp.Body = &bounded{c, resp.Body, maxBody, r.Header.Get("Accept") == eventStream}
	}
	return resp, nil
}

// trace records the progress of a request.
func (c *Call) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		ConnectDone: func(_, _ string, err error) {
			if err == nil {
				c.connected.Store(true)
			}
		},
		TLSHandshakeStart: func() { c.securing.Store(true) },
		TLSHandshakeDone:  func(_ tls.ConnectionState, err error) { c.secured.Store(err == nil) },
		GotConn: func(httptrace.GotConnInfo) {
			c.connected.Store(true)
			c.secured.Store(true)
		},
	}
}

// noteRefusal stores the text of a rejection, and leaves it readable for the next
// reader.
func (c *Call) noteRefusal(resp *http.Response) {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxRefusal)) // a part of it is enough
	resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(body))
	c.status, c.wait = resp.StatusCode, resp.Header.Get("Retry-After")
	c.text, c.class = parseRefusal(body)
	c.page = isPage(body)
}

// parseRefusal returns the message in the body of a rejection, and the message with
// all other text that indicates its kind.
func parseRefusal(body []byte) (text, class string) {
	type said struct {
		Message string `json:"message"`
		Type    string `json:"type"`
		Code    any    `json:"code"`
		Detail  string `json:"detail"`
	}
	var b struct {
		Error json.RawMessage `json:"error"`
		said
	}
	if json.Unmarshal(body, &b) != nil {
		return string(body), string(body)
	}
	s := b.said
	if json.Unmarshal(b.Error, &text) != nil {
		_ = json.Unmarshal(b.Error, &s) // only an object has a message
		text = s.Message + s.Detail
	}
	if text == "" {
		text = string(body)
	}
	return text, fmt.Sprint(text, " ", s.Type, " ", s.Code)
}

// A bounded body breaks off the call after left bytes.
type bounded struct {
	call *Call
	io.ReadCloser
	left   int
	stream bool
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.left -= n
	b.call.passed = b.call.passed || b.stream && bytes.IndexByte(p[:n], '\n') >= 0
	if b.left < 0 {
		err = fmt.Errorf("it has more than %d bytes", maxBody)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		b.call.broken = err
	}
	return n, err
}

// wholeJSONLines returns a body that has only whole lines of JSON. At any other
// line it ends, and the call is broken off.
func (c *Call) wholeJSONLines(body io.ReadCloser) io.ReadCloser {
	scanner := bufio.NewScanner(body)
	scanner.Buffer(nil, maxLine)
	return &lineBody{call: c, Closer: body, scanner: scanner}
}

type lineBody struct {
	call *Call
	io.Closer
	scanner *bufio.Scanner
	line    []byte // being read
	rest    []byte // of it
}

func (b *lineBody) Read(p []byte) (int, error) {
	for len(b.rest) == 0 {
		if !b.scanner.Scan() {
			b.call.broken = b.scanner.Err()
			return 0, io.EOF
		}
		line := bytes.TrimSpace(b.scanner.Bytes())
		if len(line) > 0 && !json.Valid(line) {
			b.call.broken = cmp.Or(b.scanner.Err(), fmt.Errorf("it has a line that is not JSON: %s", line))
			return 0, io.EOF
		}
		if len(line) > 0 {
			b.line = append(append(b.line[:0], line...), '\n')
			b.rest = b.line
		}
	}
	b.call.passed = true
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}
