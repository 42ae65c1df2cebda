package wire

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const goodLine = `{"parentUuid":null,"isSidechain":false,"type":"user","uuid":"u1","message":{"role":"user","content":"hello"}}`

func TestBrokenLineOfALogIsNamed(t *testing.T) {
	_, err := DecodeBytes([]byte(goodLine+"\n{\"type\":\"user\",\n"+goodLine+"\n"), Options{Name: "log.jsonl"})
	var at *Error
	if !errors.As(err, &at) || !errors.Is(err, ErrBroken) {
		t.Fatalf("got %v", err)
	}
	if at.File != "log.jsonl" || at.Line != 2 || !strings.Contains(at.Remedy, "--lenient") {
		t.Errorf("got %v", err)
	}
}

func TestBrokenLineOfALogIsSkippedAndCounted(t *testing.T) {
	c, err := DecodeBytes([]byte(goodLine+"\n{\"type\":\"user\",\n"), Options{Lenient: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Messages) != 1 || c.Skipped != 1 {
		t.Errorf("%d messages, %d skipped", len(c.Messages), c.Skipped)
	}
}

func TestLogWithoutMessagesIsAnError(t *testing.T) {
	for _, text := range []string{
		`{"type":"session","id":"s","timestamp":"t"}`,
		`{"sessionId":"s","projectHash":"h","messages":[]}`,
		`{"timestamp":"t","type":"session_meta","payload":{}}`,
		`{"type":"summary","summary":"x","leafUuid":"y"}`,
		"# aider chat started at 2026-01-01\n\n> Aider  \n",
	} {
		if _, err := DecodeBytes([]byte(text), Options{}); !errors.Is(err, ErrNoMessages) {
			t.Errorf("%s: got %v", text, err)
		}
	}
}

func TestLineOfAMegabyteIsRead(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	c, err := DecodeBytes([]byte(strings.Replace(goodLine, "hello", long, 1)), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Messages[0].Text(); got != long {
		t.Errorf("%d bytes of text", len(got))
	}
}

func TestFieldsOfOtherTypesDoNotPanic(t *testing.T) {
	junk := []string{`null`, `7`, `"x"`, `[]`, `{}`, `[null,7,"x",[],{}]`, `{"a":1}`, `true`}
	for _, in := range fixtures(t) {
		text := string(in.data)
		for _, key := range []string{
			"message", "content", "payload", "parts", "info", "state", "args", "toolCalls", "result", "input",
			"output", "type", "role", "id", "history", "tool_calls", "compactMetadata", "replacement_history",
		} {
			for _, value := range junk {
				changed := strings.ReplaceAll(text, `"`+key+`":{`, `"`+key+`":`+value+`,"_":{`)
				changed = strings.ReplaceAll(changed, `"`+key+`":[`, `"`+key+`":`+value+`,"_":[`)
				changed = strings.ReplaceAll(changed, `"`+key+`":"`, `"`+key+`":`+value+`,"_":"`)
				c, err := DecodeBytes([]byte(changed), Options{Format: in.format})
				if err == nil && sound(c.Messages) != nil {
					t.Fatalf("%s: %s is %s: %v", in.name, key, value, sound(c.Messages))
				}
			}
		}
	}
}

type fixture struct {
	name, format string
	data         []byte
}

func fixtures(t testing.TB) []fixture {
	t.Helper()
	inputs, err := filepath.Glob("testdata/ro/*/*.in")
	if err != nil {
		t.Fatal(err)
	}
	var found []fixture
	for _, input := range inputs {
		data, err := os.ReadFile(input)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, fixture{input, filepath.Base(filepath.Dir(input)), data})
	}
	return found
}

// FuzzReadOnly decodes any input as any of the read-only formats. It never panics,
// the result is valid, and it is the same every time.
func FuzzReadOnly(f *testing.F) {
	names := readOnlyNames()
	for _, in := range fixtures(f) {
		f.Add(in.data, uint8(slices.Index(names, in.format)))
	}
	f.Fuzz(func(t *testing.T, data []byte, format uint8) {
		o := Options{Format: names[int(format)%len(names)], Lenient: format >= 128}
		c, err := DecodeBytes(data, o)
		if err != nil {
			if !errors.As(err, new(*Error)) {
				t.Errorf("error of type %T: %v", err, err)
			}
			return
		}
		if err := sound(c.Messages); err != nil {
			t.Error(err)
		}
		if again, err := DecodeBytes(data, o); err != nil || canonical(again) != canonical(c) {
			t.Errorf("decoded again it differs: %v", err)
		}
	})
}

func BenchmarkDecodeLog(b *testing.B) {
	for _, name := range []string{"claude-code/8c-fa910f8ef9-0.jsonl", "codex/edgerunner.jsonl", "pi/large-session.jsonl", "openhands/tls-scanner.json"} {
		data, err := os.ReadFile(filepath.Join(transcripts, name))
		if err != nil {
			b.Skip("no real sessions beside the repository")
		}
		b.Run(filepath.Dir(name), func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := DecodeBytes(data, Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
