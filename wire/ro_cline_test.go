package wire

import "testing"

// A task that was written in another format is read as that format, which alone has
// its calls.
func TestClineTextsInAnotherFormatAreNotATask(t *testing.T) {
	task := `[{"role":"user","content":[{"type":"text","text":"<task>\nfix a.go\n</task>"}]},` +
		`{"role":"assistant","content":[{"type":"text","text":"Reading."},{"type":"tool_use","id":"tu1","name":"read_file","input":{"path":"a.go"}}]},` +
		`{"role":"user","content":[{"type":"text","text":"[read_file for 'a.go'] Result:\npackage a"}]}]`
	c := decoded(t, task)
	if c.Format != "cline" || len(c.Messages) != 3 {
		t.Fatalf("%s with %d messages", c.Format, len(c.Messages))
	}
	for _, to := range []string{"openai", "ollama"} {
		again := decoded(t, encoded(t, c, to))
		if again.Format != to || len(again.Messages) != 3 || !again.Messages[1].HasCalls() {
			t.Errorf("%s is read as %s with %d messages, %+v", to, again.Format, len(again.Messages), again.Messages[1].Parts)
		}
	}
}
