package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Put implements [Store]. After an error, no final name exists that Steps would
// list.
func (d *Dir) Put(ctx context.Context, s Step) error {
	s, err := s.checkedStep()
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.checkWritable(ctx); err != nil {
		return err
	}
	if err := d.put(s); err != nil {
		return fmt.Errorf("archive step %d of session %s: %w", s.Number, s.Session, err)
	}
	return nil
}

// checkWritable is called under mu.
func (d *Dir) checkWritable(ctx context.Context) error {
	if d.lock == nil {
		return fmt.Errorf("archive folder %s: %w", d.root, ErrReadOnly)
	}
	return d.checkUsable(ctx)
}

func withRemedy(err error) error {
	if unreadable(err) {
		return err
	}
	return fmt.Errorf("%w; free space, make the folder writable or choose another archive", err)
}

// Steps implements [Store].
func (d *Dir) Steps(ctx context.Context, session string) ([]StepInfo, error) {
	return withStore(ctx, d, func(l storeReader) ([]StepInfo, error) { return l.stepInfos(ctx, session) })
}

// Get implements [Store]. The error wraps a [Damage] if a file is damaged.
func (d *Dir) Get(ctx context.Context, session string, number int) (Step, error) {
	return withStore(ctx, d, func(l storeReader) (Step, error) { return l.openStep(ctx, session, number) })
}

// Recall implements [Store]. The error wraps a [Damage] if the entry is damaged.
func (d *Dir) Recall(ctx context.Context, session, id string) (Entry, error) {
	return withStore(ctx, d, func(l storeReader) (Entry, error) { return l.recallEntry(ctx, session, id) })
}

// Verify is called by [Verify].
func (d *Dir) Verify(ctx context.Context, session string) (Findings, error) {
	return withStore(ctx, d, func(l storeReader) (Findings, error) { return l.verifyFolder(ctx, session) })
}

// Sessions returns the ids of the sessions in the archive, sorted.
func (d *Dir) Sessions(ctx context.Context) ([]string, error) {
	return withStore(ctx, d, func(l storeReader) ([]string, error) { return l.sessionIDs(ctx) })
}

// withStore reads in d while nothing is written.
func withStore[T any](ctx context.Context, d *Dir, read func(storeReader) (T, error)) (T, error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if err := d.checkUsable(ctx); err != nil {
		var nothing T
		return nothing, err
	}
	return read(d.storeReader())
}

// Remove removes a step, or the remains of one. A missing one is not an error.
func (d *Dir) Remove(ctx context.Context, session string, number int) error {
	return d.removeSteps(ctx, session, []int{number}, nil)
}

// removeSteps removes steps. They are removed once pruned.json names them: their
// content is deleted then or, after an error, by the next prune.
func (d *Dir) removeSteps(ctx context.Context, session string, numbers []int, released []string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.checkWritable(ctx); err != nil {
		return err
	}
	owner, err := d.storeReader().folderOwner(ctx, folderName(session))
	if err == nil && owner != session {
		return nil // see prepareFolder
	}
	if err := d.removeAll(ctx, session, numbers, released); err != nil {
		return fmt.Errorf("remove %s of session %s: %w; make the folder writable", stepsOf(numbers), session, err)
	}
	return nil
}

func stepsOf(numbers []int) string {
	if len(numbers) == 1 {
		return fmt.Sprintf("step %d", numbers[0])
	}
	return fmt.Sprintf("%d steps", len(numbers))
}

func (d *Dir) removeAll(ctx context.Context, session string, numbers []int, released []string) error {
	folder := d.folderPath(session)
	if _, err := os.Lstat(folder); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	text, err := d.storeReader().prunedWith(ctx, session, numbers, released)
	if err != nil {
		return err
	}
	if err := d.disk.writeFile(filepath.Join(folder, prunedFile), constantText(string(text))); err != nil {
		return err
	}
	for _, n := range numbers {
		for _, name := range stepFiles(n) {
			if err := ignoreMissing(os.Remove(filepath.Join(folder, name))); err != nil {
				return err
			}
		}
	}
	if err := syncFolder(folder); err != nil {
		return err
	}
	delete(d.writers, session)
	return d.sweepPacks(ctx, session)
}

// cleanDrafts removes the drafts of an interrupted process from a session.
func (d *Dir) cleanDrafts(session string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || d.lock == nil {
		return nil
	}
	if err := removeDrafts(d.folderPath(session)); err != nil {
		return err
	}
	return d.removeGathered(session)
}

func (d *Dir) leftovers(ctx context.Context, session string) ([]int, error) {
	return withStore(ctx, d, func(l storeReader) ([]int, error) { return l.leftovers(ctx, session) })
}

// writeEvent is called under mu. There is one event at every check, so folder and
// file are checked once, and again after a failure.
func (d *Dir) writeEvent(session string, line []byte) error {
	path := filepath.Join(d.folderPath(session), eventsName(1))
	for again := false; ; again = true {
		if !d.ours[session] {
			if _, err := d.prepareFolder(session); err != nil {
				return err
			}
			if err := trimTail(path); err != nil {
				return err
			}
			if err := d.mendEvents(session); err != nil {
				return err
			}
			d.ours[session], d.eventsSize[session] = true, 0
			if info, err := os.Lstat(path); err == nil {
				d.eventsSize[session] = info.Size()
			}
		}
		err := d.disk.appendLine(path, line)
		if err == nil {
			if d.eventsSize[session] += int64(len(line)); d.eventsSize[session] >= eventsAt {
				d.eventsSize[session] = 0
				_ = d.rotateEvents(session) // if that is impossible now, the file grows until it is possible
			}
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
	if err := d.checkWritable(ctx); err != nil {
		return err
	}
	if err := d.writeEvent(session, line); err != nil {
		return fmt.Errorf("archive event of session %s: %w", session, withRemedy(err))
	}
	return nil
}

func (d *Dir) pruned(ctx context.Context, session string) (prunedList, error) {
	return withStore(ctx, d, func(l storeReader) (prunedList, error) { return l.prunedOf(ctx, session) })
}

// Forget drops the cached data of a session. Its files stay, and are read again
// when needed.
func (d *Dir) Forget(session string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.writers, session)
	delete(d.eventsSize, session)
	delete(d.ours, session)
	folder := d.folderPath(session) + string(filepath.Separator)
	d.scans.Range(func(path, _ any) bool {
		if strings.HasPrefix(path.(string), folder) {
			d.scans.Delete(path)
		}
		return true
	})
}
