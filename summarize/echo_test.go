package summarize_test

import (
	"math"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/summarize"
)

func TestATextThatRepeatsItsRequestIsRefused(t *testing.T) {
	note := "keep the port and the database path"
	for text, want := range map[string]string{
		"Keep the port and the database path.":                                                              summarize.Echo,
		"## Goals\n- keep the port and the database path\n## State\n- keep the port":                        summarize.Echo,
		"The user wishes for this record: keep the port and the database path":                              summarize.Echo,
		"- never touch the valve_table (x3)\n- the gauge is asked, not the clock":                           summarize.Echo,
		"The port is 8443 and the database path is /var/lib/app.db.":                                        "",
		"Keep the port 8443 and the database path /var/lib/app.db.":                                         "",
		"The user asked to keep the port and the database path: 8443, /var/lib/app.db. The tests pass now.": "",
		"- keep the port and the database path\n- the port is 8443\n- the path is /var/lib/app.db":          "",
		"Keep the port.": "",
	} {
		r := summarize.Request{Note: note, Messages: []chat.Message{chat.NewText(chat.User, "The port is 8443, the database path /var/lib/app.db.")}}
		if got := summarize.Accept(text, r, math.MaxInt); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestWhatTheAssistantMadeUpIsNotBesideWhatTheUserSaid(t *testing.T) {
	call := chat.Message{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Call, ID: "c", Name: "bash", Args: `{"command":"serve --port 7000"}`}}}
	messages := []chat.Message{
		chat.NewText(chat.User, "The service must listen on port 8443. Work on branch fix/login-2."),
		chat.NewText(chat.Assistant, "Sure. The service listens on port 8080, and I use port 7000 for a trial, on timeout 30s."),
		call, chat.NewResult("c", "listening on port 7000, admin port 7001"),
		chat.NewText(chat.Assistant, "It is at port 5432 now."),
	}
	facts := summarize.FactsOf(messages, "", 500, nil)
	text, err := summarize.Extractive{}.Summarize(t.Context(), summarize.Request{Messages: messages, MaxTokens: 500, Facts: facts})
	if err != nil {
		t.Fatal(err)
	}
	_, entities, _ := strings.Cut(text, "## Entities")
	for value, want := range map[string]bool{"- port 8443": true, "- port 7000": true, "- timeout 30s": true, "- branch fix/login-2": true, "- port 8080": false, "- port 5432": false} {
		if got := strings.Contains(facts+entities, value); got != want {
			t.Errorf("%q is in the facts: %v, want %v, in\n%s\n%s", value, got, want, facts, entities)
		}
	}
}
