package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
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

// A writer is the state of a session's folder for the process that writes it.
type writer struct {
	record formatFile            // as in session.json
	items  map[itemKey]knownItem // the readable messages
	stamps map[string]stamp
	// Bytes of items that were written once, and again.
	once, again int
}

// A stamp identifies the version of a pack that was read.
type stamp struct {
	size     int64
	modified time.Time
}

// writer returns the writer of a session. It is created again if a pack has changed
// or is gone: the next step then writes the pack's messages again.
func (d *Dir) writer(session string) (*writer, error) {
	stamps, err := d.stamps(session)
	if err != nil {
		return nil, err
	}
	if w := d.writers[session]; w != nil && maps.EqualFunc(w.stamps, stamps, stamp.equal) {
		return w, nil
	}
	w := &writer{items: make(map[itemKey]knownItem), stamps: stamps}
	v, err := d.storeReader().packs(context.Background(), session)
	if err != nil {
		return nil, err
	}
	defer v.close()
	in, err := v.inventory(context.Background())
	if err != nil {
		return nil, err
	}
	if w.record, err = v.readFormat(context.Background(), v.folder, sessionFile); err != nil {
		return nil, err
	}
	w.record.Steps = in.known.with(in.pruned.Steps)
	for _, place := range slices.Concat(v.blocks, v.again) {
		text, err := place.file.text(place.frame)
		if err == nil {
			err = decodeBlock(text, session, func(n int, line []byte) { w.add(n, place.file.last, line) })
		}
		if err != nil && !unreadable(err) {
			return nil, err
		}
	}
	d.writers[session] = w
	return w, nil
}

// add adds an item that is in the file of a step.
func (w *writer) add(n, step int, line []byte) {
	key := keyOfItem(line)
	old, there := w.items[key]
	if there {
		w.again += len(line)
	} else {
		w.once += len(line)
	}
	if step >= old.step {
		w.items[key] = knownItem{n, step}
	}
	w.record.Items = max(w.record.Items, n)
}

func (s stamp) equal(o stamp) bool { return s.size == o.size && s.modified.Equal(o.modified) }

// stamps returns those of the packs of a session.
func (d *Dir) stamps(session string) (map[string]stamp, error) {
	entries, err := os.ReadDir(d.folderPath(session))
	if err != nil {
		return nil, err
	}
	stamps := make(map[string]stamp)
	for _, e := range entries {
		if _, _, ok := packNumbers(e.Name()); !ok {
			continue
		}
		info, err := e.Info()
		if err != nil {
			return nil, err
		}
		stamps[e.Name()] = stamp{info.Size(), info.ModTime()}
	}
	return stamps, nil
}

func (d *Dir) put(s Step) error {
	folder, err := d.prepareFolder(s.Session)
	if err != nil {
		return withRemedy(err)
	}
	w, err := d.writer(s.Session)
	if err != nil {
		return withRemedy(err)
	}
	path := filepath.Join(folder, packName(s.Number, s.Number))
	for _, taken := range []string{path, filepath.Join(folder, stepName(s.Number))} {
		switch _, err := os.Lstat(taken); {
		case err == nil:
			return fmt.Errorf("%w: %s", ErrExists, taken)
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
	}
	if w.record.Steps.has(s.Number) {
		return fmt.Errorf("%w: the step was put once, and is gone", ErrExists)
	}
	if err := removeDrafts(folder); err != nil {
		return err
	}
	if err := d.putWith(s, w, path); err != nil {
		return withRemedy(err)
	}
	d.gather(s.Session, w)
	return nil
}

// putWith writes the step and its record. The step exists once its own file does,
// so that file is written last, except for the record, which is ready by then.
func (d *Dir) putWith(s Step, w *writer, path string) error {
	items := &itemWriter{
		session: s.Session, step: s.Number, known: w.items, fresh: make(map[itemKey]knownItem), next: w.record.Items + 1,
		spare: w.once/2 - w.again, referred: make(map[itemKey]referredItem),
	}
	step, err := packed(s, items, w.record.Steps)
	if err != nil {
		return err
	}
	record := w.record
	record.V, record.Session = packVersion, s.Session
	record.Steps, record.Items = record.Steps.with(runs{{s.Number, s.Number}}), items.next-1
	pack, err := d.disk.prepareDraft(path, step.write)
	if err != nil {
		return err
	}
	session, err := d.disk.prepareDraft(filepath.Join(filepath.Dir(path), sessionFile), constantText(sessionText(record)))
	if err != nil {
		discardDrafts(pack)
		return err
	}
	drafts := []draft{pack, session}
	if err := publishDrafts(drafts...); err != nil {
		discardDrafts(drafts...)
		return errors.Join(err, ignoreMissing(os.Remove(path)))
	}
	w.record = record
	maps.Copy(w.items, items.fresh)
	w.once, w.again = w.once+items.written, w.again+items.repeated
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	w.stamps[filepath.Base(path)] = stamp{info.Size(), info.ModTime()}
	return nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// gatherAt is the number of files of a kind and size that are merged into one.
const gatherAt = 32

// gather merges packs if there are many, so that a folder does not have a file for
// each round. Packs that cannot be merged now are merged with the next step.
func (d *Dir) gather(session string, w *writer) {
	for level := 0; ; level++ {
		var due []string
		more := false
		for _, name := range slices.Sorted(maps.Keys(w.stamps)) {
			first, last, _ := packNumbers(name)
			switch at := levelOf(last - first + 1); {
			case at == level:
				due = append(due, name)
			case at > level:
				more = true
			}
		}
		if len(due) >= gatherAt {
			if d.removeGathered(session) != nil || d.gatherPacks(session, due) != nil {
				return
			}
			stamps, err := d.stamps(session)
			if err != nil {
				return
			}
			w.stamps = stamps
			more = true
		}
		if !more {
			return
		}
	}
}

// levelOf returns how often files with this number of steps were merged.
func levelOf(steps int) (level int) {
	for ; steps > 1; steps /= gatherAt {
		level++
	}
	return level
}

// gatherPacks merges packs into one. Damaged ones stay, and missing ones were in
// another already.
func (d *Dir) gatherPacks(session string, names []string) error {
	v, err := d.storeReader().packs(context.Background(), session)
	if err != nil {
		return err
	}
	defer v.close()
	var files []*packFile
	for _, p := range v.files {
		if slices.Contains(names, p.name) && p.whole() {
			files = append(files, p)
		}
	}
	if len(files) < gatherAt/2 {
		return nil
	}
	slices.SortFunc(files, func(a, b *packFile) int { return a.first - b.first })
	return d.rewrite(v, files, (*packWriter).copyFrom)
}
