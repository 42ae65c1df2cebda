package proxy

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
)

// A refusal is an answer of the proxy itself.
type refusal struct {
	status int
	reason string
}

// write writes the refusal as an error of the client's API.
func (f *refusal) write(w http.ResponseWriter, api string) {
	var body any
	switch api {
	case "ollama":
		body = map[string]string{"error": f.reason}
	case "anthropic":
		body = map[string]any{"type": "error", "error": map[string]string{"type": anthropicType(f.status), "message": f.reason}}
	default:
		body = map[string]any{"error": map[string]any{"message": f.reason, "type": "tiercompact_error", "param": nil, "code": nil}}
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	if f.status == http.StatusUnauthorized && h.Get("WWW-Authenticate") == "" {
		h.Set("WWW-Authenticate", `Bearer realm="tiercompact"`)
	}
	if f.status == http.StatusRequestEntityTooLarge || f.status == http.StatusRequestTimeout {
		h.Set("Connection", "close")
	}
	w.WriteHeader(f.status)
	_ = json.NewEncoder(w).Encode(body)
}

func anthropicType(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "authentication_error"
	case http.StatusForbidden:
		return "permission_error"
	case http.StatusNotFound:
		return "not_found_error"
	case http.StatusTooManyRequests:
		return "rate_limit_error"
	case http.StatusServiceUnavailable:
		return "overloaded_error"
	case http.StatusRequestEntityTooLarge:
		return "request_too_large"
	case http.StatusInternalServerError, http.StatusBadGateway, http.StatusGatewayTimeout:
		return "api_error"
	}
	return "invalid_request_error"
}

// admit checks what every request must satisfy, and returns nil if it does.
func (p *Proxy) admit(r *http.Request) *refusal {
	switch {
	case r.Method == http.MethodConnect || r.Method == http.MethodTrace:
		return &refusal{http.StatusMethodNotAllowed, "the proxy forwards to its upstream alone"}
	case r.URL.IsAbs() || r.URL.Host != "" || !strings.HasPrefix(r.URL.Path, "/"):
		return &refusal{http.StatusBadRequest, "the proxy forwards to its upstream alone; send a path"}
	case hasDotSegment(r.URL.Path):
		return &refusal{http.StatusBadRequest, "the path has . or .. as a part"}
	case strings.ContainsFunc(r.URL.Path, unicode.IsControl):
		return &refusal{http.StatusBadRequest, "the path has a control character"}
	case !p.hostAllowed(r.Host):
		return &refusal{http.StatusForbidden, "this host name is not the proxy's; if it is, name it with --allow-host"}
	case !p.tokenMatches(r):
		return &refusal{http.StatusUnauthorized, "the proxy's token is missing or wrong: send it as API key, or in the header " + tokenHeader}
	case p.cfg.Token == "" && p.fromForeignSite(r):
		return &refusal{http.StatusForbidden, "a page of another site sent this; if it is yours, name its host with --allow-host"}
	}
	return nil
}

// fromForeignSite reports whether a page of a site sent a request that is neither on
// this machine nor allowed. A page does not know the token, so that no such request
// has it.
func (p *Proxy) fromForeignSite(r *http.Request) bool {
	origins := r.Header.Values("Origin")
	for _, origin := range origins {
		u, err := url.Parse(origin)
		switch {
		case err != nil || origin == "null":
			return true
		case u.Scheme != "http" && u.Scheme != "https": // an application, such as an editor
		case !p.hostAllowed(u.Host):
			return true
		}
	}
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	return len(origins) == 0 && !reads && r.Header.Get("Sec-Fetch-Site") == "cross-site"
}

// hardenConnection prevents that a client and a server before the proxy see different
// requests on one connection. The standard library ignores a length beside chunks
// and does not report it, so the connection ends after chunks. No connection becomes one
// of HTTP/2, whose requests nobody would check.
func hardenConnection(w http.ResponseWriter, r *http.Request) {
	if len(r.TransferEncoding) > 0 {
		w.Header().Set("Connection", "close")
	}
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		r.Header.Del("Upgrade")
		r.Header.Del("Http2-Settings")
	}
}

// limitConnection ends what waits for a client, to read from it or to write to it: the end
// of a request's context alone does not.
func limitConnection(w http.ResponseWriter, end time.Time) {
	limit := http.NewResponseController(w)
	_, _ = limit.SetReadDeadline(end), limit.SetWriteDeadline(end)
}

// hasDotSegment reports whether a decoded path has a part that another server might
// resolve.
func hasDotSegment(path string) bool {
	for part := range strings.FieldsFuncSeq(path, func(c rune) bool { return c == '/' || c == '\\' }) {
		if part == "." || part == ".." || strings.ContainsRune(part, 0) {
			return true
		}
		if again, err := url.PathUnescape(part); err == nil && again != part && hasDotSegment(again) {
			return true
		}
	}
	return false
}

// hostAllowed reports whether a request names a host that is the proxy's. A page whose
// name an attacker points to this machine has another one.
func (p *Proxy) hostAllowed(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.TrimSuffix(strings.ToLower(strings.Trim(name, "[]")), ".")
	if ip, err := netip.ParseAddr(name); err == nil && (ip.Unmap().IsLoopback() || p.cfg.Token != "") {
		return true // an address cannot be pointed elsewhere
	}
	if name == "localhost" {
		return true
	}
	for _, own := range p.cfg.Hosts {
		if own == "*" || strings.EqualFold(own, name) {
			return true
		}
	}
	return false
}

