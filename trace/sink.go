package trace

import (
	"io"
	"sync"
)

// JSONL returns a sink that writes each event to w as one line of JSON, in one call
// of Write. It is safe for concurrent use. It drops events that cannot be written.
func JSONL(w io.Writer) Sink {
	return lineSink(w, func(e Event) []byte {
		b, err := marshalLine(e)
		if err != nil { // a custom payload, or one with invalid JSON
			return nil
		}
		return b
	})
}

// lineSink returns a sink that writes the result of format, one event at a time.
func lineSink(w io.Writer, format func(Event) []byte) Sink {
	var mu sync.Mutex // held during writes to w
	return func(e Event) {
		b := format(e)
		if len(b) == 0 {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		_, _ = w.Write(b) // a sink drops what it cannot write
	}
}
