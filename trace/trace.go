// Package trace reports the work of a session as events, which sinks write or send.
// It is independent of compaction, and reads no clock: times come from the caller.
// An [Event] is a span with a start and an end. Its content is its [Payload], one
// type for each kind of event; [Check] reports missing or wrong content.
package trace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"
)

// Version is the format of encoded events; each includes it as "v".
const Version = 1

// A Status is the outcome of an event.
type Status string

// The statuses of an event.
const (
	OK     Status = "ok"
	Failed Status = "error"
)

// An Event is one step of a session.
type Event struct {
	Name    string    // of the kind, one of [Names]
	Session string    // never empty
	Start   time.Time // of the span
	End     time.Time // not before Start
	Status  Status
	Data    Payload // its type belongs to Name
}

// A Payload is the content of an event of one kind.
type Payload interface {
	// Event returns the name of the kind.
	Event() string
}

// New returns the event of p. Its status is OK, or Failed if p is an [Error].
func New(session string, start, end time.Time, p Payload) Event {
	status := OK
	if _, failed := p.(Error); failed {
		status = Failed
	}
	return Event{Name: p.Event(), Session: session, Start: start, End: end, Status: status, Data: p}
}

// Span returns the start and end of e by the wall clock, in UTC, the end not
// before the start, even if that clock was set back in between.
func (e Event) Span() (start, end time.Time) {
	start, end = e.Start.Round(0).UTC(), e.End.Round(0).UTC()
	if end.Before(start) {
		end = start
	}
	return start, end
}

// A Sink receives events. The nil Sink discards them. A sink never fails and never
// blocks a session for long: it drops what it cannot write.
type Sink func(Event)

// Emit passes e to s.
func (s Sink) Emit(e Event) {
	if s != nil {
		s(e)
	}
}

// Join passes each event to every sink in turn.
func Join(sinks ...Sink) Sink {
	return func(e Event) {
		for _, s := range sinks {
			s.Emit(e)
		}
	}
}

// encoded is the JSON form of an Event.
type encoded struct {
	V       int             `json:"v"`
	Name    string          `json:"name"`
	Session string          `json:"session"`
	Start   time.Time       `json:"started_at"`
	End     time.Time       `json:"ended_at"`
	Status  Status          `json:"status"`
	Data    json.RawMessage `json:"data"`
}

// MarshalJSON returns e as one JSON object {v, name, session, started_at,
// ended_at, status, data}, times in UTC.
func (e Event) MarshalJSON() ([]byte, error) {
	data, err := marshalLine(e.Data)
	if err != nil {
		return nil, fmt.Errorf("encode event %s: %w", e.Name, err)
	}
	return marshalLine(encoded{Version, e.Name, e.Session, e.Start.UTC(), e.End.UTC(), e.Status, data})
}

// marshalLine returns the JSON of x, with <, > and & as they are, on one line with
// its end.
func marshalLine(x any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(x)
	return b.Bytes(), err
}

// UnmarshalJSON reads the output of MarshalJSON. An event of an unknown kind, or of
// a later version, is an error.
func (e *Event) UnmarshalJSON(b []byte) error {
	var x encoded
	if err := json.Unmarshal(b, &x); err != nil {
		return fmt.Errorf("decode event: %w", err)
	}
	if x.V > Version {
		return fmt.Errorf("decode event %s: format version %d, this program reads %d; use a newer tiercompact", x.Name, x.V, Version)
	}
	data, err := decodePayload(x.Name, x.Data)
	if err != nil {
		return fmt.Errorf("decode event %s: %w", x.Name, err)
	}
	*e = Event{x.Name, x.Session, x.Start, x.End, x.Status, data}
	return nil
}

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
