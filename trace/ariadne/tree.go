package ariadne

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/tiercompact/tiercompact/trace"
)

// traceEvent and spanEvent are what Ariadne takes in.
type (
	traceEvent struct {
		Type      string            `json:"type"`
		TraceID   string            `json:"trace_id"`
		Name      string            `json:"name"`
		GroupID   string            `json:"group_id"`
		StartedAt string            `json:"started_at"`
		Metadata  map[string]string `json:"metadata"`
	}

	spanEvent struct {
		Type      string        `json:"type"`
		TraceID   string        `json:"trace_id"`
		SpanID    string        `json:"span_id"`
		ParentID  *string       `json:"parent_id"` // null of a root
		Kind      string        `json:"kind"`
		Name      string        `json:"name"`
		StartedAt string        `json:"started_at"`
		EndedAt   string        `json:"ended_at"`
		Data      trace.Payload `json:"data"`
		Status    trace.Status  `json:"status"`
	}
)

// A tree gives events their places in traces. Ids are hashes of the session,
// the time of its first event and the number of the span: the same events have
// the same ids, another process has others.
type tree struct {
	cfg      Config
	sessions map[string]*session
}

// maxSessions bounds what is kept of sessions that may have ended. Beyond it
// all are forgotten; those that go on begin another trace.
const maxSessions = 4096

type session struct {
	trace    []byte // its event, as JSON
	id       string
	declared bool // the server has it
	spans    int
	parents  trace.Parents[string]
}

// batch returns the body for events, nil where nothing is left of them, the
// sessions in it, and how many events it leaves out because they are no JSON.
func (t *tree) batch(events []trace.Event) (body []byte, in map[*session]bool, left int) {
	in = make(map[*session]bool)
	var all [][]byte
	for _, e := range events {
		s := t.session(e)
		span, err := json.Marshal(t.span(s, e))
		if err != nil {
			left++
			continue
		}
		if !s.declared && !in[s] {
			all = append(all, s.trace)
		}
		in[s] = true
		all = append(all, span)
	}
	if len(all) == 0 {
		return nil, nil, left
	}
	return slices.Concat([]byte(`{"batch":[`), bytes.Join(all, []byte(",")), []byte("]}")), in, left
}

func (t *tree) session(e trace.Event) *session {
	if s := t.sessions[e.Session]; s != nil {
		return s
	}
	if len(t.sessions) >= maxSessions {
		clear(t.sessions)
	}
	start, _ := e.Span()
	s := &session{id: hash(32, e.Session, stamp(start))}
	metadata := map[string]string{"session": e.Session}
	maps.Copy(metadata, t.cfg.Metadata)
	s.trace, _ = json.Marshal(traceEvent{ // strings are always JSON
		Type: "trace", TraceID: s.id, Name: cmp.Or(t.cfg.Name, "compaction of "+e.Session),
		GroupID: cmp.Or(t.cfg.GroupID, e.Session), StartedAt: stamp(start), Metadata: metadata,
	})
	t.sessions[e.Session] = s
	return s
}

func (t *tree) span(s *session, e trace.Event) spanEvent {
	start, end := e.Span()
	s.spans++
	id := hash(16, s.id, strconv.Itoa(s.spans))
	parent := s.parents.Of(e.Data)
	s.parents.Add(e.Data, id)
	return spanEvent{
		Type: "span", TraceID: s.id, SpanID: id, ParentID: parent, Kind: t.cfg.Kind,
		Name: e.Name, StartedAt: stamp(start), EndedAt: stamp(end), Data: e.Data, Status: e.Status,
	}
}

// taken notes whether the server has what sessions sent. Where it does not,
// later spans must not name those as parents.
func taken(sessions map[*session]bool, ok bool) {
	for s := range sessions {
		if ok {
			s.declared = true
		} else {
			s.parents.Forget()
		}
	}
}

func stamp(t time.Time) string { return t.Format(time.RFC3339Nano) }

// hash returns n hexadecimal digits that stand for parts.
func hash(n int, parts ...string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", parts))
	return hex.EncodeToString(sum[:])[:n]
}
