package files

import (
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

// failures are the beginnings of the results of calls that did nothing: in the words of
// Claude Code and its derivatives, Cline, Codex and SWE-agent.
var failures = []string{
	"<tool_use_error>", "the user doesn't want to", "[request interrupted", "error:", "error ", "string to replace not found",
	"the user denied", "the tool execution failed", "apply_patch verification failed", "no replacement was performed", "no changes to make",
}

// isFailedCall reports whether a result says that its call did nothing.
func isFailedCall(p chat.Part) bool {
	if p.Kind != chat.Result {
		return false
	}
	text := strings.TrimSpace(p.Text[:min(len(p.Text), 200)])
	for _, f := range failures {
		if p.Error || len(text) >= len(f) && strings.EqualFold(text[:len(f)], f) {
			return true
		}
	}
	return false
}

// A callSpot is a call: its message and its id.
type callSpot struct {
	message int
	id      string
}

// failedCalls returns the calls of t that did nothing.
func failedCalls(t chat.Transcript) map[callSpot]bool {
	var failed map[callSpot]bool
	var pairs chat.Pairs
	for i, m := range t {
		for _, p := range m.Parts {
			if !isFailedCall(p) {
				continue
			}
			if failed == nil {
				failed, pairs = make(map[callSpot]bool), chat.PairUp(t)
			}
			if at := pairs.CallOf[i]; at >= 0 {
				failed[callSpot{at, p.ID}] = true
			}
		}
	}
	return failed
}

// Failed reports whether copy c of message i is the text of an edit or a write that was
// not made, because its call failed or was refused.
func (x *Index) Failed(i int, c Ref) bool {
	return len(x.failed) > 0 && c.Arg != "" && x.failed[callSpot{i, x.t[i].Parts[c.Part].ID}]
}

// Removed reports whether a command or a patch removed or moved away the file of a
// path, and no later message reads or writes it.
func (x *Index) Removed(path string) bool {
	if x.removed == nil {
		x.findRemoved()
	}
	id, ok := x.names.fileOfPath(path)
	return ok && x.removed[id]
}

// findRemoved finds the files that were removed.
func (x *Index) findRemoved() {
	x.removed = make(map[int]bool)
	for i, m := range x.t {
		for _, p := range m.Parts {
			if p.Kind == chat.Call && mayRemove(p.Args) && !x.failed[callSpot{i, p.ID}] {
				for _, name := range removedPaths(p) {
					x.markRemoved(name, i)
				}
			}
		}
	}
}

func mayRemove(args string) bool {
	return strings.Contains(args, "rm ") || strings.Contains(args, "mv ") || strings.Contains(args, deletedFile)
}

// markRemoved marks the file of a path, or the files in that folder, as removed by
// message i.
func (x *Index) markRemoved(name string, i int) {
	mark := func(id int) {
		for k := len(x.files[id]) - 1; k >= 0 && x.files[id][k].message > i; k-- {
			if c := x.copyAtSpot(x.files[id][k]); c.Kind == Read || c.Kind == Write {
				return // it is there again
			}
		}
		x.removed[id] = true
	}
	if id, ok := x.names.fileOfPath(name); ok {
		mark(id)
		return
	}
	if folder := strings.TrimSuffix(name, "/") + "/"; strings.Count(folder, "/") > 1 {
		for id, path := range x.names.paths {
			if strings.HasPrefix(path, folder) {
				mark(id)
			}
		}
	}
}

const deletedFile = "*** Delete File: "

// removedPaths returns the paths that a call removes or moves away.
func removedPaths(call chat.Part) (paths []string) {
	for _, l := range stringLeaves(call.Args) {
		switch {
		case strings.Contains(l.value, deletedFile):
			for line := range strings.SplitSeq(l.value, "\n") {
				if path, ok := strings.CutPrefix(line, deletedFile); ok {
					paths = append(paths, strings.TrimSpace(path))
				}
			}
		case commandKeys[l.lastName()] && !strings.Contains(l.value, "<<"):
			paths = append(paths, removedByCommand(l.value)...)
		}
	}
	return paths
}

// removedByCommand returns the paths that rm, git rm, mv and git mv remove.
func removedByCommand(command string) (paths []string) {
	dir := ""
	for _, one := range splitSequence(command) {
		w := splitCommand(one)
		if len(w) > 1 && w[0] == "git" {
			w = w[1:]
		}
		if len(w) < 2 {
			continue
		}
		var names []string
		for _, name := range w[1:] {
			if !strings.HasPrefix(name, "-") && !strings.ContainsAny(name, "*?{$`<>|&") {
				names = append(names, name)
			}
		}
		switch {
		case w[0] == "cd" && len(names) == 1:
			dir = strings.TrimSuffix(names[0], "/") + "/"
			continue
		case w[0] == "mv" && len(names) == 2:
			names = names[:1]
		case w[0] != "rm":
			continue
		}
		for _, name := range names {
			if !strings.HasPrefix(name, "/") && strings.HasPrefix(dir, "/") {
				name = dir + strings.TrimPrefix(name, "./")
			}
			paths = append(paths, name)
		}
	}
	return paths
}

// splitSequence cuts a command at &&, ||, ; and line ends outside of quotes.
func splitSequence(command string) (parts []string) {
	masked, at := maskQuoted(command), 0
	for i := 0; i < len(masked); i++ {
		if strings.IndexByte("&|;\n", masked[i]) >= 0 {
			parts = append(parts, command[at:i])
			at = i + 1
		}
	}
	return append(parts, command[at:])
}

// goneRun is the minimum number of adjacent lines that a removed text must share with a
// copy: fewer may be elsewhere in the file too.
const goneRun = 3

// Left returns the parts of text, whole lines of c, without the lines that later edits
// removed although their whole text is not in c.
func (c Current) Left(text string) (parts []string) {
	if len(c.missed) == 0 {
		return []string{text}
	}
	lines := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
	gone, run := make([]bool, len(lines)), min(goneRun, len(lines))
	for at := 0; at+run <= len(lines); at++ {
		if c.isGone(strings.TrimSuffix(strings.Join(lines[at:at+run], ""), "\n")) {
			for k := range run {
				gone[at+k] = true
			}
		}
	}
	start := 0
	for i := 0; i <= len(lines); i++ {
		if i == len(lines) || gone[i] {
			if start < i {
				parts = append(parts, strings.Join(lines[start:i], ""))
			}
			start = i + 1
		}
	}
	return parts
}

// isGone reports whether a missed edit removed these lines and did not put them back.
func (c Current) isGone(lines string) bool {
	for _, e := range c.missed {
		if strings.Contains("\n"+e.took+"\n", "\n"+lines+"\n") && !strings.Contains("\n"+e.put+"\n", "\n"+lines+"\n") {
			return true
		}
	}
	return false
}
