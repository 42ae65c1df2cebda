package fault

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// A Proxy is between a client and a server, and causes faults. Without a fault, a
// request passes unchanged, each part as soon as it arrives.
type Proxy struct {
	URL string // address for clients, instead of the server's

	upstream, addr string

	mu       sync.Mutex // guards the fields below
	server   *http.Server
	rules    []rule // the last one that applies is used
	requests []Request
}

// A Request is a received request.
type Request struct {
	Method, Path string
	Body         []byte
	Fault        string // the fault for it; "" for none
}

// A rule is a fault and the requests that it affects.
type rule struct {
	fault Fault
	path  string // "": all
	nth   int    // of the path, from 1; 0: all
	seen  int
}

// New starts a proxy for the server at upstream, a base address; it ends with the
// test.
func New(t testing.TB, upstream string) *Proxy {
	t.Helper()
	p := &Proxy{upstream: strings.TrimSuffix(upstream, "/"), addr: "127.0.0.1:0"}
	if err := p.listenLocked(); err != nil {
		t.Fatal(err)
	}
	p.URL = "http://" + p.addr
	t.Cleanup(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.closeConnections()
	})
	return p
}

// listenLocked needs the lock, unless no other goroutine has p.
func (p *Proxy) listenLocked() error {
	l, err := net.Listen("tcp", p.addr)
	if err != nil {
		return err
	}
	p.addr = l.Addr().String()
	p.server = &http.Server{Handler: http.HandlerFunc(p.serveExchange), ReadHeaderTimeout: time.Minute}
	go p.server.Serve(l)
	return nil
}

// closeConnections closes the port and all connections. It needs the lock.
func (p *Proxy) closeConnections() {
	if p.server != nil {
		p.server.Close()
		p.server = nil
	}
}

// Set has all requests meet f from now on, whatever was set before. The zero
// Fault lets them pass.
func (p *Proxy) Set(f Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = []rule{{fault: f}}
	switch {
	case f.down:
		p.closeConnections()
	case p.server == nil:
		err := p.listenLocked()
		for range 1000 { // a connection of another program may have the port for a moment
			if err == nil {
				return
			}
			time.Sleep(10 * time.Millisecond)
			err = p.listenLocked()
		}
		panic(err)
	}
}

// At adds fault f for all requests of a path.
func (p *Proxy) At(path string, f Fault) { p.addFaultRule(rule{fault: f, path: path}) }

// Nth adds fault f for the nth request of a path from now on, counted from 1; ""
// means all paths.
func (p *Proxy) Nth(path string, n int, f Fault) { p.addFaultRule(rule{fault: f, path: path, nth: n}) }

func (p *Proxy) addFaultRule(r rule) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = append(p.rules, r)
}

// Requests returns the requests received so far.
func (p *Proxy) Requests() []Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.requests)
}

// nextFault records a request, and returns the fault for it.
func (p *Proxy) nextFault(method, path string, body []byte) Fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	var f Fault
	for i := range p.rules {
		r := &p.rules[i]
		if r.path != "" && r.path != path {
			continue
		}
		r.seen++
		if r.nth == 0 || r.nth == r.seen {
			f = r.fault
		}
	}
	if f.models && !asksModel(path) {
		f = Fault{}
	}
	p.requests = append(p.requests, Request{method, path, body, f.Name})
	return f
}

// asksModel reports whether a model produces the answer of a path.
func asksModel(path string) bool { return isChatPath(path) || isEmbedPath(path) }

func isChatPath(path string) bool { return path == "/api/chat" || path == "/v1/chat/completions" }

func isEmbedPath(path string) bool { return path == "/api/embed" || path == "/v1/embeddings" }

func (p *Proxy) serveExchange(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return // the client has left
	}
	f := p.nextFault(r.Method, r.URL.Path, body)
	if f.serve == nil {
		f.serve = passThrough
	}
	f.serve(&exchange{ResponseWriter: w, r: r, body: body, upstream: p.upstream})
}

// An exchange is a request and the connection to its client.
type exchange struct {
	http.ResponseWriter
	r        *http.Request
	body     []byte
	upstream string
}

// forwardRequest sends the request to the server.
func (x *exchange) forwardRequest(ctx context.Context) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, x.r.Method, x.upstream+x.r.URL.RequestURI(), bytes.NewReader(x.body))
	if err != nil {
		return nil, err
	}
	r.Header = x.r.Header.Clone()
	r.Header.Del("Accept-Encoding") // the transport decodes only the encoding that it requested
	return http.DefaultTransport.RoundTrip(r)
}

// relayAnswer requests the answer and passes its body to each, after status and
// header were sent. Without an answer, the connection is closed.
func (x *exchange) relayAnswer(each func(body io.Reader)) {
	answer, err := x.forwardRequest(x.r.Context())
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer answer.Body.Close()
	x.Header().Set("Content-Type", answer.Header.Get("Content-Type"))
	x.WriteHeader(answer.StatusCode)
	each(answer.Body)
}

// sendPart writes a part and flushes it.
func (x *exchange) sendPart(part []byte) {
	x.Write(part)
	http.NewResponseController(x.ResponseWriter).Flush() // a server's writer can flush
}

// passThrough passes on the server's answer.
func passThrough(x *exchange) {
	x.relayAnswer(func(body io.Reader) {
		part := make([]byte, 32<<10)
		for {
			n, err := body.Read(part)
			x.sendPart(part[:n])
			switch {
			case err == io.EOF:
				return
			case err != nil:
				panic(http.ErrAbortHandler) // an answer that the server broke off is broken off
			}
		}
	})
}
