package summarize

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

// A kind says what a note is about.
type kind uint8

const (
	request kind = iota
	rule
	detail
	changed
	read
	command
	failure
	todo
	picture
	decision
	report
)

// A note is one thing worth keeping, as one line.
type note struct {
	kind   kind
	text   string
	key    string // two notes of a kind with one key are the same
	id     string // of the message that said it last
	first  int    // index of the message that said it first; negative where a former summary did
	last   int    // and of the one that said it last
	times  int
	weight float64  // beside others of its kind
	end    string   // request: what was answered; command: how it ended; changed: what it was for
	names  []string // changed, read: what was declared
	failed bool     // command: it ended badly
	tests  bool     // failure: tests failed
}

// notes is what the messages say.
type notes struct {
	list  []*note
	at    map[noteKey]*note
	steps []*step
	span  int // messages
	green int // index of the message with the last test run that ended well, 0 where none did
}

// A noteKey tells notes apart.
type noteKey struct {
	kind kind
	key  string
}

// keyOf returns the key of a note that has no other: paths, commands and
// values differ by case, sentences do not.
func keyOf(k kind, text string) string {
	switch k {
	case changed, read, command, detail:
		return text
	}
	return strings.ToLower(text)
}

// A step is what the assistant said, and the calls it made until it spoke
// again.
type step struct {
	id      string
	at      int
	text    string
	why     string
	inputs  []string
	outputs []string
	weight  float64
}

// Lengths of the lines kept, in bytes.
const (
	requestLen  = 280
	taskLen     = 600 // the first request: it states the task
	sentenceLen = 260
	answerLen   = 200
)

// notesOf takes notes of messages, in one pass.
func notesOf(messages []chat.Message) *notes {
	n := &notes{at: make(map[noteKey]*note), span: len(messages)}
	answers := answersOf(messages)
	w := walk{notes: n}
	for i, m := range messages {
		w.index, w.id = i, m.ID
		w.images(m)
		switch m.Role {
		case chat.User:
			w.user(m)
		case chat.Assistant:
			w.assistant(m, answers[i])
		}
	}
	w.endTurn()
	w.openTodos()
	w.outlived()
	return n
}

// answersOf returns, for each message, the results that answer its calls by
// the call's id.
func answersOf(messages []chat.Message) []map[string]chat.Part {
	answers := make([]map[string]chat.Part, len(messages))
	for i, c := range chat.PairUp(messages).CallOf {
		if c < 0 {
			continue
		}
		if answers[c] == nil {
			answers[c] = make(map[string]chat.Part)
		}
		for _, p := range messages[i].Parts {
			if p.Kind == chat.Result {
				answers[c][p.ID] = p
			}
		}
	}
	return answers
}

// add takes a note, or counts it where it stands already.
func (n *notes) add(add note) *note {
	if add.text == "" {
		return &note{}
	}
	if add.key == "" {
		add.key = keyOf(add.kind, add.text)
	}
	k := noteKey{add.kind, add.key}
	old := n.at[k]
	if old == nil {
		add.times, add.first = 1, add.last
		n.at[k] = &add
		n.list = append(n.list, &add)
		return &add
	}
	old.times++
	old.last, old.id = add.last, add.id
	return old
}

// of returns the notes of a kind, in the order of first mention.
func (n *notes) of(k kind) []*note {
	var found []*note
	for _, x := range n.list {
		if x.kind == k {
			found = append(found, x)
		}
	}
	slices.SortStableFunc(found, func(a, b *note) int { return cmp.Compare(a.first, b.first) })
	return found
}
