package ariadnetest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Group is a heading of the page with its traces, the latest first.
type Group struct {
	ID     string
	Label  string
	Traces []*Trace
}

// A Trace is a line of the page, with its spans as a tree.
type Trace struct {
	ID       string
	Name     string
	Declared bool // an event of the trace arrived, not only spans
	Running  bool // it is shown as unfinished
	Took     time.Duration
	Metadata map[string]string
	Spans    []*Span // the roots
}

// A Span is a line below a trace.
type Span struct {
	Arrival
	Running  bool
	Icon     string // handoff, tool, api or agent
	Response string // text in the tab Response, "" if there is none
	Orphan   bool   // its parent is missing, so it is shown as a root
	Children []*Span
}

// Walk calls f with each span of the trace, parents first.
func (t *Trace) Walk(f func(s *Span, depth int)) { visitSpans(t.Spans, 0, f) }

func visitSpans(spans []*Span, depth int, f func(*Span, int)) {
	for _, s := range spans {
		f(s, depth)
		visitSpans(s.Children, depth+1, f)
	}
}

// Page returns the page in a browser that was open all the time. Of several events
// of one trace or span it shows the first.
func (s *Server) Page() []*Group {
	events := s.Arrivals()
	slices.Reverse(events)
	traces := make(map[string]*Trace)
	declared := make(map[string]Arrival)
	spans := make(map[string][]Arrival)
	var order []string
	for _, a := range events {
		if traces[a.Trace] == nil {
			traces[a.Trace] = &Trace{ID: a.Trace, Name: a.Trace}
			order = append(order, a.Trace)
		}
		if a.Type == "trace" {
			declared[a.Trace] = a
		} else {
			spans[a.Trace] = append(spans[a.Trace], a)
		}
	}
	var groups []*Group
	for _, id := range order {
		t, a := traces[id], declared[id]
		t.Declared, t.Metadata = a.Type != "", a.Metadata
		t.Name = cmp.Or(strings.TrimSpace(a.Name), id)
		t.Running = !a.Start.IsZero() && a.End.IsZero()
		if !t.Running {
			t.Took = a.End.Sub(a.Start)
		}
		t.Spans = buildTree(spans[id])
		groups = groupTrace(groups, t, a)
	}
	return groups
}

// groupTrace adds t to the group of its heading: its agent, its group, its name, or
// none.
func groupTrace(groups []*Group, t *Trace, a Arrival) []*Group {
	m := a.Metadata
	id := cmp.Or(m["agent"], m["agent_id"], m["agent_name"], a.Group, a.Name, t.ID)
	for _, g := range groups {
		if g.ID == id {
			g.Traces = append(g.Traces, t)
			return groups
		}
	}
	return append(groups, &Group{ID: id, Label: cmp.Or(m["agent_name"], m["agent"], m["agent_id"], a.Name, id), Traces: []*Trace{t}})
}

// buildTree returns the roots among the spans of a trace.
func buildTree(arrivals []Arrival) (roots []*Span) {
	all := make(map[string]*Span)
	var order []*Span
	for _, a := range arrivals {
		s := all[a.Span]
		if s == nil {
			s = new(Span)
			all[a.Span] = s
			order = append(order, s)
		}
		*s = Span{Arrival: a, Running: a.End.IsZero(), Icon: arrivalIcon(a), Response: response(a.Data)}
	}
	for _, s := range order {
		parent := all[s.Parent]
		if s.Parent == "" || parent == nil {
			s.Orphan = s.Parent != ""
			roots = append(roots, s)
			continue
		}
		parent.Children = append(parent.Children, s)
	}
	byStart := func(a, b *Span) int { return cmp.Compare(a.Start.UnixMilli(), b.Start.UnixMilli()) }
	slices.SortStableFunc(roots, byStart)
	for _, s := range order {
		slices.SortStableFunc(s.Children, byStart)
	}
	return roots
}

func arrivalIcon(a Arrival) string {
	switch {
	case containsAny(a.Kind, "handoff") || containsAny(a.Name, "handoff"):
		return "handoff"
	case containsAny(a.Kind, "tool", "function") || containsAny(a.Name, "fetch", "check", "send"):
		return "tool"
	case containsAny(a.Kind, "llm", "api", "request") || containsAny(a.Name, "post", "get"):
		return "api"
	}
	return "agent"
}

// responses are the places that are searched for the text of the tab, in order.
var responses = [][]string{
	{"final_output"}, {"output_text"}, {"response", "final_output"}, {"response", "output_text"}, {"response", "text"}, {"response", "output"},
	{"output", "final_output"}, {"output", "text"}, {"output", "output_text"}, {"output", "choices"}, {"output"},
	{"result"}, {"message"}, {"messages"}, {"content"}, {"tool_output"},
}

func response(data json.RawMessage) string {
	for _, path := range responses {
		if text := firstText(valueOfPath(data, path...), 0); text != "" {
			return text
		}
	}
	for _, m := range objectMembers(data) {
		if !containsAny(m.name, "output", "response", "result", "message", "final") {
			continue
		}
		if text := firstText(m.value, 0); len(strings.Fields(text)) > 3 {
			return text
		}
	}
	return ""
}

// firstText returns the text of a value, "" if it has none.
func firstText(raw json.RawMessage, depth int) string {
	var value any
	if raw == nil || depth > 6 || json.Unmarshal(raw, &value) != nil {
		return ""
	}
	switch value := value.(type) {
	case string:
		return strings.TrimSpace(value)
	case float64, bool:
		return fmt.Sprint(value)
	case []any:
		return textOfList(raw, depth)
	case map[string]any:
		for _, name := range []string{"text", "output_text", "final_output", "message", "value"} {
			if s, _ := value[name].(string); strings.TrimSpace(s) != "" {
				return strings.TrimSpace(s)
			}
		}
		for _, name := range []string{"content", "messages", "output", "response", "result", "answer", "data"} {
			if text := firstText(valueOfPath(raw, name), depth+1); text != "" {
				return text
			}
		}
	}
	return ""
}

func textOfList(raw json.RawMessage, depth int) string {
	var list []json.RawMessage
	_ = json.Unmarshal(raw, &list) // it is a list
	var parts []string
	for _, item := range list {
		if text := firstText(item, depth+1); text != "" {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, "\n\n")
}

// Faults returns what a reader of the page would miss: traces without a name,
// traces and spans that never end, spans outside their tree or without a text, and
// rejected requests.
func (s *Server) Faults() (all []string) {
	for _, p := range s.Problems() {
		all = append(all, "refused: "+p.Error())
	}
	for _, g := range s.Page() {
		for _, t := range g.Traces {
			if !t.Declared {
				all = append(all, fmt.Sprintf("trace %s has no name", t.ID))
			}
			if t.Running {
				all = append(all, fmt.Sprintf("trace %s (%s) runs for ever", t.ID, t.Name))
			}
			t.Walk(func(sp *Span, _ int) {
				for _, fault := range sp.spanFaults() {
					all = append(all, fmt.Sprintf("span %s (%s) of trace %s %s", sp.Span, sp.Name, t.ID, fault))
				}
			})
		}
	}
	return all
}

func (s *Span) spanFaults() (all []string) {
	for _, x := range []struct {
		is   bool
		text string
	}{
		{s.Running, "runs for ever"},
		{s.Orphan, "names a parent that is not there"},
		{s.Response == "", "has no response data"},
		{s.Name == "", "has no name"},
		{s.Kind == "", "has no kind"},
	} {
		if x.is {
			all = append(all, x.text)
		}
	}
	return all
}
