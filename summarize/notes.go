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
	kinds
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
	names  []string // changed: what was declared
	failed bool     // command
	tests  bool     // failure: tests failed
}

// Notes is what the messages say.
type notes struct {
	list  []*note
	at    map[noteKey]*note
	steps []*step
	span  int // messages
}

type noteKey struct {
	kind kind
	key  string
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
		add.key = strings.ToLower(add.text)
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

// A walk is the state of one pass over messages.
type walk struct {
	*notes
	index  int
	id     string
	asked  *note  // the request of this turn
	fresh  bool   // nothing was said to it yet
	said   string // the last text of the assistant in this turn
	saidID string
	saidAt int
	reason string // the last sentence that says what the assistant is about
	step   *step
	tasks  []task         // open and done, as the plan stands
	byID   map[string]int // tasks that have an id
	planID string
	planAt int
	green  int // index of the last test run that ended well
}

func (w *walk) note(k kind, text string) *note {
	return w.add(note{kind: k, text: text, id: w.id, last: w.index})
}

func (w *walk) images(m chat.Message) {
	for _, p := range m.Parts {
		if p.Kind == chat.Image {
			text := "an image"
			if p.Image != nil && p.Image.MediaType != "" {
				text = clip(p.Image.MediaType, 40)
			}
			if m.ID != "" {
				text += " in message " + m.ID
			}
			w.note(picture, text)
		}
	}
}

// user takes notes of what a person asked, and of the files that were given.
func (w *walk) user(m chat.Message) {
	body := m.Text()
	if path, ok := attached(body); ok {
		w.note(read, path)
	}
	if !m.Typed() {
		return
	}
	w.endTurn()
	body = withoutWrappers(body)
	limit := requestLen
	if w.asked == nil {
		limit = taskLen
	}
	w.asked = w.note(request, clip(body, limit))
	w.asked.weight = substance(body)
	w.fresh = true
	w.rules(body)
	w.details(body)
}

// attached returns the path of a file that was put into the conversation.
func attached(text string) (path string, ok bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(text), `<file path="`)
	if !ok {
		return "", false
	}
	path, _, ok = strings.Cut(rest[:min(len(rest), 1024)], `"`)
	return path, ok && path != ""
}

// substance returns 0 for a text of one or two words ("yes please"), 1 for a
// sentence.
func substance(text string) float64 {
	n := 0
	for range tokens(prefix(text, 400)) {
		n++
	}
	return min(1, float64(n)/8)
}

// mostRules is how many rules are taken of one message.
const mostRules = 12

func (w *walk) rules(body string) {
	taken := 0
	for s := range sentences(body) {
		if taken == mostRules {
			return
		}
		low := padded(prefix(s, 4*sentenceLen))
		if !isRule(low) {
			continue
		}
		n := w.note(rule, clip(s, sentenceLen))
		if len(body) < longRequest || commands(low) {
			n.weight = 1
		}
		taken++
	}
}

// longRequest is from where on a user's message is likely pasted: what it
// says in passing is less likely a rule.
const longRequest = 1500

// commands reports whether a padded sentence begins as a rule does.
func commands(s string) bool {
	for _, head := range []string{" never ", " always ", " don't ", " do not ", " must ", " make sure ", " ensure ", " avoid ", " only ", " you must ", " please don't ", " please do not ", " required "} {
		if strings.HasPrefix(s, head) {
			return true
		}
	}
	return strings.Contains(s, " must not ") || strings.Contains(s, " you must ")
}

// isRule reports whether a padded sentence says what must or must not be.
func isRule(s string) bool {
	return says(s, " must ", " never ", " always ", " don't ", " do not ", " dont ", " mustn't ", " may not ", " cannot ", " make sure ", " ensure ",
		" should not ", " shouldn't ", " avoid ", " at most ", " at least ", " no more than ", " only use ", " required ", " requirement ", " forbidden ", " not allowed ",
		" muss ", " müssen ", " nie ", " niemals ", " immer ", " darf nicht ", " dürfen nicht ", " jamais ", " toujours ", " doit ", " ne pas ", " nunca ", " siempre ", " debe ",
		"必 须", "必须", "不要", "绝不", "禁止", "ないで", "必ず", "決して")
}

// endTurn gives the request of the turn the last thing that was said to it.
func (w *walk) endTurn() {
	if w.said == "" {
		return
	}
	text := conclusion(w.said)
	if w.asked != nil {
		w.asked.end = clip(text, answerLen)
	}
	n := w.add(note{kind: report, text: clip(text, sentenceLen+answerLen), id: w.saidID, last: w.saidAt})
	n.weight = 1
	w.said = ""
}

