package archive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
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
	if err == nil && (folder != "" && f.Format != sessionFormat || !f.Steps.valid(mostNumbers)) {
		err = errChanged
	}
	if err == nil && folder != "" && !strings.EqualFold(folderName(f.Session), folder) {
		err = fmt.Errorf("%w: it is of session %q", ErrDamaged, f.Session)
	}
	if errors.Is(err, ErrDamaged) {
		err = fmt.Errorf("%w; it is written anew where it is missing: remove it, and go on with the session", err)
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

func notOwner(folder, owner string) error {
	return fmt.Errorf("folder %s belongs to session %q; choose another session id", folder, owner)
}
