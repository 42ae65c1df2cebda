package summarize

import (
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

// act takes notes of an action and how it ended.
func (w *walk) act(a action, result chat.Part, answered bool) {
	if w.step == nil {
		w.step = &step{id: w.id, at: w.index}
		w.steps = append(w.steps, w.step)
	}
	o := outcome{}
	if answered {
		o = outcomeOf(a, result)
	}
	switch a.verb {
	case plans:
		w.plan(a, result)
	case runs:
		w.ran(a, o)
	case changes:
		w.changed(a, o)
	case reads:
		if !o.failed {
			n := w.note(read, a.object)
			n.names = contents(n.names, result.Text)
		}
		w.step.took(shortPath(a.object))
	case finds:
		w.step.took(clip(a.object, 60))
	default:
		what := strings.TrimSpace(a.tool + " " + a.object)
		n := w.note(command, clip(what, 140))
		n.end, n.failed, n.weight = clip(ending(o), 120), o.failed, 0.6
		w.step.gave(ended(a.tool+" "+clip(a.object, 60), o))
	}
	w.failure(a, o)
}

// mostObjects is how many inputs and outputs a step lists.
const mostObjects = 6

// took and gave list what a step looked at and what came of it.
func (s *step) took(input string) {
	if len(s.inputs) < mostObjects {
		s.inputs = appendNew(s.inputs, input)
	}
}

func (s *step) gave(output string) {
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

// contents appends to names what a file declares, or its headings.
func contents(names []string, text string) []string {
	for line := range strings.Lines(prefix(text, maxScan)) {
		if len(names) >= mostNames {
			return names
		}
		line = strings.TrimLeft(line, " 0123456789\t→|:")
		if heading, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && strings.HasPrefix(line, "#") {
			names = appendNew(names, clip(heading, 60))
			continue
		}
		names = declaration(names, line)
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

// ran takes a note of a command; its last outcome is the one that counts.
func (w *walk) ran(a action, o outcome) {
	n := w.note(command, a.object)
	n.end, n.failed, n.weight = ending(o), o.failed, 1
	if filters(a.object) {
		n.weight = 0.3
	}
	if explores(a.object) {
		n.weight = 0
		w.step.took(clip(a.object, 60))
		return
	}
	w.step.weight += 0.5
	w.step.gave(clip(ended(clip(a.object, 80), o), 160))
}

// changed takes a note of a file that was written or edited.
func (w *walk) changed(a action, o outcome) {
	if o.failed {
		w.step.gave(ended("edit "+a.object, o))
		return
	}
	n := w.note(changed, a.object)
	for _, name := range a.names {
		if strings.Contains(name, " ") && len(n.names) >= mostCode {
			n.names = n.names[1:]
		}
		if len(n.names) == mostNames {
			n.names = n.names[1:] // what was changed last is nearest to the work
		}
		n.names = appendNew(n.names, name)
	}
	if w.reason != "" {
		n.end = w.reason
	}
	w.step.weight++
	w.step.gave("edited " + shortPath(a.object))
}

// mostCode is how many lines of code stand for the changes of a file where
// nothing was declared.
const mostCode = 2

// failure takes a note of a call that failed; the same call's success strikes
// it out.
func (w *walk) failure(a action, o outcome) {
	key := a.object
	if a.verb != runs {
		key = a.tool + " " + key
	}
	key = callKey(key)
	if old := w.at[noteKey{failure, key}]; old != nil && !o.failed {
		old.weight = -1
	}
	if !o.failed || a.verb == runs && explores(a.object) {
		if a.verb == runs && !o.failed && strings.Contains(a.object, "test") && !filters(a.object) {
			w.green = w.index
		}
		return
	}
	what := clip(a.object, 100)
	if a.verb != runs {
		what = a.tool + " " + what
	}
	n := w.add(note{kind: failure, text: what, key: key, id: w.id, last: w.index})
	n.text, n.weight, n.tests = ended(what, o), 1, len(o.tests) > 0
	if a.verb == reads || a.verb == finds || o.misused() {
		n.weight = 0.2
	}
	w.step.weight += 0.5
}

// callKey returns a command without what its output is sent through, so that
// the same call is known again.
func callKey(call string) string {
	key, _, _ := strings.Cut(call, " | ")
	return key
}

// outlived marks down failed tests behind which a test run ended well.
func (w *walk) outlived() {
	for _, n := range w.list {
		if n.kind == failure && n.tests && n.last < w.green && n.weight > 0 {
			n.weight = 0.5
		}
	}
}

// ended returns what was done with how it ended.
func ended(what string, o outcome) string {
	if e := ending(o); e != "" {
		return what + arrow + e
	}
	return what
}

func ending(o outcome) string {
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

// plan follows the list of todos as tools change it.
func (w *walk) plan(a action, result chat.Part) {
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

// createdID returns the first number in the answer of a tool that made a todo.
func createdID(answer string) string {
	for t := range tokens(prefix(answer, 200)) {
		if t.text[0] >= '0' && t.text[0] <= '9' {
			return t.text
		}
	}
	return ""
}

// openTodos takes a note of each entry of the plan that is not done.
func (w *walk) openTodos() {
	for _, t := range w.tasks {
		if !t.done {
			n := w.add(note{kind: todo, text: clip(t.text, sentenceLen), id: w.planID, last: w.planAt})
			n.weight = 1
		}
	}
}
