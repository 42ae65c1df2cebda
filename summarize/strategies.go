package summarize

import (
	"path"
	"slices"
	"strings"
)

// taskState returns the sections of task_state.
func (e extract) taskState(r Request) []section {
	entities := asLines(e.ranked(changed, e.untold), func(n *note) string { return "changed " + n.factLine() })
	entities = append(entities, asLines(e.ranked(detail, e.untold), (*note).factLine)...)
	entities = append(entities, e.filesRead()...)
	open := asLines(e.ranked(todo, e.untold), (*note).factLine)
	open = append(open, asLines(e.ranked(failure, e.untold), (*note).factLine)...)
	open = append(open, asLines(e.unanswered(), func(n *note) string { return "asked last: " + clip(n.text, 120) })...)
	return []section{
		{title: "Goals", share: 0.28, lines: e.goals()},
		{title: "State", share: 0.16, lines: e.state()},
		{title: "Constraints", share: 0.12, lines: asLines(e.ranked(rule, e.untold), (*note).factLine)},
		{title: "Decisions", share: 0.22, lines: asLines(e.ranked(decision, e.untold), (*note).factLine)},
		{title: "Outstanding", share: 0.12, lines: open},
		{title: "Entities", share: 0.12, lines: entities},
		{title: "Actions", share: 0.1, lines: asLines(e.ranked(command, e.telling), (*note).factLine)},
		{title: "Sources", share: 0.02, lines: sources(r)},
	}
}

// filesRead returns the files read with what is in them.
func (e extract) filesRead() []line {
	return asLines(e.ranked(read, func(n *note) bool { return len(n.names) > 0 || e.untold(n) }), func(n *note) string {
		if len(n.names) == 0 {
			return "read " + n.text
		}
		return "read " + n.text + ": " + strings.Join(n.names, ", ")
	})
}

// telling reports whether a command did more than look around, and is said
// nowhere else.
func (e extract) telling(n *note) bool {
	return n.weight > 0 && e.untold(n) && !e.told["- "+n.text]
}

// goals returns what was asked for and what was answered, the task first.
func (e extract) goals() []line {
	all := e.of(request)
	notes := e.ranked(request, func(n *note) bool { return n.weight > 0.3 || n == all[0] })
	if i := slices.IndexFunc(notes, func(n *note) bool { return n == all[0] }); i > 0 {
		task := notes[i]
		copy(notes[1:i+1], notes[:i])
		notes[0] = task
	}
	return asLines(notes, func(n *note) string {
		if n.end == "" || n.last == all[len(all)-1].last { // the state says the last answer
			return n.text
		}
		return n.text + arrow + n.end
	})
}

// state returns what was said last, and what the assistant was about after.
func (e extract) state() []line {
	var lines []line
	if reports := e.of(report); len(reports) > 0 {
		lines = asLines(reports[len(reports)-1:], (*note).factLine)
	}
	if n := len(e.steps); n > 0 {
		last := e.steps[n-1]
		if len(last.outputs) > 0 {
			lines = append(lines, line{"- last done: " + strings.Join(last.outputs, "; "), last.at + 1})
		}
	}
	return lines
}

// unanswered returns the last of several requests, where nothing was said to
// it.
func (e extract) unanswered() []*note {
	all := e.of(request)
	if len(all) < 2 || all[len(all)-1].end != "" {
		return nil
	}
	return all[len(all)-1:]
}

// sources names the messages that the summary stands for.
func sources(r Request) []line {
	if len(r.Messages) == 0 {
		return nil
	}
	first, last := r.Messages[0].ID, r.Messages[len(r.Messages)-1].ID
	if first == "" || last == "" || len(first)+len(last) > 100 || strings.ContainsAny(first+last, "\n\"`") {
		return nil
	}
	if first == last {
		return []line{{"- message " + first, 0}}
	}
	return []line{{"- messages " + first + " to " + last, 0}}
}

// decisionLog returns the steps in which something was decided or done.
func (e extract) decisionLog() []section {
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
	var lines []line
	for _, s := range steps {
		lines = append(lines, line{s.entry(), s.at})
	}
	if len(lines) == 0 {
		lines = e.goals()
	}
	return []section{{share: 1, lines: lines}}
}

