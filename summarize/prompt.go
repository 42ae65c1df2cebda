package summarize

import (
	"embed"
	"fmt"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

//go:embed prompts/*.md
var prompts embed.FS

// Prompt returns what a model is asked to summarise r: the rules, the form of
// the strategy with an example, the former summary, the user's wish, and the
// messages with their ids, fenced as data. A fence in the messages cannot
// close the one around them. Thinking is left out, images are named.
func Prompt(r Request) string {
	strategy, err := ParseStrategy(string(r.Strategy))
	if err != nil {
		strategy = TaskState
	}
	former, _, _ := Split(r.Previous)
	data := conversation(r.Messages)
	fence := fenceFor(former, data)
	parts := []string{page("common"), page(string(strategy))}
	if r.MaxTokens > 0 {
		parts = append(parts, fmt.Sprintf("Write at most %d words.", max(20, r.MaxTokens*2/3)))
	}
	if note := strings.TrimSpace(r.Note); note != "" {
		parts = append(parts, "The user wishes for this record: "+clip(note, 1000))
	}
	if former != "" {
		parts = append(parts, "The record so far. What still holds of it goes into the new one:", fenced(fence, "record", former))
	}
	parts = append(parts, "The messages:", fenced(fence, "messages", data), "Now write the record.")
	return strings.Join(parts, "\n\n") + "\n"
}

// page returns an embedded page. All pages that are asked for are embedded.
func page(name string) string {
	b, err := prompts.ReadFile("prompts/" + name + ".md")
	if err != nil {
		panic(err) // a strategy without a page; a test asks for each
	}
	return strings.TrimSpace(string(b))
}

// fenceFor returns a fence that occurs in none of texts.
func fenceFor(texts ...string) string {
	longest := 4
	for _, t := range texts {
		run := 0
		for i := range len(t) {
			if t[i] != '=' {
				run = 0
				continue
			}
			run++
			longest = max(longest, run)
		}
	}
	return strings.Repeat("=", longest+1)
}

func fenced(fence, what, data string) string {
	return fence + " " + what + "\n" + data + "\n" + fence + " end of " + what
}

// conversation writes messages as data, each under its id and role.
func conversation(messages []chat.Message) string {
	var b strings.Builder
	for i, m := range messages {
		id := m.ID
		if id == "" {
			id = fmt.Sprintf("#%d", i+1)
		}
		fmt.Fprintf(&b, "[%s] %s:\n", id, m.Role)
		for _, p := range m.Parts {
			writePart(&b, p)
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func writePart(b *strings.Builder, p chat.Part) {
	switch p.Kind {
	case chat.Text, chat.Summary:
		fmt.Fprintf(b, "%s\n", p.Text)
	case chat.Result:
		failed := ""
		if p.Error {
			failed = " (failed)"
		}
		fmt.Fprintf(b, "result%s: %s\n", failed, p.Text)
	case chat.Call:
		fmt.Fprintf(b, "calls %s %s\n", p.Name, p.Args)
	case chat.Image:
		b.WriteString("an image\n")
	}
}
