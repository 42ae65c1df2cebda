package summarize

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/internal/clip"
	"github.com/tiercompact/tiercompact/internal/logline"
)

var (
	// passedLine is a line with which a runner reports that tests passed.
	passedLine = regexp.MustCompile(`^(?:ok\s+\S+\s.*|PASS|OK(?: \(.*\))?|test result: ok\..*|=*\s*\d+ passed\b.*|Tests:?\s+(?:\d+ \w+(?:, | \| ))*\d+ passed\b.*|\d+ passing\b.*|# fail 0)$`)
	// failedLine is a line with which a runner reports that tests failed, or did not run.
	failedLine = regexp.MustCompile(`^(?:FAIL|# fail [1-9]|test result: FAILED|not ok |error(?:\[|:)|panic:)|\b[1-9]\d* (?:failed|failing|errors?)\b|\[(?:build|setup) failed\]`)
	// passedTest is a line about one test that passed, in the forms of Go, pytest and Rust.
	passedTest = regexp.MustCompile(`^--- PASS: (\S+) \(|^(\S+) PASSED\b|^test (\S+) \.\.\. ok$`)
)

// showsPassed reports whether an output has the verdict of a runner that tests passed, and
// none that some failed.
func showsPassed(text string) bool {
	passed := false
	reader := logline.NewReader(text)
	for line := range strings.Lines(ends(text)) {
		line = strings.TrimSpace(line)
		if failedLine.MatchString(line) || reader.Of(line) == logline.FailedTest {
			return false
		}
		passed = passed || passedLine.MatchString(line)
	}
	return passed
}

// passedTests returns the names of the tests that an output shows as passed.
func passedTests(text string) (names []string) {
	for line := range strings.Lines(ends(text)) {
		if m := passedTest.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			names = append(names, strings.Join(m[1:], ""))
		}
	}
	return names
}

// ends returns a text, or its two ends if it is long.
func ends(text string) string {
	if len(text) <= 2*maxScan {
		return text
	}
	return clip.Bytes(text, maxScan) + "\n" + strings.ToValidUTF8(text[len(text)-maxScan:], "")
}

// onlyTests reports whether all that a line does is to run tests.
func onlyTests(line string) bool {
	all := slices.DeleteFunc(subcommands(line), exploresFiles)
	return len(all) > 0 && !slices.ContainsFunc(all, func(s string) bool {
		family := testRunOf(s).family
		return family == "" || strings.HasPrefix(family, "check ")
	})
}

// rustResult is the result of one of the test binaries that Cargo runs.
var rustResult = regexp.MustCompile(`(?m)^test result: ok\. (\d+) passed; 0 failed; (\d+) ignored;`)

// rustTotal returns the sum of the results of all test binaries, "" if there are not
// several: the last one is often of documentation without tests.
func rustTotal(text string) string {
	all := rustResult.FindAllStringSubmatch(ends(text), -1)
	if len(all) < 2 {
		return ""
	}
	passed, ignored := 0, 0
	for _, m := range all {
		passed, ignored = passed+numberOf(m[1]), ignored+numberOf(m[2])
	}
	return fmt.Sprintf("test result: ok. %d passed; 0 failed; %d ignored", passed, ignored)
}
