package openai_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/tiercompact/tiercompact/internal/model"
	"github.com/tiercompact/tiercompact/internal/ollamatest"
	"github.com/tiercompact/tiercompact/internal/openai"
)

func TestRealServerAnswersInOpenAIsProtocol(t *testing.T) {
	c, err := openai.New(ollamatest.URL(t)+"/v1", "")
	if err != nil {
		t.Fatal(err)
	}
	if names, err := c.Models(t.Context()); err != nil || !slices.Contains(names, ollamatest.Chat+":latest") {
		t.Errorf("models %v, %v", names, err)
	}
	request := model.Request{Model: ollamatest.Chat, Messages: user("Name a colour."), MaxTokens: 8, Sampling: &model.Sampling{}}
	first, err := c.Chat(t.Context(), request, nil)
	if err != nil || first.Message.Text() == "" || first.PromptTokens == 0 || first.Tokens == 0 {
		t.Fatalf("%+v, %v", first, err)
	}
	again, err := c.Chat(t.Context(), request, nil)
	if err != nil || again.Message.Text() != first.Message.Text() {
		t.Errorf("at temperature 0: %q, then %q, %v", first.Message.Text(), again.Message.Text(), err)
	}
	if v, err := c.Embed(t.Context(), ollamatest.Embedder, []string{"a", "b"}); err != nil || len(v) != 2 || len(v[0]) != 384 {
		t.Errorf("%d vectors, %v", len(v), err)
	}
	request.Model = "nobody-has-this"
	if _, err := c.Chat(t.Context(), request, nil); !errors.Is(err, model.ErrNoModel) {
		t.Errorf("no such model: %v", err)
	}
	if _, err := c.Embed(t.Context(), "nobody-has-this", []string{"a"}); !errors.Is(err, model.ErrNoModel) {
		t.Errorf("no such embedder: %v", err)
	}
}
