package corpus

import (
	"fmt"
	"strings"
)

// ask returns what a user asks who needs a fact of a kind about a module.
func ask(kind Kind, m *module) string {
	switch kind {
	case Rule:
		return fmt.Sprintf("What must never be done in %s, and what must always be run or stay so?", m.name)
	case Changed:
		return fmt.Sprintf("Which files of internal/%s did we change?", m.name)
	case Error:
		return fmt.Sprintf("Which test of %s failed last, and with what error?", m.name)
	case Todo:
		return "What is still to be done?"
	case Decision:
		return fmt.Sprintf("What was the decision for %s, and why?", m.name)
	case Prose:
		return fmt.Sprintf("What is the staging host of %s, and its limit an hour?", m.name)
	}
	return fmt.Sprintf("Which lease did the status of %s show, and who is its owner?", m.name)
}

// task is what the user asks for: often with a rule, or with what only he knows.
func (s *script) task(m *module) {
	s.aim(m)
	text := fmt.Sprintf("In internal/%s, `%s` does not %s. Find out why, and repair it.", m.name, s.goals[0].name, s.topicWords())
	rule, prose := "", ""
	if s.chance(45) {
		rule = s.rule(m)
		text += " " + rule
	}
	if s.chance(60) {
		prose = fmt.Sprintf("%s-%d", s.of(subjects), s.between(11, 98))
		text += fmt.Sprintf(" The staging host of %s is %s, and its limit is %d %ss an hour.", m.name, prose, s.between(1000, 9999), s.of(nouns))
	}
	s.user(text)
	if rule != "" {
		s.plant(Rule, 0, strings.TrimSuffix(rule, "."), ask(Rule, m))
	}
	if prose != "" {
		s.plant(Prose, 0, prose, ask(Prose, m))
	}
}

// rule returns a rule for m.
func (s *script) rule(m *module) string {
	switch s.IntN(4) {
	case 0:
		return fmt.Sprintf("Never touch internal/%s/%s%d_test.go.", m.name, s.of(roles), s.between(2, 9))
	case 1:
		return fmt.Sprintf("Always run make %s-%s before you say that %s is done.", s.of(verbs), m.name, m.name)
	case 2:
		return fmt.Sprintf("You must not rename %s in %s.", s.of(verbs)+title(s.of(nouns)), m.name)
	}
	return fmt.Sprintf("Every %s of %s must stay below %d ms.", s.of(nouns), m.name, s.between(20, 900))
}

// decide has the assistant decide something about m.
func (s *script) decide(m *module) {
	goal := s.goals[len(s.goals)-1]
	what := fmt.Sprintf("we keep the %s %s of %s in %s", s.of(adjectives), s.of(nouns), m.name, goal.name)
	s.says(fmt.Sprintf("Decision: %s rather than in a %s of its own, because `%s` needs it before the first %s.", what, s.of(nouns), s.old(goal.file), s.of(nouns)))
	s.plant(Decision, 0, what, ask(Decision, m))
	if s.chance(50) {
		s.user("agreed, go on")
	}
}

// probe looks at a running system. What it shows stands nowhere else.
func (s *script) probe(m *module) {
	var b strings.Builder
	id := s.hex(8)
	at := s.between(2, 12)
	for i := range 16 {
		if i == at {
			fmt.Fprintf(&b, "%s lease=%s owner=%s state=%s\n", m.name, id, s.of(subjects), s.of(adjectives))
			continue
		}
		fmt.Fprintf(&b, "%s %s=%d age=%dms\n", m.name, s.of(nouns), s.IntN(9999), s.IntN(900))
	}
	s.run("", "Bash", arguments("command", fmt.Sprintf("%sctl status %s", s.name, m.name)), b.String())
	s.marks = append(s.marks, id)
	s.plant(InResult, 0, id, ask(InResult, m))
}

// plantInFile takes of a file that was just read the name of a function, or a
// line with a number.
func (s *script) plantInFile(f *file) {
	name := s.of(f.funcs)
	query := fmt.Sprintf("What does %s say about `%s`?", f.path, name)
	shown := s.t[len(s.t)-1].Text()
	if s.chance(50) {
		if strings.Contains(shown, name) {
			s.plant(InFile, 0, name, query)
		}
		return
	}
	for range 30 {
		text := strings.TrimSpace(s.of(f.lines))
		if len(text) > 24 && strings.ContainsAny(text, "0123456789") && strings.Count(shown, text) == 1 {
			s.plant(InFile, 0, text, fmt.Sprintf("Which line of %s says %s?", f.path, words(text)))
			return
		}
	}
}

// words returns the words of a line of code, without its numbers.
func words(line string) string {
	return strings.Join(strings.FieldsFunc(line, func(r rune) bool { return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '_') }), " ")
}

// plantOpen plants the todos that stand open, and the files that were changed.
func (s *script) plantOpen() {
	for _, t := range s.todos {
		if !t.done {
			s.plant(Todo, 1, t.text, ask(Todo, nil))
		}
	}
	const most = 12 // of the newest
	for _, m := range s.modules {
		for _, f := range m.files {
			if s.changed[f.path] && len(s.changed) <= most {
				s.plant(Changed, s.lastChange(f.path), f.path, ask(Changed, m))
			}
		}
	}
}

// lastChange returns how many messages before the newest the last change of a
// path stands.
func (s *script) lastChange(path string) int {
	for i := len(s.t) - 1; i >= 0; i-- {
		for _, p := range s.t[i].Parts {
			if (p.Name == "Edit" || p.Name == "Write") && strings.Contains(p.Args, quoted(path)) {
				return len(s.t) - 1 - i
			}
		}
	}
	return 0
}
