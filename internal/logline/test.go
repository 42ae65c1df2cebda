package logline

import (
	"regexp"
	"strings"
)

// longestName limits the bytes of a test's name.
const longestName = 160

// A form is how a test runner reports a failed test: the first group is the name,
// the second, if any, the reason.
type form struct {
	holds string // a text in each such line, because a regular expression is slow
	line  *regexp.Regexp
}

// forms are those of the runners, each with the runner whose output has it.
var forms = []form{
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

// failMarks are the signs before the name of a failed test.
var failMarks = []string{"✗ ", "✕ ", "× ", "✘ ", "✖ ", "[FAIL] ", "[X] "}

var (
	timing   = regexp.MustCompile(` *\([<\d.,]+ ?(?:m|µ|n)?s(?:ec)?\)$`)
	numbered = regexp.MustCompile(`^\d+\) (\S.*)$`)
	counted  = regexp.MustCompile(`^[\d,.]+ `)
	assigned = regexp.MustCompile(`^(?:Failure|Error):$`)
)

func (r Reader) failedTest(line string) (name, why string) {
	for _, f := range forms {
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
