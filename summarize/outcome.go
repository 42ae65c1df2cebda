package summarize

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

// An outcome says how a call ended.
type outcome struct {
	failed   bool
	rejected bool     // by the user
	line     string   // the most telling line of the output
	tests    []string // names of tests that failed
}

// maxScan is how much of either end of an output is looked at.
const maxScan = 32 << 10

// outcomeOf reads the result of a.
func outcomeOf(a action, p chat.Part) outcome {
	text := strings.TrimSpace(withoutBlocks(p.Text, "<system-reminder>", "</system-reminder>"))
	if strings.Contains(prefix(text, 200), "tool use was rejected") {
		return outcome{failed: true, rejected: true, line: "rejected by the user" + saidInstead(text)}
	}
	o := outcome{failed: p.Error || failedAtOnce(text)}
	if a.verb == runs && (o.failed || !explores(a.object)) {
		o.readLog(text)
	}
	switch {
	case o.line != "":
	case o.failed && a.verb == runs:
		o.line = complaint(text)
	case o.failed || strings.HasPrefix(a.object, "git "):
		o.line = firstTelling(text)
	case a.verb == runs && !filters(a.object):
		o.line = lastTelling(text, strings.Contains(a.object, "test"))
	case a.verb == uses:
		o.line = clip(text, 120)
	}
	o.line = clip(plainLine(prefix(o.line, 1<<10)), 160)
	return o
}

// plainLine returns line without tags of tools and without escape sequences
// of terminals.
func plainLine(line string) string {
	line = strings.ReplaceAll(strings.ReplaceAll(line, "<tool_use_error>", ""), "</tool_use_error>", "")
	for {
		before, after, ok := strings.Cut(line, "\x1b[")
		if !ok {
			return line
		}
		after = strings.TrimLeft(after, "0123456789;?")
		line = before + after[min(1, len(after)):]
	}
}

// saidInstead returns what the user said where a call was rejected.
func saidInstead(text string) string {
	if _, said, ok := strings.Cut(text, "the user said:"); ok {
		return ": " + clip(said, 120)
	}
	return ""
}

// filters reports whether a command shows only matching lines of its output:
// its last line says nothing about how it ended.
func filters(command string) bool {
	return strings.Contains(command, "| grep ") || strings.Contains(command, "| rg ") || strings.Contains(command, "| awk ")
}

// misused reports whether a failed call was only called wrongly: no fault of
// what is worked on.
func (o outcome) misused() bool {
	return has(o.line, "unknown flag", "unknown option", "unrecognized", "permission denied", "not found", "No such file", "does not exist", "not been read", "Sibling tool call", "usage:", "Usage:", "rejected by the user")
}

// failedAtOnce reports whether an output says in its first words that the
// call failed.
func failedAtOnce(text string) bool {
	if code, ok := strings.CutPrefix(text, "Exit code "); ok {
		return !strings.HasPrefix(code, "0")
	}
	for _, head := range []string{"<tool_use_error>", "Error:", "error:", "fatal:", "Traceback (most recent call last)", "panic:", "bash: ", "command not found"} {
		if strings.HasPrefix(text, head) {
			return true
		}
	}
	return strings.HasSuffix(text, "command not found")
}

// readLog looks for failed tests and for errors, line by line.
func (o *outcome) readLog(text string) {
	if len(text) > 2*maxScan {
		text = text[:maxScan] + "\n" + text[len(text)-maxScan:]
	}
	said := false // the line before named a failed test: this one says why
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		name, why := failedTest(line)
		switch {
		case name != "":
			o.failed = true
			if len(o.tests) < mostNames && !slices.Contains(o.tests, name) {
				o.tests = append(o.tests, name)
			}
			o.line = cmp.Or(o.line, why)
		case o.line == "" && said && !isFailMark(line) && line != "":
			o.line = line
		case o.line == "" && isError(line):
			o.failed = true
			if !isFailMark(line) {
				o.line = line
			}
		}
		said = name != ""
	}
}

