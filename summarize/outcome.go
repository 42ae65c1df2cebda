package summarize

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/clip"
	"github.com/tiercompact/tiercompact/internal/logline"
)

// An outcome says how a call ended.
type outcome struct {
	failed   bool
	rejected bool     // by the user
	running  bool     // it did not end by itself
	guessed  bool     // that it failed, by words of the output of a command with an exit code of its own
	said     string   // what the user said with it
	line     string   // the most informative line of the output
	tests    []string // names of tests that failed
}

// maxScan limits how much of either end of an output is read.
const maxScan = 32 << 10

// outcomeOf reads the result of a. The exit code from the tool decides how a
// command ended, or its mark if the client marks failures (flags); the words of the
// output decide only if there is neither, or if it belongs to the last of several
// commands.
func outcomeOf(a action, p chat.Part, flags bool) outcome {
	text := strings.TrimSpace(withoutBlocks(p.Text, "<system-reminder>", "</system-reminder>"))
	if head := clip.Bytes(text, 200); strings.Contains(head, "tool use was rejected") || strings.HasPrefix(head, "The user doesn't want to take this action") {
		_, said, _ := strings.Cut(text, "the user said:")
		return outcome{failed: true, rejected: true, said: strings.TrimSpace(said), line: "rejected by the user" + saidInstead(text)}
	}
	if a.kind == runs {
		switch tail := text[max(0, len(text)-maxNotice):]; {
		case strings.Contains(tail, notExecuted):
			return outcome{failed: true, line: "not executed: the previous command was still running"}
		case containsAny(tail, noNewOutput...):
			return outcome{running: true, line: runsOnLine}
		case strings.HasPrefix(text, backgroundHead):
			return outcome{running: true, line: backgroundLine}
		}
	}
	code, known := 0, false
	if a.kind == runs || a.kind == uses {
		code, known = logline.ExitCode(text)
	}
	echoed := false
	if a.kind == runs && code == 0 {
		var printed int
		if printed, echoed = printedExit(a.line(), text); echoed {
			code, known = printed, true
		}
	}
	if flags && !known {
		known = true
	}
	if known && a.kind == runs {
		text = printedText(text)
	}
	failed := p.Error || code != 0 || a.kind == uses && strings.HasPrefix(text, a.tool+" failed: ")
	if a.kind == runs && code <= 1 && exitsWithFilter(a.line()) {
		failed, code = false, 0 // it says whether a line was found
	}
	o := outcome{failed: failed || !known && (failedAtOnce(text) || a.kind == runs && strings.HasPrefix(withoutFrame(text), rustDiff))}
	if a.kind == runs && (o.failed || !onlyShows(a.line()) && !printsContent(a.object)) {
		masked := masksExitCode(a.line()) && !echoed
		passed := !o.failed && (masked || !known) && onlyTests(a.line()) && showsPassed(text)
		o.readLog(text, o.failed || passed || known && !masked)
		o.guessed = o.failed && !known && !masked
	}
	if body := withoutFrame(text); body != "" {
		text = body
	}
	switch {
	case a.delegates:
		text, _, _ = strings.Cut(text, "\nagentId: ")
	case o.failed && a.kind == uses:
		text = withoutCall(strings.TrimPrefix(text, a.tool+" failed: "))
	}
	switch {
	case o.line != "":
	case o.failed && a.kind == runs:
		o.line = firstComplaint(text)
	case o.failed || strings.HasPrefix(a.object, "git "):
		o.line = firstTelling(text)
	case a.kind == runs && !filtersOutput(a.line()):
		o.line = lastTelling(text, strings.Contains(a.object, "test"))
	case a.delegates && !saysStarted(text):
		o.line = cmp.Or(clipLine(conclusion(text, true), 160), clipLine(text, 120))
	case a.kind == uses && !saysStarted(text):
		o.line = clipLine(text, 120)
	}
	o.line = clipLine(plainLine(clip.Bytes(o.line, 1<<10)), 160)
	if code != 0 && !echoed || echoed && o.line == "" {
		o.line = strings.TrimSuffix(fmt.Sprintf("exit code %d: %s", code, o.line), ": ")
	}
	return o
}

// notExecuted is in the answer of OpenHands to a command that it did not start.
const notExecuted = "is NOT executed. The previous command is still running"

// maxNotice limits the end of an output in which a client says that it has not ended.
const maxNotice = 1 << 10

