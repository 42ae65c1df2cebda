package trace_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/tiercompact/tiercompact/trace"
)

// fill sets every string of a payload to s.
func fill(p trace.Payload, s string) trace.Payload {
	v := reflect.New(reflect.TypeOf(p)).Elem()
	for _, field := range v.Fields() {
		switch field.Kind() {
		case reflect.String:
			field.SetString(s)
		case reflect.Slice:
			field.SetBytes([]byte(`{"a":["` + s + `"]}`))
		}
	}
	return v.Interface().(trace.Payload)
}

func TestRedactedLeavesNoTextAsItWas(t *testing.T) {
	names := []string{"level", "strategy", "storage_adapter", "error_type", "fallback", "severity", "session_id"}
	for _, e := range events() {
		full := trace.New("s", start, start, fill(e.Data, "secret"))
		var got trace.Event
		trace.Redacted(func(e trace.Event) { got = e }, func(s string) string { return strings.ReplaceAll(s, "secret", "<REDACTED>") }).Emit(full)
		for name, value := range trace.Properties(got.Data) {
			text, _ := value.(string)
			kept := false
			for _, n := range names {
				kept = kept || n == name
			}
			if strings.Contains(text, "secret") != kept {
				t.Errorf("%s: %s is %q", e.Name, name, text)
			}
		}
		if !reflect.DeepEqual(full.Data, fill(e.Data, "secret")) {
			t.Errorf("%s: the event that was emitted changed", e.Name)
		}
	}
}

func TestRedactedKeepsThePayloadOfASummaryJSON(t *testing.T) {
	var got trace.Event
	sink := trace.Redacted(func(e trace.Event) { got = e }, func(s string) string { return strings.ReplaceAll(s, `k="1"`, `k="<REDACTED>"`) })
	sink.Emit(trace.New("s", start, start, trace.SummaryCreated{Payload: json.RawMessage(`{"text":"k=\"1\"","n":1.50}`)}))
	if p := got.Data.(trace.SummaryCreated); string(p.Payload) != `{"text":"k=\"<REDACTED>\"","n":1.50}` {
		t.Errorf("%s", p.Payload)
	}
	sink.Emit(trace.New("s", start, start, trace.SummaryCreated{}))
	if p := got.Data.(trace.SummaryCreated); p.Payload != nil {
		t.Errorf("%s", p.Payload)
	}
}

func TestRedactedKnowsNoKindThatItLetsThrough(t *testing.T) {
	var got trace.Event
	sink := trace.Redacted(func(e trace.Event) { got = e }, func(s string) string { return strings.ReplaceAll(s, "secret", "x") })
	for p, want := range map[trace.Payload]string{odd("secret"): `"x"`, unencodable{nil}: "null"} {
		sink.Emit(trace.New("s", start, start, p))
		b, err := json.Marshal(got.Data)
		if err != nil || string(b) != want || got.Data.Event() != "odd" {
			t.Errorf("%s, %v", b, err)
		}
	}
	trace.Redacted(sink, nil).Emit(trace.New("s", start, start, odd("y")))
	if b, _ := json.Marshal(got.Data); string(b) != `"y"` {
		t.Errorf("%s", b)
	}
}

type unencodable struct{ C chan int }

func (unencodable) Event() string { return "odd" }

func TestPropertiesEqualTheJSON(t *testing.T) {
	for _, e := range events() {
		b, err := json.Marshal(e.Data)
		if err != nil {
			t.Fatal(err)
		}
		var data map[string]any
		if err := json.Unmarshal(b, &data); err != nil {
			t.Fatal(err)
		}
		want := flat("", data)
		for name, value := range trace.Properties(e.Data) {
			got, err := json.Marshal(value)
			if raw, is := value.(string); is && name == "payload" {
				got = []byte(raw)
			}
			if err != nil || string(got) != want[name] {
				t.Errorf("%s: %s is %s, want %q", e.Name, name, got, want[name])
			}
			delete(want, name)
		}
		if len(want) > 0 {
			t.Errorf("%s: no %v", e.Name, want)
		}
	}
	for name, value := range trace.Properties(odd("x")) {
		if name != "json" || value != `"x"` {
			t.Errorf("%s is %v", name, value)
		}
	}
}

// flat returns the JSON of the values in data, by name; a payload stays whole.
func flat(prefix string, data map[string]any) map[string]string {
	out := make(map[string]string)
	for name, value := range data {
		inner, object := value.(map[string]any)
		if object && name != "payload" {
			maps.Copy(out, flat(prefix+name+".", inner))
			continue
		}
		b, _ := json.Marshal(value)
		out[prefix+name] = string(b)
	}
	return out
}

func TestParentsComeBeforeTheirChildren(t *testing.T) {
	var p trace.Parents[int]
	yes, no := trace.TriggerDecision{Triggered: true}, trace.TriggerDecision{}
	for i, step := range []struct {
		next trace.Payload
		want int // 0: a root
	}{
		{trace.Warning{}, 0}, {trace.TokenEstimate{}, 0}, {trace.Warning{}, 2}, {no, 2}, {trace.Error{}, 2},
		{trace.TokenEstimate{}, 0}, {yes, 6}, {trace.LevelApplied{}, 7}, {trace.Archival{}, 7}, {trace.TokenEstimate{}, 0}, {trace.Error{}, 10},
	} {
		got := 0
		if parent := p.Of(step.next); parent != nil {
			got = *parent
		}
		if got != step.want {
			t.Errorf("event %d has parent %d, want %d", i+1, got, step.want)
		}
		p.Add(step.next, i+1)
	}
	p.Forget()
	if p.Of(yes) != nil {
		t.Error("what was forgotten is a parent")
	}
}

func TestSpanEndsNotBeforeItStarts(t *testing.T) {
	zone := time.FixedZone("x", 3600)
	from, to := trace.Event{Start: start.In(zone), End: start.Add(-time.Second)}.Span()
	if from != to || from != start {
		t.Errorf("%v to %v", from, to)
	}
}
