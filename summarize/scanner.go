package summarize

import (
	"strings"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/files"
)

// A messageScanner is the state of one pass over messages.
type messageScanner struct {
	*itemList
	index  int
	id     string
	asked  *summaryItem // the request of this turn
	fresh  bool         // it has no answer yet
	said   string       // the last text of the assistant in this turn
	saidID string
	saidAt int
	reason string // the assistant's last announcement
	step   *step
	tasks  []todoEntry    // open and done according to the plan
	byID   map[string]int // tasks that have an id
	planID string
	planAt int
}

func (w *messageScanner) addItem(k itemKind, text string) *summaryItem {
	return w.putItem(summaryItem{kind: k, text: text, id: w.id, last: w.index})
}

func (w *messageScanner) scanImages(m chat.Message) {
	for _, p := range m.Parts {
		if p.Kind == chat.Image {
			text := "an image"
			if p.Image != nil && p.Image.MediaType != "" {
				text = clipLine(p.Image.MediaType, 40)
			}
			if m.ID != "" {
				text += " in message " + m.ID
			}
			w.addItem(picture, text)
		}
	}
}

// scanUser records the requests of a person, and attached files.
func (w *messageScanner) scanUser(m chat.Message) {
	body := m.Text()
	if path, ok := attachedPath(body); ok {
		n := w.addItem(read, path)
		n.names = addContents(n.names, body)
	}
	if !m.Typed() {
		return
	}
	if body = m.TypedText(); body == "" {
		return
	}
	w.finishTurn()
	limit := requestLen
	if w.asked == nil {
		limit = taskLen
	}
	w.asked = w.addItem(request, clipLine(body, limit))
	w.asked.weight = textSubstance(body)
	w.fresh = true
	w.scanRules(body)
	w.scanDecisions(body)
	w.scanDetails(body)
}

// attachedPath returns the path of a file that was attached to the conversation.
func attachedPath(text string) (path string, ok bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(text), `<file path="`)
	if !ok {
		return "", false
	}
	path, _, ok = strings.Cut(rest[:min(len(rest), 1024)], `"`)
	return path, ok && path != ""
}

// textSubstance returns 0 for a text of one or two words ("yes please"), 1 for a
// sentence.
func textSubstance(text string) float64 {
	n := 0
	for range wordTokens(bytePrefix(text, 400)) {
		n++
	}
	return min(1, float64(n)/8)
}

// mostRules limits the rules of one message.
const mostRules = 12

func (w *messageScanner) scanRules(body string) {
	taken := 0
	for s := range sentences(body) {
		if taken == mostRules {
			return
		}
		low := paddedLower(bytePrefix(s, 4*sentenceLen))
		if !statesRule(low) || strings.HasSuffix(s, "?") {
			continue
		}
		n := w.addItem(rule, clipLine(s, sentenceLen))
		if len(body) < longRequest || startsAsRule(low) {
			n.weight = 1
		}
		taken++
	}
}

// scanDecisions records the user's decisions that are not in the request already.
func (w *messageScanner) scanDecisions(body string) {
	if len(body) >= longRequest {
		return
	}
	taken := 0
	for s := range sentences(body) {
		low := paddedLower(bytePrefix(s, 4*sentenceLen))
		if taken < mostRules && decisionWeight(low) >= firmWeight && !statesRule(low) && !strings.Contains(w.asked.text, clipLine(s, sentenceLen)) {
			w.scanDecision(s, low)
			taken++
		}
	}
}

// scanDecision records a sentence that decides something, and returns its weight. A
// question decides nothing.
func (w *messageScanner) scanDecision(s, low string) float64 {
	weight := decisionWeight(low)
	if weight >= 1 && !strings.HasSuffix(s, "?") {
		n := w.addItem(decision, clipLine(s, sentenceLen))
		n.weight = max(n.weight, weight)
	}
	return weight
}

// finishTurn adds the last answer to the request of the turn.
func (w *messageScanner) finishTurn() {
	if w.said == "" {
		return
	}
	text := conclusion(w.said)
	if w.asked != nil {
		w.asked.end = clipLine(text, answerLen)
	}
	n := w.putItem(summaryItem{kind: report, text: clipLine(text, sentenceLen+answerLen), id: w.saidID, last: w.saidAt})
	n.weight = 1
	w.said = ""
}

// conclusion returns the first sentences of a text that state something, not an
// announcement.
func conclusion(text string) string {
	var kept []string
	size := 0
	for s := range sentences(text) {
		if isAnnouncement(paddedLower(bytePrefix(s, 200))) {
			continue
		}
		kept = append(kept, s)
		if size += len(s); size > sentenceLen+answerLen {
			break
		}
	}
	return strings.Join(kept, " ")
}

// scanAssistant records the texts and actions of the assistant.
func (w *messageScanner) scanAssistant(m chat.Message, answers map[string]chat.Part) {
	if m.IsSummary() {
		return
	}
	edits, body := files.TextEdits(withoutBlocks(plainText(m), "<thinking>", "</thinking>"), "")
	if strings.TrimSpace(body) != "" {
		w.scanSpeech(body)
	}
	for _, e := range edits {
		w.recordAction(action{kind: changes, tool: "edit", object: e.Path, names: newNames(e.New, e.Old)}, chat.Part{}, false)
	}
	for _, p := range m.Parts {
		if p.Kind != chat.Call {
			continue
		}
		result, answered := answers[p.ID]
		for _, a := range actionsOf(p.Name, p.Args) {
			w.recordAction(a, result, answered)
		}
	}
}

// plainText returns the text parts of m.
func plainText(m chat.Message) string {
	var texts []string
	for _, p := range m.Parts {
		if p.Kind == chat.Text { // opaque parts are not prose
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}

func (w *messageScanner) scanSpeech(body string) {
	w.said, w.saidID, w.saidAt = body, w.id, w.index
	w.step = &step{id: w.id, at: w.index}
	if w.asked != nil && w.fresh {
		w.step.why = "asked: " + clipLine(w.asked.text, 100)
		w.fresh = false
	}
	w.steps = append(w.steps, w.step)
	for s := range sentences(body) {
		w.scanSentence(s)
	}
	w.scanDetails(body)
}

// scanSentence weighs a sentence of the assistant.
func (w *messageScanner) scanSentence(s string) {
	low := paddedLower(bytePrefix(s, 4*sentenceLen))
	weight := w.scanDecision(s, low)
	if weight > w.step.weight || w.step.text == "" {
		w.step.text, w.step.weight = clipLine(s, sentenceLen), weight
	}
	if !containsAny(low, " read ", " reading ", " look ", " looking ", " check ", " see ", " verify ", " pass ") {
		w.reason = clipLine(s, sentenceLen)
	}
	if statesTodo(low) && !isAnnouncement(low) {
		w.addItem(todo, clipLine(s, sentenceLen)).weight = 0.5
	}
}
