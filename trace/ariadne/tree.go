package ariadne

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"time"

	"github.com/tiercompact/tiercompact/trace"
)

// traceEvent and spanEvent are Ariadne's input. It rejects null, and with it the
// whole batch: empty fields are omitted.
type (
	traceEvent struct {
		Type      string            `json:"type"`
		TraceID   string            `json:"trace_id"`
		Name      string            `json:"name"`
		GroupID   string            `json:"group_id"`
		StartedAt string            `json:"started_at"`
		EndedAt   string            `json:"ended_at"`
		Metadata  map[string]string `json:"metadata"`
	}

	spanEvent struct {
		Type      string          `json:"type"`
		TraceID   string          `json:"trace_id"`
		SpanID    string          `json:"span_id"`
		ParentID  string          `json:"parent_id,omitempty"` // none of a root
		Kind      string          `json:"kind"`
		Name      string          `json:"name"`
		StartedAt string          `json:"started_at"`
		EndedAt   string          `json:"ended_at"`
		Data      json.RawMessage `json:"data"`
		Status    trace.Status    `json:"status,omitempty"`
	}
)

// A spanTree gives events their places in traces. Ids are hashes of the session,
// the time of its first event and the numbers of the check and the span: equal
// events have equal ids; another process has others.
type spanTree struct {
	cfg      Config
	sessions map[string]*session
}

// maxSessions limits the sessions in memory, which may have ended. Beyond it, all
// are forgotten; those that continue begin with check 1 again.
const maxSessions = 4096

// A session is the state of one session. A copy of it is another session.
type session struct {
	name     string // the name in events
	id       string // input of its ids
	checks   int
	spans    int // of the current trace
	now      check
	reported check // the server's version; zero: not the current trace
	parents  trace.Parents[string]
}

// A check is one trace.
type check struct {
	id         string
	number     int    // from 1; 0 is for events before the first check
	level      string // of its round, "" if there is none
	start, end time.Time
}

// A batch is the content of one request.
type batch struct {
	parts  [][]byte // events; nil for a trace
	traces []traced
	size   int // bytes, including the possible growth of traces
}

// A traced is a trace in a batch.
type traced struct {
	session *session
	check   check
	part    int // index in parts
}

// growth is the maximum growth of a trace event by its level.
const growth = 64

// nextBatch returns a request for the first events, and their number: at least one,
// and as many as fit into one request.
func (t *spanTree) nextBatch(events []trace.Event) (b batch, n int) {
	for n < len(events) {
		s := t.sessionOf(events[n])
		next := *s
		span := t.encodeSpan(&next, events[n])
		more := len(span) + 1
		fresh := b.findTrace(s, next.now.id) < 0
		if fresh {
			more += len(t.encodeTrace(next)) + growth
		}
		if n > 0 && b.size+more > maxBody-len(`{"batch":[]}`) {
			break
		}
		*s = next
		b.size += more
		b.addToBatch(s, span, fresh)
		n++
	}
	return b, n
}

// findTrace returns the place of a trace in the batch, or -1.
func (b *batch) findTrace(s *session, id string) int {
	for i := len(b.traces) - 1; i >= 0; i-- {
		if x := b.traces[i]; x.session == s && x.check.id == id {
			return i
		}
	}
	return -1
}

func (b *batch) addToBatch(s *session, span []byte, fresh bool) {
	if fresh {
		b.traces = append(b.traces, traced{s, s.now, len(b.parts)})
		b.parts = append(b.parts, nil)
	}
	b.traces[b.findTrace(s, s.now.id)].check = s.now
	b.parts = append(b.parts, span)
}

// batchBody returns the request. It omits a trace that the server already has.
func (t *spanTree) batchBody(b batch) []byte {
	for _, x := range b.traces {
		if x.check != x.session.reported {
			s := *x.session
			s.now = x.check
			b.parts[x.part] = t.encodeTrace(s)
		}
	}
	body := []byte(`{"batch":[`)
	for _, part := range b.parts {
		if part == nil {
			continue
		}
		if body[len(body)-1] != '[' {
			body = append(body, ',')
		}
		body = append(body, part...)
	}
	return append(body, "]}"...)
}

