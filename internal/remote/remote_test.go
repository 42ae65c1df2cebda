package remote_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/model"
	"github.com/tiercompact/tiercompact/internal/remote"
)

func TestAddressAcceptsCommonForms(t *testing.T) {
	for text, want := range map[string]string{
		"localhost":                    "http://localhost:11434",
		"127.0.0.1:8080":               "http://127.0.0.1:8080",
		":8080":                        "http://127.0.0.1:8080",
		"0.0.0.0":                      "http://127.0.0.1:11434",
		"0.0.0.0:99":                   "http://127.0.0.1:99",
		"http://[::]:99":               "http://127.0.0.1:99",
		"::1":                          "http://[::1]:11434",
		"[::1]:5":                      "http://[::1]:5",
		"http://[fe80::1]":             "http://[fe80::1]",
		" http://host ":                "http://host",
		"https://host/base/v1/":        "https://host/base",
		"http://host:1/api":            "http://host:1",
		"host/v1":                      "http://host:11434",
		"http://host/?q=1#f":           "http://host",
		"https://user:secret@host:1/x": "https://user:xxxxx@host:1/x",
	} {
		u, err := remote.Address(text, "11434")
		if err != nil || u.Redacted() != want {
			t.Errorf("%q: %v, %v, want %s", text, u, err, want)
		}
	}
	for _, text := range []string{"", " ", "ftp://host", "http://", "http://host:99999", "http://host:x", "http://a b", "\x00", "://"} {
		if u, err := remote.Address(text, "11434"); err == nil || !strings.Contains(err.Error(), "write it as http://host:port") {
			t.Errorf("%q: %v, %v", text, u, err)
		}
	}
}

func FuzzAddress(f *testing.F) {
	for _, s := range []string{"localhost", "::1", "http://[::]:1/v1", "a:b@c:1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		u, err := remote.Address(text, "11434")
		if err == nil && (u.Hostname() == "" || u.RawQuery != "" || u.Fragment != "") {
			t.Errorf("%q: %s", text, u)
		}
	})
}

