// Package logline classifies a line of a tool output by what it reports: an error,
// a failed test, success. It is the only such list, for digests and for the outcome
// of commands.
package logline

import (
	"strings"
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
