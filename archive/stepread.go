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

// A stepReader reads step n, and gives bad whatever in it is not as it was
// written: where bad returns nil, it goes on.
type stepReader struct {
	library
	session, folder string
	n               int
	bad             func(*Damage) error

	h     headerLine
	known bool // the header can be read
	s     Step
}

// readStep returns a step, or fs.ErrNotExist.
func (l library) readStep(ctx context.Context, session string, n int, bad func(*Damage) error) (Step, headerLine, error) {
	r := &stepReader{library: l, session: session, folder: folderName(session), n: n, bad: bad}
	err := r.stepFile(ctx)
	if err == nil && r.known {
		err = r.transcript(ctx)
	}
	if err == nil && r.known && r.h.Summary {
		err = r.summary(ctx)
	}
	return r.s, r.h, err
}

func (r *stepReader) damage(name string, line int, entry string, err error) *Damage {
	return &Damage{Session: r.session, Step: r.n, Entry: entry, File: r.path(r.folder, name), Line: line, Err: err}
}

func (r *stepReader) stepFile(ctx context.Context) error {
	name := stepName(r.n)
	f, err := r.open(ctx, r.folder, name)
	if err != nil {
		return r.unopened(name, err)
	}
	defer f.Close()
	line := 0
	for text, err := range linesOf(f) {
		line++
		if err == nil {
			err = r.line(line, text)
		}
		if err == nil {
			continue
		}
		if err := r.bad(r.damage(name, line, r.entryAt(line), err)); err != nil || line == 1 {
			return err
		}
	}
	if want := 2 + len(r.h.Entries); line != want {
		return r.bad(r.damage(name, 0, "", fmt.Errorf("%w: it has %d lines, not %d", ErrDamaged, line, want)))
	}
	return nil
}

// unopened is for a file of a step that cannot be opened.
func (r *stepReader) unopened(name string, err error) error {
	if missing := errors.Is(err, fs.ErrNotExist); missing && name == stepName(r.n) {
		return err
	} else if missing {
		err = errMissing
	}
	return r.bad(r.damage(name, 0, "", err))
}

// entryAt returns the id of the entry on a line, "" where it has none.
func (r *stepReader) entryAt(line int) string {
	if at := line - 3; at >= 0 && at < len(r.h.Entries) {
		return r.h.Entries[at]
	}
	return ""
}

func (r *stepReader) line(n int, text []byte) (err error) {
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
		e, err = decodeEntry(text, r.h.Entries[at], r.h.ofEntry(at))
		r.s.Removed = append(r.s.Removed, e)
	}
	return err
}

func (r *stepReader) transcript(ctx context.Context) error {
	name := transcriptName(r.n)
	f, err := r.open(ctx, r.folder, name)
	if err != nil {
		return r.unopened(name, err)
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
		return r.bad(r.damage(name, line, "", err))
	}
	r.s.Before = t
	return nil
}

func (r *stepReader) summary(ctx context.Context) error {
	name := summaryName(r.n)
	b, err := r.readAll(ctx, r.folder, name)
	if errors.Is(err, fs.ErrNotExist) {
		return r.unopened(name, err)
	}
	var f summaryFile
	if err == nil {
		err = decodeLine(b, &f)
	}
	if err == nil {
		err = unchanged(b, r.h.OfSummary)
	}
	if err != nil {
		return r.bad(r.damage(name, 0, "", err))
	}
	r.s.Summary = f.Summary
	return nil
}

// readAll returns what a file holds.
func (l library) readAll(ctx context.Context, folder, name string) ([]byte, error) {
	f, err := l.open(ctx, folder, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// readLineOf returns line n of a step file.
func (l library) readLineOf(ctx context.Context, folder string, step, n int) ([]byte, error) {
	f, err := l.open(ctx, folder, stepName(step))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	at := 0
	for text, err := range linesOf(f) {
		if at++; at == n || err != nil {
			return text, err
		}
	}
	return nil, errMissing
}

// readHeader returns the header of a step, or fs.ErrNotExist.
func (l library) readHeader(ctx context.Context, session string, n int) (headerLine, error) {
	folder := folderName(session)
	text, err := l.readLineOf(ctx, folder, n, 1)
	var h headerLine
	if err == nil {
		h, err = decodeHeader(text, n)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		err = &Damage{Session: session, Step: n, File: l.path(folder, stepName(n)), Line: 1, Err: err}
	}
	return h, err
}

// readEntry returns the entry at a place of the step with the header h.
func (l library) readEntry(ctx context.Context, session string, h headerLine, at int) (Entry, error) {
	folder := folderName(session)
	text, err := l.readLineOf(ctx, folder, h.Number, at+3)
	var e Entry
	if err == nil {
		e, err = decodeEntry(text, h.Entries[at], h.ofEntry(at))
	}
	if err != nil {
		err = &Damage{Session: session, Step: h.Number, Entry: h.Entries[at], File: l.path(folder, stepName(h.Number)), Line: at + 3, Err: err}
	}
	return e, err
}
