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

// Findings are what [Verify] found of a session.
type Findings struct {
	Session                string
	Steps, Entries, Events int // looked at
	// Unhashed counts the steps from before summaries, rounds and entries had
	// hashes: of these, only the transcript is known to be as it was written.
	Unhashed int
	Damages  []*Damage // by step; empty where all is as it was written
	Notes    []Note    // what does no harm
}

// Clean reports whether nothing is damaged.
func (f Findings) Clean() bool { return len(f.Damages) == 0 }

// A Note is about a file that is no part of a step, such as what an interrupted
// process left behind.
type Note struct {
	File string
	Text string
}

// Verify reads all that store has of a session, and compares it with the hashes
// that were taken when it was written. It goes on after the first damage. The
// error is about what kept it from looking: a damage is none.
//
// The hashes are against disks and slips, not against somebody who makes new
// ones.
func Verify(ctx context.Context, store Store, session string) (Findings, error) {
	if v, ok := as[interface {
		Verify(ctx context.Context, session string) (Findings, error)
	}](store); ok {
		return v.Verify(ctx, session)
	}
	return verify(ctx, store, session)
}

// verify reads all steps, by what every store can do.
func verify(ctx context.Context, store Store, session string) (Findings, error) {
	f := Findings{Session: session}
	infos, err := store.Steps(ctx, session)
	if err != nil {
		return f, err
	}
	for _, info := range infos {
		f.Steps++
		f.Entries += len(info.Entries)
		_, err := store.Get(ctx, session, info.Number)
		if ctx.Err() != nil {
			return f, ctx.Err()
		}
		if err != nil {
			f.Damages = append(f.Damages, &Damage{Session: session, Step: info.Number, Err: err})
		}
	}
	return f, nil
}

// A verifier goes through the folder of a session.
type verifier struct {
	library
	Findings
	folder string
}

func (l library) verify(ctx context.Context, session string) (Findings, error) {
	v := &verifier{l, Findings{Session: session}, folderName(session)}
	names, err := l.names(ctx, v.folder)
	if err == nil && len(names) > 0 {
		err = v.all(ctx, names)
	}
	if unreadable(err) { // the folder as a whole
		v.damage("", 0, err)
		return v.Findings, nil
	}
	if err != nil {
		err = fmt.Errorf("verify session %s: %w", session, err)
	}
	return v.Findings, err
}

func (v *verifier) all(ctx context.Context, names []string) error {
	slices.Sort(names)
	numbers := numbersOf(names)
	owner, err := v.owner(ctx, v.folder)
	switch {
	case err == nil && owner != v.Session: // see prepareFolder
		return nil
	case errors.Is(err, fs.ErrNotExist) && len(numbers) == 0: // it was never finished
		v.note(sessionFile, "missing: an interrupted process left a folder")
	case err != nil:
		if errors.Is(err, fs.ErrNotExist) {
			err = errMissing
		}
		v.damage(sessionFile, 0, err)
	}
	with := make(map[int]bool) // steps that have a summary
	for _, n := range numbers {
		if with[n], err = v.step(ctx, n); err != nil {
			return err
		}
	}
	for _, name := range names {
		if err := v.file(ctx, name, numbers, with); err != nil {
			return err
		}
	}
	return nil
}

func (v *verifier) note(name, text string) {
	v.Notes = append(v.Notes, Note{v.path(v.folder, name), text})
}

func (v *verifier) damage(name string, line int, err error) {
	d, ok := errors.AsType[*Damage](err)
	if !ok {
		d = &Damage{File: v.path(v.folder, name), Line: line, Err: err}
	}
	d.Session = v.Session
	v.Damages = append(v.Damages, d)
}

// step looks at step n, and returns whether it has a summary.
func (v *verifier) step(ctx context.Context, n int) (bool, error) {
	_, h, err := v.readStep(ctx, v.Session, n, func(d *Damage) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		v.Damages = append(v.Damages, d)
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) { // removed meanwhile
		return false, nil
	}
	v.Steps++
	v.Entries += len(h.Entries)
	if h.V > 0 && h.OfRound == "" {
		v.Unhashed++
	}
	return h.Summary, err
}

// file looks at a file that may belong to no step.
func (v *verifier) file(ctx context.Context, name string, steps []int, with map[int]bool) error {
	n, content := contentNumber(name)
	_, step := stepNumber(name)
	_, events := eventsNumber(name)
	switch {
	case step || name == sessionFile:
	case events:
		return v.events(ctx, name)
	case content && slices.Contains(steps, n):
		if name == summaryName(n) && !with[n] {
			v.note(name, "its step has no summary; nothing reads it")
		}
	case content:
		v.note(name, "its step is not there: an interrupted process left it, and prune removes it")
	case strings.HasPrefix(name, tempMark):
		v.note(name, "it was being written when a process was interrupted; it goes with the next step")
	default:
		v.note(name, "no file of an archive")
	}
	return nil
}

// events looks at a file of events. A last line without its end is one that a
// process did not live to write.
func (v *verifier) events(ctx context.Context, name string) error {
	f, err := v.open(ctx, v.folder, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		v.damage(name, 0, err)
		return ctx.Err()
	}
	defer f.Close()
	line := 0
	for text, err := range linesOf(f) {
		line++
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == errTorn:
			v.note(name, fmt.Sprintf("line %d has no end: a process was interrupted", line))
		case err != nil:
			v.damage(name, line, err)
		case !json.Valid(text):
			v.damage(name, line, fmt.Errorf("%w: no JSON", ErrDamaged))
		default:
			v.Events++
		}
	}
	return nil
}
