package wire

import (
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
)

func TestImagesOfAllDialectsAreRead(t *testing.T) {
	tests := []struct {
		block string
		want  chat.Picture
	}{
		{`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA"}}`, chat.Picture{MediaType: "image/png", Data: "AA"}},
		{`{"type":"image","source":{"type":"url","url":"https://example.com/a"}}`, chat.Picture{URL: "https://example.com/a"}},
		{`{"type":"image","data":"AA","mimeType":"image/gif"}`, chat.Picture{MediaType: "image/gif", Data: "AA"}},
		{`{"inlineData":{"mimeType":"image/webp","data":"AA"}}`, chat.Picture{MediaType: "image/webp", Data: "AA"}},
		{`{"fileData":{"mimeType":"image/png","fileUri":"https://example.com/a"}}`, chat.Picture{MediaType: "image/png", URL: "https://example.com/a"}},
		{`{"type":"image_url","image_url":{"url":"data:image/png;base64,AA","detail":"low"}}`, chat.Picture{MediaType: "image/png", Data: "AA", Detail: "low"}},
		{`{"type":"input_image","image_url":"https://example.com/a","detail":"high"}`, chat.Picture{URL: "https://example.com/a", Detail: "high"}},
		{`{"type":"file","mime":"image/png","url":"data:image/png;base64,AA"}`, chat.Picture{MediaType: "image/png", Data: "AA"}},
	}
	for _, test := range tests {
		got := pictureIn(peekValue(test.block))
		if got == nil || *got != test.want {
			t.Errorf("%s: got %+v", test.block, got)
		}
	}
	for _, block := range []string{`{"type":"text","text":"x"}`, `{"type":"input_image","image_url":null}`, `{"type":"image"}`, `{}`, `7`} {
		if got := pictureIn(peekValue(block)); got != nil {
			t.Errorf("%s: got %+v, want none", block, got)
		}
	}
}

func TestDocumentsBecomeTheirTextOrName(t *testing.T) {
	for block, want := range map[string]string{
		`{"type":"document","source":{"type":"text","data":"words"}}`:                   "words",
		`{"type":"document","source":{"type":"base64","media_type":"application/pdf"}}`: "[document application/pdf]",
		`{"type":"document","title":"plan","source":{"type":"url"}}`:                    "[document plan]",
		`{"type":"input_file","filename":"a.pdf"}`:                                      "[document a.pdf]",
		`{"type":"file"}`:  "[document]",
		`{"type":"video"}`: "",
	} {
		if got := documentNote(peekValue(block)); got != want {
			t.Errorf("%s: got %q, want %q", block, got, want)
		}
	}
}

func TestArgumentsAreAlwaysJSON(t *testing.T) {
	for raw, want := range map[string]string{
		``:                   `{}`,
		`null`:               `{}`,
		`""`:                 `{}`,
		`{ "a" : 1 }`:        `{"a":1}`,
		`"{\"a\": 1}"`:       `{"a": 1}`,
		`"{\"a\":"`:          `{"input":"{\"a\":"}`,
		`"*** Begin\nPatch"`: `{"input":"*** Begin\nPatch"}`,
		`{"lone":"\ud83d"}`:  `{"lone":"\ud83d"}`,
	} {
		if got := argumentsText(raw); got != want {
			t.Errorf("%s: got %s, want %s", raw, got, want)
		}
	}
}

// Ids that repeat, and results before or without calls.
func TestResultsFollowTheirCalls(t *testing.T) {
	call := func(id string) chat.Message {
		return chat.Message{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Call, ID: id, Name: "f", Args: "{}"}}}
	}
	var got strings.Builder
	for _, m := range reorderResults(chat.Transcript{
		chat.NewResult("a", "orphan"), call("a"), call("b"), chat.NewText(chat.User, "between"),
		chat.NewResult("b", "of b"), chat.NewResult("a", "of a"), call("a"), chat.NewResult("a", "again"), chat.NewResult("a", "once more"),
	}) {
		got.WriteString(m.Text() + ".")
		if m.HasCalls() {
			got.WriteString("call")
		}
	}
	if want := "orphan..callof a..callof b.between..callagain.once more."; got.String() != want {
		t.Errorf("got %s, want %s", got.String(), want)
	}
}

func TestResultsWithoutIDsFindTheirCalls(t *testing.T) {
	var n callIDAssigner
	n.assignCallID("own", "read")
	first, second := n.assignCallID("", "read"), n.assignCallID("", "list")
	for _, test := range []struct{ id, tool, want string }{
		{"own", "read", "own"},
		{"", "list", second},
		{"unknown", "read", first},
		{"unknown", "read", "unknown"},
		{"", "", "call_3"},
	} {
		if got := n.resultCallID(test.id, test.tool); got != test.want {
			t.Errorf("result %q of %q answers %s, want %s", test.id, test.tool, got, test.want)
		}
	}
	n.assignCallID("late", "read")
	n.beginTurn()
	if id, ok := n.takeOpenCall("read"); ok {
		t.Errorf("%s is open in a new turn", id)
	}
}
