package archive

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Limits of the events of a session in a bucket, in bytes.
const (
	eventObjectSize  = 1 << 20 // size at which the next object is begun
	maxWaitingEvents = 4 << 20 // waiting to be written; further events are dropped
)

// An eventWriter writes the events of a session for a process.
type eventWriter struct {
	// turn holds one token during writes: of two puts of one number here, the
	// second finds the first.
	turn chan struct{}

	// Guarded by the store's mu.
	waiting []byte // events waiting to be written, whole lines
	dropped int    // lines

	// Guarded by turn.
	known   runs   // numbers of all steps that were put, as far as this process knows
	listed  bool   // known is the content at the start of this process
	number  int    // of the object of events that this process writes; 0: none yet
	written []byte // content of that object
}

// eventWriterOf returns the writer of a session. It is called under mu.
func (o *Objects) eventWriterOf(session string) *eventWriter {
	d := o.eventWriters[session]
	if d == nil {
		d = &eventWriter{turn: make(chan struct{}, 1)}
		o.eventWriters[session] = d
	}
	return d
}

// writeInTurn writes to a session when no other goroutine does.
func (o *Objects) writeInTurn(ctx context.Context, session string, write func(*eventWriter) error) error {
	o.mu.Lock()
	d := o.eventWriterOf(session)
	o.mu.Unlock()
	select {
	case d.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-d.turn }()
	return write(d)
}

// Event implements [Store]: it keeps the line for the next step or Close, and never
// waits. If too much waits, the line is dropped, which [Objects.Dropped] counts.
func (o *Objects) Event(ctx context.Context, session string, line []byte) error {
	line, err := checkEvent(session, line)
	if err != nil {
		return err
	}
	if err := o.checkUsable(ctx); err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	d := o.eventWriterOf(session)
	if len(d.waiting)+len(line) > maxWaitingEvents {
		d.dropped++
		return nil
	}
	d.waiting = append(d.waiting, line...)
	return nil
}

// Dropped returns how many events were dropped because too many waited.
func (o *Objects) Dropped() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := 0
	for _, d := range o.eventWriters {
		n += d.dropped
	}
	return n
}

// flushEvents writes the waiting events of a session, in turn.
func (o *Objects) flushEvents(ctx context.Context, session string, d *eventWriter) error {
	o.mu.Lock()
	lines := d.waiting
	o.mu.Unlock()
	if len(lines) == 0 {
		return nil
	}
	folder, err := o.prepareFolder(ctx, session)
	if err == nil {
		err = o.appendEvents(ctx, d, folder, lines)
	}
	if err != nil {
		return fmt.Errorf("archive events of session %s: %w", session, err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	d.waiting = slices.Clone(d.waiting[len(lines):])
	return nil
}

// appendEvents adds lines to the object that this process writes, or begins one.
func (o *Objects) appendEvents(ctx context.Context, d *eventWriter, folder string, lines []byte) error {
	if d.number > 0 && len(d.written) < eventObjectSize {
		body := slices.Concat(d.written, lines)
		if err := o.bucket.Put(ctx, objectKey(folder, eventsName(d.number)), body, false); err != nil {
			return err
		}
		d.written = body
		return nil
	}
	names, err := o.lib.fileNames(ctx, folder)
	if err != nil {
		return err
	}
	next := d.number + 1
	for _, name := range names {
		if n, ok := eventsNumber(name); ok {
			next = max(next, n+1)
		}
	}
	const tries = 100 // each means that another process began the object meanwhile
	for range tries {
		if err = o.bucket.Put(ctx, objectKey(folder, eventsName(next)), lines, true); !errors.Is(err, ErrExists) {
			break
		}
		next++
	}
	if err == nil {
		d.number, d.written = next, lines
	}
	return err
}

// closeWait limits how long Close waits for the last events to be written.
const closeWait = 10 * time.Second

// Close implements [Store]: it writes the waiting events. The steps stay in the
// bucket.
func (o *Objects) Close() error {
	o.mu.Lock()
	closed := o.closed
	o.closed = true
	sessions := slices.Sorted(maps.Keys(o.eventWriters))
	o.mu.Unlock()
	if closed {
		return nil
	}
	ctx, stop := context.WithTimeout(context.Background(), closeWait)
	defer stop()
	var failed error // the first: if a server is gone, all are alike
	more := 0
	for _, s := range sessions {
		err := o.writeInTurn(ctx, s, func(d *eventWriter) error { return o.flushEvents(ctx, s, d) })
		if err != nil && failed != nil {
			more++
		} else if err != nil {
			failed = err
		}
	}
	if more > 0 {
		failed = fmt.Errorf("%w; the same applies to %d more sessions", failed, more)
	}
	if n := o.Dropped(); n > 0 {
		failed = errors.Join(failed, fmt.Errorf("%d events were dropped: too many came between two steps", n))
	}
	return failed
}

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
