package corpus

import (
	"fmt"
	"slices"
)

// write returns a session of at least so many messages about a project of so
// many modules.
func write(name string, seed uint64, stream, messages int) Session {
	d := newDice(seed, stream)
	s := &script{project: newProject(d, max(2, messages/70)), changed: make(map[string]bool)}
	ending := min(20, messages/4)
	s.system(fmt.Sprintf("You are a coding assistant in the repository /src/%s. Read files before you change them, run the tests after a change, and say briefly what you did.", s.name))
	for topic := 0; len(s.t) < messages-ending; topic++ {
		s.topic(s.next(topic), min(messages-ending-len(s.t), s.between(24, 90)))
	}
	s.end(messages)
	return Session{Name: name, Messages: s.t, Facts: s.facts}
}

// next returns the module of a topic: a new one, or one that the session comes
// back to.
func (s *script) next(topic int) *module {
	if topic > 1 && s.chance(30) {
		return s.modules[s.IntN(min(topic, len(s.modules)))]
	}
	return s.modules[topic%len(s.modules)]
}

// topic is a task of about so many messages.
func (s *script) topic(m *module, messages int) {
	end := len(s.t) + messages
	s.task(m)
	s.todos = slices.DeleteFunc(s.todos, func(t todo) bool { return t.done })
	if messages > 20 {
		s.todos = append(s.todos, todo{text: s.topicWords() + " of " + m.name}, todo{text: s.topicWords() + " in " + m.name})
		s.plan()
	}
	s.survey(m, messages)
	s.decide(m)
	for len(s.t) < end-4 {
		s.step(m)
	}
	if s.failing != "" {
		s.edit(m, s.goals[0].file, s.goals[0].name)
	}
	s.test(m, false)
	s.done(m)
}

// survey looks around, and reads what a topic begins with.
func (s *script) survey(m *module, messages int) {
	if messages > 20 && s.chance(40) {
		s.list(m)
	}
	if messages > 20 && s.chance(60) {
		s.search(m)
	}
	var files []*file
	for _, g := range s.goals {
		if !slices.Contains(files, g.file) {
			files = append(files, g.file)
		}
	}
	for i, f := range files[:min(len(files), 1+messages/20)] {
		s.read(m, f)
		if i == 0 {
			s.plantInFile(f)
		}
	}
}

// step is one thing that the assistant does.
func (s *script) step(m *module) {
	switch n := s.IntN(100); {
	case n < 36:
		g := s.goals[s.IntN(len(s.goals))]
		s.edit(m, g.file, g.name)
	case n < 52:
		s.test(m, s.chance(45))
	case n < 66:
		s.read(m, s.file(m, s.chance(50)))
	case n < 76:
		s.search(m)
	case n < 82:
		s.git(m, false)
	case n < 88:
		s.remark(m)
	case n < 92:
		s.tick()
	case n < 94:
		s.write(m)
	case n < 97:
		s.probe(m)
	default: // back to where the work was before
		if g := s.earlier[s.IntN(len(s.earlier))]; g.module != m {
			s.edit(g.module, g.file, g.name)
		}
	}
}

// tick marks a todo as done.
func (s *script) tick() {
	for i := range s.todos {
		if !s.todos[i].done && len(s.todos) > 1 {
			s.todos[i].done = true
			s.plan()
			return
		}
	}
}

// done ends a topic.
func (s *script) done(m *module) {
	g := s.goals[0]
	if s.chance(60) {
		s.git(m, true)
	}
	s.says(fmt.Sprintf("Done: `%s` in %s now agrees with `%s`, and the tests of %s pass.", g.name, g.file.path, s.old(g.file), m.name))
}

// end leaves a session with things to do and tests that fail, for which it
// looks until it has so many messages.
func (s *script) end(messages int) {
	m := s.modules[s.IntN(min(len(s.modules), 2))]
	for _, g := range s.modules {
		if len(g.known) > 0 {
			m = g
		}
	}
	s.user(fmt.Sprintf("One more thing in %s: %s, please.", m.name, s.topicWords()))
	s.todos = append(slices.DeleteFunc(s.todos, func(t todo) bool { return t.done }), todo{text: s.topicWords() + " for " + m.name})
	s.plan()
	s.plantOpen()
	s.test(m, true)
	s.plant(Error, 0, s.failing, ask(Error, m))
	s.says("The tests fail now; I look into it.")
	for len(s.t) < messages {
		if s.chance(50) {
			s.search(m)
		} else {
			s.read(m, s.file(m, false))
		}
	}
	s.says("I have not found it yet.")
}