// tokenMatches reports whether a request has the token, if one is demanded.
func (p *Proxy) tokenMatches(r *http.Request) bool {
	if p.cfg.Token == "" {
		return true
	}
	ok := false
	for _, given := range tokensIn(r.Header) {
		ok = p.isToken(given) || ok
	}
	if _, password, given := r.BasicAuth(); given && isPage(r) { // all that a browser can send
		ok = p.isToken(password) || ok
	}
	return ok
}

// isToken compares in a time that does not depend on the token.
func (p *Proxy) isToken(given string) bool {
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(p.cfg.Token))
	return p.cfg.Token != "" && subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// tokensIn returns where clients can put the token: few can set a header of their own.
func tokensIn(h http.Header) []string {
	given := []string{h.Get(tokenHeader), h.Get("X-Api-Key")}
	if scheme, token, ok := strings.Cut(h.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "bearer") {
		given = append(given, strings.TrimSpace(token))
	}
	return given
}

// hideToken removes the proxy's token from what goes upstream. Other keys stay.
func (p *Proxy) hideToken(h http.Header) {
	if p.cfg.Token == "" {
		return
	}
	for _, name := range []string{"Authorization", "X-Api-Key"} {
		for _, given := range h.Values(name) {
			if _, token, ok := strings.Cut(given, " "); p.isToken(given) || ok && p.isToken(strings.TrimSpace(token)) {
				h.Del(name)
				break
			}
		}
	}
}

// fromBrowser returns why a request to the proxy's own paths is refused if a page of
// another site may have sent it, nil otherwise.
func fromBrowser(r *http.Request) *refusal {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		return &refusal{http.StatusForbidden, "pages of other sites cannot use this"}
	}
	for _, origin := range r.Header.Values("Origin") {
		u, err := url.Parse(origin)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || !strings.EqualFold(u.Host, r.Host) {
			return &refusal{http.StatusForbidden, "pages of other sites cannot use this"}
		}
	}
	return nil
}

// readBody reads a body within the limits of size and time, once there is room for it.
// The caller releases the room.
func (p *Proxy) readBody(w http.ResponseWriter, r *http.Request) ([]byte, *admission, *refusal) {
	tooLarge := &refusal{http.StatusRequestEntityTooLarge, fmt.Sprintf("the body has over %d bytes", p.cfg.MaxBody)}
	if r.ContentLength > p.cfg.MaxBody {
		return nil, nil, tooLarge
	}
	room, err := p.gate.admit(r.Context(), r.ContentLength)
	if err != nil {
		return nil, nil, &refusal{http.StatusServiceUnavailable, "the request has waited too long for others to end"}
	}
	body, refused := p.readAdmitted(w, r, room, tooLarge)
	if refused != nil {
		room.release()
		return nil, nil, refused
	}
	return body, room, nil
}

// secondHold is the room for a body that has begun to come; beyond, it doubles.
const secondHold = 1 << 20

func (p *Proxy) readAdmitted(w http.ResponseWriter, r *http.Request, room *admission, tooLarge *refusal) ([]byte, *refusal) {
	limit := http.NewResponseController(w)
	until := p.cfg.Now().Add(p.cfg.ReadWithin)
	if limit.SetReadDeadline(until) == nil {
		end, _ := r.Context().Deadline()
		defer func() { _ = limit.SetReadDeadline(end) }()
	}
	size := int64(4096)
	if r.ContentLength > 0 {
		size = min(r.ContentLength, firstHold) + 1 // what a client announces is not allocated at once
	}
	body := make([]byte, 0, size)
	from := http.MaxBytesReader(w, r.Body, p.cfg.MaxBody)
	for {
		if len(body) == cap(body) {
			next := max(2*int64(cap(body)), firstHold)
			if r.ContentLength > 0 {
				next = min(max(next, secondHold), r.ContentLength+1)
			}
			began := p.cfg.Now()
			if err := room.grow(r.Context(), next); err != nil {
				return nil, &refusal{http.StatusServiceUnavailable, "the request has waited too long for others to end"}
			}
			until = until.Add(p.cfg.Now().Sub(began)) // the client did not make it wait
			_ = limit.SetReadDeadline(until)
			body = slices.Grow(body, max(int(next)-len(body), 1))
		}
		n, err := from.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		var over *http.MaxBytesError
		var slow net.Error
		switch {
		case err == io.EOF:
			return body, nil
		case errors.As(err, &over):
			return nil, tooLarge
		case errors.As(err, &slow) && slow.Timeout():
			return nil, &refusal{http.StatusRequestTimeout, "the body did not come in time"}
		case err != nil:
			return nil, &refusal{http.StatusBadRequest, "the body is broken or ends early"}
		}
	}
}

// headerText returns text for a header: one line of printable ASCII.
func headerText(text string) string {
	const most = 300
	out := make([]byte, 0, min(len(text), most))
	for _, c := range text {
		if len(out) == most {
			break
		}
		switch {
		case c == '\n' || c == '\r' || c == '\t':
			c = ' '
		case c < ' ' || c > '~':
			c = '?'
		}
		out = append(out, byte(c))
	}
	return strings.TrimSpace(string(out))
}
