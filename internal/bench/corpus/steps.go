package corpus

import (
	"fmt"
	"strings"
)

// readFile reads a file, or a part of a long one.
func (s *script) readFile(m *module, f *file) {
	text := ""
	if s.percentChance(25) {
		text = fmt.Sprintf("Let me look at `%s` and how `%s` comes to its result.", f.path, s.pickWord(f.funcs))
	}
	s.seen = append(s.seen, s.pickWord(f.funcs), s.pickWord(f.funcs))
	if len(f.lines) > 200 && s.percentChance(60) || s.percentChance(12) {
		n := min(len(f.lines), s.numberBetween(30, 90))
		from := s.IntN(len(f.lines) - n + 1)
		s.addToolCall(text, "Read", arguments("file_path", f.path, "offset", from+1, "limit", n), numbered(f.lines[from:from+n], from+1))
		return
	}
	s.addToolCall(text, "Read", arguments("file_path", f.path), numbered(f.lines, 1))
	m.known[f] = true
}

// editFile changes a file that was read, mostly in the function of a name. If the
// file was read long ago and is not read again, the work needs its earlier text.
func (s *script) editFile(m *module, f *file, name string) {
	for !m.known[f] {
		s.readFile(m, f)
	}
	if !s.percentChance(80) {
		name = s.pickWord(f.funcs)
	}
	c, ok := s.editFunction(f, name)
	if !ok {
		return
	}
	text := ""
	if s.percentChance(35) {
		text = fmt.Sprintf("I change `%s` so that it agrees with `%s`.", name, s.oldFunction(f))
	}
	lines := strings.Count(c.new, "\n") + 1
	s.addToolCall(text, "Edit", arguments("file_path", f.path, "old_string", c.old, "new_string", c.new),
		fmt.Sprintf("Edited %s: %d lines in the place of %d.", f.path, lines, strings.Count(c.old, "\n")+1))
	s.changed[f.path] = true
}

// createFile makes a new file in m.
func (s *script) createFile(m *module) {
	lang := m.files[0].lang
	f := writeCodeFile(s.dice, lang, m.name, s.pickWord(roles)+fmt.Sprint(len(m.files)), "internal/"+m.name, s.numberBetween(20, 60))
	m.files, m.known[f] = append(m.files, f), true
	s.addToolCall(fmt.Sprintf("This belongs into a file of its own: `%s`.", f.path), "Write",
		arguments("file_path", f.path, "content", strings.Join(f.lines, "\n")+"\n"), fmt.Sprintf("Wrote %s, %d lines.", f.path, len(f.lines)))
	s.changed[f.path] = true
	s.seen = append(s.seen, s.pickWord(f.funcs))
}

// searchFiles searches for a name in the files of m.
func (s *script) searchFiles(m *module) {
	f := m.files[s.IntN(len(m.files))]
	name := s.pickWord(f.funcs)
	switch {
	case s.percentChance(30):
		name = s.pickWord(nouns)
	case s.percentChance(60):
		name = s.goals[s.IntN(len(s.goals))].name
	}
	var hits []string
	for _, g := range m.files {
		for i, line := range g.lines {
			if strings.Contains(strings.ToLower(line), strings.ToLower(name)) && len(hits) < 60 {
				hits = append(hits, fmt.Sprintf("%s:%d:%s", g.path, i+1, line))
			}
		}
	}
	result := strings.Join(hits, "\n")
	if result == "" {
		result = "no matches"
	}
	s.addToolCall("", "Grep", arguments("pattern", name, "path", "internal/"+m.name), result)
}

// listFolder lists a folder of m, or the whole tree.
func (s *script) listFolder(m *module) {
	var paths []string
	for _, g := range s.modules {
		if g == m || len(s.modules) < 12 {
			for _, f := range g.files {
				paths = append(paths, f.path)
			}
		}
	}
	s.addToolCall("", "Glob", arguments("pattern", "internal/"+m.name+"/**"), strings.Join(paths, "\n"))
}

