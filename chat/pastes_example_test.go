package chat_test

import (
	"fmt"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

func ExamplePastes() {
	var pastes chat.Pastes
	log := strings.Repeat("line of a log\n", 100)

	// The terminal reports a paste: the input shows the result of Add.
	input := "Why does it end so? " + pastes.Add(log)
	fmt.Println(input)

	// The model receives the text itself.
	message := pastes.Expand(input)
	fmt.Println(len(message) == len("Why does it end so? ")+len(log))
	// Output:
	// Why does it end so? [LongText#1]
	// true
}
