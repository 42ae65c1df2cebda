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
	"time"
)

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
