package proxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httputil"
	"strconv"
	"strings"
	"time"

	"github.com/tiercompact/tiercompact/internal/remote"
	"github.com/tiercompact/tiercompact/levels"
	"github.com/tiercompact/tiercompact/tokens"
	"github.com/tiercompact/tiercompact/trace"
)

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// quietLog drops what the standard library would print of a client that has gone.
var quietLog = log.New(io.Discard, "", 0)

// rewrite makes the upstream's request: path, query and headers as they came, without
// the proxy's own and those of the connection.
func (p *Proxy) rewrite(r *httputil.ProxyRequest) {
	r.Out.URL.Scheme, r.Out.URL.Host = p.cfg.Upstream.Scheme, p.cfg.Upstream.Host
	path, escaped := r.In.URL.Path, r.In.URL.EscapedPath()
	x := exchangeOf(r.In)
	if x.native != nil {
		path, escaped = nativePath, nativePath
		r.Out.URL.Path, r.Out.URL.RawPath = path, ""
	}
	if base := strings.TrimSuffix(p.cfg.Upstream.EscapedPath(), "/"); base != "" {
		r.Out.URL.Path = strings.TrimSuffix(p.cfg.Upstream.Path, "/") + path
		r.Out.URL.RawPath = base + escaped
	}
	if x.native == nil {
		r.Out.URL.RawQuery = r.In.URL.RawQuery // the standard library would drop what it cannot parse
	} else {
		r.Out.URL.RawQuery = ""
	}
	if x.native != nil || x.sent != nil {
		r.Out.Header.Del("Accept-Encoding") // the answer is read here
	}
	r.Out.Host = ""
	for name := range r.Out.Header {
		if strings.HasPrefix(name, ownPrefix) {
			delete(r.Out.Header, name)
		}
	}
	p.hideToken(r.Out.Header)
	if _, sent := r.In.Header["User-Agent"]; !sent {
		r.Out.Header["User-Agent"] = nil // none of this program's either
	}
	if x.body != nil {
		setBody(r.Out, x.body)
	}
}

func setBody(r *http.Request, body []byte) {
	r.Body = &sentBody{body}
	r.GetBody = func() (io.ReadCloser, error) { return &sentBody{body}, nil }
	r.ContentLength = int64(len(body))
	r.TransferEncoding = nil
	r.Header.Set("Content-Length", strconv.Itoa(len(body)))
	r.Header.Del("Trailer")
	r.Header.Del("Expect") // the body is here already
}

// A sentBody is a body on its way to the upstream. It lets go of what was sent: the
// answer, which may take long, has its request.
type sentBody struct{ left []byte }

func (b *sentBody) Read(buf []byte) (int, error) {
	if len(b.left) == 0 {
		b.left = nil
		return 0, io.EOF
	}
	n := copy(buf, b.left)
	b.left = b.left[n:]
	return n, nil
}

// WriteTo implements [io.WriterTo], by which the transport sends without a copy.
func (b *sentBody) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(b.left)
	b.left = nil
	return int64(n), err
}

func (b *sentBody) Close() error { return nil }

// roundTrip sends a request, of which it drops the body once there is an answer.
func (p *Proxy) roundTrip(r *http.Request) (*http.Response, error) {
	answer, err := p.sendFitting(r)
	if x := exchangeOf(r); err == nil && !x.recalls { // whose request may go on
		x.dropBody()
		answer.Request.GetBody = nil
	}
	return answer, err
}

