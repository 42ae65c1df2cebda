package files

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

// A listing is the lines that show files of one directory. Those that do not fit share
// one: git's M src/{a.go,b.go} stands for two lines, in a third of their tokens.
type listing struct {
	head  string // of each line, up to the end of the directory
	lines []*nameLine
}

// entryOf returns what comes before the file that a line of a listing shows, and the
// file's name. The line has a path and at most a state of git before it; or ls -l printed
// it of a directory.
func entryOf(line, dir string) (head, base string, ok bool) {
	fields := strings.Fields(line)
	if len(fields) == 0 {
		return "", "", false
	}
	last := fields[len(fields)-1]
	if strings.ContainsAny(last, "{},()[]\"'`*|:=") {
		return "", "", false
	}
	if dir != "" && isMode(fields[0]) { // with more fields a name has blanks, or is a link
		return dir, last, len(fields) <= modeFields && !strings.Contains(last, "/")
	}
	at := strings.LastIndexByte(last, '/') + 1
	if at == 0 || at == len(last) {
		return "", "", false
	}
	state := fields[:len(fields)-1]
	if len(state) > 0 && !isGitState(strings.Join(state, " ")) {
		return "", "", false
	}
	return strings.Join(append(state, last[:at]), " "), last[at:], true
}

// isGitState reports whether s is what git writes before a changed path.
func isGitState(s string) bool {
	switch s {
	case "modified:", "deleted:", "new file:", "renamed:", "both modified:":
		return true
	}
	return len(s) <= 2 && strings.Trim(s, "MADRCTU?!") == ""
}

const (
	modeBytes  = 10 // length of a mode as ls -l prints it: -rw-r--r--
	modeFields = 9  // of a line that it begins
)

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

// eachPathInside calls yield with the names that are paths from deeper directories to
// the file of a path.
func (n *Names) eachPathInside(path string, yield func(k int32)) {
	for _, rest, ok := strings.Cut(path, "/"); ok; _, rest, ok = strings.Cut(rest, "/") {
		if k, known := n.at[rest]; known {
			yield(k)
		}
	}
}

// joinListings lets the lines of a queue that show files of one directory have one
// listing, and returns the listings, that of the newest line first.
func (q nameLineQueue) joinListings() (listings []*listing) {
	of := make(map[string]*listing)
	for _, l := range q {
		if l.listing == nil {
			continue
		}
		g := of[l.listing.head]
		if g == nil {
			g = l.listing
			of[g.head] = g
			listings = append(listings, g)
		}
		g.lines = append(g.lines, l)
		l.listing = g
	}
	return listings
}

// minShared and maxShared are the limits of how many lines that were not taken share one.
const minShared, maxShared = 3, 64

// sharedLine returns the line that those lines of a listing share which were not taken
// and have names that are nowhere, nil for none. Lines that were taken share it too
// until it fits; the least wanted files are left out if it never does.
func (p *linePicker) sharedLine(g *listing) *nameLine {
	var shared, taken []*nameLine
	for _, l := range g.lines {
		if l.taken {
			taken = append(taken, l)
		} else if p.gain(l) > 0 {
			shared = append(shared, l)
		}
	}
	slices.SortStableFunc(shared, func(a, b *nameLine) int { return cmp.Compare(p.gain(b), p.gain(a)) })
	for shared = shared[:min(len(shared), maxShared)]; len(shared) >= minShared; shared = shared[:len(shared)*3/4] {
		left := p.left
		for n := len(taken); n >= 0; n-- {
			if n < len(taken) {
				left += p.count(taken[n].text) + 1
			}
			lines := slices.Concat(shared, taken[n:])
			if text := g.join(lines); p.count(text)+1 <= left {
				return p.takeShared(text, lines, left)
			}
		}
	}
	return nil
}

// takeShared takes a line that lines of a listing share, of left tokens.
func (p *linePicker) takeShared(text string, shared []*nameLine, left int) *nameLine {
	line := &nameLine{text: text, order: shared[0].order, taken: true}
	for _, l := range shared {
		line.order = min(line.order, l.order)
		p.take(l)
		l.taken = false
		for _, k := range slices.Concat(l.names, l.inside) {
			p.present[k] = true
		}
	}
	p.left = left - p.count(text) - 1
	return line
}

// join returns the line that lines of a listing share.
func (g *listing) join(lines []*nameLine) string {
	lines = slices.SortedFunc(slices.Values(lines), func(a, b *nameLine) int { return b.order - a.order })
	var bases []string
	for _, l := range lines {
		if !slices.Contains(bases, l.base) {
			bases = append(bases, l.base)
		}
	}
	return g.head + "{" + strings.Join(bases, ",") + "}"
}
