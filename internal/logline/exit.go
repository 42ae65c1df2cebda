package logline

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

// exits are the lines, in lower case, in which a tool reports the exit code of a
// command: those of Codex, mini-swe-agent, Gemini CLI, OpenHands, pi, Claude Code,
// Copilot, Kimi, Cline.
var exits = []*regexp.Regexp{
	regexp.MustCompile(`^"?(?:process )?exit[ _]?(?:code|status)"?[ :=]+(-?\d+)\.?$`),
	regexp.MustCompile(`^<(?:returncode|exit_?code|exit_status)>\s*(-?\d+)\s*</`),
	regexp.MustCompile(`^[\[(<]?(?:the )?(?:process|command|program|script|shell|task)?(?: (?:was|has|execution))? ?(?:finished|completed|executed|failed|exited|ended|terminated)? ?(?:successfully )?(?:with|and returned)? ?(?:exited with )?(?:exit )?(?:code|status):? (-?\d+)\.?[\])>]?$`),
	regexp.MustCompile(`^return ?code[:=]? ?(-?\d+)$`),
}

// inJSON is the code in the metadata of an answer that is an object.
var inJSON = regexp.MustCompile(`"(?:exit_?[cC]ode|returncode|exit_status)"\s*:\s*(-?\d+)`)

// The number of lines at either end of an output that may report the exit code.
const exitHead, exitTail = 6, 12

// ExitCode returns the exit code that the tool itself reports at the beginning or
// at the end of an output; known is false if there is none.
func ExitCode(text string) (code int, known bool) {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "{") && strings.HasSuffix(text, "}") {
		if all := inJSON.FindAllStringSubmatch(text, -1); len(all) > 0 {
			return parseDigits(all[len(all)-1][1]), true
		}
	}
	rest := text
	for range exitHead {
		line, more, _ := strings.Cut(rest, "\n")
		if code, known := exitCodeOf(line); known {
			return code, true
		}
		if !isHeader(line) {
			break // the output of the command begins
		}
		rest = more
	}
	for range exitTail {
		at := strings.LastIndexByte(text, '\n')
		if code, known := exitCodeOf(text[at+1:]); known {
			return code, true
		}
		if at < 0 {
			break
		}
		text = text[:at]
	}
	return 0, false
}

// exitCodeOf returns the exit code in a line.
func exitCodeOf(line string) (code int, known bool) {
	if len(line) > 200 {
		return 0, false
	}
	line = strings.ToLower(strings.TrimSpace(chat.Visible(line)))
	for _, e := range exits {
		if m := e.FindStringSubmatch(line); m != nil {
			return parseDigits(m[1]), true
		}
	}
	return 0, false
}

func parseDigits(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 1 // too large to be one: it is not 0
	}
	return n
}

// isHeader reports whether a tool wrote a line before an output.
func isHeader(line string) bool {
	line = strings.ToLower(strings.TrimSpace(line))
	for _, h := range []string{"chunk id:", "wall time:", "command:", "directory:", "exit", "process exited", "original token", "total output", "cwd:", "duration:"} {
		if strings.HasPrefix(line, h) {
			return true
		}
	}
	return false
}

var endedWith = regexp.MustCompile(`(?:exit(?:ed)?(?: with)?(?: (?:code|status))?|return ?code|exit_code|exitcode)[">]*[:=]? ?(-?\d+)`)

// kindByExitCode returns the kind of a line in lower case by an exit code in it.
func kindByExitCode(low string) Kind {
	if !strings.Contains(low, "exit") && !strings.Contains(low, "return") {
		return Plain
	}
	m := endedWith.FindStringSubmatch(low)
	switch {
	case m == nil:
		return Plain
	case parseDigits(m[1]) == 0:
		return Success
	}
	return Error
}