// isFailMark reports whether line says that something failed, but not what.
func isFailMark(line string) bool { return strings.Trim(line, "FAIL- ") == "" }

// failedTest returns the name of the test that line reports as failed, and
// what it says about why.
func failedTest(line string) (name, why string) {
	for _, head := range []string{"--- FAIL: ", "FAILED ", "✗ ", "✕ ", "× ", "not ok "} {
		if rest, ok := strings.CutPrefix(line, head); ok {
			name, why, _ = strings.Cut(strings.TrimSpace(rest), " ")
			if !strings.HasPrefix(why, "- ") {
				why = ""
			}
			return clip(name, 120), strings.TrimPrefix(why, "- ")
		}
	}
	if rest, ok := strings.CutSuffix(line, " ... FAILED"); ok {
		return clip(strings.TrimPrefix(rest, "test "), 120), ""
	}
	return "", ""
}

// isError reports whether line of a log names an error.
func isError(line string) bool {
	for _, head := range []string{"FAIL", "panic:", "fatal:", "Error:", "error:", "error[", "ERROR", "npm ERR!", "Traceback", "E   ", "undefined:", "AssertionError", "TypeError", "ValueError", "SyntaxError", "make: ***"} {
		if strings.HasPrefix(line, head) {
			return true
		}
	}
	return strings.Contains(line, ": error: ") || strings.Contains(line, ": undefined: ") || strings.Contains(line, "Error: ")
}

// explores reports whether a command only looks around: what it prints may
// hold any word, and says nothing about how it ended.
func explores(command string) bool {
	first, _, _ := strings.Cut(command, " ")
	switch first {
	case "ls", "cat", "head", "tail", "grep", "rg", "find", "sed", "awk", "wc", "echo", "pwd", "which", "tree", "file", "stat", "jq", "diff", "cd", "sleep", "less", "sort", "env", "date", "ps", "pgrep", "lsof", "du", "df", "for", "while", "test":
		return true
	case "git":
		second, _, _ := strings.Cut(strings.TrimPrefix(command, "git "), " ")
		return second != "commit" && second != "push" && second != "merge" && second != "rebase" && second != "checkout" && second != "switch" && second != "tag" && second != "cherry-pick" && second != "reset" && second != "revert"
	}
	return false
}

// firstTelling returns the first line that says more than an exit code.
func firstTelling(text string) string {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "Exit code ") {
			return line
		}
	}
	return clip(text, 40)
}

// complaint returns the first line of a failed command's output that sounds
// like one, else the last.
func complaint(text string) string {
	for line := range strings.Lines(prefix(text, maxScan)) {
		if low := strings.ToLower(line); has(low, "error", "fail", "cannot", "not found", "denied", "invalid", "unknown", "undefined", "missing", "refused") {
			return strings.TrimSpace(line)
		}
	}
	return lastTelling(text, false)
}

// lastTelling returns the last line that says something; of tests, rather one
// that says how they went. Data is shown from its beginning.
func lastTelling(text string, tests bool) string {
	if strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[{") {
		return clip(text, 120)
	}
	last := ""
	for range mostBack {
		at := strings.LastIndexByte(text, '\n')
		line := strings.TrimSpace(text[at+1:])
		if isTelling(line) {
			if !tests || has(strings.ToLower(line), "pass", "fail") {
				return line
			}
			last = cmp.Or(last, line)
		}
		if at < 0 {
			break
		}
		text = text[:at]
	}
	return last
}

// mostBack is how many lines from its end an output is looked at.
const mostBack = 12

// isTelling reports whether line is more than a bracket, a rule, an exit code
// or the echo of a command.
func isTelling(line string) bool {
	letters := 0
	for t := range tokens(prefix(line, 200)) {
		letters += len(t.text)
	}
	return letters > 1 && line != "(no output)" && !strings.HasPrefix(line, "Exit code ") && !strings.HasPrefix(line, "> ")
}
