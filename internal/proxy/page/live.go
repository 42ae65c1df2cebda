package page

import (
	"fmt"
	"net/http"
	"sync"
	"time"
)

// A hub tells open pages that something has changed, by server-sent events. An event
// has no content: the page loads itself again.
type hub struct {
	mu     *sync.Mutex
	open   map[chan struct{}]bool
	done   chan struct{}
	closed *sync.Once
}

const (
	maxOpen  = 64                     // pages
	calm     = 400 * time.Millisecond // between events of one page
	liveness = 20 * time.Second       // between comments, which show that the connection lives
)

func newHub() hub {
	return hub{mu: new(sync.Mutex), open: make(map[chan struct{}]bool), done: make(chan struct{}), closed: new(sync.Once)}
}

func (h hub) notify() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.open {
		select {
		case c <- struct{}{}:
		default: // it is told already
		}
	}
}

func (h hub) close() { h.closed.Do(func() { close(h.done) }) }

func (h hub) subscribe() (c chan struct{}, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.open) >= maxOpen {
		return nil, false
	}
	c = make(chan struct{}, 1)
	h.open[c] = true
	return c, true
}

func (h hub) leave(c chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.open, c)
}

func (h hub) serve(w http.ResponseWriter, r *http.Request) {
	c, ok := h.subscribe()
	if !ok {
		http.Error(w, "too many open pages", http.StatusServiceUnavailable)
		return
	}
	defer h.leave(c)
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	_, _ = out.SetReadDeadline(time.Time{}), out.SetWriteDeadline(time.Time{}) // it has no end
	write := func(text string) bool {
		_, err := fmt.Fprint(w, text)
		return err == nil && out.Flush() == nil
	}
	beat := time.NewTicker(liveness)
	defer beat.Stop()
	for alive := write("retry: 2000\n\n"); alive; {
		select {
		case <-r.Context().Done():
			return
		case <-h.done:
			return
		case <-beat.C:
			alive = write(": alive\n\n")
		case <-c:
			alive = write("data: changed\n\n")
			select {
			case <-time.After(calm):
			case <-r.Context().Done():
			case <-h.done:
			}
		}
	}
}
