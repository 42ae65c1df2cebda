package summarize

import (
	"strings"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/files"
)

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
		n := w.note(read, path)
		n.names = contents(n.names, body)
	}
	if !m.Typed() {
		return
	}
	if body = m.TypedText(); body == "" {
		return
	}
	w.endTurn()
	limit := requestLen
	if w.asked == nil {
		limit = taskLen
	}
	w.asked = w.note(request, clip(body, limit))
	w.asked.weight = substance(body)
	w.fresh = true
	w.rules(body)
	w.decisions(body)
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
		if !isRule(low) || strings.HasSuffix(s, "?") {
			continue
		}
		n := w.note(rule, clip(s, sentenceLen))
		if len(body) < longRequest || commands(low) {
			n.weight = 1
		}
		taken++
	}
}

// decisions takes notes of what the user decided, where the request does not
// say it already.
func (w *walk) decisions(body string) {
	if len(body) >= longRequest {
		return
	}
	taken := 0
	for s := range sentences(body) {
		low := padded(prefix(s, 4*sentenceLen))
		if taken < mostRules && decisionWeight(low) >= firm && !isRule(low) && !strings.Contains(w.asked.text, clip(s, sentenceLen)) {
			w.decides(s, low)
			taken++
		}
	}
}

// decides takes a note of a sentence that decides something, and returns how
// much. A question decides nothing.
func (w *walk) decides(s, low string) float64 {
	weight := decisionWeight(low)
	if weight >= 1 && !strings.HasSuffix(s, "?") {
		n := w.note(decision, clip(s, sentenceLen))
		n.weight = max(n.weight, weight)
	}
	return weight
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
	edits, body := files.TextEdits(withoutBlocks(plainText(m), "<thinking>", "</thinking>"), "")
	if strings.TrimSpace(body) != "" {
		w.speak(body)
	}
	for _, e := range edits {
		w.act(action{verb: changes, tool: "edit", object: e.Path, names: newNames(e.New, e.Old)}, chat.Part{}, false)
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
		if p.Kind == chat.Text { // what is not understood is no prose
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
	weight := w.decides(s, low)
	if weight > w.step.weight || w.step.text == "" {
		w.step.text, w.step.weight = clip(s, sentenceLen), weight
	}
	if !has(low, " read ", " reading ", " look ", " looking ", " check ", " see ", " verify ", " pass ") {
		w.reason = clip(s, sentenceLen)
	}
	if isTodo(low) && !isNoise(low) {
		w.note(todo, clip(s, sentenceLen)).weight = 0.5
	}
}
