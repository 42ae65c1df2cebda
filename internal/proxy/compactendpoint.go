package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"slices"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/trace"
	"github.com/tiercompact/tiercompact/wire"
)

// serveCompact compacts the messages of a program that calls its model itself, and
// answers them in the same document, with the headers of a forwarded request. Since no
// answer streams here, a due round is made at once.
func (p *Proxy) serveCompact(w http.ResponseWriter, r *http.Request) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		(&refusal{http.StatusUnsupportedMediaType, "send JSON, with Content-Type: application/json"}).write(w, "")
		return
	}
	body, room, refused := p.readBody(w, r)
	if refused != nil {
		refused.write(w, "")
		return
	}
	defer room.release()
	answer := func(text []byte) { // a client that does not read it must not hold the room
		_ = http.NewResponseController(w).SetWriteDeadline(p.cfg.Now().Add(p.cfg.ReadWithin))
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(text)
	}
	req, err := p.decode(func() (*request, error) { return parseCompact(body, r.Header) })
	var pass passes
	switch {
	case errors.As(err, &pass):
		w.Header().Set(passedHeader, headerText(string(pass)))
		answer(body)
		return
	case err != nil:
		(&refusal{http.StatusBadRequest, p.engine.redacted(err)}).write(w, "")
		return
	}
	ctx, stop := context.WithTimeout(r.Context(), p.cfg.TotalWithin)
	defer stop()
	headers := make(http.Header)
	out, ok := p.compactNow(ctx, req, headers)
	maps.Copy(w.Header(), headers)
	if !ok {
		(&refusal{http.StatusUnprocessableEntity, "not compacted: " + headers.Get(passedHeader)}).write(w, "")
		return
	}
	answer(out)
}

// compactNow returns the body to send, which is the one that came if compaction fails.
// It reports false if such a request is to be refused.
func (p *Proxy) compactNow(ctx context.Context, r *request, headers http.Header) ([]byte, bool) {
	if r.off {
		headers.Set(passedHeader, "off")
		return r.body, true
	}
	plan, err := p.engine.preflight(ctx, r)
	if err == nil {
		if plan.body == nil {
			plan.body = r.body
		} else {
			p.metrics.compacted.Add(1)
		}
		plan.setHeaders(headers)
		return plan.body, true
	}
	p.metrics.failures.Add(1)
	reason := p.engine.redacted(err)
	headers.Set(passedHeader, headerText(reason))
	if plan.session != "" {
		headers.Set(sessionHeader, headerText(plan.session))
	}
	p.warn(plan.session, trace.Medium, "messages sent to /v1/compact are returned as they came: "+reason, "see the error; --fail closed refuses such requests")
	return r.body, !p.cfg.FailClosed
}

// parseCompact reads the messages of a body: a request of any of the APIs, with the
// optional members session and window, or the list of messages alone.
func parseCompact(body []byte, h http.Header) (*request, error) {
	if !json.Valid(body) {
		return nil, errNotObject
	}
	if start := skipBlanks(body, 0); body[start] == '[' {
		return parseList(body, h)
	}
	members, err := topMembers(body, "messages", "input", "session", "window")
	if err != nil {
		return nil, err
	}
	a, err := apiOfBody(body, members)
	if err != nil {
		return nil, err
	}
	r, err := parseRequest(a, body, h)
	if err != nil {
		return nil, err
	}
	return r, r.readCompactMembers(members)
}

// apiOfBody returns how the messages of an object are read and written.
func apiOfBody(body []byte, members map[string][]byte) (*api, error) {
	if list := members["messages"]; list == nil && members["input"] != nil {
		return &api{name: "openai", format: responsesFormat, list: "input"}, nil
	} else if c, err := wire.DecodeBytes(list, wire.Options{Name: "the list of messages"}); err == nil && c.Format == responsesFormat {
		return &api{name: "openai", format: responsesFormat, list: "messages"}, nil
	}
	c, err := wire.DecodeBytes(body, wire.Options{Name: "the request"})
	if err != nil {
		return nil, err
	}
	return &api{name: "openai", format: c.Format, list: "messages"}, writableFormat(c.Format)
}

// writableFormat refuses a format that package wire only reads.
func writableFormat(name string) error {
	formats := wire.Formats()
	if slices.ContainsFunc(formats, func(f wire.Format) bool { return f.Name == name && f.Writable }) {
		return nil
	}
	return fmt.Errorf("the messages are in the format %s, which cannot be written; send them in the form of an API of OpenAI, Anthropic or Ollama", name)
}

// parseList reads a list of messages without an object around it.
func parseList(body []byte, h http.Header) (*request, error) {
	c, err := wire.DecodeBytes(body, wire.Options{Name: "the request"})
	if err != nil {
		return nil, err
	}
	r := &request{api: &api{name: "openai", format: c.Format, list: "messages"}, body: body, doc: wireDocument{c}}
	if c.Format == responsesFormat {
		object := slices.Concat([]byte(`{"input":`), body, []byte("}"))
		d, err := readResponses(object, map[string][]byte{"input": object[len(`{"input":`) : len(object)-1]})
		if err != nil {
			return nil, err
		}
		r.doc = bareList{d}
	} else if err := writableFormat(c.Format); err != nil {
		return nil, err
	}
	if err := r.readHeaders(h); err != nil {
		return nil, err
	}
	return r, r.pin(h.Values(pinHeader))
}

// A bareList is a list of items of the Responses API without an object around it.
type bareList struct{ *responsesDocument }

func (d bareList) encode(t chat.Transcript) ([]byte, error) {
	out, err := d.responsesDocument.encode(t)
	if err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(bytes.TrimPrefix(out, []byte(`{"input":`)), []byte("}")), nil
}

// readCompactMembers reads the members that only /v1/compact has. The header has
// precedence.
func (r *request) readCompactMembers(members map[string][]byte) error {
	if raw := members["session"]; raw != nil && r.session == "" && string(raw) != "null" {
		var name string
		if json.Unmarshal(raw, &name) != nil {
			return errors.New("the member session is not a string")
		}
		if err := r.setSession(name, "the member session"); err != nil {
			return err
		}
	}
	if raw := members["window"]; raw != nil && string(raw) != "null" {
		n := count(raw)
		if n < minWindow {
			return fmt.Errorf("the member window is %.20s; it takes a number of tokens, at least %d", raw, minWindow)
		}
		r.window, r.exact = n, true
	}
	return nil
}
