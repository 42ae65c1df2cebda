package archive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// A stepReader reads step n, and calls bad with each damage in it: if bad returns
// nil, it continues.
type stepReader struct {
	storeReader
	session, folder string
	n               int
	bad             func(*Damage) error

	h     headerLine
	known bool // the header can be read
	s     Step
}

// readStep returns a step, or fs.ErrNotExist.
func (l storeReader) readStep(ctx context.Context, session string, n int, bad func(*Damage) error) (Step, headerLine, error) {
	r := &stepReader{storeReader: l, session: session, folder: folderName(session), n: n, bad: bad}
	err := r.readStepFile(ctx)
	if err == nil && r.known {
		err = r.readTranscript(ctx)
	}
	if err == nil && r.known && r.h.Summary {
		err = r.readSummary(ctx)
	}
	return r.s, r.h, err
}

func (r *stepReader) damageAt(name string, line int, entry string, err error) *Damage {
	return &Damage{Session: r.session, Step: r.n, Entry: entry, File: r.filePath(r.folder, name), Line: line, Err: err}
}

func (r *stepReader) readStepFile(ctx context.Context) error {
	name := stepName(r.n)
	f, err := r.openFile(ctx, r.folder, name)
	if err != nil {
		return r.reportUnopened(name, err)
	}
	defer f.Close()
	line := 0
	for text, err := range readLines(f) {
		line++
		if err == nil {
			err = r.readStepLine(line, text)
		}
		if err == nil {
			continue
		}
		if err := r.bad(r.damageAt(name, line, r.entryIDAt(line), err)); err != nil || line == 1 {
			return err
		}
	}
	if want := 2 + len(r.h.Entries); line != want {
		return r.bad(r.damageAt(name, 0, "", fmt.Errorf("%w: it has %d lines, not %d", ErrDamaged, line, want)))
	}
	return nil
}

// reportUnopened is for a file of a step that cannot be opened.
func (r *stepReader) reportUnopened(name string, err error) error {
	if missing := errors.Is(err, fs.ErrNotExist); missing && name == stepName(r.n) {
		return err
	} else if missing {
		err = errMissing
	}
	return r.bad(r.damageAt(name, 0, "", err))
}

// entryIDAt returns the id of the entry on a line, "" if it has none.
func (r *stepReader) entryIDAt(line int) string {
	if at := line - 3; at >= 0 && at < len(r.h.Entries) {
		return r.h.Entries[at]
	}
	return ""
}

func (r *stepReader) readStepLine(n int, text []byte) (err error) {
	switch at := n - 3; {
	case n == 1:
		if r.h, err = decodeHeader(text, r.n); err != nil {
			return err
		}
		h := r.h
		r.known = true
		r.s = Step{
			Session: h.Session, Number: h.Number, Time: h.Time, Level: h.Level, Reason: h.Reason,
			Note: h.Note, Undoes: h.Undoes, Redacted: h.StepInfo.Redacted, Left: h.Left, Written: h.Written,
		}
	case n == 2:
		r.s.Edits, err = decodeRound(text, r.h.OfRound)
	case at < len(r.h.Entries):
		var e Entry
		e, err = decodeEntry(text, r.h.Entries[at], r.h.entryHash(at))
		r.s.Removed = append(r.s.Removed, e)
	}
	return err
}

func (r *stepReader) readTranscript(ctx context.Context) error {
	name := transcriptName(r.n)
	f, err := r.openFile(ctx, r.folder, name)
	if err != nil {
		return r.reportUnopened(name, err)
	}
	defer f.Close()
	sum := sha256.New()
	t, line, err := decodeTranscript(io.TeeReader(f, sum))
	switch {
	case err != nil:
	case hex.EncodeToString(sum.Sum(nil)) != r.h.Transcript:
		err = errChanged
	case len(t) != r.h.Messages:
		err = fmt.Errorf("%w: it has %d messages, not %d", ErrDamaged, len(t), r.h.Messages)
	}
	if err != nil {
		return r.bad(r.damageAt(name, line, "", err))
	}
	r.s.Before = t
	return nil
}

func (r *stepReader) readSummary(ctx context.Context) error {
	name := summaryName(r.n)
	b, err := r.readWholeFile(ctx, r.folder, name)
	if errors.Is(err, fs.ErrNotExist) {
		return r.reportUnopened(name, err)
	}
	var f summaryFile
	if err == nil {
		err = decodeLine(b, &f)
	}
	if err == nil {
		err = checkHash(b, r.h.OfSummary)
	}
	if err != nil {
		return r.bad(r.damageAt(name, 0, "", err))
	}
	r.s.Summary = f.Summary
	return nil
}

// readWholeFile returns the content of a file.
func (l storeReader) readWholeFile(ctx context.Context, folder, name string) ([]byte, error) {
	f, err := l.openFile(ctx, folder, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// readStepLineAt returns line n of a step file.
func (l storeReader) readStepLineAt(ctx context.Context, folder string, step, n int) ([]byte, error) {
	f, err := l.openFile(ctx, folder, stepName(step))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	at := 0
	for text, err := range readLines(f) {
		if at++; at == n || err != nil {
			return text, err
		}
	}
	return nil, errMissing
}

// readHeader returns the header of a step, or fs.ErrNotExist.
func (l storeReader) readHeader(ctx context.Context, session string, n int) (headerLine, error) {
	folder := folderName(session)
	text, err := l.readStepLineAt(ctx, folder, n, 1)
	var h headerLine
	if err == nil {
		h, err = decodeHeader(text, n)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		err = &Damage{Session: session, Step: n, File: l.filePath(folder, stepName(n)), Line: 1, Err: err}
	}
	return h, err
}

// readEntry returns the entry at a place of the step with the header h.
func (l storeReader) readEntry(ctx context.Context, session string, h headerLine, at int) (Entry, error) {
	folder := folderName(session)
	text, err := l.readStepLineAt(ctx, folder, h.Number, at+3)
	var e Entry
	if err == nil {
		e, err = decodeEntry(text, h.Entries[at], h.entryHash(at))
	}
	if err != nil {
		err = &Damage{Session: session, Step: h.Number, Entry: h.Entries[at], File: l.filePath(folder, stepName(h.Number)), Line: at + 3, Err: err}
	}
	return e, err
}
