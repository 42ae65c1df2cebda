// Package logline classifies a line of a tool output by what it reports: an error,
// a failed test, success. It is the only such list, for digests and for the outcome
// of commands.
package logline

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/tiercompact/tiercompact/chat"
)

// A Kind is what a line of output reports, the most serious last.
type Kind uint8

// The kinds of line.
const (
	Plain      Kind = iota
	Success         // that all went well: "0 errors", "ok 3 - adds", "Exit Code: 0"
	Trouble         // a word of trouble that decides nothing: a warning, an expected value
	Error           // an error, or that something failed
	FailedTest      // that a test failed, with its name
)

// longest limits how many bytes of a line are read.
const longest = 1 << 10

// Of returns the kind of a line by itself.
func Of(line string) Kind { return Reader{}.Of(line) }

// A Reader classifies the lines of one output: in some, a numbered line is a failed
// test. The zero Reader knows nothing about the output.
type Reader struct{ listed bool }

// NewReader returns a Reader for the lines of text.
func NewReader(text string) Reader {
	for _, head := range []string{" failing", "Failures:", "FAILURES!", "ERRORS!", " failure:", " failures:", " error:\n", " errors:\n", " failure\n", " failures\n", " failed\n", " failures,", " failure,"} {
		if strings.Contains(text, head) {
			return Reader{listed: true}
		}
	}
	return Reader{}
}

// Of returns the kind of a line of the output.
func (r Reader) Of(line string) Kind {
	line = normalizeLine(line)
	switch {
	case line == "":
		return Plain
	case reportsSuccess(line):
		return Success
	}
	if name, _ := r.failedTest(line); name != "" {
		return FailedTest
	}
	return kindByWords(line)
}

// FailedTest returns the name of the test that line reports as failed, and the
// reason if the line has one; "" if it reports none.
func (r Reader) FailedTest(line string) (name, why string) {
	if line = normalizeLine(line); line == "" || reportsSuccess(line) {
		return "", ""
	}
	return r.failedTest(line)
}

// normalizeLine returns line in the form in which words are searched.
func normalizeLine(line string) string {
	if len(line) > longest {
		cut := longest
		for cut > 0 && !utf8.RuneStart(line[cut]) {
			cut--
		}
		line = line[:cut]
	}
	return strings.TrimSpace(chat.Visible(line))
}

// reportsSuccess reports whether line says that one test or step succeeded,
// whatever its name says.
func reportsSuccess(line string) bool {
	for _, head := range []string{"ok ", "ok\t", "--- PASS", "--- SKIP", "=== RUN", "PASS", "✓ ", "✔ ", "√ ", "[       OK ]", "[  PASSED  ]", "[ RUN "} {
		if strings.HasPrefix(line, head) {
			return !strings.HasPrefix(line, "PASS:") || !strings.Contains(line, "FAIL:")
		}
	}
	if rest, ok := strings.CutPrefix(line, "not ok "); ok {
		up := strings.ToUpper(rest)
		return strings.Contains(up, "# TODO") || strings.Contains(up, "# SKIP")
	}
	for _, end := range []string{" ... ok", " ... ignored", " PASSED", " SKIPPED", " XFAIL", "...ok", "... OK"} {
		if strings.HasSuffix(line, end) {
			return true
		}
	}
	return strings.Contains(line, " PASSED [") || strings.Contains(line, " XFAIL [") || strings.Contains(line, " SKIPPED [")
}