// noNewOutput is in its answer to a command that it no longer waits for.
var noNewOutput = []string{"[The command has no new output after ", "You may wait longer to see additional output by sending empty command"}

// backgroundHead begins the answer of Claude Code to a command that it started in the
// background, before the id of the task.
const backgroundHead = "Command running in background with ID: "

// What is said of a command that has not ended, and of one that was stopped then.
const (
	runsOnLine     = "still running"
	backgroundLine = "running in the background"
	stoppedLine    = "stopped by Ctrl-C"
	killedLine     = "stopped"
)

// printedExit returns the exit code that a line of several commands prints at its end:
// npm test; echo "EXIT: $?". If it prints several, the first that is not 0 counts.
func printedExit(line, output string) (code int, ok bool) {
	commands := splitShell(line)
	if len(commands) == 0 || !strings.Contains(commands[len(commands)-1].text, "$?") {
		return 0, false
	}
	for l := range strings.Lines(ends(output)) {
		if l = strings.TrimSpace(l); exitEcho.MatchString(l) {
			ok = true
			code = cmp.Or(code, numberOf(l[strings.LastIndexAny(l, ":= ")+1:]))
		}
	}
	return code, ok
}

// numberOf returns the number that digits write, 1 if it is too large.
func numberOf(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 1
	}
	return n
}

// withoutCall returns what a tool says of a failure after the command that it called.
func withoutCall(text string) string {
	first, rest, _ := strings.Cut(text, "\n")
	if next, _, _ := strings.Cut(rest, "\n"); strings.HasPrefix(first, "Command failed: ") && isTelling(strings.TrimSpace(next)) {
		return rest
	}
	return text
}

// saysStarted reports whether the result of a tool says only that it was called.
func saysStarted(text string) bool {
	for _, head := range []string{"Launching skill", "Entered plan mode", "Async agent launched"} {
		if strings.HasPrefix(text, head) {
			return true
		}
	}
	return slices.Contains([]string{"{}", "[]", "null", "(no output)"}, text)
}

// printedText returns what a command printed, if its result is an object with that and
// its exit code.
func printedText(text string) string {
	var result struct{ Output, Stdout, Stderr string }
	body := text[max(0, strings.Index("\n"+text, "\n{")):]
	if !strings.HasPrefix(body, "{") || json.Unmarshal([]byte(body), &result) != nil || result.Output+result.Stdout+result.Stderr == "" {
		return text
	}
	return strings.TrimSpace(result.Output + result.Stdout + "\n" + result.Stderr)
}

var (
	outputTags = strings.NewReplacer("<output>", "", "</output>", "")
	errorTags  = strings.NewReplacer("<tool_use_error>", "", "</tool_use_error>", "")
)

// withoutFrame returns an output without the lines and tags with which tools report
// the exit code.
func withoutFrame(text string) string {
	if strings.Contains(text, "output>") {
		text = outputTags.Replace(text)
	}
	head := linesBefore(text, frameHead)
	tail := max(head, linesAfter(text, frameTail))
	if !hasFrameLine(text[:head]) && !hasFrameLine(text[tail:]) {
		return strings.TrimSpace(text)
	}
	var b strings.Builder
	b.Grow(len(text))
	writeUnframed(&b, text[:head])
	b.WriteString(text[head:tail])
	writeUnframed(&b, text[tail:])
	return strings.TrimSpace(b.String())
}

// frameHead and frameTail are the numbers of lines at either end of an output among
// which those of a frame are.
const frameHead, frameTail = 8, 12

// linesBefore returns the length of the first n lines of a text.
func linesBefore(text string, n int) (at int) {
	for ; n > 0 && at < len(text); n-- {
		i := strings.IndexByte(text[at:], '\n')
		if i < 0 {
			return len(text)
		}
		at += i + 1
	}
	return at
}

// linesAfter returns the beginning of the last n lines of a text.
func linesAfter(text string, n int) int {
	at := len(text)
	for range n {
		if at = strings.LastIndexByte(text[:at], '\n'); at < 0 {
			return 0
		}
	}
	return at + 1
}

func hasFrameLine(text string) bool {
	for line := range strings.Lines(text) {
		if isFrameLine(strings.TrimSuffix(line, "\n")) {
			return true
		}
	}
	return false
}

