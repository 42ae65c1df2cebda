package cli

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
)

// llamacpp answers as llama.cpp's server did (see testdata/llamacpp), except for
// the token count of the prompt: counted has one per request, and the last one repeats.
func llamacpp(t *testing.T, counted ...string) (url string) {
	t.Helper()
	answer, err := os.ReadFile("testdata/llamacpp/answer.txt")
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /props", func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"default_generation_settings":{"n_ctx":4096},"total_slots":1,"model_alias":"smol"}`)
	})
	mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Write(bytes.Replace(answer, []byte(`"prompt_tokens":70`), []byte(`"prompt_tokens":`+counted[0]), 1))
		counted = counted[min(1, len(counted)-1):]
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL
}

// chatted runs a chat with the lines as input, and returns its output.
func chatted(t *testing.T, url string, lines ...string) (out, notes string) {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Chdir(t.TempDir())
	cmd := newRootCommand()
	var o, e bytes.Buffer
	cmd.SetIn(strings.NewReader(strings.Join(lines, "\n")))
	cmd.SetOut(&o)
	cmd.SetErr(&e)
	cmd.SetArgs([]string{"chat", "smol", "--openai-url", url, "--engine", "built-in"})
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatalf("%v\n%s", err, e.String())
	}
	return o.String(), e.String()
}

const answered = "Hello! I'm glad you're enjoying the tool\n"

func TestToolsThatATemplateLeavesOutRaiseNoAlarm(t *testing.T) {
	out, notes := chatted(t, llamacpp(t, "70", "90"), "hi", "hi")
	if strings.Contains(notes, "cut;") || !strings.Contains(notes, "smol cannot call tools") {
		t.Errorf("told:\n%s", notes)
	}
	if out != answered+answered {
		t.Errorf("answers:\n%s", out)
	}
}

func TestAPromptThatWasCutRaisesTheAlarm(t *testing.T) {
	_, notes := chatted(t, llamacpp(t, "20"), "hi")
	if !strings.Contains(notes, "20 tokens counted") || !strings.Contains(notes, "the prompt seems to be cut") || strings.Contains(notes, "cannot call tools") {
		t.Errorf("told:\n%s", notes)
	}
}

func TestAPlainChatWritesAnAnswerOnce(t *testing.T) {
	text := strings.Repeat("a word and another of what was told ", 40)
	for name, lines := range map[string][]string{
		"a warning comes between":       {"hi"},
		"the model is asked once more":  {text, text, text, text, "hi"},
		"a warning, and then a command": {"hi", "/pin"},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			for _, l := range lines {
				if !strings.HasPrefix(l, "/") {
					asked++
				}
			}
			counted := make([]string, asked)
			for i := range counted {
				counted[i] = "0" // not reported
			}
			counted[asked-1] = "20"
			out, notes := chatted(t, llamacpp(t, counted...), lines...)
			if out != strings.Repeat(answered, asked) || !strings.Contains(notes, "the prompt seems to be cut") ||
				strings.Contains(name, "once more") != strings.Contains(notes, "asking once more") {
				t.Errorf("answers:\n%s\ntold:\n%s", out, notes)
			}
		})
	}
}