// called makes one call to a server that answers with answer.
func called(t *testing.T, c *remote.Call, accept string, answer http.HandlerFunc) (string, error) {
	t.Helper()
	s := httptest.NewServer(answer)
	defer s.Close()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/x", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", accept)
	resp, err := c.Client().Do(r)
	if err != nil {
		return "", c.Fault(t.Context(), err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return string(body), c.Fault(t.Context(), err)
}

func TestRefusalsAreOfTheKindThatServersMean(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		kind   error
		text   string
	}{
		// Ollama 0.17
		{404, `{"error":"model 'nope' not found"}`, model.ErrNoModel, "model 'nope' not found"},
		{404, `{"error":"model \"nope\" not found, try pulling it first"}`, model.ErrNoModel, "try pulling"},
		{404, `{"error":{"message":"model 'nope' not found","type":"api_error","param":null,"code":null}}`, model.ErrNoModel, "model 'nope' not found"},
		{400, `{"error":"the input length exceeds the context length"}`, model.ErrTooLong, "context length"},
		{500, `{"error":"the input length exceeds the context length"}`, model.ErrTooLong, "context length"},
		{400, `{"error":"\"bert\" does not support chat"}`, model.ErrCannot, "does not support chat"},
		{400, `{"error":"registry.ollama.ai/library/x does not support tools"}`, model.ErrCannot, "tools"},
		{501, `{"error":"this model does not support embeddings"}`, model.ErrCannot, "embeddings"},
		{500, `{"error":"failed to encode response: json: unsupported value: NaN"}`, model.ErrGarbled, "NaN"},
		{503, `{"error":"server busy, please try again.  maximum pending requests exceeded"}`, nil, "server answers 503: server busy"},
		// newer ones, and llama.cpp
		{400, `{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":7900,"n_ctx":4096}}`, model.ErrTooLong, "available context size"},
		{400, `{"error":{"message":"too long for us","type":"exceed_context_size_error"}}`, model.ErrTooLong, "too long for us"},
		{500, `{"error":"no user query found in messages"}`, model.ErrTooLong, "no user query"},
		{503, `{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`, nil, "Loading model"},
		{501, `{"error":{"code":501,"message":"This server does not support embeddings. Start it with --embeddings","type":"not_supported_error"}}`, model.ErrCannot, "--embeddings"},
		// vLLM, LM Studio, text-embeddings-inference
		{400, `{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000.","type":"BadRequestError","code":400}`, model.ErrTooLong, "4096"},
		{404, `{"object":"error","message":"The model does not exist.","type":"NotFoundError","code":404}`, model.ErrNoModel, "does not exist"},
		{400, `{"error":"Trying to keep the first 15857 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens"}`, model.ErrTooLong, "15857"},
		{400, `{"error":"Cannot truncate prompt with n_keep (15028) >= n_ctx (7424)"}`, model.ErrTooLong, "n_keep"},
		{413, `{"error":"Payload Too Large","error_type":"Validation"}`, model.ErrTooLong, "Payload"},
		{400, `{"error":{"message":"m","code":"context_length_exceeded"}}`, model.ErrTooLong, "m"},
		// what is between
		{502, `<html>` + "\n\t" + `<b>Bad; gateway</b></html>`, nil, "server answers 502: <html> <b>Bad, gateway</b></html>"},
		{401, `{"detail":"no key"}`, nil, "no key"},
		{401, `{"error":"this model's context length is a secret"}`, nil, "secret"},
		{500, ``, nil, "it says nothing"},
		{500, strings.Repeat("x", 1<<20), nil, "…"},
	} {
		_, err := called(t, new(remote.Call), "", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(c.status)
			fmt.Fprint(w, c.body)
		})
		var f *remote.Failure
		if !errors.As(err, &f) || f.Kind != c.kind || f.Status != c.status || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%d %.80s: %v", c.status, c.body, err)
		}
		if len(err.Error()) > 2000 || strings.ContainsAny(err.Error(), "\n;") {
			t.Errorf("%d %.80s: error is not one short line: %q", c.status, c.body, err)
		}
	}
}

func TestBrokenAnswersAreReported(t *testing.T) {
	big := strings.Repeat("x", 1<<20)
	for name, c := range map[string]struct {
		accept string
		answer http.HandlerFunc
		kind   error
		text   string
	}{
		"cut": {"", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, "{")
		}, model.ErrBroken, "unexpected EOF"},
		"too much": {"", func(w http.ResponseWriter, _ *http.Request) {
			for range 66 {
				fmt.Fprint(w, big)
			}
		}, model.ErrGarbled, "more than 67108864 bytes"},
		"a line that is not JSON": {remote.LineStream, func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, "{}\n\nwhat; is\tthis\n{}\n")
		}, model.ErrGarbled, "not JSON: what, is this"},
		"line cut in the middle": {remote.LineStream, func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, "{}\n{\"a")
		}, model.ErrGarbled, "not JSON"},
		"line without end": {remote.LineStream, func(w http.ResponseWriter, _ *http.Request) {
			for range 6 {
				fmt.Fprint(w, big)
			}
		}, model.ErrGarbled, "too long"},
		"stream cut": {remote.LineStream, func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, "{}\n")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}, model.ErrBroken, "in the middle of the answer: unexpected EOF"},
		"stream cut in a line": {remote.LineStream, func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, "{}\n{\"a")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}, model.ErrBroken, "unexpected EOF"},
		"not gzip": {"", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			fmt.Fprint(w, "{\"a\": 1, \"b\": 2}")
		}, model.ErrGarbled, "gzip"},
		"hangs up before it answers": {"", func(w http.ResponseWriter, _ *http.Request) {
			panic(http.ErrAbortHandler)
		}, model.ErrBroken, "before the answer: EOF"},
		"hangs up": {"", func(w http.ResponseWriter, _ *http.Request) {
			panic(http.ErrAbortHandler)
		}, model.ErrUnreachable, "EOF"},
		"sent elsewhere": {"", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "http://192.0.2.1/")
			w.WriteHeader(http.StatusTemporaryRedirect)
		}, model.ErrGarbled, "another host"},
		"sent in a circle": {"", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/x")
			w.WriteHeader(http.StatusTemporaryRedirect)
		}, model.ErrGarbled, "another host"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := called(t, new(remote.Call), c.accept, c.answer)
			if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("error is %v", err)
			}
		})
	}
}

