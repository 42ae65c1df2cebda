// Package proxy keeps the conversations of assistants inside the window of their
// model: a reverse proxy before Ollama, or a server with the API of OpenAI or
// Anthropic. A request that fits passes byte for byte. One that does not is
// compacted, and the rounds are repeated on later requests of the conversation, so
// that they begin with the same bytes and the server's prompt cache stays valid.
package proxy

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/http/httputil"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/internal/proxy/page"
	"github.com/tiercompact/tiercompact/levels"
	"github.com/tiercompact/tiercompact/trace"
)

// ErrNoWindow says that the settings of a model are complete except for its window:
// requests that name theirs are compacted.
var ErrNoWindow = errors.New("the window of the model is not known")

// A Config holds the settings of a proxy. Upstream, Open and State are required.
type Config struct {
	Upstream *url.URL
	// Open returns the settings of conversations with a model, the window included. It
	// is called once for each model; archive and trace are shared, and the caller's.
	Open  func(ctx context.Context, model string) (tiercompact.Config, error)
	State State
	Trace trace.Sink // for the proxy's own warnings; nil: none
	// Archive is that of Open's settings, which the page shows and searches; nil: it
	// shows no compactions.
	Archive archive.Store

	Native    bool          // the upstream is Ollama: requests of OpenAI and Anthropic are translated to /api/chat
	KeepAlive time.Duration // how long Ollama keeps the model of a translated request loaded; 0: its default

	RecallTool bool                // requests with tools get one more, recall, whose calls the proxy answers
	Report     func(RequestReport) // is called for each round, and each request that needs none; nil: not

	FailClosed bool          // refuse a request whose compaction fails; else it passes as it came
	Token      string        // demanded of every client; "": none
	Hosts      []string      // names by which clients may call the proxy, beside those of loopback; "*": any
	MaxBody    int64         // of a request that is read; 0: 64 MiB
	MaxBodies  int64         // of all requests that are read at once, in bytes; others wait; 0: 256 MiB
	ColdAfter  time.Duration // the server's cache of an idle conversation is cold; 0: 5 minutes
	PlanWithin time.Duration // limit of a round planned while an answer streams; 0: 10 minutes

	ReadWithin   time.Duration     // limit of the body of a request that is read; 0: 1 minute
	AnswerWithin time.Duration     // limit until the upstream's first byte; 0: 15 minutes
	IdleWithin   time.Duration     // limit between bytes of an answer; 0: 10 minutes
	TotalWithin  time.Duration     // limit of a whole exchange; 0: 2 hours
	Transport    http.RoundTripper // for tests; nil: a transport without redirects, proxies and compression
	Now          func() time.Time  // nil: time.Now
}

// A RequestReport describes a round, or a request without one.
type RequestReport struct {
	Session string
	Level   levels.Name // [levels.None]: no round
	Before  int         // tokens
	After   int
	Budget  int
	Planned bool   // the round is for the next request
	Passed  string // why the request was not looked at; "": it was
}

// A Proxy is an [http.Handler]. It is safe for concurrent use.
type Proxy struct {
	cfg     Config
	engine  *engine
	gate    *bodyGate
	page    *page.Page
	forward *httputil.ReverseProxy
	send    http.RoundTripper
	metrics metrics
	plans   sync.WaitGroup
	decodes chan struct{} // holds one for each request that is decoded at present
	closing chan struct{} // ends the rounds that are planned while answers stream
	close   sync.Once
}

