package proxy

import (
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"strings"

	"github.com/tiercompact/tiercompact/levels"
	"github.com/tiercompact/tiercompact/wire"
)

// serveOwn answers the proxy's own paths, which never go upstream.
func (p *Proxy) serveOwn(w http.ResponseWriter, r *http.Request) bool {
	own := map[string]struct {
		method string
		serve  func(http.ResponseWriter, *http.Request)
	}{
		"/healthz":    {http.MethodGet, p.serveHealth},
		"/metrics":    {http.MethodGet, p.serveMetrics},
		"/v1/compact": {http.MethodPost, p.serveCompact},
	}
	o, ok := own[r.URL.Path]
	if !ok {
		if r.URL.Path == "/_tiercompact" || strings.HasPrefix(r.URL.Path, "/_tiercompact/") {
			(&refusal{http.StatusNotFound, "there is nothing at this path"}).write(w, "")
			return true
		}
		return false
	}
	refused := fromBrowser(r)
	if refused == nil && r.Method != o.method {
		w.Header().Set("Allow", o.method)
		refused = &refusal{http.StatusMethodNotAllowed, "this path takes " + o.method}
	}
	if refused != nil {
		p.metrics.refused.Add(1)
		refused.write(w, "")
		return true
	}
	w.Header().Set("Cache-Control", "no-store")
	o.serve(w, r)
	return true
}

func (p *Proxy) serveHealth(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]string{"status": "ok", "upstream": p.cfg.Upstream.Host})
}

// A compactReport describes a compaction to a program.
type compactReport struct {
	Session string      `json:"session"`
	Level   levels.Name `json:"level"`
	Before  int         `json:"tokens_before"`
	After   int         `json:"tokens_after"`
	Window  int         `json:"window"`
	Budget  int         `json:"budget"`
	Rounds  int         `json:"rounds"`
	Noticed string      `json:"noticed,omitempty"`
	Warning string      `json:"warning,omitempty"`
}

// serveCompact compacts a request body of any of the APIs, or a transcript, and
// returns it as {"body": …, "report": …}. Since no answer streams here, a due round
// is made at once.
func (p *Proxy) serveCompact(w http.ResponseWriter, r *http.Request) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		(&refusal{http.StatusUnsupportedMediaType, "send JSON, with Content-Type: application/json"}).write(w, "")
		return
	}
	body, refused := p.readBody(w, r)
	if refused != nil {
		refused.write(w, "")
		return
	}
	out, report, err := p.engine.compactNow(r, body)
	switch {
	case errors.As(err, new(*wire.Error)) || errors.Is(err, errNotObject):
		(&refusal{http.StatusBadRequest, p.engine.redacted(err)}).write(w, "")
		return
	case err != nil:
		p.metrics.failures.Add(1)
		(&refusal{http.StatusUnprocessableEntity, p.engine.redacted(err)}).write(w, "")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	head, _ := json.Marshal(report)
	_, _ = w.Write(append(append(append(append([]byte(`{"report":`), head...), `,"body":`...), out...), "}\n"...))
}

func (e *engine) compactNow(r *http.Request, body []byte) ([]byte, compactReport, error) {
	if !json.Valid(body) {
		return nil, compactReport{}, errNotObject
	}
	c, err := wire.DecodeBytes(body, wire.Options{Name: "the request"})
	if err != nil {
		return nil, compactReport{}, err
	}
	a := &api{name: "openai", format: c.Format, list: "messages"}
	if c.Format == responsesFormat {
		a.list = "input"
	}
	req, err := parseRequest(a, body, r.Header)
	if err != nil {
		return nil, compactReport{}, err
	}
	return e.preflight(r.Context(), req)
}