func TestLinesArriveWhole(t *testing.T) {
	body, err := called(t, new(remote.Call), remote.LineStream, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, " {\"a\":1}\r\n\n{\"b\":\"é\"}\n[1]")
	})
	if err != nil || body != "{\"a\":1}\n{\"b\":\"é\"}\n[1]\n" {
		t.Errorf("%q, %v", body, err)
	}
}

func TestFaultDistinguishesTheEndOfAContext(t *testing.T) {
	late, stop := context.WithTimeout(t.Context(), 0)
	defer stop()
	var early remote.Call
	if err := early.Fault(late, late.Err()); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, model.ErrUnreachable) || errors.Is(err, model.ErrSlow) {
		t.Errorf("the time was over before there was a connection: %v", err)
	}
	var c remote.Call
	if err := c.Fault(t.Context(), nil); err != nil {
		t.Errorf("nothing failed: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Fault(ctx, errors.New("x")); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if err := c.Fault(ctx, nil); err != nil {
		t.Errorf("done before it was cancelled: %v", err)
	}
	if err := c.Fault(t.Context(), errors.New("llama runner process no longer running; 2")); err == nil || err.Error() != "server fails: llama runner process no longer running, 2" {
		t.Errorf("error line: %v", err)
	}
	if err := c.Fault(t.Context(), errors.New("prompt is too long")); !errors.Is(err, model.ErrTooLong) {
		t.Errorf("error line: %v", err)
	}
}

func TestSecretsAreInNoError(t *testing.T) {
	_, err := called(t, &remote.Call{Secret: "sk-123"}, "", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, `{"error":{"message":"incorrect key sk-123 given"}}`)
	})
	if err == nil || strings.Contains(err.Error(), "sk-123") || !strings.Contains(err.Error(), "incorrect key …") {
		t.Errorf("error is %v", err)
	}
}

func TestExplainAddsTheRemedy(t *testing.T) {
	remedy := func(f *remote.Failure) string { return fmt.Sprint("do ", f.Kind == model.ErrGarbled) }
	if err := remote.Explain(nil, "w", "m", "u", remedy); err != nil {
		t.Error(err)
	}
	err := remote.Explain(remote.Garbled("bad\n%d", 1), "ask", "m", "http://u", remedy)
	if want := "ask m at http://u: answer is garbled: bad 1; do true"; err.Error() != want || !errors.Is(err, model.ErrGarbled) {
		t.Errorf("%v, want %s", err, want)
	}
	err = remote.Explain(context.Canceled, "ask", "", "u", remedy)
	if err.Error() != "ask at u: context canceled" || !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	err = remote.Explain(&remote.Failure{Kind: model.ErrNoModel, Status: 404, Text: "no page"}, "ask", "", "u", remedy)
	if !errors.Is(err, model.ErrGarbled) {
		t.Errorf("no model was named: %v", err)
	}
}

