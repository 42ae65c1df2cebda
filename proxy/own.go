package proxy

import (
	"encoding/json"
	"net/http"
	"strings"
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
			refused := fromBrowser(r)
			if refused == nil {
				refused = &refusal{http.StatusNotFound, "there is nothing at this path"}
			}
			refused.write(w, "")
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
