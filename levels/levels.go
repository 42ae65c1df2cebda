// Package levels holds the ways of making a conversation smaller, mildest
// first, and the choice between them.
//
// A level only proposes: it is given a [View] and returns edits. It neither
// counts tokens, nor stores what it removes, nor changes the conversation.
package levels

import (
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/embed"
	"github.com/tiercompact/tiercompact/files"
	"github.com/tiercompact/tiercompact/internal/edit"
	"github.com/tiercompact/tiercompact/internal/protection"
)

// A View is what a level may know of a conversation. It is a snapshot, shared
// and read-only. The slices hold one entry for each message.
type View struct {
	Messages    chat.Transcript
	Sizes       []int                    // tokens
	Facts       []files.Scan             // files held and named
	Terms       []embed.Terms            // words, for the lexical score
	Protections []protection.Protection  // why a message may not be touched
	Was         map[string]chat.Message  // by id: messages that this round has rewritten, as they were before it
	Window      int                      // tokens
	Fixed       int                      // tokens of what is counted beside the messages: tool schemas
	Step        int                      // number of the round in the archive; recall ids are made of it
	Taken       func(recall string) bool // reports recall ids that were given in earlier rounds; nil: none were
	Count       func(text string) int
	Size        func(chat.Message) int
	Clean       func(text string) string // takes secrets out of what names are taken from; nil: nothing does
	Settings    Settings                 // what a [Planner] plans with
}

// cleaned returns text without secrets.
func (v View) cleaned(text string) string {
	if v.Clean == nil {
		return text
	}
	return v.Clean(text)
}

// Locked reports whether message i must stay as it is.
func (v View) Locked(i int) bool { return v.Protections[i] != 0 }

// beforeRound returns messages as they were before this round: what a summary tells
// of, and what names are lost, is judged by the full text.
func (v View) beforeRound(messages []chat.Message) []chat.Message {
	for i, m := range messages {
		if was, rewritten := v.Was[m.ID]; rewritten {
			messages[i] = was
		}
	}
	return messages
}

// lostMessages returns, as they were before this round, the messages that go and those
// that it has shortened.
func (v View) lostMessages(gone []bool) []chat.Message {
	var out []chat.Message
	for i, m := range v.Messages {
		if _, shortened := v.Was[m.ID]; gone[i] || shortened {
			out = append(out, m)
		}
	}
	return v.beforeRound(out)
}

// unusedID returns id, made longer until no message has it.
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
// stays as a whole: whoever drops groups asks for each of its messages.
func newestTail(v View, n int) []bool {
	newest := make([]bool, len(v.Messages))
	for i := max(0, len(newest)-n); i < len(newest); i++ {
		newest[i] = true
	}
	return newest
}

// eachRun calls yield for each run of neighbouring indices for which in is true.
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

// pickMessages returns the messages of t for which in is as wanted.
func pickMessages(t chat.Transcript, in []bool, want bool) []chat.Message {
	var out []chat.Message
	for i, m := range t {
		if in[i] == want {
			out = append(out, m)
		}
	}
	return out
}

// freedTokens returns how many tokens edits free.
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
