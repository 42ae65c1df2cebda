package tiercompact_test

import (
	"context"
	"fmt"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
)

func Example() {
	compactor, err := tiercompact.New(tiercompact.Config{Window: 8192})
	if err != nil {
		panic(err)
	}
	session := compactor.Session("demo")
	question := chat.NewText(chat.User, "Why does the login fail?")
	report, err := session.AddMessage(context.Background(), question)
	fmt.Println(len(session.Messages()), report.Usage.Tokens, report.Reason, err)
	// Output: 1 11 below threshold <nil>
}
