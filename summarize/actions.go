package summarize

import (
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

// recordAction records an action and its outcome.
func (w *messageScanner) recordAction(a action, result chat.Part, answered bool) {
	if w.step == nil {
		w.step = &step{id: w.id, at: w.index}
		w.steps = append(w.steps, w.step)
	}
	o := outcome{}
	if answered {
		o = outcomeOf(a, result)
	}
	switch a.kind {
	case plans:
		w.recordPlan(a, result)
	case runs:
		w.recordCommand(a, o)
	case changes:
		w.recordChange(a, o)
	case reads:
		if !o.failed {
			n := w.addItem(read, a.object)
			n.names = addContents(n.names, result.Text)
		}
		w.step.addInput(shortPath(a.object))
	case finds:
		w.step.addInput(clipLine(a.object, 60))
	default:
		what := strings.TrimSpace(a.tool + " " + a.object)
		n := w.addItem(command, clipLine(what, 140))
		n.end, n.failed, n.weight = clipLine(endingText(o), 120), o.failed, 0.6
		w.step.addOutput(endedText(a.tool+" "+clipLine(a.object, 60), o))
	}
	w.recordFailure(a, o)
}

// mostObjects limits the inputs and outputs that a step lists.
const mostObjects = 6

// addInput and addOutput list what a step read and what it produced.
func (s *step) addInput(input string) {
	if len(s.inputs) < mostObjects {
		s.inputs = appendNew(s.inputs, input)
	}
}

func (s *step) addOutput(output string) {
	if len(s.outputs) < mostObjects {
		s.outputs = appendNew(s.outputs, output)
	}
}

func appendNew(list []string, s string) []string {
	if s == "" || slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

// addContents appends to names the declarations or headings of a file.
func addContents(names []string, text string) []string {
	for line := range strings.Lines(bytePrefix(text, maxScan)) {
		if len(names) >= mostNames {
			return names
		}
		line = strings.TrimLeft(line, " 0123456789\t→|:")
		if heading, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && strings.HasPrefix(line, "#") {
			names = appendNew(names, clipLine(heading, 60))
			continue
		}
		names = addDeclaration(names, line)
	}
	return names
}

// shortPath returns the last two parts of a path.
func shortPath(path string) string {
	last := strings.LastIndexByte(path, '/')
	if last <= 0 {
		return path
	}
	return path[strings.LastIndexByte(path[:last], '/')+1:]
}

// recordCommand records a command; its last outcome counts.
func (w *messageScanner) recordCommand(a action, o outcome) {
	n := w.addItem(command, a.object)
	n.end, n.failed, n.weight = endingText(o), o.failed, 1
	if filtersOutput(a.object) {
		n.weight = 0.3
	}
	if onlyExplores(a.object) {
		n.weight = 0
		w.step.addInput(clipLine(a.object, 60))
		return
	}
	w.step.weight += 0.5
	w.step.addOutput(clipLine(endedText(clipLine(a.object, 80), o), 160))
}

// recordChange records a file that was written or edited.
func (w *messageScanner) recordChange(a action, o outcome) {
	if o.failed {
		w.step.addOutput(endedText("edit "+a.object, o))
		return
	}
	n := w.addItem(changed, a.object)
	for _, name := range a.names {
		if strings.Contains(name, " ") && len(n.names) >= mostCode {
			n.names = n.names[1:]
		}
		if len(n.names) == mostNames {
			n.names = n.names[1:] // the last change is nearest to the work
		}
		n.names = appendNew(n.names, name)
	}
	if w.reason != "" {
		n.end = w.reason
	}
	w.step.weight++
	w.step.addOutput("edited " + shortPath(a.object))
}

// mostCode limits the lines of code that represent the changes of a file without
// declarations.
const mostCode = 2

// recordFailure records a call that failed; a success of the same call removes it.
func (w *messageScanner) recordFailure(a action, o outcome) {
	key := a.object
	if a.kind != runs {
		key = a.tool + " " + key
	}
	key = callKey(key)
	if old := w.at[itemKey{failure, key}]; old != nil && !o.failed {
		old.weight = -1
	}
	if !o.failed || a.kind == runs && onlyExplores(a.object) {
		if a.kind == runs && !o.failed && strings.Contains(a.object, "test") && !filtersOutput(a.object) {
			w.green = w.index
		}
		return
	}
	what := clipLine(a.object, 100)
	if a.kind != runs {
		what = a.tool + " " + what
	}
	n := w.putItem(summaryItem{kind: failure, text: what, key: key, id: w.id, last: w.index})
	n.text, n.weight, n.tests = endedText(what, o), 1, len(o.tests) > 0
	if a.kind == reads || a.kind == finds || o.wasMisused() {
		n.weight = 0.2
	}
	w.step.weight += 0.5
}

// callKey returns a command without the filters of its output, so that the same
// call is recognised.
func callKey(call string) string {
	key, _, _ := strings.Cut(call, " | ")
	return key
}

// closeFailedTests marks tests as passed that failed before a successful test run.
func (w *messageScanner) closeFailedTests() {
	for _, n := range w.list {
		if n.kind == failure && n.tests && n.last < w.green && n.weight > 0 {
			n.weight = 0.5
		}
	}
}

// endedText returns an action with its outcome.
func endedText(what string, o outcome) string {
	if e := endingText(o); e != "" {
		return what + arrow + e
	}
	return what
}

func endingText(o outcome) string {
	var parts []string
	if o.failed {
		parts = append(parts, "failed")
	}
	if len(o.tests) > 0 {
		parts = append(parts, strings.Join(o.tests, ", "))
	}
	if o.line != "" {
		parts = append(parts, o.line)
	}
	return strings.Join(parts, ": ")
}

// recordPlan follows the list of todos through the calls that change it.
func (w *messageScanner) recordPlan(a action, result chat.Part) {
	w.planID, w.planAt = w.id, w.index
	if a.whole || w.byID == nil {
		w.byID = make(map[string]int)
	}
	if a.whole {
		w.tasks = a.todos
		return
	}
	for _, t := range a.todos {
		if t.text == "" {
			if i, ok := w.byID[t.id]; ok {
				w.tasks[i].done = t.done
			}
			continue
		}
		if id := createdID(result.Text); id != "" {
			w.byID[id] = len(w.tasks)
		}
		w.tasks = append(w.tasks, t)
	}
}

// createdID returns the first number in the result of a tool that created a todo.
func createdID(answer string) string {
	for t := range wordTokens(bytePrefix(answer, 200)) {
		if t.text[0] >= '0' && t.text[0] <= '9' {
			return t.text
		}
	}
	return ""
}

// openTodos records each entry of the plan that is not done.
func (w *messageScanner) openTodos() {
	for _, t := range w.tasks {
		if !t.done {
			n := w.putItem(summaryItem{kind: todo, text: clipLine(t.text, sentenceLen), id: w.planID, last: w.planAt})
			n.weight = 1
		}
	}
}
