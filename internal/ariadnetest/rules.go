package ariadnetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"
	"unicode/utf16"
)

// decodeBody returns the events of a body: one, or those of {"batch": [...]}. One
// invalid event rejects all.
func decodeBody(body []byte, at time.Time) ([]Arrival, *Problem) {
	if !json.Valid(body) {
		return nil, &Problem{http.StatusInternalServerError, "body", "is no JSON"}
	}
	var outer map[string]json.RawMessage
	if json.Unmarshal(body, &outer) != nil {
		return nil, &Problem{http.StatusBadRequest, "body", "must be an object"}
	}
	raw, batch := outer["batch"]
	if !batch {
		a, p := readEvent("", body, at)
		return []Arrival{a}, p
	}
	var all []json.RawMessage
	if json.Unmarshal(raw, &all) != nil || all == nil {
		return nil, &Problem{http.StatusInternalServerError, "batch", "must be an array"}
	}
	events := []Arrival{}
	for i, raw := range all {
		a, p := readEvent(fmt.Sprintf("batch[%d].", i), raw, at)
		if p != nil {
			return nil, p
		}
		events = append(events, a)
	}
	return events, nil
}

// A fieldReader reads the fields of one event, and keeps the first problem.
type fieldReader struct {
	where   string // of the event in the body, with a dot
	fields  map[string]json.RawMessage
	problem *Problem
}

func (r *fieldReader) refuseField(field, text string, args ...any) {
	if r.problem == nil {
		r.problem = &Problem{http.StatusBadRequest, r.where + field, fmt.Sprintf(text, args...)}
	}
}

// readEvent reads one event. Unknown fields are dropped.
func readEvent(where string, raw json.RawMessage, at time.Time) (Arrival, *Problem) {
	r := fieldReader{where: where}
	_ = json.Unmarshal(raw, &r.fields) // only an object has fields
	a := Arrival{At: at, Type: r.optionalText("type"), Trace: r.requiredString("trace_id"), Name: truncateText(r.optionalText("name"), maxName), Start: r.requiredTime("started_at"), End: r.requiredTime("ended_at")}
	switch a.Type {
	case "trace":
		a.Group = r.optionalText("group_id")
		a.Metadata = r.metadata()
	case "span":
		a.Span, a.Parent, a.Kind = r.requiredString("span_id"), r.optionalText("parent_id"), r.optionalText("kind")
		a.Data = r.objectData()
		if a.Status = r.optionalText("status"); a.Status != "ok" && a.Status != "error" && r.fields["status"] != nil {
			r.refuseField("status", "must be ok or error, is %q", a.Status)
		}
	default:
		r.refuseField("type", "must be trace or span, is %q", a.Type)
	}
	if !a.Start.IsZero() && !a.End.IsZero() && a.End.UnixMilli() < a.Start.UnixMilli() {
		r.refuseField("ended_at", "must not be before started_at")
	}
	return a, r.problem
}

// optionalText returns a string that may be absent, but not null.
func (r *fieldReader) optionalText(field string) string {
	raw, there := r.fields[field]
	var s *string
	if !there {
		return ""
	}
	if json.Unmarshal(raw, &s) != nil || s == nil {
		r.refuseField(field, "must be a string, or absent")
		return ""
	}
	return *s
}

// requiredString returns a required string.
func (r *fieldReader) requiredString(field string) string {
	s := r.optionalText(field)
	if s == "" {
		r.refuseField(field, "must be a string that is not empty")
	}
	return s
}

// datetime is a time in UTC with Z, and without an offset.
var datetime = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$`)

func (r *fieldReader) requiredTime(field string) time.Time {
	if _, there := r.fields[field]; !there {
		return time.Time{}
	}
	s := r.optionalText(field)
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil || !datetime.MatchString(s) {
		r.refuseField(field, "must be a time in UTC like 2026-01-02T03:04:05.678Z, is %q", s)
	}
	return t
}

func (r *fieldReader) metadata() map[string]string {
	raw, there := r.fields["metadata"]
	if !there {
		return nil
	}
	var values map[string]*string
	if json.Unmarshal(raw, &values) != nil || values == nil {
		r.refuseField("metadata", "must be an object of strings, or absent")
		return nil
	}
	m := make(map[string]string, len(values))
	for k, v := range values {
		if v == nil {
			r.refuseField("metadata", "must be an object of strings, or absent")
			return nil
		}
		m[k] = *v
	}
	return m
}

// objectData is an object. The real server also accepts a list, on which no client
// should rely.
func (r *fieldReader) objectData() json.RawMessage {
	raw, there := r.fields["data"]
	if !there {
		return nil
	}
	if !bytes.HasPrefix(raw, []byte("{")) {
		r.refuseField("data", "must be an object, or absent")
		return nil
	}
	return truncateStrings(raw)
}

// Longer texts are cut, in characters as JavaScript counts them.
const (
	maxName = 1024
	maxText = 100 << 10
)

func truncateText(s string, most int) string {
	if len(s) <= most {
		return s
	}
	units := utf16.Encode([]rune(s))
	if len(units) <= most {
		return s
	}
	return string(utf16.Decode(units[:most])) + "... [truncated]"
}

// truncateStrings returns an object with its strings cut, including those of inner
// objects, but not those in lists.
func truncateStrings(raw json.RawMessage) json.RawMessage {
	if len(raw) <= maxText {
		return raw
	}
	var out bytes.Buffer
	out.WriteByte('{')
	for i, m := range objectMembers(raw) {
		if i > 0 {
			out.WriteByte(',')
		}
		value := m.value
		var s string
		switch {
		case bytes.HasPrefix(value, []byte("{")):
			value = truncateStrings(value)
		case json.Unmarshal(value, &s) == nil:
			value, _ = json.Marshal(truncateText(s, maxText)) // a string is always JSON
		}
		name, _ := json.Marshal(m.name)
		out.Write(name)
		out.WriteByte(':')
		out.Write(value)
	}
	out.WriteByte('}')
	return out.Bytes()
}

// A member is a name in an object, with its value.
type member struct {
	name  string
	value json.RawMessage
}

// objectMembers returns the members of an object, in order; nil for any other
// value.
func objectMembers(raw json.RawMessage) (all []member) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return all
		}
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return all
		}
		all = append(all, member{fmt.Sprint(name), value})
	}
	return all
}

// valueOfPath returns the value of a name in an object, nil if there is none.
func valueOfPath(raw json.RawMessage, path ...string) json.RawMessage {
	for _, name := range path {
		var next json.RawMessage
		for _, m := range objectMembers(raw) {
			if m.name == name {
				next = m.value
			}
		}
		if raw = next; raw == nil {
			return nil
		}
	}
	return raw
}

// containsAny reports whether s contains one of words, ignoring case.
func containsAny(s string, words ...string) bool {
	s = strings.ToLower(s)
	for _, w := range words {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}
