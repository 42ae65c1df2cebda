package summarize

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/clip"
)

// recordAction records an action and its outcome.
func (w *messageScanner) recordAction(a action, result chat.Part, answered bool) {
	if w.step == nil {
		w.step = &step{id: w.id, at: w.index}
		w.steps = append(w.steps, w.step)
	}
	o := outcome{}
	if a.kind == inputs {
		w.recordInput(result, answered)
		return
	}
	if answered {
		a, _ = w.resume(a)
		if cell, ok := runsOn(result.Text); ok {
			w.runOn(cell, a)
			return
		}
		if a.kind == uses && (w.recordTask(a, result) || w.recordAnswers(result.Text)) {
			return
		}
		if id, ok := backgroundTask(result.Text); ok && a.kind == runs {
			w.runOn(id, a)
		}
		a = w.withOpenFile(a, result.Text)
		o = outcomeOf(a, result, w.flags)
	}
	if o.said != "" {
		w.scanTyped(o.said, "")
	}
	if o.rejected && a.kind == uses {
		return // a plan that the user rejected is nothing that was done
	}
	if o.line == runsOnLine {
		w.running = &a
	}
	switch a.kind {
	case plans:
		w.recordPlan(a, result)
	case runs:
		w.recordCommand(a, o, answered)
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
		n := w.addItem(command, clipLine(what, maxCall))
		n.end, n.failed, n.weight = clipLine(endingText(o), 120), o.failed, 0.6
		w.step.addOutput(endedText(strings.TrimSpace(a.tool+" "+clipLine(a.object, 60)), o))
	}
	if answered {
		w.recordFailure(a, o, result.Text)
	}
}

// withOpenFile returns an edit of the open file as a change of the file that its result
// names, under the name that the file has already.
func (w *messageScanner) withOpenFile(a action, result string) action {
	m := openFile.FindStringSubmatch(clip.Bytes(result, maxScan))
	if !a.edits || m == nil {
		return a
	}
	a.kind, a.object = changes, m[1]
	for _, n := range w.list {
		if (n.kind == changed || n.kind == read) && strings.HasSuffix(m[1], "/"+n.text) {
			a.object = n.text
		}
	}
	return a
}

// recordInput records how the command ended that ran on, by the result of an input to it.
func (w *messageScanner) recordInput(result chat.Part, answered bool) {
	if w.running == nil || !answered {
		return
	}
	a := *w.running
	o := outcomeOf(a, result, w.flags)
	switch {
	case o.running:
		return
	case strings.Contains(result.Text, "CTRL+C was sent"):
		o = outcome{line: stoppedLine, running: true}
	}
	w.running = nil
	w.recordCommand(a, o, true)
	w.recordFailure(a, o, result.Text)
}

// maxCall limits a call of another tool, as it is listed.
const maxCall = 140

// maxObjects limits the inputs and outputs that a step lists.
const maxObjects = 6

// addInput and addOutput list what a step read and what it produced.
func (s *step) addInput(input string) {
	if len(s.inputs) < maxObjects {
		s.inputs = appendNew(s.inputs, input)
	}
}

func (s *step) addOutput(output string) {
	if len(s.outputs) == maxObjects && !slices.Contains(s.outputs, output) {
		s.outputs = slices.Delete(s.outputs, 0, 1) // the last ones say how it is
	}
	s.outputs = appendNew(s.outputs, output)
}

// dropOutputs drops the outputs that are about a call.
func (s *step) dropOutputs(about func(call string) bool) {
	s.outputs = slices.DeleteFunc(s.outputs, func(output string) bool {
		call, _, _ := strings.Cut(output, arrow)
		return about(call)
	})
}

