package chat

import (
	"encoding/json"
	"fmt"
	"strings"
)

// A Severity says whether a problem makes a transcript invalid.
type Severity string

// The severities.
const (
	SeverityError   Severity = "error"
	SeverityWarning Severity = "warning"
	SeverityNote    Severity = "note" // usual in logs of tools; only the strictest templates refuse it
)

// The kinds of problem.
const (
	NoMessages   = "no messages"
	NoUser       = "no user message"
	EmptyMessage = "empty message"
	Unanswered   = "unanswered call"
	Orphan       = "orphan result"
	Apart        = "result apart"
	RepeatedID   = "repeated id"
	NoName       = "call without a name"
	BadArguments = "bad arguments"
	LateSystem   = "late system message"
	SameRole     = "same role twice"
	AddedCopy    = "added copy"
)

// A Problem is a fault of a transcript that some server or chat template rejects.
type Problem struct {
	Index    int      `json:"index"`        // of the message, from 0; -1 means the whole transcript
	ID       string   `json:"id,omitempty"` // of the call or result; "" if neither has the problem
	Kind     string   `json:"kind"`
	Text     string   `json:"text"` // the problem, without position and id
	Severity Severity `json:"severity"`
}

// Check returns the problems of t, in the order of its messages. Real logs have
// such problems, and compaction leaves them as they are, so each is a warning, or a
// note; [New] returns those that a compaction caused, as errors.
func Check(t Transcript) []Problem {
	c := checker{t: t, pairs: PairUp(t), open: Open(t), calls: make(map[string]bool)}
	c.answered = countAnswers(t, c.pairs)
	if len(t) == 0 {
		c.addProblem(-1, "", NoMessages, "the transcript holds no messages")
		return c.found
	}
	if Newest(t, func(m Message) bool { return m.Role == User && m.Says() }) < 0 {
		c.addProblem(-1, "", NoUser, "there is no user message that says anything")
	}
	for i := range t {
		c.checkMessage(i)
	}
	return c.found
}

// New returns as errors the problems of after that are not in before: after has
// more of the same kind, with the same id and text.
func New(before, after []Problem) []Problem {
	type key struct{ kind, id, text string }
	had := make(map[key]int, len(before))
	keyOf := func(p Problem) key {
		text, _, _ := strings.Cut(p.Text, withToolFlow) // the tool flow may be gone
		return key{p.Kind, p.ID, text}
	}
	for _, p := range before {
		had[keyOf(p)]++
	}
	var fresh []Problem
	for _, p := range after {
		k := keyOf(p)
		if had[k] > 0 {
			had[k]--
			continue
		}
		p.Severity = SeverityError
		fresh = append(fresh, p)
	}
	return fresh
}

