package ariadnetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tiercompact/tiercompact/trace"
)

// take checks a request and keeps what it holds.
func (s *Server) take(r *http.Request, body []byte, at time.Time) *Problem {
	switch {
	case r.Method != http.MethodPost:
		return &Problem{"method", "must be POST, is " + r.Method}
	case !strings.HasSuffix(r.URL.Path, "/ingest"):
		return &Problem{"path", "must end with /ingest, is " + r.URL.Path}
	case !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json"):
		return &Problem{"Content-Type", "must be application/json"}
	case !utf8.Valid(body):
		return &Problem{"body", "is not UTF-8"}
	}
	events, prefix, p := split(body)
	if p != nil {
		return p
	}
	before := len(s.arrivals)
	for i, raw := range events {
		where := ""
		if prefix {
			where = fmt.Sprintf("batch[%d].", i)
		}
		c := check{where: where}
		c.event(s, raw, at)
		if c.problem != nil {
			s.restore(before)
			return c.problem
		}
	}
	return nil
}

// split returns the events of a body, and whether they stand in a batch.
func split(body []byte) (events []json.RawMessage, batch bool, p *Problem) {
	var outer map[string]json.RawMessage
	if err := json.Unmarshal(body, &outer); err != nil {
		return nil, false, &Problem{"body", "must be one JSON object: " + err.Error()}
	}
	raw, batch := outer["batch"]
	if !batch {
		return []json.RawMessage{body}, false, nil
	}
	if err := json.Unmarshal(raw, &events); err != nil || len(events) == 0 {
		return nil, true, &Problem{"batch", "must be an array of events"}
	}
	if len(outer) > 1 {
		return nil, true, &Problem{"body", "must hold nothing beside batch"}
	}
	return events, true, nil
}

// restore has a refused request leave nothing.
func (s *Server) restore(arrivals int) {
	for _, a := range s.arrivals[arrivals:] {
		if a.Type == "trace" {
			delete(s.traces, a.Trace)
		} else {
			delete(s.spans, a.Trace+"/"+a.Span)
		}
	}
	s.arrivals = s.arrivals[:arrivals]
}

// check finds the first problem of one event.
type check struct {
	where   string // of the event in the body, with a dot
	fields  map[string]json.RawMessage
	problem *Problem
}

func (c *check) wrong(is bool, field, text string, args ...any) {
	if is && c.problem == nil {
		c.problem = &Problem{c.where + field, fmt.Sprintf(text, args...)}
	}
}

func (c *check) event(s *Server, raw json.RawMessage, at time.Time) {
	c.wrong(json.Unmarshal(raw, &c.fields) != nil, "type", "event must be an object")
	a := Arrival{At: at, Type: c.text("type"), Trace: c.text("trace_id"), Name: c.text("name"), Start: c.time("started_at")}
	switch a.Type {
	case "trace":
		c.trace(s, &a, raw)
	case "span":
		c.span(s, &a)
	default:
		c.wrong(true, "type", "must be trace or span, is %q", a.Type)
	}
	if c.problem == nil {
		s.arrivals = append(s.arrivals, a)
	}
}

func (c *check) trace(s *Server, a *Arrival, raw json.RawMessage) {
	c.only("type", "trace_id", "name", "group_id", "started_at", "metadata")
	a.Group = c.text("group_id")
	err := json.Unmarshal(c.fields["metadata"], &a.Metadata)
	c.wrong(err != nil || a.Metadata == nil, "metadata", "must be an object of strings")
	_, there := s.traces[a.Trace]
	c.wrong(there, "trace_id", "was there before")
	if c.problem == nil {
		s.traces[a.Trace] = string(raw)
	}
}

func (c *check) span(s *Server, a *Arrival) {
	c.only("type", "trace_id", "span_id", "parent_id", "kind", "name", "started_at", "ended_at", "data", "status")
	a.Span, a.Kind, a.End, a.Status = c.text("span_id"), c.text("kind"), c.time("ended_at"), c.text("status")
	if !bytes.Equal(c.fields["parent_id"], []byte("null")) {
		a.Parent = c.text("parent_id")
		c.wrong(!s.spans[a.Trace+"/"+a.Parent], "parent_id", "no span %q is known", a.Parent)
	}
	c.wrong(s.traces[a.Trace] == "", "trace_id", "no trace %q is known", a.Trace)
	c.wrong(s.spans[a.Trace+"/"+a.Span], "span_id", "was there before")
	c.wrong(a.End.Before(a.Start), "ended_at", "is before started_at")
	c.wrong(a.Status != "ok" && a.Status != "error", "status", "must be ok or error, is %q", a.Status)
	c.wrong((a.Name == trace.Error{}.Event()) != (a.Status == "error"), "status", "%q does not fit %s", a.Status, a.Name)
	a.Data = c.fields["data"]
	c.wrong(!bytes.HasPrefix(a.Data, []byte("{")), "data", "must be an object")
	if err := trace.CheckData(a.Name, a.Data); err != nil {
		c.wrong(true, "data", "%v", err)
	}
	if c.problem == nil {
		s.spans[a.Trace+"/"+a.Span] = true
	}
}

// only has an event hold these fields, all of them, and no others.
func (c *check) only(names ...string) {
	for _, name := range names {
		c.wrong(c.fields[name] == nil, name, "is missing")
	}
	var more []string
	for name := range c.fields {
		if !slices.Contains(names, name) {
			more = append(more, name)
		}
	}
	if len(more) > 0 {
		slices.Sort(more)
		c.wrong(true, more[0], "is no field of it")
	}
}

func (c *check) text(name string) string {
	var s *string
	if err := json.Unmarshal(c.fields[name], &s); err != nil || s == nil || *s == "" {
		c.wrong(true, name, "must be a string that is not empty")
		return ""
	}
	return *s
}

var zulu = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$`)

func (c *check) time(name string) time.Time {
	s := c.text(name)
	t, err := time.Parse(time.RFC3339Nano, s)
	c.wrong(err != nil || !zulu.MatchString(s), name, "must be RFC 3339 in UTC with Z, is %q", s)
	return t
}
