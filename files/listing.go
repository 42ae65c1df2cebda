package files

import (
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

// A listing is a line that shows several files of one directory: git's M src/{a,b}.go
// stands for two lines of a listing, in a third of their tokens.
type listing struct {
	head    string      // of each line, up to the end of the directory
	members int         // lines that can be in it
	taken   []*nameLine // lines that are in it
	size    int         // tokens
}

// An entry is the file that a line of a listing names.
type entry struct{ head, base string }

// entryOf returns the entry of a line that has a path and at most a state of git before
// it, or that ls -l printed of a directory.
func entryOf(line, dir string) (e entry, ok bool) {
	fields := strings.Fields(line)
	if len(fields) == 0 {
		return e, false
	}
	last := fields[len(fields)-1]
	if dir != "" {
		return entry{dir, last}, isMode(fields[0]) && !strings.Contains(last, "/")
	}
	at := strings.LastIndexByte(last, '/') + 1
	if at == 0 || at == len(last) || strings.ContainsAny(last, "{},()[]\"'`*|:=") || strings.Trim(last[at:], ".") == "" {
		return e, false
	}
	state := fields[:len(fields)-1]
	if len(state) > 0 && !isGitState(strings.Join(state, " ")) {
		return e, false
	}
	return entry{strings.Join(append(state, last[:at]), " "), last[at:]}, true
}

// isGitState reports whether s is what git writes before a changed path.
func isGitState(s string) bool {
	switch s {
	case "modified:", "deleted:", "new file:", "renamed:", "both modified:":
		return true
	}
	return len(s) <= 2 && strings.Trim(s, "MADRCTU?!") == ""
}

// modeBytes is the length of a mode as ls -l prints it: -rw-r--r--.
const modeBytes = 10

func isMode(s string) bool {
	return len(s) >= modeBytes && strings.IndexByte("-dlbcps", s[0]) >= 0 && strings.Trim(s[1:modeBytes], "rwxsStT-") == ""
}

// listedDirectory returns the directory that a call lists with ls, with a slash at its
// end; "" if it lists none, or several.
func listedDirectory(call chat.Part) string {
	_, texts := textsOf(call)
	for _, l := range texts {
		command := strings.TrimSpace(l.value)
		if strings.ContainsAny(command, "\n;&|<>$`*?") {
			continue
		}
		words := splitCommand(command)
		if len(words) < 2 || words[0] != "ls" {
			continue
		}
		dirs := slices.DeleteFunc(words[1:], func(w string) bool { return strings.HasPrefix(w, "-") })
		if len(dirs) == 1 && dirs[0] != "." {
			return strings.TrimSuffix(dirs[0], "/") + "/"
		}
	}
	return ""
}

// text returns the line of what is taken and of more, oldest first.
func (g *listing) text(more ...*nameLine) string {
	lines := append(slices.Clone(g.taken), more...)
	if len(lines) == 1 {
		return lines[0].text
	}
	slices.SortFunc(lines, func(a, b *nameLine) int { return b.order - a.order })
	var bases []string
	for _, l := range lines {
		if !slices.Contains(bases, l.entry.base) {
			bases = append(bases, l.entry.base)
		}
	}
	if len(bases) == 1 {
		return g.head + bases[0]
	}
	return g.head + "{" + strings.Join(bases, ",") + "}"
}

// joinListings lets the lines of a queue share a line with others of their listing.
func (q nameLineQueue) joinListings() {
	listings := make(map[string]*listing)
	for _, l := range q {
		if l.entry.base == "" {
			continue
		}
		g := listings[l.entry.head]
		if g == nil {
			g = &listing{head: l.entry.head}
			listings[l.entry.head] = g
		}
		g.members++
		l.listing = g
	}
	for _, l := range q {
		if l.listing != nil && l.listing.members < minListed {
			l.listing = nil
		}
	}
}

// minListed is the minimum number of lines that share one.
const minListed = 3
