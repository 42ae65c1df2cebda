package corpus

import (
	"fmt"
	"strings"
)

// read shows a file, or a part of a long one.
func (s *script) read(m *module, f *file) {
	text := ""
	if s.chance(25) {
		text = fmt.Sprintf("Let me look at `%s` and how `%s` comes to its result.", f.path, s.of(f.funcs))
	}
	s.seen = append(s.seen, s.of(f.funcs), s.of(f.funcs))
	if len(f.lines) > 200 && s.chance(60) || s.chance(12) {
		n := min(len(f.lines), s.between(30, 90))
		from := s.IntN(len(f.lines) - n + 1)
		s.run(text, "Read", arguments("file_path", f.path, "offset", from+1, "limit", n), numbered(f.lines[from:from+n], from+1))
		return
	}
	s.run(text, "Read", arguments("file_path", f.path), numbered(f.lines, 1))
	m.known[f] = true
}

// edit changes a file that was seen, most often in the function of a name. Where
// it was seen long ago and is not read again, the work needs what stood before.
func (s *script) edit(m *module, f *file, name string) {
	for !m.known[f] {
		s.read(m, f)
	}
	if !s.chance(80) {
		name = s.of(f.funcs)
	}
	c, ok := s.change(f, name)
	if !ok {
		return
	}
	text := ""
	if s.chance(35) {
		text = fmt.Sprintf("I change `%s` so that it agrees with `%s`.", name, s.old(f))
	}
	lines := strings.Count(c.new, "\n") + 1
	s.run(text, "Edit", arguments("file_path", f.path, "old_string", c.old, "new_string", c.new),
		fmt.Sprintf("Edited %s: %d lines in the place of %d.", f.path, lines, strings.Count(c.old, "\n")+1))
	s.changed[f.path] = true
}

// write makes a new file in m.
func (s *script) write(m *module) {
	lang := m.files[0].lang
	f := newFile(s.dice, lang, m.name, s.of(roles)+fmt.Sprint(len(m.files)), "internal/"+m.name, s.between(20, 60))
	m.files, m.known[f] = append(m.files, f), true
	s.run(fmt.Sprintf("This belongs into a file of its own: `%s`.", f.path), "Write",
		arguments("file_path", f.path, "content", strings.Join(f.lines, "\n")+"\n"), fmt.Sprintf("Wrote %s, %d lines.", f.path, len(f.lines)))
	s.changed[f.path] = true
	s.seen = append(s.seen, s.of(f.funcs))
}

// search looks for a name in the files of m.
func (s *script) search(m *module) {
	f := m.files[s.IntN(len(m.files))]
	name := s.of(f.funcs)
	switch {
	case s.chance(30):
		name = s.of(nouns)
	case s.chance(60):
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
	s.run("", "Grep", arguments("pattern", name, "path", "internal/"+m.name), result)
}

// list shows a folder of m, or the whole tree.
func (s *script) list(m *module) {
	var paths []string
	for _, g := range s.modules {
		if g == m || len(s.modules) < 12 {
			for _, f := range g.files {
				paths = append(paths, f.path)
			}
		}
	}
	s.run("", "Glob", arguments("pattern", "internal/"+m.name+"/**"), strings.Join(paths, "\n"))
}

// test runs the tests of m. They fail with the error that the session has then.
func (s *script) test(m *module, fails bool) {
	f := s.file(m, true)
	var b strings.Builder
	for i := range s.between(6, 45) {
		name := title(s.of(m.files[i%len(m.files)].funcs))
		fmt.Fprintf(&b, "=== RUN   Test%s\n--- PASS: Test%s (0.%02ds)\n", name, name, s.IntN(90))
	}
	s.failing = ""
	if fails {
		name := "Test" + title(s.of(f.funcs))
		s.failing = fmt.Sprintf("%s:%d: %s: want %d %ss, got %d", f.path, s.between(10, len(f.lines)), m.name, s.between(10, 9999), s.of(nouns), s.between(10, 9999))
		fmt.Fprintf(&b, "--- FAIL: %s (0.%02ds)\n    %s\nFAIL\nFAIL\tinternal/%s\t%d.%03ds\n", name, s.IntN(90), s.failing, m.name, s.between(1, 9), s.IntN(999))
		s.marks = append(s.marks, name)
	} else {
		fmt.Fprintf(&b, "PASS\nok\tinternal/%s\t%d.%03ds\n", m.name, s.between(1, 9), s.IntN(999))
	}
	s.run("", "Bash", arguments("command", fmt.Sprintf(f.lang.test, m.name)), b.String())
}

// git shows a log or a state of the work, or commits it.
func (s *script) git(m *module, commit bool) {
	if commit {
		hash := s.hex(7)
		s.run("", "Bash", arguments("command", fmt.Sprintf("git commit -am '%s: %s'", m.name, s.topicWords())),
			fmt.Sprintf("[work %s] %s: %s\n %d files changed, %d insertions(+), %d deletions(-)", hash, m.name, s.topicWords(), s.between(1, 6), s.between(4, 90), s.between(1, 60)))
		s.marks = append(s.marks, hash)
		return
	}
	var b strings.Builder
	for range s.between(3, 14) {
		fmt.Fprintf(&b, "%s %s: %s\n", s.hex(7), s.modules[s.IntN(len(s.modules))].name, s.topicWords())
	}
	s.run("", "Bash", arguments("command", "git log --oneline -15"), b.String())
}

func (s *script) topicWords() string {
	return s.of(verbs) + " the " + s.of(adjectives) + " " + s.of(nouns) + "s"
}

// remark is a text of the assistant about what it does, with names of long ago.
func (s *script) remark(m *module) {
	f := s.file(m, true)
	text := fmt.Sprintf("`%s` and `%s` in %s do the same in two ways. That is where the %s %ss come from: `%s` is called before the %s is there. I look at the callers next.",
		s.of(f.funcs), s.old(f), f.path, s.of(adjectives), s.of(nouns), s.old(f), s.of(nouns))
	if len(s.marks) > 0 {
		text += fmt.Sprintf(" It was not so before %s.", s.of(s.marks))
	}
	s.says(text)
	if s.chance(50) {
		s.user(s.of([]string{"continue", "yes, go on", "sounds right, do it", "ok. keep the public names as they are", "good, next"}))
	}
}

// plan writes the list of what is to be done.
func (s *script) plan() {
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
	s.run("", "TodoWrite", arguments("todos", items), "The list has been updated.")
}