func appendNew(list []string, s string) []string {
	if s == "" || slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

// addContents appends to names the declarations or headings of a file.
func addContents(names []string, text string) []string {
	for line := range strings.Lines(clip.Bytes(text, maxScan)) {
		if len(names) >= maxNames {
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
func (w *messageScanner) recordCommand(a action, o outcome, answered bool) {
	n := w.addItem(command, a.object)
	n.text, n.end, n.failed, n.guessed, n.weight = a.object, endingText(o), o.failed, o.guessed, 1
	if !answered {
		n.end = "no result"
	}
	if filtersOutput(a.line()) {
		n.weight = 0.3
	}
	if onlyRemoves(a.line()) && !o.failed {
		n.weight = 0 // the files are listed
	}
	if answered {
		shown := clipLine(a.object, shownCommand)
		w.step.dropOutputs(func(call string) bool { return commandItemKey(call) == commandItemKey(shown) })
	}
	if onlyExplores(a.line()) {
		n.weight = 0
		w.step.addInput(clipLine(a.object, 60))
		return
	}
	if o.rejected {
		return
	}
	if answered && !o.failed {
		for _, path := range removedPaths(a.line()) {
			w.recordRemoval(path)
		}
	}
	w.step.weight += 0.5
	if n.weight > 0 && !o.wasMisused() {
		w.step.addOutput(clipLine(endedText(clipLine(a.object, shownCommand), o), 160))
	}
	if subs := subcommands(a.line()); answered && slices.ContainsFunc(subs, func(s string) bool { return testRunOf(s).family != "" }) {
		w.turn.check = clipLine(endedText(clipLine(a.object, 60), o), 120)
	}
}

// shownCommand limits a command among the outputs of a step.
const shownCommand = 80

// recordChange records a file that was written or edited.
func (w *messageScanner) recordChange(a action, o outcome) {
	if o.failed {
		if !o.rejected {
			w.step.addOutput(endedText("edit "+a.object, o))
		}
		return
	}
	if a.removes {
		w.recordRemoval(a.object)
		return
	}
	w.step.dropOutputs(func(call string) bool { return call == "edit "+a.object || call == "removed "+shortPath(a.object) })
	n := w.addItem(changed, a.object)
	n.weight = 0
	if slices.Equal(n.names, []string{removedMark}) {
		n.names = nil
	}
	for _, name := range a.names {
		if strings.Contains(name, " ") && len(n.names) >= maxCode {
			n.names = n.names[1:]
		}
		if len(n.names) == maxNames {
			n.names = n.names[1:] // the last change is nearest to the work
		}
		n.names = appendNew(n.names, name)
	}
	if w.reason != "" {
		n.end = w.reason
	}
	w.step.weight++
	w.step.addOutput("edited " + shortPath(a.object))
	w.turn.addChange(a.object, w.index)
	w.settlePassing(a.object, declared(a.names))
}

// removedMark follows the path of a file that was removed.
const removedMark = "removed"

// recordRemoval records that a file is no more.
func (w *messageScanner) recordRemoval(path string) {
	if isTemporary(path) {
		w.forgetTemporary(path)
		return
	}
	if w.step != nil {
		w.step.addOutput("removed " + shortPath(path))
	}
	w.turn.addChange(path, w.index)
	w.dropGoneDecisions(path)
	w.dropGoneFailures(path)
	known := false
	for _, n := range w.list {
		if n.text != path && !strings.HasSuffix(n.text, "/"+strings.TrimPrefix(path, "./")) {
			continue
		}
		switch n.kind {
		case changed:
			n.names, n.last, n.id, known = []string{removedMark}, w.index, w.id, true
		case read:
			n.weight = -1
		}
	}
	if !known && !strings.ContainsAny(path, "*?$") {
		n := w.addItem(changed, path)
		n.names = []string{removedMark}
	}
}

// isTemporary reports whether a path is in a folder for temporary files: outside of the
// project.
func isTemporary(path string) bool {
	for _, folder := range []string{"/tmp/", "/private/tmp/", "/var/tmp/", "/var/folders/", "/private/var/folders/", "/dev/shm/", "$TMPDIR/", "${TMPDIR}/", "$TMP/"} {
		if strings.HasPrefix(path, folder) {
			return true
		}
	}
	return false
}

// forgetTemporary drops a temporary file that was removed: it says nothing.
func (w *messageScanner) forgetTemporary(path string) {
	w.dropGoneFailures(path)
	for _, n := range w.list {
		if (n.kind == changed || n.kind == read) && n.text == path {
			n.weight = -1
		}
	}
	short := shortPath(path)
	w.turn.files = slices.DeleteFunc(w.turn.files, func(file string) bool { return file == short })
	if w.step != nil {
		w.step.dropOutputs(func(call string) bool { return call == "edited "+short })
	}
}

// dropGoneFailures drops the failures of a program that was removed.
func (w *messageScanner) dropGoneFailures(path string) {
	base := path[strings.LastIndexByte(path, '/')+1:]
	if len(base) <= 3 || strings.ContainsAny(base, "*?$") {
		return
	}
	w.failures = slices.DeleteFunc(w.failures, func(n *summaryItem) bool {
		call, _, _ := strings.Cut(n.text, arrow)
		if strings.Contains(call, base) {
			w.settleFailure(n)
		}
		return n.weight < 0
	})
}

// onlyRemoves reports whether a line only removes files.
func onlyRemoves(line string) bool {
	all := subcommands(line)
	return len(all) > 0 && len(removedPaths(line)) > 0 && !slices.ContainsFunc(all, func(s string) bool { return !strings.HasPrefix(s, "rm ") && !strings.HasPrefix(s, "git rm ") })
}

// removedPaths returns the files that a command removes. Of folders it is not known
// what was in them.
func removedPaths(command string) (paths []string) {
	folder, before := "", "" // a folder for temporary files; the operator before a command
	for _, c := range splitShell(command) {
		s := plainCommand(c.text)
		skip := before == "|" || before == "||"
		before = c.operator
		words := strings.Fields(strings.TrimPrefix(s, "git "))
		if len(words) == 2 && words[0] == "cd" {
			if folder = strings.Trim(words[1], `"'`) + "/"; !isTemporary(folder) {
				folder = ""
			}
		}
		if skip || len(words) == 0 || words[0] != "rm" || strings.Contains(s, "--cached") {
			continue
		}
		for _, w := range words[1:] {
			if w = strings.Trim(w, `"'`); !strings.HasPrefix(w, "-") && strings.Contains(w[strings.LastIndexByte(w, '/')+1:], ".") {
				if !strings.HasPrefix(w, "/") {
					w = folder + w
				}
				paths = append(paths, w)
			}
		}
	}
	return paths
}

// maxCode limits the lines of code that represent the changes of a file without
// declarations.
const maxCode = 2

// recordFailure records a call that failed, and settles earlier failures by one that
// did not.
func (w *messageScanner) recordFailure(a action, o outcome, output string) {
	if a.kind == changes || a.kind == reads || a.kind == finds {
		w.recordToolFailure(a, o)
		return
	}
	if a.kind == runs {
		w.settleFailures(a, o, output)
	}
	if old := w.at[itemKey{failure, callKey(a.object)}]; old != nil && (o.line == runsOnLine || o.line == stoppedLine) {
		w.settleFailure(old) // it went on this time
		w.failures = slices.DeleteFunc(w.failures, func(n *summaryItem) bool { return n == old })
	}
	if !o.failed || o.rejected || a.kind == runs && onlyExplores(a.line()) {
		if old := w.at[itemKey{failure, a.tool + " " + a.object}]; a.kind == uses && old != nil {
			old.weight = -1
		}
		return
	}
	what, key := clipLine(a.object, 100), callKey(a.object)
	if a.kind != runs {
		what, key = a.tool+" "+what, a.tool+" "+a.object
	}
	n := w.putItem(summaryItem{kind: failure, text: what, key: key, id: w.id, last: w.index})
	n.text, n.weight = endedText(what, o), 1
	n.ran = commandItemKey(clipLine(strings.TrimSpace(a.tool+" "+a.object), maxCall))
	if a.kind == runs {
		n.open, n.ran = failureOf(a.line(), o, output), commandItemKey(a.object)
		w.addFailure(n)
	}
	if o.wasMisused() {
		n.weight = 0.2
	}
	w.step.weight += 0.5
}

// recordToolFailure records a change that the user rejected. A file that could not be
// read, or a text that was not found, says nothing about the work.
func (w *messageScanner) recordToolFailure(a action, o outcome) {
	key := "change " + a.object
	if a.kind != changes {
		return
	}
	if old := w.at[itemKey{failure, key}]; old != nil && !o.failed {
		old.weight = -1
	}
	if o.rejected {
		n := w.putItem(summaryItem{kind: failure, text: a.object, key: key, id: w.id, last: w.index})
		n.text, n.weight = endedText(a.tool+" "+clipLine(a.object, 100), o), 1
	}
}

// settleFailures marks failures as settled by a run of a command.
func (w *messageScanner) settleFailures(a action, o outcome, output string) {
	if o.running {
		return
	}
	// What a filter leaves of an output does not say that all went well.
	filtered := filtersOutput(a.line()) || cutByHead(a.line(), output)
	for _, n := range w.failures {
		if n.open == nil || n.weight < 0 {
			continue
		}
		if !filtered && n.open.settle(a.line(), o, output) || filtered && !o.failed && n.open.settleShown(a.line(), output) {
			w.settleFailure(n)
		}
	}
	w.failures = slices.DeleteFunc(w.failures, func(n *summaryItem) bool { return n.weight < 0 })
}

// settleFailure marks a failure as settled, and the run of its command: how it ended is
// not how it is.
func (w *messageScanner) settleFailure(n *summaryItem) {
	n.weight = -1
	ran := w.at[itemKey{command, n.ran}]
	if ran == nil || !ran.failed {
		return
	}
	ran.weight = -1
	if w.step != nil {
		ended := clipLine(ran.text, shownCommand) + arrow + "failed"
		w.step.outputs = slices.DeleteFunc(w.step.outputs, func(s string) bool { return strings.HasPrefix(s, ended) })
	}
}

// retractGuesses takes back what was guessed of commands, now that the client is known to
// mark those that fail: it did not mark these.
func (w *messageScanner) retractGuesses() {
	guessed := func(n *summaryItem) bool {
		ran := w.at[itemKey{command, n.ran}]
		return ran != nil && ran.guessed
	}
	for _, n := range w.failures {
		if guessed(n) {
			n.weight = -1
		}
	}
	w.failures = slices.DeleteFunc(w.failures, guessed)
	for _, n := range w.list {
		if n.kind == command && n.guessed {
			n.end, n.failed, n.guessed = "", false, false
		}
	}
}

// addFailure adds a failure to those that later runs may settle. The oldest of very
// many are left out.
func (w *messageScanner) addFailure(n *summaryItem) {
	if slices.Contains(w.failures, n) {
		return
	}
	if len(w.failures) == maxFailures {
		w.failures[0].weight = -1
		w.failures = slices.Delete(w.failures, 0, 1)
	}
	w.failures = append(w.failures, n)
}

const maxFailures = 64

// callKey returns a command without the filters of its output, so that the same
// call is recognised.
func callKey(call string) string {
	key, _, _ := strings.Cut(call, " | ")
	return key
}

// commandItemKey returns a command without programs that only filter its output: runs
// of the same command are one item, however much of their output was shown.
func commandItemKey(command string) string {
	for {
		at := strings.LastIndex(command, " | ")
		if at < 0 {
			return command
		}
		first, _, _ := strings.Cut(command[at+3:], " ")
		switch first {
		case "head", "tail", "grep", "rg", "awk", "sed", "cut", "sort", "uniq", "less", "tee", "cat", "wc":
			command = command[:at]
		default:
			return command
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
		shown := strings.Join(o.tests[:min(len(o.tests), maxNames)], ", ")
		if more := len(o.tests) - maxNames; more > 0 {
			shown += fmt.Sprintf(" and %d more", more)
		}
		parts = append(parts, shown)
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
				w.tasks[i].done, w.tasks[i].dropped = t.done, t.dropped
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
	for t := range wordTokens(clip.Bytes(answer, 200)) {
		if t.text[0] >= '0' && t.text[0] <= '9' {
			return t.text
		}
	}
	return ""
}

// openTodos records each entry of the plan that is not done and, beside them, the last
// ones that are.
func (w *messageScanner) openTodos() {
	open := 0
	var ended []string
	for _, t := range w.tasks {
		switch text := clipLine(t.text, sentenceLen); {
		case t.dropped:
		case t.done:
			ended = append(ended, text)
		default:
			open++
			w.putTodo(todo, text)
		}
	}
	if open > 0 {
		for _, text := range ended[max(0, len(ended)-maxDone):] {
			w.putTodo(done, text)
		}
	}
}

// maxDone limits the done entries of a plan that are listed.
const maxDone = 12

func (w *messageScanner) putTodo(k itemKind, text string) {
	n := w.putItem(summaryItem{kind: k, text: text, id: w.planID, last: w.planAt})
	n.weight = 1
}
