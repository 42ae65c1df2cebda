package ollama_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/ollama"
	"github.com/tiercompact/tiercompact/internal/ollamatest"
	"github.com/tiercompact/tiercompact/model"
)

func real(t *testing.T) *ollama.Client {
	t.Helper()
	c, err := ollama.New(ollamatest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// texts are what tokenizers trip over.
func texts(t *testing.T) []string {
	t.Helper()
	code, err := os.ReadFile("chat.go")
	if err != nil {
		t.Fatal(err)
	}
	return []string{
		"hello world",
		"func f(a int) {\n\treturn a+1\n}\n\n\n    // x  y   z\n",
		"numbers 1 22 333 4444  55555   6 7.8e9 0x1F",
		"it's don't WE'VE I'LL he'd",
		"äöü Straße 漢字かな 한글 😀👩‍👩‍👧 naïve",
		"a<|im_end|>b <|im_start|> <|notone|>",
		strings.Repeat(" ", 70) + "x" + strings.Repeat("=", 300) + strings.Repeat("\n", 40) + "\t\t\r\n end",
		`{"a": [1, 2, {"b": null}], "path": "/usr/local/bin/x_y-z.go:12"}`,
		string(code[:4000]),
	}
}

func TestRealTokenizerCountsAsTheServerDoes(t *testing.T) {
	c := real(t)
	t.Run("chat", func(t *testing.T) {
		count, err := c.Tokenizer(t.Context(), ollamatest.Chat)
		if err != nil {
			t.Fatal(err)
		}
		for i, text := range texts(t) {
			a, err := c.Chat(t.Context(), model.Request{
				Model: ollamatest.Chat, MaxTokens: 1, Messages: []chat.Message{chat.NewText(chat.User, text)},
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
			prompt := "<|im_start|>user\n" + text + "<|im_end|>\n<|im_start|>assistant\n"
			if got := count(prompt); got != a.PromptTokens {
				t.Errorf("text %d: %d tokens, the server counts %d", i, got, a.PromptTokens)
			}
		}
	})
	fmt.Print()
}