// writeUnframed writes the lines that are not of a frame.
func writeUnframed(b *strings.Builder, text string) {
	for line := range strings.Lines(text) {
		if !isFrameLine(strings.TrimSuffix(line, "\n")) {
			b.WriteString(line)
		}
	}
}

// frameHeads are the beginnings of lines that tools add to an output; isFrameLine
// knows their first letters.
var frameHeads = []string{
	"Wall time:", "Wall time ", "Script completed", "Script failed", "Script error:",
	"Warning: truncated output", "Output:", "Chunk ID:", "Original token count:", "Total output lines:",
	"Directory:", "Command:", "Signal: ", "Error: (none)", "Stderr: (empty)", "Stdout: (empty)", "Background PIDs:",
	"(Open file:", "(Current directory:", "bash-$", "Process Group PGID:", "[Current working directory:", "[Python interpreter:",
}

// isFrameLine reports whether a tool added a line to an output.
func isFrameLine(line string) bool {
	line = strings.TrimSpace(line)
	if _, known := logline.ExitCode(line); known {
		return true
	}
	if line == "" || strings.IndexByte("WSOCTDEPB(b[", line[0]) < 0 {
		return false
	}
	for _, head := range frameHeads {
		if strings.HasPrefix(line, head) {
			return head != "Output:" || line == head
		}
	}
	return false
}

// plainLine returns line without tags of tools and invisible characters.
func plainLine(line string) string {
	return chat.Visible(errorTags.Replace(strings.TrimPrefix(line, "Stdout: ")))
}

// saidInstead returns the user's words with a rejected call.
func saidInstead(text string) string {
	if _, said, ok := strings.Cut(text, "the user said:"); ok {
		return ": " + clipLine(said, 120)
	}
	return ""
}

// wasMisused reports whether a call failed only because it was called wrongly: not
// a fault of the work.
func (o outcome) wasMisused() bool {
	return containsAny(o.line, "unknown flag", "unknown option", "unrecognized", "permission denied", "not found", "No such file", "does not exist", "not been read", "Sibling tool call", "usage:", "Usage:", "rejected by the user",
		"missing required", "required option", "required argument", "unexpected argument", "invalid option", "invalid argument", "unknown command", "Unknown command", "Unknown option", "no such option", "Cannot find module", "cannot find main module", "unknown linter", "Is a directory", "Not a directory")
}

// failedAtOnce reports whether an output begins with a failure of the call.
func failedAtOnce(text string) bool {
	first, _, _ := strings.Cut(text, "\n")
	for _, head := range []string{"<tool_use_error>", "Error:", "error:", "fatal:", "Traceback (most recent call last)", "panic:", "bash: ", "command not found", "Script failed", "Script error:", "aborted by user", "Your proposed edit has introduced"} {
		if strings.HasPrefix(first, head) {
			return logline.Of(strings.TrimPrefix(first, "<tool_use_error>")) != logline.Success
		}
	}
	last := strings.ToLower(text[strings.LastIndexByte(text, '\n')+1:])
	return strings.HasSuffix(text, "command not found") || timedOut(strings.ToLower(first)) || timedOut(last)
}

// rustDiff begins the output of cargo fmt --check if a file is not formatted.
const rustDiff = "Diff in /"

// timedOut reports whether a line in lower case, the first or the last of an output, says
// that the client ended the command.
func timedOut(line string) bool {
	line = strings.TrimLeft(line, "[(<$ ")
	for _, head := range []string{"timed out", "command timed out", "the command timed out", "process timed out", "execution timed out", "timeout:", "timeout after", "command was aborted", "command aborted", "command was interrupted"} {
		if strings.HasPrefix(line, head) {
			return true
		}
	}
	return false
}

// readLog searches for failed tests and errors, line by line. If the outcome of the
// command is known, it searches only for the reason.
func (o *outcome) readLog(text string, decided bool) {
	if len(text) > 2*maxScan {
		text = text[:maxScan] + "\n" + text[len(text)-maxScan:]
	}
	if decided && !o.failed {
		return
	}
	reader := logline.NewReader(text)
	said := false // the line before named a failed test: this one says why
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		kind := reader.Of(line)
		switch {
		case kind == logline.FailedTest:
			name, why := reader.FailedTest(line)
			o.failed = true
			if len(o.tests) < maxTests && !slices.Contains(o.tests, clipLine(name, 120)) {
				o.tests = append(o.tests, clipLine(name, 120))
			}
			o.line = cmp.Or(o.line, why)
		case (said || kind == logline.Error) && isNoise(line):
			continue
		case o.line == "" && said && !isFailMark(line) && line != "" && !isFrameLine(line):
			o.line = line
		case o.line == "" && kind == logline.Error && !isFrameLine(line):
			o.failed = true
			if !isFailMark(line) {
				o.line = line
			}
		}
		said = kind == logline.FailedTest
	}
}