// sendFitting sends a request. If the upstream answers that it does not fit its window,
// it is compacted harder and sent once more.
func (p *Proxy) sendFitting(r *http.Request) (*http.Response, error) {
	x := exchangeOf(r)
	if x.sent != nil && !x.sent.api.counts {
		p.planLater(x)
	}
	answer, err := p.send.RoundTrip(r)
	if err != nil || answer.StatusCode < http.StatusBadRequest || x.sent == nil && x.native == nil || x.api.counts {
		return answer, err
	}
	head, err := io.ReadAll(io.LimitReader(answer.Body, maxErrorBody))
	whole := len(head) < maxErrorBody && err == nil
	answer.Body = restored(head, answer.Body)
	switch {
	case !whole:
		return answer, nil
	case x.native != nil && x.native.think && !x.noThink && refusedToThink(answer.StatusCode, string(head)):
		x.noThink = true // as Ollama's own /v1/messages does
		return p.sendAgain(r, x, answer, x.source)
	case x.sent == nil || !remote.TooLong(answer.StatusCode, string(head)):
		return answer, nil
	}
	p.metrics.overflows.Add(1)
	p.warn(x.plan.session, trace.Medium, "the upstream says that the request does not fit its window", "give serve the upstream's window with --window")
	body, err := p.engine.harder(r.Context(), x.sent, &x.plan, string(head))
	if err != nil || body == nil {
		return answer, nil // the client gets the upstream's own words
	}
	second, err := p.sendAgain(r, x, answer, body)
	if second == answer || err != nil {
		return answer, nil
	}
	x.retried = true
	x.plan.setHeaders(x.headers)
	x.headers.Set(retriedHeader, "1")
	p.metrics.retries.Add(1)
	return second, nil
}

// sendAgain sends another body in the client's API for a request. If that fails, it
// returns the answer that there is.
func (p *Proxy) sendAgain(r *http.Request, x *exchange, answer *http.Response, body []byte) (*http.Response, error) {
	source, native := x.source, x.native
	if native != nil {
		source = body
		var err error
		if body, native, err = translate(x.api, source, p.nativeSettings(r, x)); err != nil {
			return answer, nil
		}
		native.prompt = x.plan.report.Usage.Tokens
	}
	again := r.Clone(r.Context())
	setBody(again, body)
	second, err := p.send.RoundTrip(again)
	if err != nil {
		return answer, nil
	}
	_ = answer.Body.Close()
	x.body, x.source, x.native = body, source, native
	return second, nil
}

// maxErrorBody is the maximum length of an error of the upstream that is read.
const maxErrorBody = 64 << 10

// restored returns a body whose beginning was read.
func restored(head []byte, rest io.ReadCloser) io.ReadCloser {
	return struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(head), rest), rest}
}

// planLater plans a due round while the answer streams.
func (p *Proxy) planLater(x *exchange) {
	if x.plan.due == "" || x.plan.due == levels.None || p.closed() {
		return
	}
	plan, room := x.plan, x.room
	room.hold()
	p.plans.Go(func() {
		defer room.release()
		ctx, stop := context.WithTimeout(context.Background(), p.cfg.PlanWithin)
		defer stop()
		go func() {
			select {
			case <-p.closing:
				stop()
			case <-ctx.Done():
			}
		}()
		if err := p.engine.later(ctx, plan); err != nil && !p.closed() {
			p.metrics.failures.Add(1)
			p.warn(plan.session, trace.Medium, "no round was planned while the answer came: "+p.engine.redacted(err), "the next request tries again")
		}
	})
}

func (p *Proxy) closed() bool {
	select {
	case <-p.closing:
		return true
	default:
		return false
	}
}

// modifyResponse adds the proxy's headers, and watches the answer for its token count.
func (p *Proxy) modifyResponse(answer *http.Response) error {
	x := exchangeOf(answer.Request)
	for name := range answer.Header {
		if strings.HasPrefix(name, ownPrefix) {
			delete(answer.Header, name)
		}
	}
	maps.Copy(answer.Header, x.headers)
	if x.sent != nil && x.sent.api.counts && answer.StatusCode == http.StatusNotFound {
		p.answerCount(answer, x)
		return nil
	}
	if answer.StatusCode == http.StatusSwitchingProtocols {
		return nil
	}
	p.metrics.added.observe(p.cfg.Now().Sub(x.began))
	body := &watchedBody{ReadCloser: answer.Body, idle: p.cfg.IdleWithin}
	if x.sent != nil && answer.StatusCode == http.StatusOK && answer.Header.Get("Content-Encoding") == "" {
		body.usage = new(usageReader)
		body.finished = func() { p.observe(x, body.usage.prompt) }
	}
	body.start()
	answer.Body = body
	if x.recalls && answer.StatusCode == http.StatusOK {
		p.recallAnswer(answer, x)
	}
	if x.native != nil {
		x.native.translateAnswer(answer)
	}
	return nil
}

