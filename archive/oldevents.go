package archive

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// eventsAt is the size in bytes from which events.jsonl is compressed.
const eventsAt = 64 << 10

// rotateEvents compresses events.jsonl into a separate file if it is large.
func (d *Dir) rotateEvents(session string) error {
	path := filepath.Join(d.folderPath(session), eventsName(1))
	info, err := os.Lstat(path)
	if err != nil || info.Size() < eventsAt {
		return ignoreMissing(err)
	}
	names, err := d.oldEvents(session)
	if err != nil {
		return err
	}
	next := 1
	for _, span := range names {
		next = max(next, span[1]+1)
	}
	f, err := openPlain(path, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	target := filepath.Join(d.folderPath(session), oldEventsName(next, next))
	err = d.disk.writeFile(target, func(w io.Writer) error {
		z := gzip.NewWriter(w)
		_, err := io.Copy(z, f)
		return errors.Join(err, z.Close())
	})
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil {
		return err
	}
	names[oldEventsName(next, next)] = [2]int{next, next}
	return d.gatherEvents(session, names)
}

// oldEvents returns the files with compressed events, and the numbers in their
// names.
func (d *Dir) oldEvents(session string) (map[string][2]int, error) {
	all, err := d.storeReader().fileNames(context.Background(), folderName(session))
	names := make(map[string][2]int)
	for _, name := range all {
		if first, last, ok := oldEventsNumbers(name); ok {
			names[name] = [2]int{first, last}
		}
	}
	return names, err
}

// gatherEvents merges files if there are many. Their concatenation is a file of the
// same kind.
func (d *Dir) gatherEvents(session string, names map[string][2]int) error {
	folder := d.folderPath(session)
	for level := range 5 {
		due := slices.DeleteFunc(slices.Collect(maps.Keys(names)), func(name string) bool {
			return levelOf(names[name][1]-names[name][0]+1) != level
		})
		if len(due) < gatherAt {
			continue
		}
		slices.SortFunc(due, func(a, b string) int { return names[a][0] - names[b][0] })
		span := [2]int{names[due[0]][0], names[due[len(due)-1]][1]}
		target := oldEventsName(span[0], span[1])
		err := d.disk.writeFile(filepath.Join(folder, target), func(w io.Writer) error {
			for _, name := range due {
				if err := copyFile(w, filepath.Join(folder, name)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		for _, name := range due {
			if err := ignoreMissing(os.Remove(filepath.Join(folder, name))); err != nil {
				return err
			}
			delete(names, name)
		}
		names[target] = span
	}
	return nil
}

func copyFile(w io.Writer, path string) error {
	f, err := openPlain(path, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}

// mendEvents removes duplicates of an interrupted process: events that were
// compressed, and files that were merged into a longer one.
func (d *Dir) mendEvents(session string) error {
	folder := d.folderPath(session)
	names, err := d.oldEvents(session)
	if err != nil {
		return err
	}
	newest := ""
	for name, span := range names {
		for longer, o := range names {
			if longer != name && o[0] <= span[0] && span[1] <= o[1] {
				if err := ignoreMissing(os.Remove(filepath.Join(folder, name))); err != nil {
					return err
				}
				name = ""
				break
			}
		}
		if name != "" && (newest == "" || span[1] > names[newest][1]) {
			newest = name
		}
	}
	path := filepath.Join(folder, eventsName(1))
	if newest == "" {
		return nil
	}
	now, err := readPlain(path)
	if err != nil || len(now) < eventsAt {
		return ignoreMissing(err)
	}
	packed, err := readPlain(filepath.Join(folder, newest))
	if err != nil {
		return ignoreMissing(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil // a damage, which verify reports
	}
	before, err := io.ReadAll(z)
	if err == nil && bytes.HasSuffix(before, now) {
		return ignoreMissing(os.Remove(path))
	}
	return nil
}

func readPlain(path string) ([]byte, error) {
	f, err := openPlain(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}