// maxTests limits the failed tests of one output that are followed.
const maxTests = 100

// isFailMark reports whether line says that something failed, but not what.
func isFailMark(line string) bool {
	return strings.Trim(line, "FAIL- ") == "" || exitEcho.MatchString(line) || taskFailed.MatchString(line)
}

// taskFailed is a line with which a runner of tasks says that one of them failed.
var taskFailed = regexp.MustCompile(`^(?:\[[\w:.-]+\] )?ERROR task failed$|^make(?:\[\d+\])?: \*\*\* \[.*\] Error \d+$|^error: Recipe .+ failed|^(?:npm ERR!|npm error) (?:code ELIFECYCLE|Lifecycle script .+ failed)`)

// onlyExplores reports whether a line only reads: its output may contain any word, and
// says nothing about its outcome.
func onlyExplores(line string) bool {
	commands := splitShell(line)
	for _, c := range commands {
		if s := plainCommand(c.text); s != "" && !onlyPrepares(s) && !exploresFiles(s) {
			return false
		}
	}
	return true
}

// onlyShows reports whether a line only reads, or prints what somebody else wrote.
func onlyShows(line string) bool {
	return !slices.ContainsFunc(splitShell(line), func(c shellCommand) bool {
		s := plainCommand(c.text)
		return s != "" && !onlyPrepares(s) && !exploresFiles(s) && !printsContent(s)
	})
}

// explorers are programs that only read.
var explorers = strings.Fields(`ls cat head tail grep egrep fgrep rg ag find fd sed awk wc which type tree file stat jq yq diff cmp comm less
	more sort uniq cut tr nl column env date ps pgrep lsof du df for test [ [[ tee xxd od hexdump strings md5sum md5 sha256sum shasum basename dirname
	realpath readlink id whoami hostname uname nproc free history man tac fold pwd case`)

// exploresFiles reports whether a command without wrappers only reads.
func exploresFiles(command string) bool {
	words := strings.Fields(command)
	switch first := words[0]; {
	case onlyFetches(command) || slices.Contains(explorers, first), len(words) == 2 && words[1] == "--version":
		return true
	case first == "xargs":
		rest := slices.DeleteFunc(slices.Clone(words[1:]), func(w string) bool { return strings.HasPrefix(w, "-") || strings.Trim(w, "0123456789{}") == "" })
		return len(rest) > 0 && (slices.Contains(explorers, rest[0]) || exploringScript(command))
	case slices.Contains(shells, first):
		return exploringScript(command)
	case first == "git":
		return !slices.Contains(gitChanges, gitCommand(words))
	}
	return false
}

// shells run a script that is one of their arguments.
var shells = []string{"bash", "sh", "zsh"}

// exploringScript reports whether the script of a shell only reads: bash -c 'cat a'.
func exploringScript(command string) bool {
	shell, script, ok := strings.Cut(command, " -c ")
	words := strings.Fields(shell)
	return ok && slices.Contains(shells, words[len(words)-1]) && onlyExplores(strings.Trim(strings.TrimSpace(script), `"'`))
}

// gitCommand returns the command among the words of a line of git.
func gitCommand(words []string) string {
	for i := 1; i < len(words); i++ {
		switch {
		case words[i] == "-C" || words[i] == "-c":
			i++
		case !strings.HasPrefix(words[i], "-"):
			return words[i]
		}
	}
	return ""
}

// gitChanges are the commands of git that change something.
var gitChanges = []string{"commit", "push", "pull", "merge", "rebase", "checkout", "switch", "tag", "cherry-pick", "reset", "revert", "rm", "mv", "restore", "stash", "am", "apply", "clone"}

