package wire

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// canonical returns a transcript with one line for each message.
func canonical(c Conversation) string {
	var b strings.Builder
	fmt.Fprintf(&b, "format=%s model=%q title=%q tools=%s skipped=%d\n", c.Format, c.Model, c.Title, c.Tools, c.Skipped)
	for _, m := range c.Messages {
		fmt.Fprintf(&b, "%s id=%q", m.Role, m.ID)
		if m.Machine {
			b.WriteString(" machine")
		}
		if m.State != chat.Active {
			fmt.Fprintf(&b, " state=%s", m.State)
		}
		for _, p := range m.Parts {
			b.WriteString(" | " + canonicalPart(p))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func canonicalPart(p chat.Part) string {
	switch p.Kind {
	case chat.Call:
		return fmt.Sprintf("call %s %s %s", p.ID, p.Name, p.Args)
	case chat.Result:
		failed := ""
		if p.Error {
			failed = " failed"
		}
		return fmt.Sprintf("result %s %s%s %q", p.ID, p.Name, failed, p.Text)
	case chat.Image:
		return fmt.Sprintf("image %s %d bytes %s", p.Image.MediaType, len(p.Image.Data), p.Image.URL)
	}
	return fmt.Sprintf("%s %q", p.Kind, p.Text)
}

// sound returns the problems of a transcript that was read from a read-only format.
func sound(t chat.Transcript) error {
	ids := make(map[string]bool)
	pairs := chat.PairUp(t)
	for i, m := range t {
		switch {
		case !worthSending(m.Parts):
			return fmt.Errorf("message %d (%s) is empty", i, m.Role)
		case m.ID != "" && ids[m.ID]:
			return fmt.Errorf("message %d repeats id %s", i, m.ID)
		case m.Source != nil:
			return fmt.Errorf("message %d has a source", i)
		case m.Machine && m.Role != chat.User:
			return fmt.Errorf("message %d (%s) is marked as a machine's", i, m.Role)
		}
		ids[m.ID] = true
		if call := pairs.CallOf[i]; call >= 0 {
			for j := call + 1; j < i; j++ {
				if pairs.CallOf[j] != call {
					return fmt.Errorf("message %d is between the call of %d and its result %d", j, call, i)
				}
			}
		}
		if err := soundParts(m); err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
	}
	return nil
}

func soundParts(m chat.Message) error {
	for n, p := range m.Parts {
		switch {
		case p.Raw != "":
			return fmt.Errorf("part %d has raw JSON", n)
		case p.Kind == chat.Call && (m.Role != chat.Assistant || p.ID == ""):
			return fmt.Errorf("call %q of %q in a message of role %s", p.ID, p.Name, m.Role)
		case p.Kind == chat.Call && !json.Valid([]byte(p.Args)):
			return fmt.Errorf("arguments are no JSON: %s", p.Args)
		case (p.Kind == chat.Result) != (m.Role == chat.Tool && n == 0):
			return fmt.Errorf("part %d is a %s in a message of role %s", n, p.Kind, m.Role)
		case p.Kind == chat.Result && p.ID == "":
			return errors.New("result without an id")
		case (p.Kind == chat.Text || p.Kind == chat.Thinking) && p.Text == "":
			return fmt.Errorf("part %d is empty", n)
		}
	}
	return nil
}

func TestReadOnlyFormatsReadAsRecorded(t *testing.T) {
	inputs, err := filepath.Glob("testdata/ro/*/*.in")
	if err != nil || len(inputs) == 0 {
		t.Fatalf("no inputs: %v", err)
	}
	for _, input := range inputs {
		name := strings.TrimSuffix(input, ".in")
		t.Run(strings.TrimPrefix(filepath.ToSlash(name), "testdata/ro/"), func(t *testing.T) {
			data, err := os.ReadFile(input)
			if err != nil {
				t.Fatal(err)
			}
			got := recorded(t, data, filepath.Base(filepath.Dir(input)))
			if *update {
				if err := os.WriteFile(name+".want", []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(name + ".want")
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

// recorded returns the canonical form of data, or the error.
func recorded(t *testing.T, data []byte, format string) string {
	t.Helper()
	c, err := DecodeBytes(data, Options{Name: "log"})
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	if err := sound(c.Messages); err != nil {
		t.Error(err)
	}
	if c.Format != format {
		t.Errorf("detected as %s", c.Format)
	}
	return canonical(c)
}

func readOnlyNames() []string {
	var names []string
	for _, f := range Formats() {
		if !f.Writable {
			names = append(names, f.Name)
		}
	}
	return names
}

func TestAllReadOnlyFormatsAreListed(t *testing.T) {
	names := readOnlyNames()
	for _, want := range []string{
		"claudecode", "codex", "responses", "gemini", "geminicli", "opencode", "pi",
		"openhands", "sweagent", "minisweagent", "cline", "aider",
	} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is not listed", want)
		}
	}
}
