// Package fault provides faulty servers of language models for tests: a scripted
// server ([Fake]), and a proxy for it or for a real one that simulates faults of
// networks and servers ([New]).
package fault

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A Model is a model on a [Server].
type Model struct {
	Name         string // with its tag
	Capabilities []string
	Family       string // "": llama; bert for models that only embed
	Window       int    // the window of its training; 0: 8,192
	NumCtx       int    // of its Modelfile; 0: none set
	Dimensions   int    // of its vectors; 0: 64
	RemoteHost   string // the server that runs the model; "": this one
}

// The capabilities of a model, as in /api/show.
const (
	Completion = "completion"
	Embedding  = "embedding"
	Tools      = "tools"
	Thinking   = "thinking"
)

// A Server is a scripted Ollama 0.17.4, with the /props of llama.cpp's server in
// addition. It counts a token for each four bytes, and computes vectors from the
// words of texts. Its fields may be set until the first request.
type Server struct {
	URL      string
	Version  string
	Models   []Model
	Pullable []Model // models that /api/pull finds
	NumCtx   int     // window of a model without one in the request and the Modelfile
	Props    int     // n_ctx of llama.cpp's server, which rejects longer prompts; 0: it is Ollama, without /props
	// Answer returns the answers of chats, from the text of all messages.
	Answer func(prompt string) string
	// Reads returns the path that an answer reads with the tool read_file, from the text
	// of the last message; "": the answer is text. It applies to requests with tools.
	Reads func(last string) string

	mu     sync.Mutex     // guards Models and the fields below during requests
	loaded map[string]int // window by name
	asked  []Asked
}

// Asked is one received chat request.
type Asked struct {
	Model          string
	Tokens, Window int    // of the whole prompt, counted by this server; of the prompt after cuts
	Last           string // the text of the last message
}

// Asked returns the received chats, in order, including those rejected for their
// length.
func (s *Server) Asked() []Asked {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

// Fake starts a server; it ends with the test. Without models, it has tiercompact's
// default models.
func Fake(t testing.TB, models ...Model) *Server {
	t.Helper()
	if models == nil {
		models = []Model{
			{Name: "nomic-embed-text:latest", Capabilities: []string{Embedding}, Family: "nomic-bert", Window: 2048},
			{Name: "llama3.2:3b", Capabilities: []string{Completion, Tools}, Window: 131072},
		}
	}
	s := &Server{Version: "0.17.4", Models: models, NumCtx: 4096, Answer: Outline, loaded: make(map[string]int)}
	server := httptest.NewServer(s.serverRoutes())
	t.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

func (s *Server) serverRoutes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "Ollama is running") })
	mux.HandleFunc("HEAD /{$}", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /api/version", func(w http.ResponseWriter, _ *http.Request) {
		writeReply(w, http.StatusOK, map[string]any{"version": s.Version})
	})
	mux.HandleFunc("GET /api/tags", s.serveTags)
	mux.HandleFunc("GET /api/ps", s.serveLoaded)
	mux.HandleFunc("POST /api/show", s.serveShow)
	mux.HandleFunc("POST /api/pull", s.servePull)
	mux.HandleFunc("POST /api/chat", s.serveChat)
	mux.HandleFunc("POST /api/embed", s.serveEmbed)
	mux.HandleFunc("GET /v1/models", s.serveModelList)
	mux.HandleFunc("POST /v1/chat/completions", s.serveChat)
	mux.HandleFunc("POST /v1/embeddings", s.serveEmbed)
	mux.HandleFunc("GET /props", s.serveProps)
	return mux
}

// findModel returns the model of a name; the tag latest is optional.
func (s *Server) findModel(name string) (Model, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.Models, func(m Model) bool { return m.Name == name || m.Name == name+":latest" })
	if i < 0 {
		return Model{}, false
	}
	return s.Models[i].withDefaults(), true
}

func (m Model) withDefaults() Model {
	if m.Family == "" {
		m.Family = "llama"
	}
	if m.Window == 0 {
		m.Window = 8192
	}
	if m.Dimensions == 0 {
		m.Dimensions = 64
	}
	return m
}

func (m Model) hasCapability(what string) bool { return slices.Contains(m.Capabilities, what) }

// loadWindow returns the window with which m is loaded for a request of the given
// number of tokens, 0 for none.
func (s *Server) loadWindow(m Model, asked int) int {
	window := s.NumCtx
	for _, set := range []int{m.NumCtx, asked} {
		if set > 0 {
			window = set
		}
	}
	window = min(window, m.Window)
	if s.Props > 0 {
		window = s.Props
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loaded[m.Name] = window
	return window
}

// maxBody is far above the requests of tests.
const maxBody = 64 << 20

// decodeRequest reads the request's body, and answers with an error if it is not
// JSON.
func decodeRequest(w http.ResponseWriter, r *http.Request, into any) bool {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err == nil {
		err = json.Unmarshal(body, into)
	}
	if err != nil {
		refuseRequest(w, r, http.StatusBadRequest, err.Error())
	}
	return err == nil
}

func writeReply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	w.Write(encodeLine(body))
}

// encodeLine returns v as a line of JSON. Values of tests can be encoded.
func encodeLine(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return append(b, '\n')
}

// refuseRequest answers with an error, in the form of the path's protocol.
func refuseRequest(w http.ResponseWriter, r *http.Request, status int, text string) {
	if isOpenAIPath(r.URL.Path) {
		writeReply(w, status, map[string]any{"error": map[string]any{"message": text, "type": "api_error", "param": nil, "code": nil}})
		return
	}
	writeReply(w, status, map[string]any{"error": text})
}

func isOpenAIPath(path string) bool { return strings.HasPrefix(path, "/v1/") }