// entry writes a step as decision :: rationale :: inputs :: outputs.
func (s *step) entry() string {
	text, why := cutReason(s.text)
	if text == "" {
		text = "went on"
	}
	if s.why != "" && why == "" {
		why = s.why
	}
	parts := []string{text, orDash(why), orDash(clip(strings.Join(s.inputs, ", "), 200)), orDash(clip(strings.Join(s.outputs, "; "), 320))}
	id := s.id
	if id == "" || strings.ContainsAny(id, "\n]") || len(id) > 40 {
		return "- " + strings.Join(parts, " :: ")
	}
	return "[" + id + "] " + strings.Join(parts, " :: ")
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// cutReason cuts a sentence where it says why.
func cutReason(s string) (text, why string) {
	for _, word := range []string{" because ", " since ", " so that ", " in order to ", " due to ", " to avoid ", " weil ", " parce que ", " porque "} {
		if i := strings.Index(s, word); i > 0 {
			text = balance(balance(s[:i], `"`), "`")
			why = balance(balance(strings.TrimSpace(s[i:]), `"`), "`")
			return text, why
		}
	}
	return s, ""
}

// codeDelta returns what was changed, by path.
func (e extract) codeDelta() []section {
	failing := e.ranked(failure, func(n *note) bool { return n.weight >= 1 })
	todos := e.ranked(todo, nil)
	follow := append(slices.Clone(failing), todos...)
	follow = follow[:min(len(follow), 20)] // each file looks through them
	var lines []line
	for _, n := range e.ranked(changed, nil) {
		lines = append(lines, line{"- " + n.delta(follow), n.last})
	}
	checks := asLines(e.ranked(command, e.telling), func(n *note) string { return "ran " + n.factLine() })
	open := append(asLines(failing, (*note).factLine), asLines(todos, (*note).factLine)...)
	if len(lines) == 0 {
		lines = append([]line{{"- no file was changed", -1}}, e.state()...)
		lines = append(append(lines, asLines(e.ranked(decision, e.untold), (*note).factLine)...), e.filesRead()...)
	}
	return []section{
		{title: "Task", share: 0.1, lines: firstOf(e.goals())},
		{title: "Changes", share: 0.55, lines: lines},
		{title: "Checks", share: 0.15, lines: checks},
		{title: "Follow-up", share: 0.2, lines: open},
	}
}

func firstOf(lines []line) []line { return lines[:min(1, len(lines))] }

// delta writes a changed file: what changed, why, what follows.
func (n *note) delta(follow []*note) string {
	s := n.text + ": "
	if len(n.names) > 0 {
		s += strings.Join(n.names, ", ")
	} else {
		s += "written"
	}
	if n.end != "" {
		s += "; why: " + clip(n.end, 160)
	}
	base := path.Base(n.text)
	for _, f := range follow {
		if len(base) > 3 && strings.Contains(f.text, base) {
			return s + "; follow-up: " + clip(f.text, 120)
		}
	}
	return s
}

// brief returns a few sentences.
func (e extract) brief() []section {
	var lines []line
	add := func(before, text, after string) {
		if text != "" {
			lines = append(lines, line{before + withoutStop(text) + after, len(lines)})
		}
	}
	requests := e.of(request)
	if len(requests) > 0 {
		add("The user asked: ", requests[0].text, ".")
	}
	if len(requests) > 1 {
		add("Last asked: ", requests[len(requests)-1].text, ".")
	}
	reports := e.of(report)
	if len(reports) > 0 {
		add("The assistant last said: ", reports[len(reports)-1].text, ".")
	}
	add("Rules: ", joined(e.ranked(rule, nil), 4), ".")
	add("Changed: ", joined(e.ranked(changed, nil), 8), ".")
	add("Decided: ", joined(e.ranked(decision, e.untold), 3), ".")
	add("Still failing: ", joined(e.ranked(failure, nil), 3), ".")
	if len(requests) == 0 && len(reports) == 0 {
		add("Read: ", joined(e.ranked(read, nil), 8), ".")
	}
	add("Open: ", joined(e.ranked(todo, nil), 4), ".")
	add("Ran: ", joined(e.ranked(command, func(n *note) bool { return n.weight > 0 }), 3), ".")
	return []section{{share: 1, lines: lines}}
}

// withoutStop cuts the full stop off a sentence, but not the dots off a path.
func withoutStop(s string) string {
	if strings.HasSuffix(s, "..") || strings.HasSuffix(s, "/.") {
		return s
	}
	return strings.TrimSuffix(s, ".")
}

// joined writes at most limit notes as one line.
func joined(notes []*note, limit int) string {
	var texts []string
	for _, n := range notes[:min(limit, len(notes))] {
		texts = append(texts, withoutStop(clip(n.factLine(), 160)))
	}
	return strings.Join(texts, "; ")
}
