package suite

import (
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
)

func TestToolsThatAServerDoesNotCountCountNoMore(t *testing.T) {
	tool := []byte(`[{"type":"function","function":{"name":"recall","description":"` + strings.Repeat("what it does ", 30) + `"}}]`)
	call := chat.Message{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Call, ID: "c", Name: "recall", Args: `{}`}}}
	for _, test := range []struct {
		name     string
		before   []chat.Message
		share    float64 // of the messages' tokens that the server counts
		tools    bool    // and those of the tools
		left     bool
		truncate bool
	}{
		{"left out", nil, 1, false, true, false},
		{"counted", nil, 1, true, false, false},
		{"left out, a tokenizer that counts less", nil, 0.8, false, true, false},
		{"cut", nil, 0.3, false, false, true},
		{"the model has called one", []chat.Message{chat.NewText(chat.User, "look it up"), call, chat.NewResult("c", "found")}, 1, false, false, true},
	} {
		c, err := tiercompact.New(tiercompact.Config{Window: 8192})
		if err != nil {
			t.Fatal(err)
		}
		s := c.Session(test.name)
		s.SetTools(tool)
		if err := s.Load(append(test.before, chat.NewText(chat.User, "hello, how do you do today?"))); err != nil {
			t.Fatal(err)
		}
		before := s.Usage()
		count := float64(before.Tokens-before.Tools) * test.share
		if test.tools {
			count += float64(before.Tools)
		}
		sample := s.Observe(int(count))
		if sample.ToolsLeftOut != test.left || sample.Truncated != test.truncate {
			t.Errorf("%s: %d of %+v counted: %+v", test.name, int(count), before, sample)
		}
		if after := s.Usage(); (after.Tools == 0) != test.left || test.left && after.Tokens != int(count) {
			t.Errorf("%s: usage %+v", test.name, after)
		}
		s.SetTools(tool)
		if s.Usage().Tools != before.Tools {
			t.Errorf("%s: tools that are set anew do not count", test.name)
		}
	}
}
