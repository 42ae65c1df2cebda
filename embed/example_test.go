package embed_test

import (
	"fmt"

	"github.com/tiercompact/tiercompact/embed"
)

func ExampleScore() {
	messages := []string{"The gateway listens on port 8443.", "Lunch was good.", "Sessions expire after 30 minutes."}
	var docs []embed.Terms
	for _, m := range messages {
		docs = append(docs, embed.TermsOfText(m))
	}
	scores := embed.Score(embed.TermsOfText("When does a session expire?"), docs)
	fmt.Println(messages[embed.Rank(scores)[0]])
	// Output: Sessions expire after 30 minutes.
}
