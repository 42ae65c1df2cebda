package corpus

import (
	"fmt"
	"strings"
)

// factQuestion returns the question of a user who needs a fact of a kind about a
// module.
func factQuestion(kind Kind, m *module) string {
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

// taskRequest is the user's request: often with a rule, or with a fact that only
// the user knows.
func (s *script) taskRequest(m *module) {
	s.chooseTargets(m)
	text := fmt.Sprintf("In internal/%s, `%s` does not %s. Find out why, and repair it.", m.name, s.goals[0].name, s.topicWords())
	rule, prose := "", ""
	if s.percentChance(45) {
		rule = s.ruleFor(m)
		text += " " + rule
	}
	if s.percentChance(60) {
		prose = fmt.Sprintf("%s-%d", s.pickWord(subjects), s.numberBetween(11, 98))
		text += fmt.Sprintf(" The staging host of %s is %s, and its limit is %d %ss an hour.", m.name, prose, s.numberBetween(1000, 9999), s.pickWord(nouns))
	}
	s.addUserText(text)
	if rule != "" {
		s.plantFact(Rule, 0, strings.TrimSuffix(rule, "."), factQuestion(Rule, m))
	}
	if prose != "" {
		s.plantFact(Prose, 0, prose, factQuestion(Prose, m))
	}
}

// ruleFor returns a rule for m.
func (s *script) ruleFor(m *module) string {
	switch s.IntN(4) {
	case 0:
		return fmt.Sprintf("Never touch internal/%s/%s%d_test.go.", m.name, s.pickWord(roles), s.numberBetween(2, 9))
	case 1:
		return fmt.Sprintf("Always run make %s-%s before you say that %s is done.", s.pickWord(verbs), m.name, m.name)
	case 2:
		return fmt.Sprintf("You must not rename %s in %s.", s.pickWord(verbs)+capitalize(s.pickWord(nouns)), m.name)
	}
	return fmt.Sprintf("Every %s of %s must stay below %d ms.", s.pickWord(nouns), m.name, s.numberBetween(20, 900))
}

// addDecision makes the assistant decide something about m.
func (s *script) addDecision(m *module) {
	goal := s.goals[len(s.goals)-1]
	what := fmt.Sprintf("we keep the %s %s of %s in %s", s.pickWord(adjectives), s.pickWord(nouns), m.name, goal.name)
	s.addAssistantText(fmt.Sprintf("Decision: %s rather than in a %s of its own, because `%s` needs it before the first %s.", what, s.pickWord(nouns), s.oldFunction(goal.file), s.pickWord(nouns)))
	s.plantFact(Decision, 0, what, factQuestion(Decision, m))
	if s.percentChance(50) {
		s.addUserText("agreed, go on")
	}
}

// probeSystem queries a running system. Its output occurs nowhere else.
func (s *script) probeSystem(m *module) {
	var b strings.Builder
	id := s.hexDigits(8)
	at := s.numberBetween(2, 12)
	for i := range 16 {
		if i == at {
			fmt.Fprintf(&b, "%s lease=%s owner=%s state=%s\n", m.name, id, s.pickWord(subjects), s.pickWord(adjectives))
			continue
		}
		fmt.Fprintf(&b, "%s %s=%d age=%dms\n", m.name, s.pickWord(nouns), s.IntN(9999), s.IntN(900))
	}
	s.addToolCall("", "Bash", arguments("command", fmt.Sprintf("%sctl status %s", s.name, m.name)), b.String())
	s.marks = append(s.marks, id)
	s.plantFact(InResult, 0, id, factQuestion(InResult, m))
}

// plantInFile plants the name of a function, or a line with a number, from a file
// that was just read.
func (s *script) plantInFile(f *file) {
	name := s.pickWord(f.funcs)
	query := fmt.Sprintf("What does %s say about `%s`?", f.path, name)
	shown := s.t[len(s.t)-1].Text()
	if s.percentChance(50) {
		if strings.Contains(shown, name) {
			s.plantFact(InFile, 0, name, query)
		}
		return
	}
	for range 30 {
		text := strings.TrimSpace(s.pickWord(f.lines))
		if len(text) > 24 && strings.ContainsAny(text, "0123456789") && strings.Count(shown, text) == 1 {
			s.plantFact(InFile, 0, text, fmt.Sprintf("Which line of %s says %s?", f.path, codeWords(text)))
			return
		}
	}
}

// codeWords returns the words of a line of code, without its numbers.
func codeWords(line string) string {
	return strings.Join(strings.FieldsFunc(line, func(r rune) bool { return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '_') }), " ")
}

// plantOpen plants the open todos, and the changed files.
func (s *script) plantOpen() {
	for _, t := range s.todos {
		if !t.done {
			s.plantFact(Todo, 1, t.text, factQuestion(Todo, nil))
		}
	}
	const most = 12 // of the newest
	for _, m := range s.modules {
		for _, f := range m.files {
			if s.changed[f.path] && len(s.changed) <= most {
				s.plantFact(Changed, s.lastChange(f.path), f.path, factQuestion(Changed, m))
			}
		}
	}
}

// lastChange returns how many messages ago path was last changed, counted from the
// newest message.
func (s *script) lastChange(path string) int {
	for i := len(s.t) - 1; i >= 0; i-- {
		for _, p := range s.t[i].Parts {
			if (p.Name == "Edit" || p.Name == "Write") && strings.Contains(p.Args, quotedJSON(path)) {
				return len(s.t) - 1 - i
			}
		}
	}
	return 0
}
