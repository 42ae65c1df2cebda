package bench

import (
	"crypto/sha256"
	"encoding/json"
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

// Diff is the outcome of each message of a conversation. Unchanged, Changed and
// Gone are all former messages; New are the others.
type Diff struct {
	Unchanged int `json:"unchanged"`
	Changed   int `json:"changed"` // another text of the same call, or with the same beginning
	Gone      int `json:"gone"`
	New       int `json:"new"`
	NewTokens int `json:"new_tokens"`
}

func (f *Diff) addDiff(g Diff) {
	f.Unchanged += g.Unchanged
	f.Changed += g.Changed
	f.Gone += g.Gone
	f.New += g.New
	f.NewTokens += g.NewTokens
}

// canonicalForm is the content of a message for a model: equal contents of two
// formats have the same form, whatever their ids and the blanks in their arguments.
func canonicalForm(m chat.Message) string {
	var b strings.Builder
	if m.Role == chat.Developer {
		m.Role = chat.System
	}
	b.WriteString(string(m.Role) + "\n" + m.Text())
	for _, p := range m.Parts {
		if p.Kind == chat.Call {
			b.WriteString("\x00" + p.Name + "\x00" + argsForm(p.Args))
		}
	}
	return b.String()
}

// argsForm returns arguments in the form in which they are compared.
func argsForm(args string) string {
	d := json.NewDecoder(strings.NewReader(args))
	d.UseNumber() // a float64 would make two long numbers equal
	var v any
	if d.Decode(&v) != nil || d.More() {
		return args
	}
	out, err := json.Marshal(v)
	if err != nil {
		return args
	}
	return string(out)
}

// messageMarks returns the marks of a message whose text was changed: the ids of
// its calls, the calls that it answers, and the beginning of its text. Asked
// replaces the message with the calls.
func messageMarks(m chat.Message, asked string) (marks []string) {
	for _, p := range m.Parts {
		if (p.Kind == chat.Call || p.Kind == chat.Result) && p.ID != "" {
			marks = append(marks, string(p.Kind)+"\n"+p.ID)
		}
	}
	if m.Role == chat.Tool && asked != "" {
		marks = append(marks, "answer\n"+asked)
	}
	if text := m.Text(); len(text) >= minPrefix {
		marks = append(marks, string(m.Role)+"\n"+text[:minPrefix])
	}
	return marks
}

// A traced message is a message that can be found again.
type traced struct {
	chat.Message
	form  string
	marks []string
}

func tracedIn(t chat.Transcript) []traced {
	out, asked := make([]traced, len(t)), ""
	for i, m := range t {
		out[i] = traced{m, canonicalForm(m), messageMarks(m, asked)}
		if m.Role != chat.Tool { // its sum, because results of one long message are many
			sum := sha256.Sum256([]byte(out[i].form))
			asked = string(sum[:])
		}
	}
	return out
}

// diffMessages finds the messages of before in after, each at most once.
func diffMessages(before, after []traced, count func(string) int) (f Diff) {
	same := make(map[string]int)
	for _, m := range before {
		same[m.form]++
	}
	var rest []traced // of after
	for _, m := range after {
		if same[m.form] > 0 {
			same[m.form]--
			f.Unchanged++
		} else {
			rest = append(rest, m)
		}
	}
	var lost []traced // of before
	for _, m := range before {
		if same[m.form] > 0 {
			same[m.form]--
			lost = append(lost, m)
		}
	}
	fresh := newMessages(lost, rest)
	f.New, f.NewTokens = len(fresh), Size(fresh, count)
	f.Changed = len(rest) - len(fresh)
	f.Gone = len(lost) - f.Changed
	return f
}

// newMessages returns the messages of rest that are not messages of lost with
// another text.
func newMessages(lost, rest []traced) (fresh chat.Transcript) {
	marked := make(map[string][]int)
	for i, m := range lost {
		for _, mark := range m.marks {
			marked[mark] = append(marked[mark], i)
		}
	}
	taken := make([]bool, len(lost))
	take := func(mark string) bool {
		for list := marked[mark]; len(list) > 0; list = marked[mark] {
			marked[mark] = list[1:]
			if i := list[0]; !taken[i] {
				taken[i] = true
				return true
			}
		}
		return false
	}
	for _, m := range rest {
		if !slices.ContainsFunc(m.marks, take) {
			fresh = append(fresh, m.Message)
		}
	}
	return fresh
}

// An Action is the outcome of a message.
type Action string

// The outcomes of a message that should stay, from best to worst. ActionNone is
// that of a message that never existed.
const (
	ActionNone    Action = ""
	ActionKept    Action = "kept"
	ActionQuoted  Action = "quoted"  // another message contains its whole text
	ActionChanged Action = "changed" // its beginning remains
	ActionGone    Action = "gone"
)

// Protected is the outcome of the messages that no compaction should change.
type Protected struct {
	System     Action `json:"system"` // the worst of all system messages
	FirstUser  Action `json:"first_user"`
	LatestUser Action `json:"latest_user"`
}

// Whole reports whether all of them are unchanged.
func (p Protected) Whole() bool {
	for _, f := range []Action{p.System, p.FirstUser, p.LatestUser} {
		if f != ActionNone && f != ActionKept {
			return false
		}
	}
	return true
}

func protectedIn(before, after []traced) (p Protected) {
	s := newOutcomeIndex(after, len(before)) // all may be system messages
	rank := map[Action]int{ActionKept: 1, ActionQuoted: 2, ActionChanged: 3, ActionGone: 4}
	first, latest := -1, -1
	for i, m := range before {
		if m.Role == chat.System || m.Role == chat.Developer {
			if f := s.actionOf(m); rank[f] > rank[p.System] {
				p.System = f
			}
		}
		if m.Typed() {
			if latest = i; first < 0 {
				first = i
			}
		}
	}
	if first >= 0 {
		p.FirstUser, p.LatestUser = s.actionOf(before[first]), s.actionOf(before[latest])
	}
	return p
}

// outcomeIndex is what can be looked up about the messages of a conversation.
type outcomeIndex struct {
	forms, marks map[string]bool
	text         finder
}

func newOutcomeIndex(t []traced, searches int) outcomeIndex {
	s := outcomeIndex{forms: make(map[string]bool), marks: make(map[string]bool)}
	messages := make(chat.Transcript, len(t))
	for i, m := range t {
		messages[i] = m.Message
		s.forms[m.form] = true
		for _, mark := range m.marks {
			s.marks[mark] = true
		}
	}
	s.text = newFinder(messages, searches)
	return s
}

func (s outcomeIndex) actionOf(m traced) Action {
	if s.forms[m.form] {
		return ActionKept
	}
	if text := m.Text(); text == "" || s.text.containsText(text) {
		return ActionQuoted
	}
	if slices.ContainsFunc(m.marks, func(mark string) bool { return s.marks[mark] }) {
		return ActionChanged
	}
	return ActionGone
}
