package summarize_test

import (
	"context"
	"fmt"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/summarize"
)

func ExampleExtractive() {
	messages := []chat.Message{
		chat.NewText(chat.User, "Sessions are lost after a deploy. You must never log tokens."),
		chat.NewText(chat.Assistant, "The root cause is that the store lives in memory."),
	}
	text, err := summarize.Extractive{}.Summarize(context.Background(), summarize.Request{Messages: messages})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(text)
	// Output:
	// Notes on the earlier part of this session, which this summary replaces:
	// ## Goals
	// - Sessions are lost after a deploy. → The root cause is that the store lives in memory.
	// ## Constraints
	// - You must never log tokens.
}
