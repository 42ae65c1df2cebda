package proxy_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/tiercompact/tiercompact/internal/proxy"
	"github.com/tiercompact/tiercompact/wire"
)

// pathOf returns the endpoint to which a client sends a body.
func pathOf(body []byte) string {
	c, err := wire.DecodeBytes(body, wire.Options{})
	switch {
	case err != nil || c.Format == "gemini":
		return "/v1beta/models/m:generateContent"
	case c.Format == "anthropic":
		return "/v1/messages"
	case c.Format == "responses":
		return "/v1/responses"
	case c.Format == "ollama":
		return "/api/chat"
	}
	return "/v1/chat/completions"
}

// recordedBodies returns the bodies of recorded HTTP requests, or skips the test.
func recordedBodies(t *testing.T) map[string][]byte {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join("..", "..", "..", "shared", "transcripts", "http-bodies", "*"))
	if len(files) == 0 {
		t.Skip("there are no recorded bodies here")
	}
	all := make(map[string][]byte)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(file, ".json") {
			all[filepath.Base(file)] = text
			continue
		}
		var c struct {
			Interactions []struct {
				Request struct{ Body string }
			}
		}
		if err := yaml.Unmarshal(text, &c); err != nil {
			t.Fatal(err)
		}
		for i, in := range c.Interactions {
			all[fmt.Sprintf("%s#%d", filepath.Base(file), i)] = []byte(in.Request.Body)
		}
	}
	return all
}

func TestRecordedBodiesPassByteForByte(t *testing.T) {
	s := newSetup(t, 2_000_000, nil)
	for name, body := range recordedBodies(t) {
		answer, _ := s.post(t, pathOf(body), string(body))
		if got := s.last(t); !bytes.Equal(got, body) {
			t.Errorf("%s: forwarded %d bytes, not the %d that came", name, len(got), len(body))
		}
		if reason := answer.Header.Get("X-Tiercompact-Passed"); reason != "" && json.Valid(body) {
			t.Errorf("%s was not read: %s", name, reason)
		}
	}
}

// TestCompactedRecordedBodiesKeepUntouchedMessages has recorded histories compacted:
// each object of the list that went upstream is one that came, byte for byte, or was
// written by a round.
func TestCompactedRecordedBodiesKeepUntouchedMessages(t *testing.T) {
	for name, body := range recordedBodies(t) {
		path := pathOf(body)
		if !json.Valid(body) || strings.HasPrefix(path, "/v1beta") {
			continue
		}
		s := newSetup(t, 100_000, nil)
		answer, _ := s.post(t, path, string(body), "X-Tiercompact-Mode", "emergency")
		got := s.last(t)
		if !json.Valid(got) {
			t.Errorf("%s: broken JSON went upstream: %s", name, got)
			continue
		}
		came, went := objectsOf(t, body), objectsOf(t, got)
		known := make(map[string]bool)
		for _, o := range came {
			known[o] = true
		}
		made := 0
		for _, o := range went {
			if !known[o] {
				made++
			}
		}
		if answer.Header.Get("X-Tiercompact-Level") == "none" && !bytes.Equal(got, body) {
			t.Errorf("%s: nothing was compacted, and the body changed", name)
		}
		if made > len(came) {
			t.Errorf("%s: %d of %d objects are new", name, made, len(went))
		}
	}
}

func objectsOf(t *testing.T, body []byte) (all []string) {
	t.Helper()
	var b struct{ Messages, Input json.RawMessage }
	if err := json.Unmarshal(body, &b); err != nil {
		t.Fatal(err)
	}
	for _, list := range []json.RawMessage{b.Messages, b.Input} {
		var objects []json.RawMessage
		if json.Unmarshal(list, &objects) == nil {
			for _, o := range objects {
				all = append(all, string(o))
			}
		}
	}
	return all
}

