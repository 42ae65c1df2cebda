package trace

import (
	"io"
	"sync"
)

// JSONL returns a sink that writes each event to w as one line of JSON, in one
// call of Write. It may be used concurrently. What w refuses is dropped.
func JSONL(w io.Writer) Sink {
	return lineSink(w, func(e Event) []byte {
		b, err := marshalLine(e)
		if err != nil { // a payload from elsewhere, or one that holds no JSON
			return nil
		}
		return b
	})
}

// lineSink returns a sink that writes what format returns, one event at a time.
func lineSink(w io.Writer, format func(Event) []byte) Sink {
	var mu sync.Mutex // held while w is written to
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
