package wire

import (
	"errors"
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
		if !errors.Is(err, ErrBroken) || !strings.HasPrefix(err.Error(), "tape:4: body: ") {
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