// answerCount answers a request for a count that the upstream does not know.
func (p *Proxy) answerCount(answer *http.Response, x *exchange) {
	_ = answer.Body.Close()
	text := fmt.Sprintf(`{"input_tokens":%d}`, x.plan.report.Usage.Tokens)
	answer.StatusCode, answer.Status = http.StatusOK, "200 OK"
	answer.Body = io.NopCloser(strings.NewReader(text))
	answer.ContentLength = int64(len(text))
	answer.Header.Set("Content-Type", "application/json")
	answer.Header.Set("Content-Length", strconv.Itoa(len(text)))
	answer.Header.Del("Content-Encoding")
	answer.Header.Del("Transfer-Encoding")
}

// observe compares the upstream's count with the own one.
func (p *Proxy) observe(x *exchange, prompt int) {
	if prompt <= 0 {
		return
	}
	u := x.plan.report.Usage
	var none tokens.Calibration
	if u.Tools > 0 && none.ToolsLeftOut(u.Tokens, u.Tools, prompt) {
		return
	}
	_, sample := none.Observe(u.Tokens, prompt, u.Window)
	shorter, proven := p.engine.noteCount(x.plan.session, countedPrompt{u.Tokens, prompt})
	if !sample.Truncated {
		return
	}
	p.metrics.truncated.Add(1)
	header := fmt.Sprintf("the upstream seems to have cut the prompt of the request before: it read %d of about %d tokens", prompt, u.Tokens)
	event := "the upstream seems to cut the prompt silently: " + sample.Reason
	if proven {
		header = fmt.Sprintf("the upstream cut the prompt of the request before: it read %d of about %d tokens, and %d of a shorter one", prompt, u.Tokens, shorter)
		event = fmt.Sprintf("the upstream cut the prompt silently: it read %d of about %d tokens, and %d of a shorter request", prompt, u.Tokens, shorter)
	}
	p.engine.noteTruncated(x.plan.session, header)
	p.warn(x.plan.session, trace.High, event, "set the upstream's window (num_ctx, --ctx-size), or give serve the real one with --window")
}

// upstreamFailed answers a request that the upstream did not.
func (p *Proxy) upstreamFailed(w http.ResponseWriter, r *http.Request, err error) {
	x := exchangeOf(r)
	api := ""
	if x != nil && x.api != nil {
		api = x.api.name
		maps.Copy(w.Header(), x.headers)
	}
	p.metrics.upstream.Add(1)
	status, reason := http.StatusBadGateway, "the upstream "+p.cfg.Upstream.Host+" does not answer: "+p.engine.redacted(err)
	var timeout interface{ Timeout() bool }
	if errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout() {
		status, reason = http.StatusGatewayTimeout, "the upstream "+p.cfg.Upstream.Host+" did not answer in time"
	}
	(&refusal{status, reason}).write(w, api)
}

// A watchedBody is an answer on its way to the client. It passes bytes as they come,
// and closes the connection if none come for too long.
type watchedBody struct {
	io.ReadCloser
	usage    *usageReader // nil: not read
	finished func()
	idle     time.Duration
	timer    *time.Timer
	ended    bool
}

func (b *watchedBody) start() { b.timer = time.AfterFunc(b.idle, func() { _ = b.ReadCloser.Close() }) }

func (b *watchedBody) Read(buf []byte) (int, error) {
	n, err := b.ReadCloser.Read(buf)
	b.timer.Reset(b.idle)
	if b.usage != nil {
		b.usage.feed(buf[:n])
		if err == io.EOF && !b.ended {
			b.ended = true
			b.usage.end()
			b.finished()
		}
	}
	return n, err
}

func (b *watchedBody) Close() error {
	b.timer.Stop()
	return b.ReadCloser.Close()
}
