package wire

import (
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const tape = `---
version: 2
interactions:
- id: 0
  request:
    method: POST
    body: '{"model":"m","messages":[{"role":"user","content":"what''s up"}]}'
  response:
    body: '{"messages":[{"role":"user","content":"not this"}]}'
- id: 1
  request:
    body: |
      {"system":"s",
      "messages":[{"role":"user","content":"hi"}]}

    headers: {}
- id: 2
  request:
    body: "{\"messages\":[{\"role\":\"user\",\"content\":\"quoted\"}]}"
- id: 3
  request:
    body: ""
`

func TestEachRequestOfACassetteIsAChat(t *testing.T) {
	for n, want := range []struct{ format, last string }{{"openai", "what's up"}, {"anthropic", "hi"}, {"openai", "quoted"}} {
		c, err := DecodeBytes([]byte(tape), Options{Chat: n + 1})
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Messages[len(c.Messages)-1].Text(); c.Format != want.format || got != want.last {
			t.Errorf("chat %d: %s %q, want %s %q", n+1, c.Format, got, want.format, want.last)
		}
	}
	if _, err := DecodeBytes([]byte(tape), Options{}); !errors.Is(err, ErrSeveralChats) || !strings.Contains(err.Error(), "3 chats") {
		t.Error(err)
	}
}

func TestBrokenCassetteNamesItsLine(t *testing.T) {
	for _, body := range []string{`'{"a`, `"\q"`} {
		_, err := DecodeBytes([]byte("version: 2\ninteractions:\n- request:\n    body: "+body+"\n"), Options{Name: "tape"})
		if !errors.Is(err, ErrBroken) || !strings.HasPrefix(err.Error(), "tape:4: broken YAML: ") {
			t.Error(err)
		}
	}
}

func TestRecordedCassettesCanBeRead(t *testing.T) {
	ownFiles(t)
	files, _ := filepath.Glob(filepath.Join(recordings, "http-bodies/*.yaml"))
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		c, err := DecodeBytes(data, Options{Name: file, Chat: 1})
		if err != nil {
			t.Error(err)
			continue
		}
		if len(c.Messages) == 0 {
			t.Errorf("%s: no messages", file)
		}
		encoded(t, c, "")
	}
}

// The cassettes of vcrpy were recorded by the script beside them.
func TestCassettesOfVcrpyAreRead(t *testing.T) {
	const asks = "Why does the parser refuse “1.”? It is what the form 'number' gives: a digit, a point \\ and nothing.\nAnd then?"
	for file, want := range map[string][]string{
		"vcrpy.yaml":      {"openai 2 " + asks, "anthropic 2 hello\tyou", "openai 4 package a\n\nfunc A() {}\n"},
		"vcrpy.json":      {"openai 2 " + asks},
		"vcrpy_gzip.yaml": {"openai 2 " + asks},
		"vcrpy_file.yaml": {"openai 2 " + asks},
	} {
		data, err := os.ReadFile(filepath.Join("testdata/cassette", file))
		if err != nil {
			t.Fatal(err)
		}
		for i, w := range want {
			c, err := DecodeBytes(data, Options{Name: file, Chat: i + 1})
			if err != nil {
				t.Error(err)
				continue
			}
			if got := fmt.Sprint(c.Format, " ", len(c.Messages), " ", c.Messages[len(c.Messages)-1].Text()); got != w {
				t.Errorf("%s, chat %d: %q, want %q", file, i+1, got, w)
			}
			encoded(t, c, "")
		}
		if _, err := DecodeBytes(data, Options{Chat: len(want) + 1}); !errors.Is(err, ErrNoChat) {
			t.Errorf("%s has more than %d chats: %v", file, len(want), err)
		}
	}
}

func TestBodiesOfOtherRecordersAreRead(t *testing.T) {
	body := `{"messages":[{"role":"user","content":"hi"}]}`
	for name, in := range map[string]string{
		"go-vcr 1":        "---\nversion: 1\ninteractions:\n- request:\n    body: '" + body + "'\n    form: {}\n    url: http://localhost\n    method: POST\n  response:\n    body: x\n",
		"go-vcr, folded":  "version: 2\ninteractions:\n    - id: 0\n      request:\n        body: '{\"messages\":[{\"role\":\"user\",\n            \"content\":\"hi\"}]}'\n",
		"an anchor":       "x: &b '" + body + "'\ninteractions:\n- request: {body: *b}\n",
		"VCR of Ruby":     "http_interactions:\n- request:\n    method: post\n    body:\n      encoding: UTF-8\n      string: '" + body + "'\nrecorded_with: VCR 6.0\n",
		"VCR, base64":     "http_interactions:\n- request:\n    body:\n      base64_string: |\n        " + base64.StdEncoding.EncodeToString([]byte(body)) + "\n",
		"an iterator":     "interactions:\n- request:\n    body: !!python/object/apply:builtins.iter\n      args:\n      - - !!binary |\n          " + base64.StdEncoding.EncodeToString([]byte(body[:12])) + "\n        - !!binary |\n          " + base64.StdEncoding.EncodeToString([]byte(body[12:])) + "\n",
		"gzip as base64":  "interactions:\n- request:\n    body: " + gzipped(t, body) + "\n",
		"JSON, a mapping": `{"interactions":[{"request":{"body":{"string":` + string(appendQuoted(nil, body)) + `}}}],"version":1}`,
	} {
		c, err := DecodeBytes([]byte(in), Options{})
		if err != nil || c.Format != "openai" || said(c) != "hi" {
			t.Errorf("%s: %s %q, %v", name, c.Format, said(c), err)
		}
	}
}

func gzipped(t *testing.T, text string) string {
	var b strings.Builder
	to := base64.NewEncoder(base64.StdEncoding, &b)
	z := gzip.NewWriter(to)
	if _, err := z.Write([]byte(text)); err != nil || z.Close() != nil || to.Close() != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestCassetteWithoutAChatReportsItsContent(t *testing.T) {
	data, err := os.ReadFile("testdata/cassette/vcrpy_no_chat.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{
		string(data): "f: holds no chat in the bodies of its requests (recorded: 2, without a body: 1); record the requests to a model",
		"interactions: []\nversion: 1\n# request:\n":               "f: holds no chat in the bodies of its requests (recorded: 0, without a body: 0)",
		`{"interactions":[{"request":{"body":null}}],"version":1}`: "f: holds no chat in the bodies of its requests (recorded: 1, without a body: 1)",
	} {
		if _, err := DecodeBytes([]byte(in), Options{Name: "f"}); !errors.Is(err, ErrNoMessages) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	for in, want := range map[string]string{
		"interactions:\n- request:\n    body: !!binary '***'\n":    "f:3: request.body: not base64",
		"interactions:\n- request:\n    body: !!binary H4sIAAAA\n": "f:3: request.body: unpack: ",
	} {
		if _, err := DecodeBytes([]byte(in), Options{Name: "f"}); !errors.Is(err, ErrBroken) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
