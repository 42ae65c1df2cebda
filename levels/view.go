package levels

import (
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/embed"
	"github.com/tiercompact/tiercompact/files"
	"github.com/tiercompact/tiercompact/internal/edit"
	"github.com/tiercompact/tiercompact/internal/protection"
	"github.com/tiercompact/tiercompact/summarize"
)

// A View is the input of a level: a shared, read-only snapshot of a conversation.
// The slices hold one entry for each message.
type View struct {
	Messages    chat.Transcript
	Sizes       []int                    // tokens
	Facts       []files.Scan             // files that are shown and named
	Terms       []embed.Terms            // words, for the lexical score
	Protections []protection.Protection  // reasons why a message must not change
	Was         map[string]chat.Message  // by id: original messages that this round has rewritten
	Window      int                      // tokens
	Fixed       int                      // tokens counted beside the messages: tool schemas
	Step        int                      // number of the round in the archive; part of the input of recall ids
	Taken       func(recall string) bool // reports recall ids of earlier rounds; nil: there are none
	Count       func(text string) int
	Size        func(chat.Message) int
	Clean       func(text string) string // removes secrets before names are extracted; nil: no redaction
	NoRecall    bool                     // nothing will be in an archive: a text that is cut without a stub shows no recall id
	Work        *summarize.Record        // the record of the session's work, without secrets; nil: only the messages tell
	Original    func() View              // the conversation before the newest earlier rounds; nil: no round plans from it
	Settings    Settings                 // settings of a [Planner]
}

// cleaned returns text without secrets.
func (v View) cleaned(text string) string {
	if v.Clean == nil {
		return text
	}
	return v.Clean(text)
}

// Locked reports whether message i must not change.
func (v View) Locked(i int) bool { return v.Protections[i] != 0 }

// beforeRound returns messages in their form before this round: summaries and lost
// names are based on the full text.
func (v View) beforeRound(messages []chat.Message) []chat.Message {
	for i, m := range messages {
		if was, rewritten := v.Was[m.ID]; rewritten {
			messages[i] = was
		}
	}
	return messages
}

// lostMessages returns the messages that are dropped and those that this round has
// shortened, in their form before this round.
func (v View) lostMessages(gone []bool) []chat.Message {
	var out []chat.Message
	for i, m := range v.Messages {
		if _, shortened := v.Was[m.ID]; gone[i] || shortened {
			out = append(out, m)
		}
	}
	return v.beforeRound(out)
}

// unusedID returns id, extended until no message has it.
func (v View) unusedID(id string) string {
	for chat.Newest(v.Messages, func(m chat.Message) bool { return m.ID == id }) >= 0 {
		id += "+"
	}
	return id
}

// Total returns the tokens of the conversation, Fixed included.
func (v View) Total() int {
	sum := v.Fixed
	for _, n := range v.Sizes {
		sum += n
	}
	return sum
}

// newestTail returns which messages are the newest n. A group that reaches into them
// must stay as a whole: callers that drop groups check each of its messages.
func newestTail(v View, n int) []bool {
	newest := make([]bool, len(v.Messages))
	for i := max(0, len(newest)-n); i < len(newest); i++ {
		newest[i] = true
	}
	return newest
}

// eachRun calls yield for each run of adjacent indices for which in is true.
func eachRun(in []bool, yield func(start, end int)) {
	for i := 0; i < len(in); i++ {
		if !in[i] {
			continue
		}
		start := i
		for i < len(in) && in[i] {
			i++
		}
		yield(start, i)
	}
}

// pickMessages returns the messages of t for which in equals wanted.
func pickMessages(t chat.Transcript, in []bool, want bool) []chat.Message {
	var out []chat.Message
	for i, m := range t {
		if in[i] == want {
			out = append(out, m)
		}
	}
	return out
}

// freedTokens returns the number of tokens that edits free.
func (v View) freedTokens(edits []edit.Edit) (sum int) {
	for _, e := range edits {
		for _, n := range v.Sizes[e.Start:e.End] {
			sum += n
		}
		for _, m := range e.New {
			sum -= v.Size(m)
		}
	}
	return sum
}
