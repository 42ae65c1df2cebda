package tui

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// completeLine completes the last word of a line: the name of a command, a path after
// a command or an @, or the name of a session. It returns the longer line, and the
// candidates if there are several.
func completeLine(line, dir string) (longer string, candidates []string) {
	name, arg, hasArg := strings.Cut(line, " ")
	at := strings.LastIndexAny(line, " \n") + 1
	word := line[at:]
	quote := strings.LastIndex(line, `@"`)
	switch {
	case quote >= 0 && !strings.Contains(line[quote+2:], `"`):
		return completeQuoted(line[:quote], line[quote+2:])
	case strings.HasPrefix(word, "@") && slices.ContainsFunc(paths(word[1:]), func(p string) bool { return strings.HasPrefix(p, word[1:]) && strings.Contains(p, " ") }):
		return completeQuoted(line[:at], word[1:])
	case strings.HasPrefix(word, "@"):
		return completeWord(line[:at+1], word[1:], paths(word[1:]))
	case !strings.HasPrefix(line, "/"):
		return line, nil
	case !hasArg:
		return completeWord("/", word[1:], commandNames())
	case name == "/add" || name == "/save":
		return completeWord(name+" ", arg, paths(arg))
	case name == "/sessions":
		names, _ := Saved(dir)
		return completeWord(name+" ", arg, names)
	}
	return line, nil
}

// completeQuoted completes a path after an @ that has blanks, or may get some.
func completeQuoted(before, path string) (longer string, candidates []string) {
	longer, candidates = completeWord("", path, paths(path))
	found, whole := strings.CutSuffix(longer, " ")
	whole = whole && len(candidates) == 0
	switch {
	case whole && strings.Contains(found, " "):
		return before + `@"` + found + `" `, nil
	case !whole && strings.Contains(longer, " "):
		return before + `@"` + longer, candidates
	}
	return before + "@" + longer, candidates
}

func commandNames() []string {
	var names []string
	for _, c := range commands() {
		names = append(names, c.name)
	}
	return names
}

// completeWord extends a word by what all its candidates have in common. A blank
// follows the only one, unless it is a folder.
func completeWord(before, word string, candidates []string) (string, []string) {
	candidates = slices.DeleteFunc(candidates, func(c string) bool { return !strings.HasPrefix(c, word) })
	slices.Sort(candidates)
	switch len(candidates) {
	case 0:
		return before + word, nil
	case 1:
		only := candidates[0]
		if !strings.HasSuffix(only, "/") {
			only += " "
		}
		return before + only, nil
	}
	common := []rune(candidates[0])
	for _, c := range candidates[1:] {
		n := 0
		for n < len(common) && strings.HasPrefix(c, string(common[:n+1])) {
			n++
		}
		common = common[:n]
	}
	return before + string(common), candidates
}

// paths returns the entries of the folder of a path, folders with a slash. Hidden
// ones are left out, unless the path names them.
func paths(path string) []string {
	dir, base := filepath.Split(path)
	entries, err := os.ReadDir(filepath.Clean("./" + dir))
	if filepath.IsAbs(path) {
		entries, err = os.ReadDir(dir)
	}
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") && !strings.HasPrefix(base, ".") {
			continue
		}
		name := dir + e.Name()
		if e.IsDir() {
			name += "/"
		}
		out = append(out, name)
	}
	return out
}
