// Command ollama chats with a model of Ollama, with its official client: each
// line of stdin is a question. The conversation never outgrows the window.
package main

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/ollama/ollama/api"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
)

const (
	model  = "llama3.2:3b"
	window = 2048 // tokens; small, so that it is soon full
)

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	server, err := api.ClientFromEnvironment()
	if err != nil {
		return err
	}
	compactor, err := tiercompact.New(tiercompact.Config{Window: window})
	if err != nil {
		return err
	}
	session := compactor.Session("demo")
	for input := bufio.NewScanner(os.Stdin); input.Scan(); {
		if _, err := session.AddMessage(ctx, chat.NewText(chat.User, input.Text())); err != nil {
			return err
		}
		answer, err := ask(ctx, server, session.Messages())
		if err != nil {
			return err
		}
		report, err := session.AddMessage(ctx, chat.NewText(chat.Assistant, answer))
		if err != nil {
			return err
		}
		fmt.Printf("%2.0f %% full, %d tokens freed\n", 100*session.Usage().Share, report.Freed())
	}
	return nil
}

func ask(ctx context.Context, server *api.Client, conversation chat.Transcript) (string, error) {
	request := &api.ChatRequest{Model: model, Options: map[string]any{"num_ctx": window}}
	for _, m := range conversation {
		request.Messages = append(request.Messages, api.Message{Role: string(m.Role), Content: m.Text()})
	}
	var answer strings.Builder
	err := server.Chat(ctx, request, func(r api.ChatResponse) error {
		answer.WriteString(r.Message.Content)
		return nil
	})
	return answer.String(), err
}
