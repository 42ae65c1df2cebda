package summarize

import (
	"path"
	"slices"
	"strings"
)

// opening is the first line of a summary in sections.
const opening = "Notes on the earlier part of this session, which this summary replaces:"

// shortOpening is an opening for little room.
const shortOpening = "Earlier:"

// withoutOpening returns the text of a summary after its opening, and whether it has one.
func withoutOpening(text string) (rest string, ok bool) {
	for _, line := range []string{opening, shortOpening} {
		if rest, ok := strings.CutPrefix(text, line); ok {
			return strings.TrimPrefix(rest, "\n"), true
		}
	}
	return text, false
}

// briefOpening begins a brief summary.
const briefOpening = "The user asked: "

// taskState returns the sections of task_state: what the facts section does not say.
func (e extraction) taskState() []section {
	entities := listLines(e.rankedItems(changed, e.notInFacts), func(n *summaryItem) string { return "changed " + n.factLine() })
	entities = append(entities, listLines(e.rankedItems(detail, e.notInFacts), (*summaryItem).factLine)...)
	entities = append(entities, e.filesRead()...)
	open := listLines(e.rankedItems(todo, e.notInFacts), (*summaryItem).factLine)
	open = append(open, listLines(e.rankedItems(failure, e.notInFacts), (*summaryItem).factLine)...)
	goals := e.goalLines()
	decided := func(n *summaryItem) bool {
		return e.notInFacts(n) && n.saysWhy() && !n.reportsDone() && e.isUseful(n) && !slices.ContainsFunc(goals, func(l sectionLine) bool { return strings.Contains(l.text, n.text) })
	}
	reported := func(n *summaryItem) bool { return e.notInFacts(n) && n.saysWhy() && n.reportsDone() }
	state := append(e.stateLines(), listLines(e.rankedItems(decision, reported), (*summaryItem).factLine)...)
	return []section{
		{title: "Goals", share: 0.28, lines: goals},
		{title: "State", share: 0.26, lines: state},
		{title: "Constraints", share: 0.12, lines: listLines(e.rankedItems(rule, e.notInFacts), (*summaryItem).factLine)},
		{title: "Decisions", share: 0.16, lines: listLines(e.rankedItems(decision, decided), (*summaryItem).factLine)},
		{title: "Outstanding", share: 0.12, lines: open},
		{title: "Entities", share: 0.12, lines: entities},
		{title: "Actions", share: 0.1, lines: listLines(e.rankedItems(command, e.tellsResult), (*summaryItem).factLine)},
	}
}

// filesRead returns the files read with their declarations.
func (e extraction) filesRead() []sectionLine {
	return listLines(e.rankedItems(read, func(n *summaryItem) bool { return len(n.names) > 0 || e.notInFacts(n) }), func(n *summaryItem) string {
		if len(n.names) == 0 {
			return "read " + n.text
		}
		return "read " + n.text + ": " + strings.Join(n.names, ", ")
	})
}

// tellsResult reports whether a command did more than read, and is listed nowhere
// else.
func (e extraction) tellsResult(n *summaryItem) bool {
	return n.weight > 0 && e.notInFacts(n) && !e.told["- "+n.text] && !e.listedErrors()[n]
}

// goalLines returns the requests that the facts section lacks and their answers, the
// task first.
func (e extraction) goalLines() []sectionLine {
	all := e.itemsOfKind(request)
	notes := e.rankedItems(request, func(n *summaryItem) bool { return e.notInFacts(n) && (n.weight > minGoalWeight || n == all[0]) })
	if i := slices.IndexFunc(notes, func(n *summaryItem) bool { return n == all[0] }); i > 0 {
		task := notes[i]
		copy(notes[1:i+1], notes[:i])
		notes[0] = task
	}
	return listLines(notes, (*summaryItem).factLine)
}