// fuzzedBody returns a valid body of an API with unusual but legal JSON.
func fuzzedBody(r *rand.Rand) (path string, body []byte) {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	blank := func() string { return pick("", " ", "\n", "\t ", "") }
	text := func() string {
		return pick(`"plain"`, `"\u00e9\ud83d\ude00"`, `"a\/b\\\"\n"`, `"é😀 </script>"`, `"`+strings.Repeat("word ", r.IntN(50))+`"`, `"\u0000\u001f"`)
	}
	extra := func() string {
		return pick(`"n":1.0e+2`, `"n":-0`, `"big":123456789012345678901234567890`, `"o":{"b":[],"a":{}}`, `"x":null`, `"cache_control":{"type":"ephemeral"}`, `"":""`)
	}
	path = pick("/api/chat", "/v1/chat/completions", "/v1/messages", "/v1/responses")
	var items []string
	for i := range 1 + r.IntN(8) {
		role := []string{"user", "assistant"}[i%2]
		members := []string{`"role":` + blank() + `"` + role + `"`, `"content":` + blank() + text()}
		if r.IntN(3) == 0 {
			members = append(members, extra())
		}
		r.Shuffle(len(members), func(a, b int) { members[a], members[b] = members[b], members[a] })
		items = append(items, "{"+blank()+strings.Join(members, blank()+","+blank())+blank()+"}")
	}
	list := `"messages"`
	if path == "/v1/responses" {
		list = `"input"`
	}
	members := []string{`"model":"m"`, list + ":" + blank() + "[" + blank() + strings.Join(items, blank()+","+blank()) + "]", extra(), `"stream":` + pick("true", "false"), `"stream_options":{"include_usage":true}`}
	if r.IntN(2) == 0 {
		members = append(members, `"tools":[{"type":"function","function":{"parameters":{"type":"object"},"name":"f"}}]`)
	}
	r.Shuffle(len(members), func(a, b int) { members[a], members[b] = members[b], members[a] })
	return path, []byte(blank() + "{" + strings.Join(members, blank()+",") + "}" + blank())
}

func TestFuzzedBodiesPassByteForByte(t *testing.T) {
	s := newSetup(t, 1_000_000, nil)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 1000 {
		path, body := fuzzedBody(r)
		if !json.Valid(body) {
			t.Fatalf("body %d is not JSON: %s", i, body)
		}
		answer, _ := s.post(t, path, string(body))
		if got := s.last(t); !bytes.Equal(got, body) {
			t.Fatalf("body %d: forwarded\n%s\ncame\n%s", i, got, body)
		}
		if reason := answer.Header.Get("X-Tiercompact-Passed"); reason != "" {
			t.Fatalf("body %d was not read: %s\n%s", i, reason, body)
		}
	}
}

// TestFuzzedMessagesSurviveACompaction has long histories of fuzzed messages compacted:
// every object upstream that is not a round's is one that came.
func TestFuzzedMessagesSurviveACompaction(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, path := range []string{"/api/chat", "/v1/chat/completions", "/v1/messages", "/v1/responses"} {
		s := newSetup(t, 2000, func(c *proxy.Config) { c.MaxBody = 1 << 20 })
		var items []string
		for i := range 80 {
			role := []string{"user", "assistant"}[i%2]
			items = append(items, fmt.Sprintf(`{ "n" : %d.50,"content":"message %d \u00e9 %s", "role":"%s"}`, i, i, strings.Repeat(fmt.Sprintf("item_%d of part_%d; ", i, r.IntN(99)), 12), role))
		}
		items = append(items, `{"role":"user","content":"\u0041nd now?"}`)
		list := "messages"
		if path == "/v1/responses" {
			list = "input"
		}
		body := fmt.Sprintf(`{"z":1.0,"model":"m","%s":[%s],"a":[]}`, list, strings.Join(items, ","))
		answer, _ := s.post(t, path, body)
		got := s.last(t)
		if answer.Header.Get("X-Tiercompact-Level") == "none" || len(got) >= len(body) || !json.Valid(got) {
			t.Errorf("%s: level %s, %d of %d bytes: %s", path, answer.Header.Get("X-Tiercompact-Level"), len(got), len(body), answer.Header.Get("X-Tiercompact-Passed"))
			continue
		}
		known := make(map[string]bool)
		for _, o := range objectsOf(t, []byte(body)) {
			known[o] = true
		}
		kept, made := 0, 0
		for _, o := range objectsOf(t, got) {
			if known[o] {
				kept++
			} else {
				made++
			}
		}
		if kept < 3 || made > 4 {
			t.Errorf("%s: %d objects as they came, %d others: %s", path, kept, made, got)
		}
		if !bytes.HasPrefix(got, []byte(`{"z":1.0,"model":"m","`+list+`":[`)) || !bytes.HasSuffix(got, []byte(`],"a":[]}`)) {
			t.Errorf("%s: the document around the messages changed: %.80s … %s", path, got, got[len(got)-40:])
		}
	}
}