// runTests runs the tests of m. They fail with the session's current error.
func (s *script) runTests(m *module, fails bool) {
	f := s.pickFile(m, true)
	var b strings.Builder
	for i := range s.numberBetween(6, 45) {
		name := capitalize(s.pickWord(m.files[i%len(m.files)].funcs))
		fmt.Fprintf(&b, "=== RUN   Test%s\n--- PASS: Test%s (0.%02ds)\n", name, name, s.IntN(90))
	}
	s.failing = ""
	if fails {
		name := "Test" + capitalize(s.pickWord(f.funcs))
		s.failing = fmt.Sprintf("%s:%d: %s: want %d %ss, got %d", f.path, s.numberBetween(10, len(f.lines)), m.name, s.numberBetween(10, 9999), s.pickWord(nouns), s.numberBetween(10, 9999))
		fmt.Fprintf(&b, "--- FAIL: %s (0.%02ds)\n    %s\nFAIL\nFAIL\tinternal/%s\t%d.%03ds\n", name, s.IntN(90), s.failing, m.name, s.numberBetween(1, 9), s.IntN(999))
		s.marks = append(s.marks, name)
	} else {
		fmt.Fprintf(&b, "PASS\nok\tinternal/%s\t%d.%03ds\n", m.name, s.numberBetween(1, 9), s.IntN(999))
	}
	s.addToolCall("", "Bash", arguments("command", fmt.Sprintf(f.lang.test, m.name)), b.String())
}

// runGit shows a log or the state of the work, or commits it.
func (s *script) runGit(m *module, commit bool) {
	if commit {
		hash := s.hexDigits(7)
		s.addToolCall("", "Bash", arguments("command", fmt.Sprintf("git commit -am '%s: %s'", m.name, s.topicWords())),
			fmt.Sprintf("[work %s] %s: %s\n %d files changed, %d insertions(+), %d deletions(-)", hash, m.name, s.topicWords(), s.numberBetween(1, 6), s.numberBetween(4, 90), s.numberBetween(1, 60)))
		s.marks = append(s.marks, hash)
		return
	}
	var b strings.Builder
	for range s.numberBetween(3, 14) {
		fmt.Fprintf(&b, "%s %s: %s\n", s.hexDigits(7), s.modules[s.IntN(len(s.modules))].name, s.topicWords())
	}
	s.addToolCall("", "Bash", arguments("command", "git log --oneline -15"), b.String())
}

func (s *script) topicWords() string {
	return s.pickWord(verbs) + " the " + s.pickWord(adjectives) + " " + s.pickWord(nouns) + "s"
}

// addRemark adds a text of the assistant about its work, with names from long ago.
func (s *script) addRemark(m *module) {
	f := s.pickFile(m, true)
	text := fmt.Sprintf("`%s` and `%s` in %s do the same in two ways. That is where the %s %ss come from: `%s` is called before the %s is there. I look at the callers next.",
		s.pickWord(f.funcs), s.oldFunction(f), f.path, s.pickWord(adjectives), s.pickWord(nouns), s.oldFunction(f), s.pickWord(nouns))
	if len(s.marks) > 0 {
		text += fmt.Sprintf(" It was not so before %s.", s.pickWord(s.marks))
	}
	s.addAssistantText(text)
	if s.percentChance(50) {
		s.addUserText(s.pickWord([]string{"continue", "yes, go on", "sounds right, do it", "ok. keep the public names as they are", "good, next"}))
	}
}

// writePlan writes the list of todos.
func (s *script) writePlan() {
	type item struct {
		Content string `json:"content"`
		Status  string `json:"status"`
	}
	items, running := []item{}, false
	for _, t := range s.todos {
		status := "pending"
		if t.done {
			status = "completed"
		} else if !running {
			status, running = "in_progress", true
		}
		items = append(items, item{t.text, status})
	}
	s.addToolCall("", "TodoWrite", arguments("todos", items), "The list has been updated.")
}
