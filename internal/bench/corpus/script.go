package corpus

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

// A script is a session under construction.
type script struct {
	*project
	t     chat.Transcript
	facts []Fact
	calls int

	goals   []goal // of the topic
	earlier []goal // of all topics
	todos   []todo
	seen    []string // functions that the assistant has read, oldest first
	marks   []string // hashes and ids that it has read
	changed map[string]bool
	failing string // the error of the last run of tests; "" if it passed
}

// A goal is a function that is the subject of the work.
type goal struct {
	module *module
	file   *file
	name   string
}

// chooseTargets chooses the functions of a topic: most of its edits change them.
func (s *script) chooseTargets(m *module) {
	s.goals = nil
	for range s.numberBetween(2, 3) {
		f := s.pickFile(m, false)
		s.goals = append(s.goals, goal{m, f, s.pickWord(f.funcs)})
	}
	s.earlier = append(s.earlier, s.goals...)
}

type todo struct {
	text string
	done bool
}

// addMessage adds a message. The assistant's text before a call is in the message
// of the call.
func (s *script) addMessage(m chat.Message) {
	if n := len(s.t); n > 0 && m.Role == chat.Assistant && s.t[n-1].Role == chat.Assistant {
		s.t[n-1].Parts = append(s.t[n-1].Parts, m.Parts...)
		return
	}
	m.ID = fmt.Sprintf("m%d", len(s.t)+1)
	s.t = append(s.t, m)
}

func (s *script) addSystem(text string)        { s.addMessage(chat.NewText(chat.System, text)) }
func (s *script) addUserText(text string)      { s.addMessage(chat.NewText(chat.User, text)) }
func (s *script) addAssistantText(text string) { s.addMessage(chat.NewText(chat.Assistant, text)) }

// addToolCall adds a call and its result, after text unless that is empty.
func (s *script) addToolCall(text, tool, args, result string) {
	s.calls++
	id := fmt.Sprintf("call_%04d", s.calls)
	m := chat.Message{Role: chat.Assistant}
	if text != "" {
		m.Parts = append(m.Parts, chat.Part{Kind: chat.Text, Text: text})
	}
	m.Parts = append(m.Parts, chat.Part{Kind: chat.Call, ID: id, Name: tool, Args: args})
	s.addMessage(m)
	s.addMessage(chat.NewResult(id, result))
}

// plantFact records that a fact is in the newest message, or in the one the given
// number of messages before it.
func (s *script) plantFact(kind Kind, back int, text, query string) {
	s.facts = append(s.facts, Fact{
		ID: fmt.Sprintf("f%d", len(s.facts)+1), Kind: kind, Message: len(s.t) - 1 - back, Text: text, Query: query,
	})
}

// oldFunction returns a function that was read long ago, or one of f if there is
// none.
func (s *script) oldFunction(f *file) string {
	if len(s.seen) < 12 {
		return s.pickWord(f.funcs)
	}
	return s.seen[s.IntN(len(s.seen)*2/3)]
}

// arguments returns a JSON object of pairs of keys and texts, in order.
func arguments(pairs ...any) string {
	var b strings.Builder
	b.WriteByte('{')
	for i := 0; i < len(pairs); i += 2 {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(quotedJSON(pairs[i]) + ":" + quotedJSON(pairs[i+1]))
	}
	b.WriteByte('}')
	return b.String()
}

func quotedJSON(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // only texts, numbers and lists of them are inserted
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// numbered returns lines in the form of a read; the first has the number from.
func numbered(lines []string, from int) string {
	var b strings.Builder
	for i, line := range lines {
		fmt.Fprintf(&b, "%6d→%s\n", from+i, line)
	}
	return b.String()
}
