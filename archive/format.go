package archive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// formatFile is the content of archive.json and session.json.
type formatFile struct {
	head
	Format  string `json:"format"`
	Session string `json:"session,omitempty"`
	Steps   runs   `json:"steps,omitempty"` // of session.json: numbers of all steps that were put
	Items   int    `json:"items,omitempty"` // of session.json: how many messages have a number
}

const sessionFormat = "tiercompact session"

const rootText = `{"v":1,"format":"tiercompact archive"}` + "\n"

// sessionText is the session.json of a session. With packs, it has the version that
// readers of the former format reject.
func sessionText(f formatFile) string {
	f.Format = sessionFormat
	if f.V == 0 {
		f.V = Version
	}
	return string(sealed(f))
}

// firstSessionText is the session.json of the first releases.
func firstSessionText(session string) string {
	text, err := json.Marshal(formatFile{head: head{Version}, Format: sessionFormat, Session: session})
	if err != nil {
		panic(err) // texts and numbers always have a JSON form
	}
	return string(text) + "\n"
}

func (l storeReader) readFormat(ctx context.Context, folder, name string) (f formatFile, err error) {
	b, err := l.readWholeFile(ctx, folder, name)
	if err == nil && folder == "" {
		err = decodeLine(b, &f)
	} else if err == nil {
		err = decodePacked(b, &f)
	}
	if err == nil && folder != "" && string(b) != firstSessionText(f.Session) {
		err = unsealed(b)
	}
	if err == nil && (folder != "" && f.Format != sessionFormat || !f.Steps.valid(maxNumbers)) {
		err = errChanged
	}
	if err == nil && folder != "" && !strings.EqualFold(folderName(f.Session), folder) {
		err = fmt.Errorf("%w: it holds session %q", ErrDamaged, f.Session)
	}
	if errors.Is(err, ErrDamaged) {
		err = fmt.Errorf("%w; if it is missing, it is written again: remove it, and continue the session", err)
	}
	if unreadable(err) {
		err = &Damage{File: l.filePath(folder, name), Err: err}
	}
	return f, err
}

// checkFormat returns fs.ErrNotExist if the root has no format yet.
func (l storeReader) checkFormat(ctx context.Context) error {
	_, err := l.readFormat(ctx, "", rootFile)
	return err
}

// folderOwner returns the session of a folder. On some file systems, its id may
// differ in case.
func (l storeReader) folderOwner(ctx context.Context, folder string) (string, error) {
	f, err := l.readFormat(ctx, folder, sessionFile)
	return f.Session, err
}

// presumedOwner is folderOwner or, if session.json is missing or damaged, the
// session of a step in the folder. It is "" if none has one.
func (l storeReader) presumedOwner(ctx context.Context, folder string) (string, error) {
	id, err := l.folderOwner(ctx, folder)
	if err == nil || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrDamaged) {
		return id, err
	}
	names, err := l.fileNames(ctx, folder)
	plain := folderName(folder) == folder
	if err != nil && unreadable(err) && plain {
		return folder, nil
	}
	if err != nil {
		return "", err
	}
	numbers := numbersOf(names)
	if id := l.packOwner(ctx, folder, names); id != "" {
		return id, nil
	}
	for _, n := range numbers {
		text, err := l.readStepLineAt(ctx, folder, n, 1)
		if err != nil {
			continue
		}
		if h, err := decodeHeader(text, n); err == nil && folderName(h.Session) == folder {
			return h.Session, nil
		}
	}
	has := func(name string) bool {
		_, _, packed := packNumbers(name)
		_, events := eventsNumber(name)
		return packed || events || name == prunedFile
	}
	if (len(numbers) > 0 || slices.ContainsFunc(names, has)) && plain {
		return folder, nil
	}
	return "", ctx.Err()
}

// packOwner returns the session of a pack in the folder, "" if none has one.
func (l storeReader) packOwner(ctx context.Context, folder string, names []string) string {
	l.scans = nil // read each pack as one of its own session
	for _, name := range names {
		first, last, ok := packNumbers(name)
		if !ok {
			continue
		}
		v := &packs{storeReader: l, folder: folder}
		if v.open(ctx, name, first, last) == nil {
			if id := v.files[0].head.Session; id != "" && folderName(id) == folder {
				v.close()
				return id
			}
		}
		v.close()
	}
	return ""
}

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
	return first, last, err == nil && first > 0 && last >= first && last-first < maxNumbers && name == spanName(start, end, first, last)
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