func TestVectorsAreChecked(t *testing.T) {
	one, nan, inf := []float32{1, 2}, float32(math.NaN()), float32(math.Inf(1))
	for name, c := range map[string]struct {
		vectors [][]float32
		n       int
		ok      bool
	}{
		"right":        {[][]float32{one, one}, 2, true},
		"none":         {nil, 0, true},
		"too few":      {[][]float32{one}, 2, false},
		"too many":     {[][]float32{one}, 0, false},
		"empty":        {[][]float32{{}}, 1, false},
		"of two sizes": {[][]float32{one, {1}}, 2, false},
		"NaN":          {[][]float32{one, {1, nan}}, 2, false},
		"infinite":     {[][]float32{{inf, 1}}, 1, false},
	} {
		if err := remote.CheckVectors(c.vectors, c.n); (err == nil) != c.ok || !c.ok && !errors.Is(err, model.ErrGarbled) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestReplyIsPutTogether(t *testing.T) {
	var deltas []model.Delta
	r := remote.Reply{Each: func(d model.Delta) error {
		deltas = append(deltas, d)
		return nil
	}}
	for _, d := range []model.Delta{{Thinking: "hm "}, {}, {Thinking: "so"}, {Text: "a"}, {Text: "b"}} {
		if err := r.Add(d); err != nil {
			t.Fatal(err)
		}
	}
	r.Calls = []chat.Part{{Name: "f", Args: `{"a":1}`}, {ID: "call_1", Name: "g", Args: " "}, {ID: "x", Name: "h", Args: `[1]`}, {ID: "x", Name: "i", Args: `{"a`}}
	before := []chat.Message{chat.NewText(chat.User, "q"), chat.NewResult("call_2", "")}
	m := r.Message(before)
	var got []string
	for _, p := range m.Parts {
		got = append(got, fmt.Sprint(p.Kind, " ", p.ID, p.Name, p.Args, p.Text))
	}
	want := `thinking hm so|text ab|tool_call call_3f{"a":1}|tool_call call_1g{}|tool_call xh{"not_an_object":"[1]"}|tool_call call_4i{"not_an_object":"{\"a"}`
	if strings.Join(got, "|") != want || m.Role != chat.Assistant || len(deltas) != 4 {
		t.Errorf("%s: %s, %d deltas, want %s", m.Role, strings.Join(got, "|"), len(deltas), want)
	}
}

func TestReplyEndsWhenNoMoreIsWanted(t *testing.T) {
	stop := errors.New("stop")
	r := remote.Reply{Each: func(model.Delta) error { return stop }}
	if err := r.Add(model.Delta{Text: "a"}); err != stop || r.Stopped != stop {
		t.Errorf("%v, %v", err, r.Stopped)
	}
	var endless remote.Reply
	var err error
	for range 40 {
		if err = endless.Add(model.Delta{Text: strings.Repeat("x", 1<<20)}); err != nil {
			break
		}
	}
	if !errors.Is(err, model.ErrGarbled) || endless.Broken == nil {
		t.Errorf("without end: %v", err)
	}
}

func TestSaidOmitsThinkingAndResults(t *testing.T) {
	m := chat.Message{Role: chat.Developer, Parts: []chat.Part{{Kind: chat.Text, Text: "a"}, {Kind: chat.Thinking, Text: "b"}, {Kind: chat.Result, Text: "c"}, {Kind: chat.Summary, Text: "d"}}}
	if got := remote.Said(m) + remote.Role(m.Role) + remote.Role(chat.Tool); got != "a\ndsystemtool" {
		t.Error(got)
	}
}

func TestAServerThatDoesNotAnswerInTimeIsSlow(t *testing.T) {
	for name, begin := range map[string]func(w http.ResponseWriter){
		"before the answer": func(http.ResponseWriter) {},
		"in the answer": func(w http.ResponseWriter) {
			fmt.Fprint(w, "{")
			w.(http.Flusher).Flush()
		},
	} {
		reached := make(chan struct{})
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			begin(w)
			close(reached)
			<-r.Context().Done()
		}))
		ctx, end := context.WithDeadline(t.Context(), time.Now().Add(time.Hour))
		var c remote.Call
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			<-reached
			end()
		}()
		resp, err := c.Client().Do(r)
		if err == nil {
			_, err = io.ReadAll(resp.Body)
			resp.Body.Close()
		}
		over, stop := context.WithTimeout(t.Context(), 0) // as if an hour had passed
		err = c.Fault(over, err)
		if !errors.Is(err, model.ErrSlow) || !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, model.ErrUnreachable) {
			t.Errorf("%s: %v", name, err)
		}
		stop()
		end()
		s.Close()
	}
}
