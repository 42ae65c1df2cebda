package ollamatest_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/internal/ollamatest"
)

func TestCounterCountsRequests(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/chat":
			fmt.Fprintln(w, `{"message":{"content":"`+strings.Repeat("x", 5000)+`"}}`)
			fmt.Fprintln(w, `{"done":true,"prompt_eval_count":37,"eval_count":3}`)
		case "/v1/chat/completions":
			fmt.Fprint(w, `{"usage":{"prompt_tokens":12}}`)
		default:
			http.Error(w, `{"error":"the input length exceeds the context length"}`, http.StatusBadRequest)
		}
	}))
	defer server.Close()
	c := ollamatest.Count(t, server.URL)
	for _, r := range [][2]string{
		{"/api/chat", `{"options":{"num_ctx":2048}}`},
		{"/v1/chat/completions", `{}`},
		{"/api/embed", `{"input":["a","b"]}`},
		{"/api/embed", `{"input":"c"}`},
		{"/api/embed", `no JSON`},
	} {
		answer, err := http.Post(c.URL+r[0], "application/json", strings.NewReader(r[1]))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, answer.Body); err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
	}
	got := fmt.Sprint(c.Requests(""), c.Requests("/api/embed"), c.Texts(), c.LongestPrompt(), c.LargestWindow(), c.Refusals())
	if want := "5 3 3 37 2048 3"; got != want {
		t.Errorf("requests, embeds, texts, prompt, window, refusals = %s, want %s", got, want)
	}
}
