package summarize

import (
	"embed"
	"fmt"
	"regexp"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

//go:embed prompts/*.md
var promptFiles embed.FS

// Instructions returns the system message before a [Prompt]: the rules of every
// record.
func Instructions() string { return promptPage("common") }

// Prompt returns the request for a summary of r: the form of the strategy with an
// example, the former summary, the messages with their ids, fenced as data, and
// then the task, the user's wish and the length. Small models repeat an example at
// the end, so it comes first. A fence in the messages cannot close the one around
// them. Thinking is omitted; images are named.
func Prompt(r Request) string {
	former, _, _ := Split(r.Previous)
	return prompt{strategy: r.Strategy, note: r.Note, former: former, data: blocksText(promptBlocks(r.Messages, tokenCounter(r.Count))), tokens: r.MaxTokens}.String()
}

// A prompt is the user message of a request to a model.
type prompt struct {
	strategy     Strategy
	note, former string
	data         string
	records      bool // data are records of parts, not messages
	partial      bool // data are incomplete
	brief        bool // without an example
	tokens       int  // of the answer; 0: no limit
}

// String returns the text of p.
func (p prompt) String() string {
	p.former, p.data = shortRuns(p.former), shortRuns(p.data)
	fence := fenceFor(p.former, p.data)
	parts := []string{p.formText()}
	if p.former != "" {
		parts = append(parts, "The record so far:", fencedData(fence, "record", p.former))
	}
	if p.records {
		parts = append(parts, "Records of the parts of the session, in order:", fencedData(fence, "records", p.data))
	} else {
		parts = append(parts, "The messages, in order:", fencedData(fence, "messages", p.data))
	}
	parts = append(parts, p.taskText())
	if note := strings.TrimSpace(p.note); note != "" {
		parts = append(parts, "The user wishes for this record: "+clipLine(note, longestNote))
	}
	if p.tokens > 0 {
		parts = append(parts, fmt.Sprintf("Write at most %d words. Begin with the record itself.", max(20, p.tokens*2/3)))
	}
	return strings.Join(parts, "\n\n") + "\n"
}

// longestNote limits the user's wish that is passed on, in bytes.
const longestNote = 1000

// taskText returns the instructions after the data.
func (p prompt) taskText() string {
	switch {
	case p.records:
		return "Join these records into one: what is still true or still open, each thing once. Where two differ, the later one holds."
	case p.partial:
		return "Write the record of these messages, which are a part of the session."
	case p.former != "":
		return "Write the record anew: what still holds of the record so far, and what the messages add to it."
	}
	return "Write the record of these messages."
}

// formText returns the page of the strategy.
func (p prompt) formText() string {
	strategy, err := ParseStrategy(string(p.strategy))
	if err != nil {
		strategy = TaskState
	}
	form := promptPage(string(strategy))
	if p.brief {
		form, _, _ = strings.Cut(form, exampleHead)
	}
	return strings.TrimSpace(form)
}

// exampleHead is the line above the example of a form.
const exampleHead = "\nExample"

// promptPage returns an embedded page. All requested pages are embedded.
func promptPage(name string) string {
	b, err := promptFiles.ReadFile("prompts/" + name + ".md")
	if err != nil {
		panic(err) // a strategy without a page; a test covers each
	}
	return strings.TrimSpace(string(b))
}

// longestRun limits the fence's sign in a row in data: a longer fence would cost
// tokens.
const longestRun = 16

// shortRuns returns s with longer runs cut short.
func shortRuns(s string) string {
	if !strings.Contains(s, strings.Repeat("=", longestRun+1)) {
		return s
	}
	var b strings.Builder
	run := 0
	for i := range len(s) {
		if run++; s[i] != '=' {
			run = 0
		}
		if run <= longestRun {
			b.WriteByte(s[i])
		}
	}
	return b.String()
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

func fencedData(fence, what, data string) string {
	return fence + " " + what + "\n" + data + "\n" + fence + " end of " + what
}

func writePart(b *strings.Builder, p chat.Part) {
	switch p.Kind {
	case chat.Text, chat.Summary, chat.Opaque:
		fmt.Fprintf(b, "%s\n", withoutForgedHeads(p.Text))
	case chat.Result, chat.ServerResult:
		failed := ""
		if p.Error {
			failed = " (failed)"
		}
		fmt.Fprintf(b, "result%s: %s\n", failed, withoutForgedHeads(p.Text))
	case chat.Call, chat.ServerCall:
		fmt.Fprintf(b, "calls %s %s\n", withoutForgedHeads(p.Name), withoutForgedHeads(p.Args))
	case chat.Image:
		b.WriteString("an image\n")
	}
}

// forgedHead matches a line that looks like the head of a message, of a part or of a
// result, in whatever case.
var forgedHead = regexp.MustCompile(`(?im)^[ \t]*(?:\[[^\]\n]{0,80}\][ \t]*)?(?:(?:user|assistant|system|tool|developer|human|part \d+|\[record\][^:\n]*)[ \t]*:[ \t]*\r?$|result(?: \(failed\))?:|calls [A-Za-z_]\w* )`)

// withoutForgedHeads returns text with a mark before each line that could be taken
// for the head of another message: content does not look like a head.
func withoutForgedHeads(text string) string {
	if !strings.Contains(text, ":") && !strings.Contains(text, "calls ") {
		return text
	}
	return forgedHead.ReplaceAllString(strings.NewReplacer("\u2028", "\n", "\u2029", "\n", "\u0085", "\n", "\v", "\n", "\f", "\n").Replace(text), "| $0")
}
