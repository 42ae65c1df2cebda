// Command models ranks and summarises with the available models: those of Ollama,
// else the built-in ones. It prints which, and why.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/engine"
)

func main() {
	ctx := context.Background()
	cfg := tiercompact.Config{Window: 8192, Preset: tiercompact.Steady}
	fmt.Println(engine.Find(ctx, &cfg))

	compactor, err := tiercompact.New(cfg)
	if err != nil {
		log.Fatal(err)
	}
	session := compactor.Session("demo")
	report, err := session.AddMessage(ctx, chat.NewText(chat.User, "Why does the login fail?"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d of %d tokens, %s\n", report.Usage.Tokens, report.Usage.Window, report.Reason)
}