// exits are the lines, in lower case, in which a tool reports the exit code of a
// command: those of Codex, mini-swe-agent, Gemini CLI, OpenHands, pi, Claude Code,
// Copilot, Kimi, Cline.
var exits = sync.OnceValue(func() []*regexp.Regexp {
	return []*regexp.Regexp{
		regexp.MustCompile(`^"?(?:process )?exit[ _]?(?:code|status)"?[ :=]+(-?\d+)\.?$`),
		regexp.MustCompile(`^<(?:returncode|exit_?code|exit_status)>\s*(-?\d+)\s*</`),
		regexp.MustCompile(`^[\[(<]?(?:the )?(?:process|command|program|script|shell|task)?(?: (?:was|has|execution))? ?(?:finished|completed|executed|failed|exited|ended|terminated)? ?(?:successfully )?(?:with|and returned)? ?(?:exited with )?(?:exit )?(?:code|status):? (-?\d+)\.?[\])>]?$`),
		regexp.MustCompile(`^command executed\b.*\bexit code: (-?\d+)$`),
		regexp.MustCompile(`^[\[(]?(?:command|shell|process) exited (?:with )?(-?\d+)[\])]?\.?$`),
		regexp.MustCompile(`^\[exit (-?\d+)\]$`),
		regexp.MustCompile(`^exit[:=] ?(-?\d+)$`),
		regexp.MustCompile(`^return ?code[:=]? ?(-?\d+)$`),
	}
})

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
	if !strings.Contains(text, "\n") {
		return exitCodeOf(text)
	}
	rest := text
	for range exitHead {
		line, more, _ := strings.Cut(rest, "\n")
		if inner := strings.TrimSpace(more); line == "Output:" && strings.HasPrefix(inner, "{") && inJSON.MatchString(inner) {
			return ExitCode(inner) // a script printed the whole result
		}
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
	if len(line) > 200 || !mayNameExitCode(line) {
		return 0, false // the patterns take far longer
	}
	line = strings.ToLower(strings.TrimSpace(chat.Visible(line)))
	if !strings.Contains(line, "code") && !strings.Contains(line, "status") && !strings.HasPrefix(line, "exit") && !strings.Contains(line, " exited ") && !strings.HasPrefix(line, "[exit ") {
		return 0, false
	}
	for _, e := range exits() {
		if m := e.FindStringSubmatch(line); m != nil {
			return parseDigits(m[1]), true
		}
	}
	return 0, false
}

