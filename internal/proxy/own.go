package proxy

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/tiercompact/tiercompact/internal/proxy/page"
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
		if isPage(r) {
			p.servePage(w, r)
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

// isPage reports whether a request is for the page.
func isPage(r *http.Request) bool {
	return r.URL.Path+"/" == page.Prefix || strings.HasPrefix(r.URL.Path, page.Prefix)
}

func (p *Proxy) servePage(w http.ResponseWriter, r *http.Request) {
	switch refused := fromBrowser(r); {
	case refused != nil:
		p.metrics.refused.Add(1)
		refused.write(w, "")
	case !strings.HasPrefix(r.URL.Path, page.Prefix):
		http.Redirect(w, r, page.Prefix, http.StatusPermanentRedirect)
	default:
		p.page.ServeHTTP(w, r)
	}
}

func (p *Proxy) serveHealth(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]string{"status": "ok", "upstream": p.cfg.Upstream.Host})
}
