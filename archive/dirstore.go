package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Put implements [Store]. On an error nothing stands under a final name that
// Steps would list.
func (d *Dir) Put(ctx context.Context, s Step) error {
	s, err := s.checked()
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.writable(ctx); err != nil {
		return err
	}
	if err := d.put(s); err != nil {
		return fmt.Errorf("archive step %d of session %s: %w", s.Number, s.Session, err)
	}
	return nil
}

// writable is called under mu.
func (d *Dir) writable(ctx context.Context) error {
	if d.lock == nil {
		return fmt.Errorf("archive folder %s: %w", d.root, ErrReadOnly)
	}
	return d.usable(ctx)
}

func (d *Dir) put(s Step) error {
	folder, err := d.prepareFolder(s.Session)
	if err != nil {
		return withRemedy(err)
	}
	path := filepath.Join(folder, stepName(s.Number))
	switch _, err := os.Lstat(path); {
	case err == nil:
		return fmt.Errorf("%w: %s", ErrExists, path)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := removeDrafts(folder); err != nil {
		return err
	}
	var drafts []draft
	err = pack(s, func(name string, fill func(io.Writer) error) error {
		d, err := d.disk.prepare(filepath.Join(folder, name), fill)
		if err == nil {
			drafts = append(drafts, d)
		}
		return err
	})
	if err == nil { // the step is there with its step file, so that one is last
		last := len(drafts) - 1
		if err = publish(drafts[:last]...); err == nil {
			err = publish(drafts[last])
		}
	}
	if err != nil {
		discard(drafts...)
		return withRemedy(err)
	}
	return nil
}

func withRemedy(err error) error {
	if unreadable(err) {
		return err
	}
	return fmt.Errorf("%w; free space, make the folder writable or choose another archive", err)
}

// Steps implements [Store].
func (d *Dir) Steps(ctx context.Context, session string) ([]StepInfo, error) {
	return reading(ctx, d, func(l library) ([]StepInfo, error) { return l.steps(ctx, session) })
}

// Get implements [Store]. The error wraps a [Damage] where a file is not as it
// was written.
func (d *Dir) Get(ctx context.Context, session string, number int) (Step, error) {
	return reading(ctx, d, func(l library) (Step, error) { return l.get(ctx, session, number) })
}

// Recall implements [Store]. The error wraps a [Damage] where the entry is not
// as it was written.
func (d *Dir) Recall(ctx context.Context, session, id string) (Entry, error) {
	return reading(ctx, d, func(l library) (Entry, error) { return l.recall(ctx, session, id) })
}

// Verify implements what [Verify] asks of a store.
func (d *Dir) Verify(ctx context.Context, session string) (Findings, error) {
	return reading(ctx, d, func(l library) (Findings, error) { return l.verify(ctx, session) })
}

// Sessions returns the ids of the sessions in the archive, sorted.
func (d *Dir) Sessions(ctx context.Context) ([]string, error) {
	return reading(ctx, d, func(l library) ([]string, error) { return l.sessions(ctx) })
}

// reading reads in d while nothing is written.
func reading[T any](ctx context.Context, d *Dir, read func(library) (T, error)) (T, error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if err := d.usable(ctx); err != nil {
		var nothing T
		return nothing, err
	}
	return read(d.library())
}

// Remove removes a step, the file with which it is there first, or what an
// interrupted process left of one. None is no error.
func (d *Dir) Remove(ctx context.Context, session string, number int) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.writable(ctx); err != nil {
		return err
	}
	if owner, err := d.library().owner(ctx, folderName(session)); err == nil && owner != session {
		return nil // see prepareFolder
	}
	for _, name := range stepFiles(number) {
		if err := d.remove(session, name); err != nil {
			return fmt.Errorf("remove step %d of session %s: %w; make the folder writable", number, session, err)
		}
	}
	return nil
}

func (d *Dir) remove(session, name string) error {
	err := os.Remove(filepath.Join(d.folder(session), name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return syncFolder(d.folder(session))
}

// tidy removes the drafts that an interrupted process left of a session.
func (d *Dir) tidy(session string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || d.lock == nil {
		return nil
	}
	return removeDrafts(d.folder(session))
}

func (d *Dir) leftovers(ctx context.Context, session string) ([]int, error) {
	return reading(ctx, d, func(l library) ([]int, error) { return l.leftovers(ctx, session) })
}

// event is called under mu. There is one at every check, so folder and file are
// looked at once, and again after a failure.
func (d *Dir) event(session string, line []byte) error {
	path := filepath.Join(d.folder(session), eventsName(1))
	for again := false; ; again = true {
		if !d.ours[session] {
			if _, err := d.prepareFolder(session); err != nil {
				return err
			}
			if err := trimTail(path); err != nil {
				return err
			}
			d.ours[session] = true
		}
		err := d.disk.appendLine(path, line)
		if err == nil {
			return nil
		}
		delete(d.ours, session)
		if again || !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
}

// Event implements [Store].
func (d *Dir) Event(ctx context.Context, session string, line []byte) error {
	line, err := checkEvent(session, line)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.writable(ctx); err != nil {
		return err
	}
	if err := d.event(session, line); err != nil {
		return fmt.Errorf("archive event of session %s: %w", session, withRemedy(err))
	}
	return nil
}
