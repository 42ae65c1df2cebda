// Package loss reports lost events to people, in a few lines.
package loss

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/tiercompact/tiercompact/trace"
)

// A Report reports lost events: the first time immediately, later at most once a
// minute, and the sum at the end. It is safe for concurrent use.
type Report struct {
	w    io.Writer
	name string

	mu     sync.Mutex // guards the fields below, and is held during writes to w
	events int        // lost so far
	told   int        // of them
	at     time.Time  // when
}

// NewReport returns a report that writes lines to w; each begins with the name
// of the sink in brackets.
func NewReport(w io.Writer, name string) *Report {
	return &Report{w: w, name: name}
}

const quiet = time.Minute

// Add counts lost events, and reports the problem.
func (r *Report) Add(events int, problem string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events += events
	now := time.Now()
	if r.told > 0 && now.Sub(r.at) < quiet {
		return
	}
	r.told, r.at = r.events, now
	r.reportLine("%s; %s lost so far, the session goes on", problem, countedEvents(r.events))
}

// End reports the sum, if it has changed. full are the events for which a queue had
// no room; they are not in the added ones.
func (r *Report) End(full int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if all := r.events + full; all > r.told {
		r.told = all
		r.reportLine("%s lost in all, %d of them for want of room in the queue", countedEvents(all), full)
	}
}

// Events returns the number of added events.
func (r *Report) Events() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.events
}

func (r *Report) reportLine(format string, args ...any) {
	_, _ = fmt.Fprintf(r.w, "[%s] %s\n", r.name, printableLine(fmt.Sprintf(format, args...))) // no reader is left
}

func countedEvents(events int) string {
	if events == 1 {
		return "1 event is"
	}
	return fmt.Sprintf("%d events are", events)
}

// printableLine returns s as one line of some 400 characters without terminal
// control characters.
func printableLine(s string) string {
	const head, tail = 300, 100
	if r := []rune(s); len(r) > head+tail {
		s = string(r[:head]) + " … " + string(r[len(r)-tail:])
	}
	return trace.Plain(s)
}
