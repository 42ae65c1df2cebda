package archive

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// Bounds of the events of a session in a bucket, in bytes.
const (
	eventObject = 1 << 20 // from which on the next object is begun
	eventsMost  = 4 << 20 // that wait to be written; what comes then is dropped
)

// An eventLog is what a process writes of a session's events.
type eventLog struct {
	writing sync.Mutex // held while an object is written, one after the other

	// Guarded by the store's mu.
	waiting []byte // whole lines
	dropped int    // lines

	// Guarded by writing.
	number  int    // of the object that this process writes; 0: none yet
	written []byte // what that object holds
}

// Event implements [Store]: it keeps the line for the next step or Close, and
// never waits. Where too much waits, the line is dropped, which [Objects.Dropped]
// counts.
func (o *Objects) Event(ctx context.Context, session string, line []byte) error {
	line, err := checkEvent(session, line)
	if err != nil {
		return err
	}
	if err := o.usable(ctx); err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	log := o.events[session]
	if log == nil {
		log = new(eventLog)
		o.events[session] = log
	}
	if len(log.waiting)+len(line) > eventsMost {
		log.dropped++
		return nil
	}
	log.waiting = append(log.waiting, line...)
	return nil
}

// Dropped returns how many events were dropped because too many waited.
func (o *Objects) Dropped() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := 0
	for _, log := range o.events {
		n += log.dropped
	}
	return n
}

// flush writes the events of a session that wait.
func (o *Objects) flush(ctx context.Context, session string) error {
	o.mu.Lock()
	log := o.events[session]
	o.mu.Unlock()
	if log == nil {
		return nil
	}
	log.writing.Lock()
	defer log.writing.Unlock()
	o.mu.Lock()
	lines := log.waiting
	o.mu.Unlock()
	if len(lines) == 0 {
		return nil
	}
	folder, err := o.prepareFolder(ctx, session)
	if err == nil {
		err = o.write(ctx, log, folder, lines)
	}
	if err != nil {
		return fmt.Errorf("archive events of session %s: %w", session, err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	log.waiting = slices.Clone(log.waiting[len(lines):])
	return nil
}

// write adds lines to the object that this process writes, or begins one.
func (o *Objects) write(ctx context.Context, log *eventLog, folder string, lines []byte) error {
	if log.number > 0 && len(log.written) < eventObject {
		body := slices.Concat(log.written, lines)
		if err := o.bucket.Put(ctx, keyOf(folder, eventsName(log.number)), body, false); err != nil {
			return err
		}
		log.written = body
		return nil
	}
	names, err := o.lib.names(ctx, folder)
	if err != nil {
		return err
	}
	next := log.number + 1
	for _, name := range names {
		if n, ok := eventsNumber(name); ok {
			next = max(next, n+1)
		}
	}
	for {
		err := o.bucket.Put(ctx, keyOf(folder, eventsName(next)), lines, true)
		if !errors.Is(err, ErrExists) {
			if err == nil {
				log.number, log.written = next, lines
			}
			return err
		}
		next++ // another process began it meanwhile
	}
}

// closeWait is how long Close waits for the last events to be written.
const closeWait = 10 * time.Second

// Close implements [Store]: it writes the events that wait. What was put stays
// in the bucket.
func (o *Objects) Close() error {
	o.mu.Lock()
	closed := o.closed
	o.closed = true
	sessions := slices.Sorted(maps.Keys(o.events))
	o.mu.Unlock()
	if closed {
		return nil
	}
	ctx, stop := context.WithTimeout(context.Background(), closeWait)
	defer stop()
	var errs []error
	for _, s := range sessions {
		errs = append(errs, o.flush(ctx, s))
	}
	if n := o.Dropped(); n > 0 {
		errs = append(errs, fmt.Errorf("%d events were dropped: too many came between two steps", n))
	}
	return errors.Join(errs...)
}