// New returns a proxy.
func New(cfg Config) (*Proxy, error) {
	switch {
	case cfg.Upstream == nil || cfg.Upstream.Host == "" || cfg.Upstream.Scheme != "http" && cfg.Upstream.Scheme != "https":
		return nil, errors.New("the upstream must be an http:// or https:// URL with a host")
	case cfg.Upstream.User != nil || cfg.Upstream.RawQuery != "" || cfg.Upstream.Fragment != "":
		return nil, errors.New("the upstream's URL must have no user, query or fragment; clients send their keys as headers")
	case cfg.Open == nil || cfg.State == nil:
		return nil, errors.New("the proxy needs Open and State")
	}
	cfg = withDefaults(cfg)
	p := &Proxy{cfg: cfg, engine: newEngine(cfg), gate: newBodyGate(cfg.MaxBodies), closing: make(chan struct{}), decodes: make(chan struct{}, runtime.GOMAXPROCS(0))}
	p.page = page.New(page.Options{Source: conversations{p.engine}, Archive: cfg.Archive, Upstream: cfg.Upstream.Host, Secret: cfg.Token, Now: cfg.Now})
	p.engine.board.changed = p.page.Changed
	p.send = cfg.Transport
	if p.send == nil {
		p.send = &http.Transport{
			DisableCompression: true, MaxIdleConnsPerHost: 64, IdleConnTimeout: 90 * time.Second,
			ResponseHeaderTimeout: cfg.AnswerWithin, ForceAttemptHTTP2: true, MaxResponseHeaderBytes: 1 << 20,
		}
	}
	p.forward = &httputil.ReverseProxy{
		Rewrite: p.rewrite, Transport: roundTripper(p.roundTrip), FlushInterval: -1, ErrorHandler: p.upstreamFailed,
		ModifyResponse: p.modifyResponse, ErrorLog: quietLog,
	}
	return p, nil
}

func withDefaults(cfg Config) Config {
	cfg.MaxBody = cmp.Or(cfg.MaxBody, 64<<20)
	cfg.MaxBodies = cmp.Or(cfg.MaxBodies, 256<<20)
	cfg.ColdAfter = cmp.Or(cfg.ColdAfter, 5*time.Minute)
	cfg.PlanWithin = cmp.Or(cfg.PlanWithin, 10*time.Minute)
	cfg.ReadWithin = cmp.Or(cfg.ReadWithin, time.Minute)
	cfg.AnswerWithin = cmp.Or(cfg.AnswerWithin, 15*time.Minute)
	cfg.IdleWithin = cmp.Or(cfg.IdleWithin, 10*time.Minute)
	cfg.TotalWithin = cmp.Or(cfg.TotalWithin, 2*time.Hour)
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return cfg
}

// Close ends the rounds that are being planned, and the connections to the upstream that
// no request uses. The state stays open: it is the caller's.
func (p *Proxy) Close() {
	p.close.Do(func() { close(p.closing) })
	p.page.Close()
	p.plans.Wait()
	if own, ok := p.send.(*http.Transport); ok && p.cfg.Transport == nil {
		own.CloseIdleConnections()
	}
}

// Wait waits until no round is being planned.
func (p *Proxy) Wait() { p.plans.Wait() }

// ServeHTTP answers the proxy's own paths, and forwards every other request.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	hardenConnection(w, r)
	end := time.Now().Add(p.cfg.TotalWithin)
	limitConnection(w, end)
	if refusal := p.admit(r); refusal != nil {
		p.metrics.refused.Add(1)
		if isPage(r) {
			w.Header().Set("WWW-Authenticate", `Basic realm="tiercompact: any name, the token as password", charset="UTF-8"`)
		}
		refusal.write(w, "")
		return
	}
	if p.serveOwn(w, r) {
		return
	}
	ctx, stop := context.WithDeadline(r.Context(), end)
	defer stop()
	x := &exchange{began: p.cfg.Now()}
	defer x.dropBody()
	r = r.WithContext(context.WithValue(ctx, exchangeKey{}, x))
	p.metrics.requests.Add(1)
	if api := apiOf(r); api != nil {
		if !p.prepare(w, r, api, x) || !p.translateBody(w, r, x) {
			return
		}
	}
	p.forward.ServeHTTP(w, r)
}

// An exchange is one request and its answer.
type exchange struct {
	api     *api
	began   time.Time
	body    []byte // as it goes upstream; nil: the request is not read
	sent    *request
	plan    plan
	headers http.Header // for the answer
	retried bool
	room    *admission // while the request's messages are in memory; nil: none

	native  *translation // nil: it goes out in the client's API
	recalls bool         // it has the tool of the proxy
	source  []byte       // the body before its translation
	noThink bool         // the model has refused to think
}