// conclusion returns the first sentences of a text that say something: not
// what the assistant is about to look at.
func conclusion(text string) string {
	var kept []string
	size := 0
	for s := range sentences(text) {
		if isNoise(padded(prefix(s, 200))) {
			continue
		}
		kept = append(kept, s)
		if size += len(s); size > sentenceLen+answerLen {
			break
		}
	}
	return strings.Join(kept, " ")
}

// assistant takes notes of what was said and done.
func (w *walk) assistant(m chat.Message, answers map[string]chat.Part) {
	if m.IsSummary() {
		return
	}
	if body := withoutBlocks(plainText(m), "<thinking>", "</thinking>"); strings.TrimSpace(body) != "" {
		w.speak(body)
	}
	for _, p := range m.Parts {
		if p.Kind != chat.Call {
			continue
		}
		result, answered := answers[p.ID]
		for _, a := range actionsOf(p.Name, p.Args) {
			w.act(a, result, answered)
		}
	}
}

// plainText returns the text parts of m.
func plainText(m chat.Message) string {
	var texts []string
	for _, p := range m.Parts {
		if p.Kind == chat.Text {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}

func (w *walk) speak(body string) {
	w.said, w.saidID, w.saidAt = body, w.id, w.index
	w.step = &step{id: w.id, at: w.index}
	if w.asked != nil && w.fresh {
		w.step.why = "asked: " + clip(w.asked.text, 100)
		w.fresh = false
	}
	w.steps = append(w.steps, w.step)
	for s := range sentences(body) {
		w.sentence(s)
	}
	w.details(body)
}

// sentence weighs a sentence of the assistant.
func (w *walk) sentence(s string) {
	low := padded(prefix(s, 4*sentenceLen))
	weight := decisionWeight(low)
	if weight > w.step.weight || w.step.text == "" {
		w.step.text, w.step.weight = clip(s, sentenceLen), weight
	}
	if !says(low, " read ", " reading ", " look ", " looking ", " check ", " see ", " verify ", " pass ") {
		w.reason = clip(s, sentenceLen)
	}
	if weight >= 1 {
		n := w.note(decision, clip(s, sentenceLen))
		n.weight = max(n.weight, weight)
	}
	if isTodo(low) && !isNoise(low) {
		w.note(todo, clip(s, sentenceLen)).weight = 0.5
	}
}

// isNoise reports whether a padded sentence only announces a look.
func isNoise(s string) bool {
	return says(s, " let me ", " let's look ", " now let's ", " i'll check ", " i'll look ", " i'll read ", " i'll start by ", " i'll also check ", " i need to look ", " i need to read ", " i need to check ", " i'll now ", " now i'll ", " now i need ", " now let ", " i see the issue ", " i see the problem ", " i now understand ", " i found the issue ", " i see now ", " looking at ", " here's the ", " here is the ", " here's a summary ") ||
		len(s) < 16
}

// decisionWeight returns how much a padded sentence of the assistant decides
// or finds: 0 nothing, 1 and more something.
func decisionWeight(s string) float64 {
	weight := 0.0
	if says(s, " decided ", " decide to ", " going with ", " chose ", " chosen ", " instead of ", " rather than ", " switch to ", " switched to ", " the fix is ", " root cause ", " the cause ", " the reason ",
		" we'll use ", " i'll use ", " should use ", " let's use ", " decision ", " agreed ", " the approach ", " design ", " wir nehmen ", " entschieden ", " décidé ", " decidido ", " statt ") {
		weight += 2
	}
	if says(s, " the issue ", " the problem ", " turns out ", " because ", " so that ", " therefore ", " confirmed ", " found ", " fails ", " failed ", " failing ", " pass ", " passes ", " fixed ", " added ", " removed ", " renamed ", " updated ", " implemented ",
		" committed ", " refactored ", " needs to ", " doesn't ", " does not ", " was caused ", " due to ", " i'll add ", " i'll fix ", " i'll change ", " need to add ", " need to update ", " weil ", " parce que ", " porque ") {
		weight++
	}
	if isNoise(s) {
		weight -= 1.5
	}
	return max(0, weight)
}

// isTodo reports whether a padded sentence says what is still to be done.
func isTodo(s string) bool {
	return says(s, " todo ", " todos ", " fixme ", " next step ", " next steps ", " still need ", " still needs ", " still to do ", " remaining ", " remains to ", " left to do ", " not yet ", " follow up ", " blocked ", " blocker ", " outstanding ")
}
