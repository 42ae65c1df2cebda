package main

import (
	"context"
	"fmt"
	"log"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
)

func main() {
	compactor, err := tiercompact.New(tiercompact.Config{Window: 8192})
	if err != nil {
		log.Fatal(err)
	}
	session := compactor.Session("demo")
	question := chat.NewText(chat.User, "Why does the login fail?")
	report, err := session.AddMessage(context.Background(), question)
	fmt.Println(len(session.Messages()), report.Usage.Tokens, report.Reason, err)
}