// mayNameExitCode reports whether a line has a digit, and letters of a word that the
// patterns of exit codes need: code, status, exit.
func mayNameExitCode(line string) bool {
	var seen [1 << 5]bool // letters in either case
	digit := false
	for i := range len(line) {
		c := line[i]
		digit = digit || '0' <= c && c <= '9'
		if c|0x20 >= 'a' && c|0x20 <= 'z' {
			seen[c&0x1f] = true
		}
	}
	has := func(letter byte) bool { return seen[letter&0x1f] }
	return digit && (has('c') && has('o') && has('d') && has('e') || has('s') && has('t') && has('a') && has('u') || has('e') && has('x') && has('i') && has('t'))
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
	for _, h := range []string{"chunk id:", "wall time:", "wall time ", "script completed", "warning: truncated output", "command:", "directory:", "exit", "process exited", "command executed", "original token", "total output", "cwd:", "duration:"} {
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

// longestName limits the bytes of a test's name.
const longestName = 160

// A form is how a test runner reports a failed test: the first group is the name,
// the second, if any, the reason.
type form struct {
	holds string // a text in each such line, because a regular expression is slow
	line  *regexp.Regexp
}

// forms are those of the runners, each with the runner whose output has it.
var forms = sync.OnceValue(func() []form {
	return []form{
		{"--- FAIL", regexp.MustCompile(`^(?:=== |--- )FAIL: (.+?)(?: \([\d.]+s\))?$`)},                                 // go test
		{"=== FAIL", regexp.MustCompile(`^=== FAIL: \S+ (.+?)(?: \([\d.]+s\))?$`)},                                      // gotestsum
		{"not ok", regexp.MustCompile(`^not ok (?:\d+ ?)?(?:- )?(.+?)(?: # time=.*)?$`)},                                // TAP
		{"FAILED", regexp.MustCompile(`^(?:\[gw\d+\] )?(?:\[ *\d+%\] )?(?:FAILED|ERROR) (\S+::.+?)(?: - (.+))?$`)},      // pytest
		{"ERROR", regexp.MustCompile(`^ERROR (\S+\.py\S*)(?: - (.+))?$`)},                                               // pytest
		{"::", regexp.MustCompile(`^(\S+::.+?) (?:FAILED|ERROR)(?: +\[ *\d+%\])?$`)},                                    // pytest -v
		{"(", regexp.MustCompile(`^(?:FAIL|ERROR): (\w+ \([\w.]+\))`)},                                                  // unittest
		{"...", regexp.MustCompile(`^(?:test )?(.+?) ?\.\.\. ?(?:FAILED|FAIL|ERROR)(?: \(.*\))?$`)},                     // cargo, unittest, deno
		{"FAIL [", regexp.MustCompile(`^FAIL \[ *[\d.]+s\] (.+)$`)},                                                     // cargo nextest
		{"<<<", regexp.MustCompile(`^(?:\[ERROR\] +)?(.+?)\s+(?:--\s+)?Time elapsed: .* <<< (?:FAILURE|ERROR|ÉCHEC)!`)}, // Surefire
		{"<<<", regexp.MustCompile(`^(?:\[ERROR\] +)?(\S.*?)\s+<<< (?:FAILURE|ERROR)!`)},                                // Surefire
		{"[ERROR]", regexp.MustCompile(`^\[ERROR\]\s+([A-Z]\w*(?:[.>]+\w+)+:\d+)(?:->\S+)*\s*(.*)$`)},                   // Surefire, at the end
		{" FAILED", regexp.MustCompile(`^(\S+(?: > .+)) FAILED$`)},                                                      // Gradle
		{" FAILED", regexp.MustCompile(`^(//\S+)\s+FAILED\b`)},                                                          // Bazel
		{"FAILED  ]", regexp.MustCompile(`^\[  FAILED  \] ([A-Za-z_]\S*)(?:,.*| \(.*)?$`)},                              // googletest
		{"***", regexp.MustCompile(`^\d+/\d+ Test +#\d+: (\S+) \.*\*\*\*(.+?)(?: +[\d.]+ sec)?$`)},                      // CTest
		{"(Failed)", regexp.MustCompile(`^\d+ - (\S+) \(Failed\)`)},                                                     // CTest
		{"failed (", regexp.MustCompile(`^Test Case '(.+?)' failed \(`)},                                                // XCTest
		{"[FAIL]", regexp.MustCompile(`^(?:\[xUnit\.net [\d:.]+\]\s+)?(\S.*?) \[FAIL\]$`)},                              // xUnit
		{"s]", regexp.MustCompile(`^(?:Failed|Fehler|Fehlgeschlagen|Échec|Échoué|Con error|Error|Com falha|Falha|Non superato|失败|失敗|실패|Не пройден|Сбой) (\S.*?) \[[<\d., ]+\S*s\]$`)}, // dotnet test, also in other languages
		{"(FAILED", regexp.MustCompile(`^(.+?) \((?:FAILED|ERROR) - \d+\)$`)},               // RSpec, documentation
		{"rspec ", regexp.MustCompile(`^rspec (\./\S+)(?: # (.+))?$`)},                      // RSpec, at the end
		{"[E]", regexp.MustCompile(`^\d\d:\d\d (?:\+\d+ )?(?:~\d+ )?-\d+: (.+) \[E\]$`)},    // Dart
		{"Failed", regexp.MustCompile(`^(\S+\.t) \.+ (?:Dubious|Failed \d+/\d+ subtests)`)}, // prove
		{"● ", regexp.MustCompile(`^● (.+(?: › ).+)$`)},                                     // Jest
		{"FAIL ", regexp.MustCompile(`^❯?\s*FAIL\s+(\S+\.\w+ > .+)$`)},                      // Vitest
		{"FAIL ", regexp.MustCompile(`^FAIL\s+(\S+\.(?:test|spec)\.\w+)(?: \(.*\))?$`)},     // Jest
		{"── ", regexp.MustCompile(`^── (?:Failure|Error) \((.+?)\)`)},                      // testthat
	}
})

// failMarks are the signs before the name of a failed test.
var failMarks = []string{"✗ ", "✕ ", "× ", "✘ ", "✖ ", "[FAIL] ", "[X] "}

var (
	timing   = regexp.MustCompile(` *\([<\d.,]+ ?(?:m|µ|n)?s(?:ec)?\)$`)
	numbered = regexp.MustCompile(`^\d+\) (\S.*)$`)
	counted  = regexp.MustCompile(`^[\d,.]+ `)
	assigned = regexp.MustCompile(`^(?:Failure|Error):$`)
)

func (r Reader) failedTest(line string) (name, why string) {
	for _, f := range forms() {
		if !strings.Contains(line, f.holds) {
			continue
		}
		if m := f.line.FindStringSubmatch(line); m != nil {
			if len(m) > 2 {
				why = m[2]
			}
			return testName(m[1]), why
		}
	}
	for _, mark := range failMarks {
		if rest, ok := strings.CutPrefix(line, mark); ok && rest != "" && !counted.MatchString(rest) {
			return testName(rest), ""
		}
	}
	if r.listed {
		if m := numbered.FindStringSubmatch(line); m != nil && !assigned.MatchString(m[1]) {
			return testName(strings.TrimSuffix(m[1], ":")), ""
		}
	}
	return "", ""
}

// testName returns the name of a test without its duration.
func testName(name string) string {
	name = strings.TrimSpace(timing.ReplaceAllString(name, ""))
	if len(name) > longestName {
		name = strings.ToValidUTF8(name[:longestName], "")
	}
	return name
}
