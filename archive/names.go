package archive

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// The files of an archive, and those of a session's folder in it.
const (
	rootFile    = "archive.json"
	sessionFile = "session.json"
	prunedFile  = "pruned.json"
)

func transcriptName(n int) string { return fmt.Sprintf("transcript-pre-compact-%03d.jsonl", n) }
func summaryName(n int) string    { return fmt.Sprintf("summary-%03d.json", n) }
func stepName(n int) string       { return fmt.Sprintf("step-%03d.jsonl", n) }

// packName is the name of a file with the steps from first to last, of which some
// may have been pruned.
func packName(first, last int) string { return spanName("steps", ".pack", first, last) }

// packNumbers returns the numbers in the name of a pack.
func packNumbers(name string) (first, last int, ok bool) { return spanIn(name, "steps", ".pack") }

// oldEventsName is the name of a file with compressed events, possibly of several
// files.
func oldEventsName(first, last int) string {
	return spanName("old-events", ".jsonl.gz", first, last)
}

func oldEventsNumbers(name string) (first, last int, ok bool) {
	return spanIn(name, "old-events", ".jsonl.gz")
}

func spanName(start, end string, first, last int) string {
	if first == last {
		return fmt.Sprintf("%s-%03d%s", start, first, end)
	}
	return fmt.Sprintf("%s-%03d-%03d%s", start, first, last, end)
}

// spanIn returns the numbers in a name of spanName.
func spanIn(name, start, end string) (first, last int, ok bool) {
	rest, ok := strings.CutPrefix(name, start+"-")
	rest, has := strings.CutSuffix(rest, end)
	if !ok || !has {
		return 0, 0, false
	}
	a, b, two := strings.Cut(rest, "-")
	if !two {
		b = a
	}
	first, err := strconv.Atoi(a)
	if err != nil {
		return 0, 0, false
	}
	last, err = strconv.Atoi(b)
	return first, last, err == nil && first > 0 && last >= first && last-first < mostNumbers && name == spanName(start, end, first, last)
}

// stepFiles are the names of a step's files. The step exists with the first, so
// that one is written last and removed first.
func stepFiles(n int) [3]string { return [3]string{stepName(n), transcriptName(n), summaryName(n)} }

// stepNumber returns the number in the name of a step file.
func stepNumber(name string) (int, bool) { return numberIn(name, "step-", stepName) }

// contentNumber returns the number in the name of a transcript or a summary.
func contentNumber(name string) (int, bool) {
	if n, ok := numberIn(name, "transcript-pre-compact-", transcriptName); ok {
		return n, true
	}
	return numberIn(name, "summary-", summaryName)
}

// eventsName is the name of one of the files of events: a store that cannot append
// begins another one.
func eventsName(n int) string {
	if n == 1 {
		return "events.jsonl"
	}
	return fmt.Sprintf("events-%03d.jsonl", n)
}

func eventsNumber(name string) (int, bool) {
	if name == eventsName(1) {
		return 1, true
	}
	return numberIn(name, "events-", eventsName)
}

// numberIn returns n if name is nameOf(n).
func numberIn(name, start string, nameOf func(n int) string) (n int, ok bool) {
	rest, ok := strings.CutPrefix(name, start)
	digits, _, _ := strings.Cut(rest, ".")
	n, err := strconv.Atoi(digits)
	return n, ok && err == nil && n > 0 && name == nameOf(n)
}

var (
	plainName = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]{0,78}[A-Za-z0-9_-]$|^[A-Za-z0-9_]$`)
	// Windows gives these names, with any extension, to devices.
	deviceName = regexp.MustCompile(`(?i)^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)`)
	unsafeRun  = regexp.MustCompile(`[^A-Za-z0-9_-]+`)
)

// folderName returns a valid name for the folder of a session on every file system:
// the id if it is plain, else its plain characters and a hash, separated by a
// character that plain ids do not have.
func folderName(session string) string {
	if plainName.MatchString(session) && !deviceName.MatchString(session) && !strings.EqualFold(session, rootFile) {
		return session
	}
	sum := sha256.Sum256([]byte(session))
	start := strings.Trim(unsafeRun.ReplaceAllString(session[:min(len(session), 40)], "-"), "-")
	return "s" + "~" + start + "~" + hex.EncodeToString(sum[:10])
}
