package ariadne

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode"
)

// A reporter tells what was lost: the first time at once, later at most once a
// minute, and the sum at the end.
type reporter struct {
	w   io.Writer
	url string

	mu     sync.Mutex // guards what follows, and is held while w is written to
	events int        // lost so far
	told   int        // of them
	at     time.Time  // when
}

const quiet = time.Minute

// lost counts events, and says what the problem was.
func (r *reporter) lost(events int, problem string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events += events
	now := time.Now()
	if r.told > 0 && now.Sub(r.at) < quiet {
		return
	}
	r.told, r.at = r.events, now
	r.say("%s: %s; %s lost so far, the session goes on", r.url, problem, counted(r.events))
}

// last says the sum, where that is news. dropped are the events that found no
// room in the queue.
func (r *reporter) last(dropped int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if all := r.events + dropped; all > r.told {
		r.told = all
		r.say("%s: %s lost in all, %d of them for want of room in the queue", r.url, counted(all), dropped)
	}
}

func (r *reporter) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.events
}

func (r *reporter) say(format string, args ...any) {
	_, _ = fmt.Fprintf(r.w, "[Ariadne] %s\n", plain(fmt.Sprintf(format, args...))) // nobody is left to be told
}

func counted(events int) string {
	if events == 1 {
		return "1 event"
	}
	return fmt.Sprintf("%d events", events)
}

// plain returns s as one line of at most 400 characters that steers no terminal.
func plain(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	const longest = 400
	if r := []rune(s); len(r) > longest {
		s = string(r[:longest]) + " …"
	}
	return s
}
