package summarize

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/files"
	"github.com/tiercompact/tiercompact/internal/clip"
)

// A messageScanner is the state of one pass over messages.
type messageScanner struct {
	*itemList
	index   int
	id      string
	fresh   bool   // it has no answer yet
	said    string // the last text of the assistant in this turn
	saidID  string
	saidAt  int
	amid    bool   // it came with calls
	reason  string // the assistant's last announcement
	step    *step
	pending []pendingCall  // without a result yet
	flags   bool           // the client marks results as failed
	tasks   []todoEntry    // open and done according to the plan
	byID    map[string]int // tasks that have an id
	planID  string
	planAt  int
	turn    turnWork
	rules   []*summaryItem    // rules that later ones may replace
	decided []*summaryItem    // decisions that later messages may drop
	slash   string            // the command that a person typed last, if it may ask for something
	running *action           // the command that did not end
	cells   map[string]action // commands that ran on, by the number under which the client waits for them
}

// A pendingCall is a call without a result yet.
type pendingCall struct {
	id      string
	actions []action
}

func newScanner(former string) *messageScanner {
	w := &messageScanner{itemList: &itemList{at: make(map[itemKey]*summaryItem)}}
	w.addFormerFacts(former)
	return w
}

// add adds the items of a message.
func (w *messageScanner) add(m chat.Message) {
	w.index, w.id = w.span, m.ID
	w.span++
	w.scanImages(m)
	for _, p := range m.Parts {
		if p.Kind == chat.Result {
			w.recordResult(p)
		}
	}
	switch m.Role {
	case chat.User:
		w.scanUser(m)
	case chat.Assistant:
		w.scanAssistant(m)
	}
}

// recordResult records the actions of the newest call that p answers.
func (w *messageScanner) recordResult(p chat.Part) {
	if p.Error && !w.flags {
		w.flags = true
		w.retractGuesses()
	}
	for i := len(w.pending) - 1; i >= 0 && i >= len(w.pending)-maxPending; i-- {
		if c := w.pending[i]; c.id == p.ID {
			w.pending = slices.Delete(w.pending, i, i+1)
			for _, a := range c.actions {
				w.recordAction(a, p, true)
			}
			return
		}
	}
}

// maxPending limits the calls without a result that a result is searched among.
const maxPending = 256

// finish records what is open after the last message.
func (w *messageScanner) finish() *itemList {
	for _, c := range w.pending {
		for _, a := range c.actions {
			w.recordAction(a, chat.Part{}, false)
		}
	}
	w.pending = nil
	asked := w.asked
	if w.amid {
		w.asked = nil // the turn goes on after the messages
	}
	w.finishTurn()
	w.asked, w.answered, w.begin = asked, !w.amid && !w.fresh, w.turn.begin
	w.shortenDone()
	w.openTodos()
	return w.itemList
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
	if body = cmp.Or(m.TypedText(), w.askedBySlash(m)); body == "" {
		return
	}
	w.slash = ""
	said := w.said
	w.finishTurn()
	w.turn = turnWork{begin: w.index, before: w.turn.begin}
	w.scanTyped(body, said)
}

// askedBySlash returns the command that a person typed if a client's message is what it
// asks of the assistant.
func (w *messageScanner) askedBySlash(m chat.Message) string {
	body := strings.TrimSpace(m.Text())
	slash := slashCommand.FindStringSubmatch(body)
	switch {
	case slash != nil:
		w.slash = slash[1]
	case strings.HasPrefix(body, "<local-command-"):
		w.slash = "" // it was one of the client alone
	case len(body) >= minPrompt && m.State != chat.Marked && !strings.HasPrefix(body, "<"):
		return w.slash
	}
	return ""
}

// slashCommand is a command that a person typed.
var slashCommand = regexp.MustCompile(`<command-name>(/[\w:.-]+)</command-name>`)

// minPrompt is the minimum number of bytes of what a command asks of the assistant. A
// command of the client alone is followed by its output, or by nothing.
const minPrompt = 100

// scanTyped records what a person typed after the assistant said something.
func (w *messageScanner) scanTyped(body, said string) {
	own := ownWords(body)
	if isGreeting(own) {
		return
	}
	if isAssent(own) && w.asked != nil {
		w.scanAssent(said)
		return
	}
	w.scanRequest(body, own)
	if own == "" {
		return
	}
	w.correctedLater(own)
	w.scanRules(own)
	w.scanDecisions(own)
	w.scanDetails(own)
}

// scanRequest records a request in a person's own words, or its beginning if it only
// shows something.
func (w *messageScanner) scanRequest(body, own string) {
	text := cmp.Or(withoutLead(clipLine(plainStart(withoutRules(own)), requestLen)), clipLine(plainStart(body), shortLen/2))
	if old := w.asked; old != nil && w.fresh && text != old.text && strings.HasPrefix(text, strings.TrimSuffix(old.text, "…")) {
		w.renameItem(old, text) // typed again after an interruption, with more
	}
	w.asked = w.addItem(request, text)
	w.asked.end = "" // asked again
	w.asked.weight = textSubstance(text)
	w.asked.corrects = corrects(paddedLower(clip.Bytes(own, remarkLen)))
	w.fresh = true
}

// withoutRules returns text without the sentences that are only rules, which are listed
// as such, or all of it if little else is said.
func withoutRules(text string) string {
	rest, words := text, 0
	for s := range sentences(text) {
		if low := paddedLower(clip.Bytes(s, 4*sentenceLen)); startsAsRule(low) && len(s) < sentenceLen && !citesOthers(low) && strings.Contains(rest, s) {
			rest = strings.Replace(rest, s, "", 1)
		} else {
			words += len(strings.Fields(s))
		}
	}
	if words < 4 {
		return text
	}
	return rest
}

// plainStart returns text without markers at its beginning.
func plainStart(text string) string {
	text = strings.TrimSpace(text)
	return strings.TrimSpace(text[markerLen(text):])
}

// withoutLead cuts a last sentence that only announces what is not shown.
func withoutLead(text string) string {
	if !strings.HasSuffix(text, ":") {
		return text
	}
	end := max(strings.LastIndex(text, ". "), strings.LastIndex(text, "! "), strings.LastIndex(text, "? "))
	return strings.TrimSpace(text[:end+1])
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
	for range wordTokens(clip.Bytes(text, 400)) {
		n++
	}
	return min(1, float64(n)/8)
}

// scanAssistant records the texts and actions of the assistant.
func (w *messageScanner) scanAssistant(m chat.Message) {
	if m.IsSummary() {
		return
	}
	w.slash = ""
	edits, body := files.TextEdits(withoutBlocks(plainText(m), "<thinking>", "</thinking>"), "")
	if strings.TrimSpace(body) != "" {
		w.scanSpeech(body)
		w.amid = false
	}
	for _, e := range edits {
		w.recordAction(action{kind: changes, tool: "edit", object: e.Path, names: newNames(e.New, e.Old)}, chat.Part{}, false)
	}
	for _, p := range m.Parts {
		if p.Kind != chat.Call {
			continue
		}
		w.amid = true
		w.pending = append(w.pending, pendingCall{p.ID, actionsOf(p.Name, p.Args)})
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
	low := paddedLower(clip.Bytes(s, 4*sentenceLen))
	weight := w.scanDecision(s, low)
	if weight > w.step.weight || w.step.text == "" {
		w.step.text, w.step.weight = clipLine(s, sentenceLen), weight
	}
	if !containsAny(low, " read ", " reading ", " look ", " looking ", " check ", " see ", " verify ", " pass ") {
		w.reason = clipLine(s, sentenceLen)
	}
}