// AddedCopies returns as errors the messages of after that before has too, but fewer
// times. Empty messages, and what a compaction wrote, do not count.
func AddedCopies(before, after Transcript) []Problem {
	type content struct {
		role Role
		text string
	}
	had := make(map[content]int, len(before))
	for _, m := range before {
		had[content{m.Role, m.TextWithCalls()}]++
	}
	var found []Problem
	seen := make(map[content]int, len(after))
	for i, m := range after {
		c := content{m.Role, m.TextWithCalls()}
		if m.State != Active || strings.TrimSpace(c.text) == "" || had[c] == 0 {
			continue
		}
		if seen[c]++; seen[c] > had[c] {
			found = append(found, Problem{i, "", AddedCopy, fmt.Sprintf("the transcript before has this %s message %s", m.Role, times(had[c])), SeverityError})
		}
	}
	return found
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// A checker checks a transcript in one pass.
type checker struct {
	t     Transcript
	pairs Pairs
	open  int             // where the open group begins
	calls map[string]bool // ids of the calls so far
	found []Problem

	answered map[answerKey]int // unpaired results
	flow     int               // the newest message that is not a result; its results follow it directly
	speaker  Role              // role of the last speaker
	speaking bool              // a user or an assistant has spoken
	worked   bool              // calls or results follow the last speaker
}

func (c *checker) addProblem(i int, id, kind, text string) {
	c.found = append(c.found, Problem{i, id, kind, text, SeverityWarning})
}

func (c *checker) checkMessage(i int) {
	m := c.t[i]
	if m.Role != Tool && !m.Says() && !m.HasCalls() {
		c.addProblem(i, "", EmptyMessage, fmt.Sprintf("the %s message says nothing", m.Role))
	}
	if (m.Role == System || m.Role == Developer) && c.speaking && !m.IsSummary() {
		c.addProblem(i, "", LateSystem, fmt.Sprintf("a %s message comes after the first user or assistant message", m.Role))
	}
	c.checkAlternation(i)
	if m.Role != Tool {
		c.flow = i
	}
	for k, p := range m.Parts {
		switch p.Kind {
		case Call, ServerCall:
			c.checkCall(i, p)
		case Result:
			c.checkResult(i, p)
		case ServerResult:
			if c.pairs.Orphan(i, k, p.Kind) {
				c.addProblem(i, p.ID, Orphan, "the result answers no call before it")
			}
		}
	}
	if c.pairs.Unanswered[i] > 0 && i < c.open {
		c.checkUnanswered(i)
	}
}

// withToolFlow is in the text of a problem if calls or results are between two messages
// of one role.
const withToolFlow = ", with only tool calls between them"

// checkAlternation finds two messages of one role that meet although templates
// require user and assistant to alternate. System messages do not count. With tool flow
// between them it is a note.
func (c *checker) checkAlternation(i int) {
	m := c.t[i]
	c.speaking = c.speaking || m.Role == User || m.Role == Assistant
	if m.Role != User && (m.Role != Assistant || m.Waits()) {
		c.worked = c.worked || m.Role == Assistant || m.Role == Tool
		return
	}
	if c.speaker == m.Role {
		c.addProblem(i, "", SameRole, fmt.Sprintf("two %s messages follow each other", m.Role))
		if last := &c.found[len(c.found)-1]; c.worked {
			last.Text, last.Severity = last.Text+withToolFlow, SeverityNote
		}
	}
	c.speaker, c.worked = m.Role, false
}

func (c *checker) checkCall(i int, p Part) {
	if c.calls[p.ID] {
		c.addProblem(i, p.ID, RepeatedID, "another call has this id already")
	}
	c.calls[p.ID] = true
	if strings.TrimSpace(p.Name) == "" {
		c.addProblem(i, p.ID, NoName, "the call does not say which tool is called")
	}
	if !json.Valid([]byte(p.Args)) {
		c.addProblem(i, p.ID, BadArguments, fmt.Sprintf("the arguments of the call to %s are no JSON", p.Name))
	}
}

func (c *checker) checkResult(i int, p Part) {
	switch call := c.pairs.CallOf[i]; {
	case call < 0:
		c.addProblem(i, p.ID, Orphan, "the result answers no call before it")
	case call != c.flow:
		c.addProblem(i, p.ID, Apart, "other messages are between the call and its result")
	}
}

// checkUnanswered reports the calls of message i without a result.
func (c *checker) checkUnanswered(i int) {
	for _, p := range c.t[i].Parts {
		if p.Kind != Call && p.Kind != ServerCall {
			continue
		}
		if a := (answerKey{i, p.ID, p.Kind}); c.answered[a] > 0 {
			c.answered[a]--
			continue
		}
		c.addProblem(i, p.ID, Unanswered, fmt.Sprintf("the call to %s has no result", p.Name))
	}
}

// An answer is the message that a result answers, and their common id.
type answerKey struct {
	call int
	id   string
	kind Kind // of the call
}

// countAnswers counts the results of each call.
func countAnswers(t Transcript, p Pairs) map[answerKey]int {
	n := make(map[answerKey]int)
	for i, m := range t {
		for k, part := range m.Parts {
			switch {
			case part.Kind == Result && p.CallOf[i] >= 0:
				n[answerKey{p.CallOf[i], part.ID, Call}]++
			case part.Kind == ServerResult && !p.Orphan(i, k, part.Kind):
				n[answerKey{p.server[partPlace{i, k}], part.ID, ServerCall}]++
			}
		}
	}
	return n
}
