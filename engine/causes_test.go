package engine_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tiercompact/tiercompact/engine"
)

// serves is the address of a server that answers everything so.
func serves(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return s.URL
}

func answers(status int, body string) func(*testing.T) string {
	return func(t *testing.T) string {
		return serves(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			io.WriteString(w, body)
		})
	}
}

// secure is the address of a server that speaks TLS, with its scheme changed
// to http where plain.
func secure(plain bool) func(*testing.T) string {
	return func(t *testing.T) string {
		s := httptest.NewTLSServer(http.NotFoundHandler())
		t.Cleanup(s.Close)
		if plain {
			return "http" + strings.TrimPrefix(s.URL, "https")
		}
		return s.URL
	}
}

// silentTLS closes a connection without TLS, as servers over OpenSSL do: openssl
// s_server without a word, Python's with a reset.
func silentTLS(t *testing.T) string {
	t.Helper()
	s := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(s.Close)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				first := make([]byte, 1)
				if _, err := io.ReadFull(conn, first); err != nil || first[0] != 22 { // a handshake
					return
				}
				to, err := net.Dial("tcp", s.Listener.Addr().String())
				if err != nil {
					return
				}
				defer to.Close()
				to.Write(first)
				go io.Copy(to, conn)
				io.Copy(conn, to)
			}()
		}
	}()
	return "http://" + l.Addr().String()
}

// mute accepts connections and does not answer, as llama.cpp's server does to TLS.
func mute(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") // its queue takes connections
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return "https://" + l.Addr().String()
}

func TestWhatKeepsAServerFromAnsweringIsToldApart(t *testing.T) {
	for name, c := range map[string]struct {
		url          func(*testing.T) string
		what, remedy string
	}{
		"nobody":                      {nobody, "no Ollama answers at", "start it with: ollama serve"},
		"no such host":                {func(*testing.T) string { return "http://no..such..host:11434" }, "no such host", "check the host's name"},
		"https to a plain port":       {func(t *testing.T) string { return "https" + strings.TrimPrefix(fake(t).URL, "http") }, "HTTP response to HTTPS client", "write http:// in place of https://"},
		"https to a mute port":        {mute, "TLS handshake", "write http:// in place of https://"},
		"http to a TLS port, Go":      {secure(true), "HTTP request to an HTTPS server", "write https:// in place of http://"},
		"nginx":                       {answers(400, "<html>\r\n<head><title>400 The plain HTTP request was sent to HTTPS port</title></head>\r\n</html>\r\n"), "400", "write https:// in place of http://"},
		"http to a TLS port, OpenSSL": {silentTLS, "", "write https:// in place of http://"},
		"a certificate of its own":    {secure(false), "certificate", "SSL_CERT_FILE"},
		"401":                         {answers(401, "Unauthorized"), "server answers 401", "name and password before the host"},
		"403":                         {answers(403, ""), "server answers 403", "name and password before the host"},
		"407":                         {answers(407, "Proxy Authentication Required"), "server answers 407", "HTTP_PROXY"},
		"404":                         {answers(404, "404 page not found"), "is not Ollama: answer is garbled: 404 page not found", "the part before /api"},
		"a web page":                  {answers(200, "<!DOCTYPE html><html><body>It works!</body></html>"), "is not Ollama: answer is garbled: it is a web page", "the part before /api"},
		"another API":                 {answers(200, `{"status":"ok"}`), "is not Ollama: answer is garbled: it has no version", "--ollama-url"},
		"500":                         {answers(500, "out of memory"), "server answers 500: out of memory", "see the server's log"},
	} {
		t.Run(name, func(t *testing.T) {
			wait := hang
			if name == "https to a mute port" {
				wait = 2 * time.Second
			}
			d, err := engine.Diagnose(t.Context(), engine.Options{Kind: engine.Ollama, URL: c.url(t), Wait: wait}, engine.Patient{})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(d.Problems, func(p engine.Problem) bool {
				return p.Serious && strings.Contains(p.What, c.what) && strings.Contains(p.Remedy, c.remedy)
			}) || len(d.Problems) != 1 {
				t.Errorf("problems %+v; want one of %q, with %q", d.Problems, c.what, c.remedy)
			}
			_, err = engine.Open(t.Context(), engine.Options{SummaryURL: c.url(t), Wait: wait})
			if err == nil || !strings.Contains(err.Error(), "; ") {
				t.Errorf("as a server with OpenAI's protocol: %v", err)
			}
			if strings.Contains(c.remedy, "in place of") && !strings.Contains(fmt.Sprint(err), c.remedy) {
				t.Errorf("as a server with OpenAI's protocol: %v, want %q", err, c.remedy)
			}
		})
	}
}