// dropBody drops what only the request needs. The answer may go on for long.
func (x *exchange) dropBody() {
	x.body, x.source = nil, nil
	x.plan.body, x.plan.history, x.plan.rounds = nil, tiercompact.History{}, liveRounds{}
	if x.sent != nil {
		x.sent.body, x.sent.doc = nil, nil
	}
	x.room.release()
	x.room = nil
}

type exchangeKey struct{}

func exchangeOf(r *http.Request) *exchange {
	x, _ := r.Context().Value(exchangeKey{}).(*exchange)
	return x
}

// prepare reads the request of a known API and compacts it. It reports whether the
// request is to be forwarded.
func (p *Proxy) prepare(w http.ResponseWriter, r *http.Request, a *api, x *exchange) bool {
	x.api, x.headers = a, make(http.Header)
	if e := r.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		reason := "the body is encoded (" + headerText(e) + ")"
		if p.cfg.FailClosed {
			p.metrics.refused.Add(1)
			(&refusal{http.StatusUnsupportedMediaType, "not compacted: " + reason + "; send it without Content-Encoding"}).write(w, a.name)
			return false
		}
		x.headers.Set(passedHeader, reason)
		return true
	}
	body, room, refusal := p.readBody(w, r)
	if refusal != nil {
		p.metrics.refused.Add(1)
		refusal.write(w, a.name)
		return false
	}
	x.body, x.room = body, room
	if strings.EqualFold(r.Header.Get(modeHeader), "off") {
		x.headers.Set(passedHeader, "off")
		return true
	}
	if p.cfg.RecallTool {
		x.body, x.recalls = withRecallTool(a, body)
	}
	req, err := p.decode(func() (*request, error) { return parseRequest(a, x.body, r.Header) })
	if err == nil {
		x.sent = req
		x.plan, err = p.engine.compact(r.Context(), req)
	}
	if err != nil {
		x.body, x.recalls = body, false // it passes as it came
	}
	var pass passes
	switch {
	case errors.As(err, &pass):
		x.sent = nil
		x.headers.Set(passedHeader, headerText(string(pass)))
		p.engine.report(RequestReport{Session: cmp.Or(r.Header.Get(sessionHeader), "proxy"), Level: levels.None, Passed: string(pass)})
		return true
	case err != nil:
		return p.failed(w, x, err)
	}
	if x.plan.body != nil {
		x.body = x.plan.body
		p.metrics.compacted.Add(1)
	}
	x.plan.setHeaders(x.headers)
	if !x.plan.report.Compacted() && !a.counts {
		p.engine.reportRound(x.plan, false)
	}
	return true
}

// decode reads a request, no more of them at once than there are cores: decoded forms that
// wait for a core take memory.
func (p *Proxy) decode(parse func() (*request, error)) (*request, error) {
	p.decodes <- struct{}{}
	defer func() { <-p.decodes }()
	return parse()
}

// failed deals with a request that cannot be compacted: it passes as it came, or is
// refused.
func (p *Proxy) failed(w http.ResponseWriter, x *exchange, err error) bool {
	p.metrics.failures.Add(1)
	session := cmp.Or(x.plan.session, "proxy")
	reason := p.engine.redacted(err)
	p.warn(session, trace.Medium, "a request passes as it came: "+reason, "see the error; --fail closed refuses such requests")
	if p.cfg.FailClosed {
		(&refusal{http.StatusUnprocessableEntity, "not compacted: " + reason}).write(w, x.api.name)
		return false
	}
	x.sent = nil
	x.headers.Set(passedHeader, headerText(reason))
	if x.plan.session != "" {
		x.headers.Set(sessionHeader, headerText(x.plan.session))
	}
	return true
}

func (p *Proxy) warn(session, severity, text, remedy string) {
	if p.cfg.Trace == nil {
		return
	}
	now := p.cfg.Now()
	p.cfg.Trace.Emit(trace.New(session, now, now, trace.Warning{Severity: severity, Message: text, Remedy: remedy}))
}