// printsContent reports whether a command prints what somebody else wrote, or the
// output of a script in its arguments: the words of its output say nothing about how
// it ended.
func printsContent(command string) bool {
	words := strings.Fields(plainCommand(command))
	if len(words) < 2 {
		return false
	}
	switch words[0] {
	case "curl", "wget", "http", "psql", "sqlite3", "mysql", "redis-cli":
		return true
	case "gh", "docker", "kubectl", "git", "aws":
		return slices.ContainsFunc(words[1:min(len(words), 4)], func(w string) bool {
			return slices.Contains([]string{"api", "view", "list", "checks", "diff", "logs", "get", "describe", "ps", "inspect", "show", "log"}, w)
		})
	}
	return words[1] == "-c" || words[1] == "-e" || strings.HasPrefix(command, "python3 -c ") || strings.HasPrefix(command, "python -c ")
}

// onlyFetches reports whether a command only reads from a server.
func onlyFetches(command string) bool {
	first, _, _ := strings.Cut(plainCommand(command), " ")
	return (first == "curl" || first == "wget") && !containsAny(command, " -X P", " -X D", " -XP", " -XD", " --request P", " --request D", " -d ", " --data", " -F ", " -T ", " --json", " -o ", " -O")
}

// firstTelling returns the first line that contains more than an exit code.
func firstTelling(text string) string {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "Exit code ") && !isNoise(line) && !isHeadingLine(line) && !fileStatus.MatchString(line) {
			return line
		}
	}
	return ""
}

// firstComplaint returns the first line of a failed command's output that names an
// error, else the first with a word of trouble, else the last.
func firstComplaint(text string) string {
	if first, _, _ := strings.Cut(text, "\n"); strings.HasPrefix(first, rustDiff) {
		return first
	}
	reader, trouble := logline.NewReader(text), ""
	for line := range strings.Lines(clip.Bytes(text, maxScan)) {
		if trouble == "" && locatedLine.MatchString(line) {
			trouble = strings.TrimSpace(line)
		}
		switch kind := reader.Of(line); {
		case kind >= logline.Error && (isNoise(line) || isFailMark(strings.TrimSpace(line))):
		case kind >= logline.Error:
			return strings.TrimSpace(line)
		case kind == logline.Trouble && trouble == "":
			trouble = strings.TrimSpace(line)
		}
	}
	return cmp.Or(trouble, lastTelling(text, false))
}

// locatedLine is a finding of a compiler or linter, with the place in a file.
var locatedLine = regexp.MustCompile(`^(?:\[[\w:.-]+\] )?[\w./@-]+\.\w+:\d+(?::\d+)?:? \S`)

// lastTelling returns the last informative line; of tests, preferably one with
// their results. Data is shown from its beginning.
func lastTelling(text string, tests bool) string {
	if total := rustTotal(text); total != "" {
		return total
	}
	if strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[{") {
		return clipLine(text, 120)
	}
	last := ""
	for range maxBack {
		at := strings.LastIndexByte(text, '\n')
		line := strings.TrimSpace(text[at+1:])
		if isTelling(line) {
			if !tests || containsAny(strings.ToLower(line), "pass", "fail") {
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

// maxBack limits the lines that are read from the end of an output.
const maxBack = 12

// isHeadingLine reports whether a line of output only announces what follows.
func isHeadingLine(line string) bool {
	return strings.HasSuffix(line, ":") && logline.Of(line) < logline.Trouble || headingRule.MatchString(line)
}

// fileStatus is a line of git about one of several files.
var fileStatus = regexp.MustCompile(`^[MADRCTU?]{1,2}\s+\S+$`)

// headingRule is a heading between rules: === Step 2 ===.
var headingRule = regexp.MustCompile(`^(?:={2,}|-{2,}|#{2,}) [^=]+ (?:={2,}|-{2,}|#{2,})$`)

// isTelling reports whether line is more than a bracket, a rule, an exit code
// or the echo of a command.
func isTelling(line string) bool {
	if isFrameLine(line) || isNoise(line) || isHeadingLine(line) || isCode(line) || taskFailed.MatchString(line) || isMarkup(line) || exitEcho.MatchString(line) || strings.HasPrefix(line, "</") || strings.HasPrefix(line, "SESSION_ID=") || strings.HasSuffix(line, "$") || line == "remote:" || strings.HasPrefix(line, "[") && strings.Contains(line, "] $ ") {
		return false
	}
	letters := 0
	for t := range wordTokens(clip.Bytes(line, 200)) {
		letters += len(t.text)
	}
	return letters > 1 && !strings.HasSuffix(line, "no output)") && !strings.HasPrefix(line, "Exit code ") && !strings.HasPrefix(line, "> ")
}
