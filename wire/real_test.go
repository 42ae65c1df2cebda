package wire

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
)

const recordings = "../../shared/transcripts"

// ownFiles returns the recordings of formats that this package writes.
func ownFiles(t testing.TB) []string {
	t.Helper()
	if _, err := os.Stat(recordings); err != nil {
		t.Skip("no recorded recordings beside the repository")
	}
	var files []string
	for _, glob := range []string{
		"openai-chat/*.json", "go-openai/*.json", "http-bodies/*.json",
		"openhands/*litellm*.json", "openhands/*message.json",
	} {
		found, err := filepath.Glob(filepath.Join(recordings, glob))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	return files
}

func TestRealSessionsComeBackByteForByte(t *testing.T) {
	for _, file := range ownFiles(t) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		several := strings.Contains(file, "tau-bench")
		if _, err := DecodeBytes(data, Options{Name: file}); (err != nil) != several {
			t.Fatalf("%s: %v", file, err)
		}
		if several {
			continue
		}
		c, err := DecodeBytes(data, Options{Name: file})
		if err != nil {
			t.Fatal(err)
		}
		if len(c.Messages) < 2 || orphans(c.Messages) > 0 {
			t.Errorf("%s: %s with %d messages, %d orphans", file, c.Format, len(c.Messages), orphans(c.Messages))
		}
		var out bytes.Buffer
		if err := Encode(&out, c, ""); err != nil || !bytes.Equal(out.Bytes(), data) {
			t.Errorf("%s: %d bytes became %d (%v)", file, len(data), out.Len(), err)
		}
	}
}

func TestRealSessionsAreValidForEachAPI(t *testing.T) {
	faulty := 0
	for _, file := range ownFiles(t) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for n := range 20 {
			c, err := DecodeBytes(data, Options{Name: file, Chat: n + 1})
			if errors.Is(err, ErrNoChat) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if refused(t, c.Format, encoded(t, c, "")) != nil {
				faulty++ // a call without its result, which stays as it is
				continue
			}
			for _, to := range []string{"openai", "anthropic", "ollama", "jsonl"} {
				if err := refused(t, to, encoded(t, c, to)); err != nil {
					t.Errorf("%s, chat %d, as %s: %v", file, n+1, to, err)
				}
			}
		}
	}
	if faulty > 6 {
		t.Errorf("%d chats have faults", faulty)
	}
}

// orphans counts results without a call.
func orphans(t chat.Transcript) int {
	n := 0
	for i, call := range chat.PairUp(t).CallOf {
		if call < 0 && t[i].Role == chat.Tool {
			n++
		}
	}
	return n
}