// markSent records whether the server has the batch. If not, later spans must not
// name its spans as parents.
func (b *batch) markSent(ok bool) {
	for _, x := range b.traces {
		switch {
		case x.session.now.id != x.check.id: // the session is over
		case ok:
			x.session.reported = x.check
		default:
			x.session.parents.Forget()
		}
	}
}

func (t *spanTree) sessionOf(e trace.Event) *session {
	if s := t.sessions[e.Session]; s != nil {
		return s
	}
	if len(t.sessions) >= maxSessions {
		clear(t.sessions)
	}
	start, _ := e.Span()
	s := &session{name: e.Session, id: hexDigest(32, e.Session, start.Format(time.RFC3339Nano))}
	s.beginTrace(0)
	t.sessions[e.Session] = s
	return s
}

// beginTrace begins the trace of a check.
func (s *session) beginTrace(number int) {
	s.now = check{id: hexDigest(32, s.id, strconv.Itoa(number)), number: number}
	s.reported, s.spans = check{}, 0
	s.parents.Forget()
}

// encodeSpan returns an event of s as JSON, and adds it to s.
func (t *spanTree) encodeSpan(s *session, e trace.Event) []byte {
	if _, ok := e.Data.(trace.TokenEstimate); ok {
		s.checks++
		s.beginTrace(s.checks)
	}
	start, end := e.Span()
	s.now.coverSpan(start, end, e.Data)
	s.spans++
	id := hexDigest(16, s.now.id, strconv.Itoa(s.spans))
	out := spanEvent{
		Type: "span", TraceID: s.now.id, SpanID: id, Kind: cmp.Or(t.cfg.Kind, spanKind(e.Data)), Name: truncateName(e.Name),
		StartedAt: formatTime(start), EndedAt: formatTime(end), Data: spanData(e.Data),
	}
	if e.Status == trace.OK || e.Status == trace.Failed {
		out.Status = e.Status
	}
	if parent := s.parents.Of(e.Data); parent != nil {
		out.ParentID = *parent
	}
	s.parents.Add(e.Data, id)
	line := encodeEvent(out)
	for limit := longText; len(line) > maxSpan; limit /= 4 {
		out.Data = truncateData(out.Data, limit)
		line = encodeEvent(out)
	}
	return line
}

// coverSpan extends the trace to its spans, and sets its level.
func (c *check) coverSpan(start, end time.Time, p trace.Payload) {
	if c.start.IsZero() || start.Before(c.start) {
		c.start = start
	}
	if end.After(c.end) {
		c.end = end
	}
	if d, ok := p.(trace.TriggerDecision); ok && d.Triggered {
		c.level = d.Level
	}
}

// encodeTrace returns the event of the current trace of s. It always has an end:
// the page shows the first received event of a trace, and shows a trace without an
// end as running.
func (t *spanTree) encodeTrace(s session) []byte {
	group := truncateName(cmp.Or(t.cfg.GroupID, s.name))
	metadata := map[string]string{"session": truncateName(s.name), "agent_name": group}
	for k, v := range t.cfg.Metadata {
		metadata[truncateName(k)] = truncateName(v)
	}
	name := "before the first check"
	if s.now.number > 0 {
		name = fmt.Sprintf("check %d", s.now.number)
	}
	if s.now.level != "" {
		name += ": " + s.now.level
	}
	if t.cfg.Name != "" {
		name += " (" + t.cfg.Name + ")"
	}
	return encodeEvent(traceEvent{
		Type: "trace", TraceID: s.now.id, Name: truncateName(name), GroupID: group,
		StartedAt: formatTime(s.now.start), EndedAt: formatTime(s.now.end), Metadata: maps.Clone(metadata),
	})
}

// encodeEvent returns the JSON of an event, which can always be encoded.
func encodeEvent(event any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(event)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// formatTime returns t in Ariadne's format: in UTC with Z, with a year of four
// digits.
func formatTime(t time.Time) string {
	switch t = t.UTC(); {
	case t.Year() < 0:
		t = time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)
	case t.Year() > 9999:
		t = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
	}
	return t.Format("2006-01-02T15:04:05.000000Z")
}

// hexDigest returns n hexadecimal digits of a hash of parts.
func hexDigest(n int, parts ...string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", parts))
	return hex.EncodeToString(sum[:])[:n]
}
