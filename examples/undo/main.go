// Command undo adds a file to a conversation, shows that the file becomes an
// outline once it is no longer mentioned, and undoes that. Events go to the Ariadne
// server at ARIADNE_ENDPOINT, if that is set.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/trace"
	"github.com/tiercompact/tiercompact/trace/ariadne"
)

func main() {
	if err := runExample(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func runExample(ctx context.Context) error {
	var events trace.Sink // nil: no events
	if address := os.Getenv("ARIADNE_ENDPOINT"); address != "" {
		sink, err := ariadne.New(ariadne.Config{URL: address})
		if err != nil {
			return err
		}
		defer sink.Close(ctx)
		events = sink.Emit
	}
	compactor, err := tiercompact.New(tiercompact.Config{Window: 8192, Trace: events})
	if err != nil {
		return err
	}
	defer compactor.Close()
	session := compactor.Session("demo")
	file, err := session.AddFile(ctx, "orders.go", goSource(200))
	if err != nil {
		return err
	}
	fmt.Println("with the file:", file.Usage.Tokens, "tokens")

	var round tiercompact.Report
	for _, m := range sampleMessages() {
		report, err := session.AddMessage(ctx, m)
		if err != nil {
			return err
		}
		if report.Compacted() {
			round = report
			fmt.Println(report.Picked, "freed", report.Freed(), "tokens")
		}
	}
	for _, e := range round.Edits {
		was, err := session.Recall(ctx, e.Recall)
		if err != nil {
			return err
		}
		fmt.Printf("recall %s: %d bytes\n", e.Recall, len(was.Messages[0].Text()))
	}
	if _, err := session.Undo(ctx); err != nil {
		return err
	}
	fmt.Println("after the undo, with the talk since:", session.Usage().Tokens, "tokens")
	return nil
}

func sampleMessages() []chat.Message {
	return []chat.Message{
		chat.NewText(chat.User, "Thanks. Something else now: how do I name a branch?"),
		chat.NewText(chat.Assistant, "By the ticket, then two or three words: shop-12-retry."),
		chat.NewText(chat.User, "And the commits?"),
		chat.NewText(chat.Assistant, "The package, a colon, and what it does now."),
	}
}

// goSource is a Go file of n functions.
func goSource(n int) string {
	var b strings.Builder
	b.WriteString("package orders\n")
	for i := range n {
		fmt.Fprintf(&b, "\n// total%d adds the items of shelf %d.\nfunc total%d(items []int) int {\n\treturn sum(items, %d)\n}\n", i, i, i, i)
	}
	return b.String()
}
