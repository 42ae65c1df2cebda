package corpus

import (
	"fmt"
	"slices"
	"strings"
)

// A module is the part of a project for one task.
type module struct {
	name  string
	files []*file
	// known are files whose text the assistant has seen.
	known map[*file]bool
}

// A project is the subject of a session.
type project struct {
	dice
	name    string
	modules []*module
}

// newProject generates a project of the given number of modules.
func newProject(d dice, modules int) *project {
	p := &project{dice: d, name: d.pickWord(projects)}
	names := slices.Clone(subjects)
	d.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for i := range modules {
		name := names[i%len(names)]
		if i >= len(names) {
			name += fmt.Sprint(i / len(names))
		}
		p.modules = append(p.modules, p.newModule(name))
	}
	return p
}

func (p *project) newModule(name string) *module {
	m := &module{name: name, known: make(map[*file]bool)}
	lang := goLanguage()
	switch n := p.IntN(10); {
	case n >= 9:
		lang = scriptLanguage()
	case n >= 7:
		lang = pythonLanguage()
	}
	names := slices.Clone(roles)
	p.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for i := range p.numberBetween(2, 5) {
		lines := p.numberBetween(30, 140)
		if p.percentChance(15) {
			lines = p.numberBetween(250, 500)
		}
		m.files = append(m.files, writeCodeFile(p.dice, lang, name, names[i], "internal/"+name, lines))
	}
	return m
}

// pickFile returns a file of m, one that was read if seen is true and there is one.
func (p *project) pickFile(m *module, seen bool) *file {
	if seen && len(m.known) > 0 {
		for {
			if f := m.files[p.IntN(len(m.files))]; m.known[f] {
				return f
			}
		}
	}
	return m.files[p.IntN(len(m.files))]
}

// A change is an edit of a file.
type change struct{ old, new string }

// editFunction edits f in or near the function of a name: it adds at least one line
// to a run of statements. ok is false if no run is unique.
func (p *project) editFunction(f *file, name string) (c change, ok bool) {
	from := slices.IndexFunc(f.lines, func(line string) bool { return strings.Contains(line, name+"(") && !isStatement(line) })
	for range 40 {
		at, n := min(len(f.lines)-1, max(0, from)+p.IntN(24)), p.numberBetween(1, 4)
		if n = statements(f, at, n); n == 0 {
			continue
		}
		old := strings.Join(f.lines[at:at+n], "\n")
		if strings.Count(strings.Join(f.lines, "\n"), old) != 1 {
			continue
		}
		fresh := p.rewritten(f, f.lines[at:at+n])
		f.lines = slices.Replace(f.lines, at, at+n, fresh...)
		return change{old, strings.Join(fresh, "\n")}, true
	}
	return change{}, false
}

// statements returns how many lines from at on, at most n, are statements that can
// be changed separately.
func statements(f *file, at, n int) int {
	for k := range n {
		if at+k >= len(f.lines) {
			return k
		}
		if !isStatement(f.lines[at+k]) {
			return k
		}
	}
	return n
}

// isStatement reports whether a line is a statement in a function that opens and
// closes no block.
func isStatement(line string) bool {
	text := strings.TrimSpace(line)
	opens := strings.HasSuffix(text, "{") || strings.HasSuffix(text, ":") || strings.HasPrefix(text, "}")
	return len(text) >= 14 && !opens && text != line
}

// rewritten returns lines with some of them changed, and often one added.
func (p *project) rewritten(f *file, lines []string) []string {
	c := coder{dice: p.dice, lang: f.lang, module: "x"}
	out := slices.Clone(lines)
	k := p.IntN(len(out))
	indent := out[k][:len(out[k])-len(strings.TrimLeft(out[k], "\t "))]
	fresh := indent + strings.TrimLeft(c.fillTemplate(p.pickWord(f.lang.plain), c.variable(), c.variable()), "\t ")
	if p.percentChance(40) {
		out[k] = fresh
		return out
	}
	for range p.numberBetween(1, 3) {
		out = slices.Insert(out, k+1, fresh)
		fresh = indent + strings.TrimLeft(c.fillTemplate(p.pickWord(f.lang.plain), c.variable(), c.variable()), "\t ")
	}
	return out
}