// stateLines returns the last answer if no request has it as its outcome, and what
// was done last.
func (e extraction) stateLines() []sectionLine {
	var lines []sectionLine
	if e.asked == nil || e.asked.end == "" {
		if reports := e.itemsOfKind(report); len(reports) > 0 && (e.asked == nil || reports[len(reports)-1].last > e.asked.last) {
			lines = listLines(reports[len(reports)-1:], (*summaryItem).factLine)
		}
	}
	if all := e.itemsOfKind(request); len(all) > 1 && !e.answered && slices.Contains(all, e.asked) {
		lines = append(lines, e.unansweredLine(all[len(all)-1]))
	}
	for i := len(e.steps) - 1; i >= 0; i-- {
		if s := e.steps[i]; len(s.outputs) > 0 {
			if untold := e.notListed(s.outputs); len(untold) > 0 {
				lines = append(lines, sectionLine{"- last done: " + strings.Join(untold, "; "), s.at + 1})
			}
			return lines
		}
	}
	return lines
}

// notListed returns the outputs of a step without the commands that the facts section
// lists.
func (e extraction) notListed(outputs []string) []string {
	return slices.DeleteFunc(slices.Clone(outputs), func(s string) bool {
		call, _, _ := strings.Cut(s, arrow)
		path, removed := strings.CutPrefix(call, "removed ")
		return strings.Contains(e.facts, "- "+strings.TrimSuffix(call, "…")) || removed && strings.Contains(e.facts, path+arrow+removedMark)
	})
}

// unansweredLine reports that the last request has no answer, with its text if it is
// listed nowhere else.
func (e extraction) unansweredLine(last *summaryItem) sectionLine {
	if listed := !e.notInFacts(last) || last.weight > minGoalWeight; listed {
		return sectionLine{"- The last request is not answered yet.", last.last}
	}
	return sectionLine{"- not answered yet: " + clipLine(last.text, 120), last.last}
}

// minGoalWeight is the weight above which a request is listed among the goals.
const minGoalWeight = 0.3

// decisionLog returns the steps with a decision or an action.
func (e extraction) decisionLog() []section {
	steps := slices.DeleteFunc(slices.Clone(e.steps), func(s *step) bool { return len(s.outputs) == 0 && (s.text == "" || s.weight == 0) })
	span := float64(max(1, e.span))
	slices.SortStableFunc(steps, func(a, b *step) int {
		wa, wb := min(a.weight, 4)+2*float64(a.at)/span, min(b.weight, 4)+2*float64(b.at)/span
		switch {
		case wa > wb:
			return -1
		case wa < wb:
			return 1
		}
		return 0
	})
	var lines []sectionLine
	for _, s := range steps {
		lines = append(lines, sectionLine{s.decisionEntry(), s.at})
	}
	if len(lines) == 0 {
		lines = e.goalLines()
	}
	return []section{{share: 1, lines: lines}}
}

// decisionEntry writes a step as decision :: rationale :: inputs :: outputs.
func (s *step) decisionEntry() string {
	text, why := cutReason(s.text)
	if text == "" {
		text = "went on"
	}
	if s.why != "" && why == "" {
		why = s.why
	}
	parts := []string{text, dashIfEmpty(why), dashIfEmpty(clipLine(strings.Join(s.inputs, ", "), 200)), dashIfEmpty(clipLine(strings.Join(s.outputs, "; "), 320))}
	id := s.id
	if id == "" || strings.ContainsAny(id, "\n]") || len(id) > 40 {
		return "- " + strings.Join(parts, " :: ")
	}
	return "[" + id + "] " + strings.Join(parts, " :: ")
}

