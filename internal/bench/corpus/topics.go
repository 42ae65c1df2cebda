package corpus

import (
	"fmt"
	"slices"
)

// generateSession returns a session of at least the given number of messages
// about a project of the given number of modules.
func generateSession(name string, seed uint64, stream, messages int) Session {
	d := newDice(seed, stream)
	s := &script{project: newProject(d, max(2, messages/70)), changed: make(map[string]bool)}
	ending := min(20, messages/4)
	s.addSystem(fmt.Sprintf("You are a coding assistant in the repository /src/%s. Read files before you change them, run the tests after a change, and say briefly what you did.", s.name))
	for topic := 0; len(s.t) < messages-ending; topic++ {
		s.writeTopic(s.nextModule(topic), min(messages-ending-len(s.t), s.numberBetween(24, 90)))
	}
	s.endSession(messages)
	return Session{Name: name, Messages: s.t, Facts: s.facts}
}

// nextModule returns the module of a topic: a new one, or one to which the session
// returns.
func (s *script) nextModule(topic int) *module {
	if topic > 1 && s.percentChance(30) {
		return s.modules[s.IntN(min(topic, len(s.modules)))]
	}
	return s.modules[topic%len(s.modules)]
}

// writeTopic adds a task of about the given number of messages.
func (s *script) writeTopic(m *module, messages int) {
	end := len(s.t) + messages
	s.taskRequest(m)
	s.todos = slices.DeleteFunc(s.todos, func(t todo) bool { return t.done })
	if messages > 20 {
		s.todos = append(s.todos, todo{text: s.topicWords() + " of " + m.name}, todo{text: s.topicWords() + " in " + m.name})
		s.writePlan()
	}
	s.surveyModule(m, messages)
	s.addDecision(m)
	for len(s.t) < end-4 {
		s.takeStep(m)
	}
	if s.failing != "" {
		s.editFile(m, s.goals[0].file, s.goals[0].name)
	}
	s.runTests(m, false)
	s.finishTopic(m)
}

// surveyModule lists and reads the files with which a topic begins.
func (s *script) surveyModule(m *module, messages int) {
	if messages > 20 && s.percentChance(40) {
		s.listFolder(m)
	}
	if messages > 20 && s.percentChance(60) {
		s.searchFiles(m)
	}
	var files []*file
	for _, g := range s.goals {
		if !slices.Contains(files, g.file) {
			files = append(files, g.file)
		}
	}
	for i, f := range files[:min(len(files), 1+messages/20)] {
		s.readFile(m, f)
		if i == 0 {
			s.plantInFile(f)
		}
	}
}

// takeStep adds one action of the assistant.
func (s *script) takeStep(m *module) {
	switch n := s.IntN(100); {
	case n < 36:
		g := s.goals[s.IntN(len(s.goals))]
		s.editFile(m, g.file, g.name)
	case n < 52:
		s.runTests(m, s.percentChance(45))
	case n < 66:
		s.readFile(m, s.pickFile(m, s.percentChance(50)))
	case n < 76:
		s.searchFiles(m)
	case n < 82:
		s.runGit(m, false)
	case n < 88:
		s.addRemark(m)
	case n < 92:
		s.completeTodo()
	case n < 94:
		s.createFile(m)
	case n < 97:
		s.probeSystem(m)
	default: // back to the former subject
		if g := s.earlier[s.IntN(len(s.earlier))]; g.module != m {
			s.editFile(g.module, g.file, g.name)
		}
	}
}

// completeTodo marks a todo as done.
func (s *script) completeTodo() {
	for i := range s.todos {
		if !s.todos[i].done && len(s.todos) > 1 {
			s.todos[i].done = true
			s.writePlan()
			return
		}
	}
}

// finishTopic ends a topic.
func (s *script) finishTopic(m *module) {
	g := s.goals[0]
	if s.percentChance(60) {
		s.runGit(m, true)
	}
	s.addAssistantText(fmt.Sprintf("Done: `%s` in %s now agrees with `%s`, and the tests of %s pass.", g.name, g.file.path, s.oldFunction(g.file), m.name))
}

// endSession ends a session with open todos and failing tests, which it
// investigates until it has the given number of messages.
func (s *script) endSession(messages int) {
	m := s.modules[s.IntN(min(len(s.modules), 2))]
	for _, g := range s.modules {
		if len(g.known) > 0 {
			m = g
		}
	}
	s.addUserText(fmt.Sprintf("One more thing in %s: %s, please.", m.name, s.topicWords()))
	s.todos = append(slices.DeleteFunc(s.todos, func(t todo) bool { return t.done }), todo{text: s.topicWords() + " for " + m.name})
	s.writePlan()
	s.plantOpen()
	s.runTests(m, true)
	s.plantFact(Error, 0, s.failing, factQuestion(Error, m))
	s.addAssistantText("The tests fail now; I look into it.")
	for len(s.t) < messages {
		if s.percentChance(50) {
			s.searchFiles(m)
		} else {
			s.readFile(m, s.pickFile(m, false))
		}
	}
	s.addAssistantText("I have not found it yet.")
}
