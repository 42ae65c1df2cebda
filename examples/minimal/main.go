package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/trace"
)

func main() {
	compactor, err := tiercompact.New(tiercompact.Config{Window: 8192, Trace: trace.Console(os.Stderr)})
	if err != nil {
		log.Fatal(err)
	}
	session := compactor.Session("demo")
	question := chat.NewText(chat.User, "Why does the login fail?")
	report, err := session.AddMessage(context.Background(), question)
	fmt.Println(len(session.Messages()), report.Usage.Tokens, report.Reason, err)
}