func dashIfEmpty(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// cutReason cuts a sentence where its reason begins.
func cutReason(s string) (text, why string) {
	for _, word := range []string{" because ", " since ", " so that ", " in order to ", " due to ", " to avoid ", " weil ", " parce que ", " porque "} {
		if i := strings.Index(s, word); i > 0 {
			text = balanceMarks(balanceMarks(s[:i], `"`), "`")
			why = balanceMarks(balanceMarks(strings.TrimSpace(s[i:]), `"`), "`")
			return text, why
		}
	}
	return s, ""
}

// codeDelta returns the changes by path.
func (e extraction) codeDelta() []section {
	failing := e.rankedItems(failure, func(n *summaryItem) bool { return n.weight >= 1 })
	todos := e.rankedItems(todo, nil)
	follow := append(slices.Clone(failing), todos...)
	follow = follow[:min(len(follow), 20)] // each file searches them
	var lines []sectionLine
	for _, n := range e.rankedItems(changed, nil) {
		lines = append(lines, sectionLine{"- " + n.deltaText(follow), n.last})
	}
	checks := listLines(e.rankedItems(command, e.tellsResult), func(n *summaryItem) string { return "ran " + n.factLine() })
	open := append(listLines(failing, (*summaryItem).factLine), listLines(todos, (*summaryItem).factLine)...)
	if len(lines) == 0 {
		lines = append([]sectionLine{{"- no file was changed", -1}}, e.stateLines()...)
		lines = append(append(lines, listLines(e.rankedItems(decision, e.notInFacts), (*summaryItem).factLine)...), e.filesRead()...)
	}
	return []section{
		{title: "Task", share: 0.1, lines: firstLine(e.goalLines())},
		{title: "Changes", share: 0.55, lines: lines},
		{title: "Checks", share: 0.15, lines: checks},
		{title: "Follow-up", share: 0.2, lines: open},
	}
}

func firstLine(lines []sectionLine) []sectionLine { return lines[:min(1, len(lines))] }

// deltaText writes a changed file: the change, the reason, the next step.
func (n *summaryItem) deltaText(follow []*summaryItem) string {
	s := n.text + ": "
	if len(n.names) > 0 {
		s += strings.Join(n.names, ", ")
	} else {
		s += "written"
	}
	if n.end != "" {
		s += "; why: " + clipLine(n.end, 160)
	}
	base := path.Base(n.text)
	for _, f := range follow {
		if len(base) > 3 && strings.Contains(f.text, base) {
			return s + "; follow-up: " + clipLine(f.text, 120)
		}
	}
	return s
}

// briefSections returns a few sentences.
func (e extraction) briefSections() []section {
	var lines []sectionLine
	add := func(before, text string) {
		if text != "" {
			lines = append(lines, sectionLine{before + withoutStop(text) + ".", len(lines)})
		}
	}
	requests := e.itemsOfKind(request)
	if len(requests) > 0 {
		add(briefOpening, requests[0].text)
	}
	if len(requests) > 1 {
		add("Last asked: ", requests[len(requests)-1].text)
	}
	reports := e.itemsOfKind(report)
	if len(reports) > 0 {
		add("The assistant last said: ", reports[len(reports)-1].text)
	}
	add("Rules: ", joinedLine(e.rankedItems(rule, nil), 4))
	add("Changed: ", joinedLine(e.rankedItems(changed, nil), 8))
	add("Decided: ", joinedLine(e.rankedItems(decision, e.notInFacts), 3))
	add("Still failing: ", joinedLine(e.rankedItems(failure, nil), 3))
	if len(requests) == 0 && len(reports) == 0 {
		add("Read: ", joinedLine(e.rankedItems(read, nil), 8))
	}
	add("Open: ", joinedLine(e.rankedItems(todo, nil), 4))
	add("Ran: ", joinedLine(e.rankedItems(command, func(n *summaryItem) bool { return n.weight > 0 && !e.listedErrors()[n] }), 3))
	return []section{{share: 1, lines: lines}}
}

// withoutStop cuts the full stop off a sentence, but not the dots off a path.
func withoutStop(s string) string {
	if strings.HasSuffix(s, "..") || strings.HasSuffix(s, "/.") {
		return s
	}
	return strings.TrimSuffix(s, ".")
}

// joinedLine writes at most limit items as one line.
func joinedLine(notes []*summaryItem, limit int) string {
	var texts []string
	for _, n := range notes[:min(limit, len(notes))] {
		texts = append(texts, withoutStop(clipLine(n.factLine(), 160)))
	}
	return strings.Join(texts, "; ")
}
