// Command preflight prepares a model call of a program that keeps its own history:
// the prompt fits, and the history stays unchanged.
package main

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
)

func main() {
	compactor, err := tiercompact.New(tiercompact.Config{Window: 4096, Model: "llama3.2:3b"})
	if err != nil {
		log.Fatal(err)
	}
	defer compactor.Close()
	history := []chat.Message{chat.NewText(chat.System, "You are a careful engineer. Never push to main.")}
	for n := range 12 {
		history = append(history, chat.NewText(chat.User, fmt.Sprintf("Step %d of the migration failed. What now?", n)))
		// With an id, a summary is made once and sent again word for word.
		send, report, err := compactor.Preflight(context.Background(), "migration", history)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("request %2d: %2d of %2d messages, %4d tokens\n", n+1, len(send), len(history), report.Usage.Tokens)
		history = append(history, askModel(n, send))
	}
}

// askModel stands in for the model.
func askModel(n int, _ chat.Transcript) chat.Message {
	advice := fmt.Sprintf("Read migrations/%03d_orders.sql again: the lock on orders is taken twice there. ", n)
	return chat.NewText(chat.Assistant, strings.Repeat(advice, 20))
}
