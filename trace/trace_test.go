package trace_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"github.com/tiercompact/tiercompact/levels"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tiercompact/tiercompact/trace"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var start = time.Date(2026, 3, 4, 5, 6, 7, 8e6, time.UTC)

// events returns one event of each kind, and several if they differ.
func events() []trace.Event {
	policy := trace.Policy{TriggerPct: 0.85, HardCapBuffer: 1500, Strategy: "task_state", Thresholds: levels.Thresholds{}.WithDefaults("")}
	var all []trace.Event
	for i, p := range []trace.Payload{
		trace.TokenEstimate{Model: "llama3.2:3b", TEst: 20000, MaxTokens: 32000, UsagePct: 0.625, Breakdown: trace.Breakdown{System: 500, ToolsSchema: 700, Messages: 18800}},
		trace.TriggerDecision{Reason: "cooldown", Level: "soft", Policy: policy},
		trace.TriggerDecision{Triggered: true, Reason: "usage", Level: "hard", Policy: policy, Kept: &trace.Kept{Pinned: 1, RecentTurns: 2, ToolPairs: 3}, PrunedCount: new(1), Note: "by hand"},
		trace.LevelApplied{Level: "soft", Before: 20000, After: 9250, Freed: 10750, FirstChanged: 4, PrefillTokens: 8000},
		trace.PrunedMessages{Layers: trace.Layers{Pinned: trace.Layer{Messages: 1, Tokens: 2}, Summary: trace.Layer{Messages: 3, Tokens: 4}, Recent: trace.Layer{Messages: 5, Tokens: 6}}},
		trace.SummaryCreated{Strategy: "task_state", InputMessages: 40, SummaryTokens: 900, CompressionRatio: 0.05, Removed: 1, Fallback: "extractive", Payload: json.RawMessage(`{"goals":[]}`)},
		trace.Archival{SessionID: "s", Step: 1, StorageAdapter: "dir", FilePath: "a/transcript-pre-compact-001.jsonl"},
		trace.Archival{SessionID: "s", Step: 2, StorageAdapter: "s3", S3Key: "p/s/transcript-pre-compact-002.jsonl"},
		trace.Archival{SessionID: "s", Step: 3, StorageAdapter: "memory"},
		trace.Error{ErrorType: "timeout", Message: "the model \x1b[31mdid not\nanswer", Fallback: "extractive"},
		trace.Error{ErrorType: "insufficient_budget", Message: "the floor is 9000 tokens"},
		trace.Warning{Severity: "low", Message: "the window is assumed", Remedy: "set --window <n> & retry"},
	} {
		all = append(all, trace.New("s", start, start.Add(time.Duration(i)*time.Millisecond), p))
	}
	return all
}

func TestEveryEventHasItsRequiredProperties(t *testing.T) {
	kinds := make(map[string]bool)
	for _, e := range events() {
		kinds[e.Name] = true
		if err := trace.Check(e); err != nil {
			t.Errorf("%+v: %v", e, err)
		}
	}
	for _, name := range trace.Names() {
		if !kinds[name] || len(trace.Required(name)) == 0 {
			t.Errorf("%s has no event or demands nothing", name)
		}
	}
}

func TestCheckNamesTheProblem(t *testing.T) {
	ok := events()
	spoil := func(i int, f func(*trace.Event)) trace.Event { e := ok[i]; f(&e); return e }
	says := func(p trace.Payload) trace.Event { return trace.New("s", start, start, p) }
	count := -1
	rising := trace.Policy{Thresholds: levels.Thresholds{levels.Emergency: 0.5}.WithDefaults("")}
	for want, e := range map[string]trace.Event{
		"no session":           spoil(0, func(e *trace.Event) { e.Session = "" }),
		"unknown name":         spoil(0, func(e *trace.Event) { e.Name = "compact.x" }),
		"ends before it":       spoil(0, func(e *trace.Event) { e.End = start.Add(-1) }),
		"no start":             spoil(0, func(e *trace.Event) { e.Start = time.Time{} }),
		`status "fine"`:        spoil(0, func(e *trace.Event) { e.Status = "fine" }),
		"does not fit":         spoil(9, func(e *trace.Event) { e.Status = trace.OK }),
		"no kept":              says(trace.TriggerDecision{Triggered: true}),
		"no pruned_count":      says(trace.TriggerDecision{Triggered: true}),
		"no reason":            says(trace.TriggerDecision{}),
		"kept, and nothing":    says(trace.TriggerDecision{Kept: &trace.Kept{}}),
		"pruned_count, and":    says(trace.TriggerDecision{PrunedCount: &count}),
		"at least 0, is -1":    says(trace.TriggerDecision{PrunedCount: &count}),
		"do not rise":          says(trace.TriggerDecision{Policy: rising}),
		"layers, fit, is":      says(trace.TriggerDecision{Level: "mild"}),
		"before - after is 5":  says(trace.LevelApplied{Level: "soft", Before: 10, After: 5, Freed: 4}),
		"at least -1, is -2":   says(trace.LevelApplied{FirstChanged: -2}),
		"usage_pct must be at": says(trace.TokenEstimate{UsagePct: -0.1}),
		"no file_path":         says(trace.Archival{StorageAdapter: "dir"}),
		"no S3_key":            says(trace.Archival{StorageAdapter: "s3"}),
		"no storage_adapter":   says(trace.Archival{}),
		"no session_id":        says(trace.Archival{}),
		"step must be at":      says(trace.Archival{}),
		"no payload":           says(trace.SummaryCreated{}),
		"pruning-only, is":     says(trace.SummaryCreated{Payload: []byte("{}"), Fallback: "lexical"}),
		"lexical, is":          says(trace.Error{Fallback: "none"}),
		"no error_type":        says(trace.Error{}),
		"medium, high, is":     says(trace.Warning{Severity: "bad"}),
		"encode event":         says(trace.SummaryCreated{Payload: []byte("{")}),
	} {
		if err := trace.Check(e); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestCheckNamesWrongTypesAndNames(t *testing.T) {
	const head = `{"v":1,"name":"compact.%s","session":"s","started_at":"2026-03-04T05:06:07%s","ended_at":"2026-03-04T05:06:07%[2]s","status":"ok","data":%s}`
	for _, test := range []struct{ kind, zone, data, want string }{
		{"warning", "Z", `{"severity":"low","message":"m","remedy":""}`, ""},
		{"warning", "Z", `{"severity":"low","message":"m"}`, "no remedy"},
		{"warning", "Z", `{"severity":"low","message":"m","remedy":null}`, "no remedy"},
		{"warning", "Z", `{"severity":1,"message":"m","remedy":""}`, "severity must be of type string, is 1"},
		{"warning", "Z", `{"severity":"low","message":"m","remedy":"","cure":""}`, "cure is not a property"},
		{"warning", "Z", `{"Severity":"low","message":"m","remedy":""}`, "Severity is not a property"},
		{"warning", "+01:00", `{"severity":"low","message":"m","remedy":""}`, "not UTC"},
		{"warning", "Z", `[]`, "data: json"},
		{"warning", "Z", `{}} {}`, "more than one"},
		{"pruned_messages", "Z", `{"layers":3}`, "layers must be of type object"},
		{"pruned_messages", "Z", `{"layers":{"pinned":{"messages":1.5,"tokens":"2"}}}`, "layers.pinned.messages must be of type integer, is 1.5"},
		{"pruned_messages", "Z", `{"layers":{"pinned":{"messages":1e400,"tokens":2}}}`, "layers.pinned.messages must be of type integer"},
		{"pruned_messages", "Z", `{"layers":{"pinned":{"messages":99999999999999999999,"tokens":2},"summary":{"messages":0,"tokens":0},"recent":{"messages":0,"tokens":0}}}`, "data: json"},
		{"token_estimate", "Z", `{"model":"","t_est":1,"max_tokens":2,"usage_pct":"half","breakdown":{"system":0,"developer":0,"tools_schema":0,"messages":1}}`, "usage_pct must be of type number"},
		{"trigger_decision", "Z", `{"triggered":"no"}`, "triggered must be of type bool"},
	} {
		err := trace.CheckJSON(fmt.Appendf(nil, head, test.kind, test.zone, test.data))
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.data, err, test.want)
		}
	}
	for _, line := range []string{"", "1", `{"v":1,"data":3}`, `{"v":1,"name":"compact.warning"}`, `{"v":1,"extra":2}`} {
		if trace.CheckJSON([]byte(line)) == nil {
			t.Errorf("%q is an event", line)
		}
	}
}

func TestGolden(t *testing.T) {
	for name, sink := range map[string]func(io.Writer) trace.Sink{"console.txt": trace.Console, "events.jsonl": trace.JSONL} {
		var b bytes.Buffer
		s := sink(&b)
		for _, e := range events() {
			s.Emit(e)
		}
		path := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(b.Bytes(), want) {
			t.Errorf("%s: got\n%s", path, b.Bytes())
		}
	}
}

func TestEventsComeBack(t *testing.T) {
	var b bytes.Buffer
	trace.JSONL(&b).Emit(trace.Event{Session: "s", Data: trace.SummaryCreated{Payload: json.RawMessage("{")}}) // dropped
	for _, e := range events() {
		trace.JSONL(&b).Emit(e)
	}
	lines := bytes.Split(bytes.TrimSpace(b.Bytes()), []byte("\n"))
	for i, want := range events() {
		var got trace.Event
		if err := json.Unmarshal(lines[i], &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v came back as %+v, %v", want, got, err)
		}
	}
	for _, line := range []string{`{"v":2,"name":"compact.warning","data":{}}`, `{"v":1,"name":"other","data":{}}`, `{"v":1,"name":"compact.warning","data":[]}`, `{"v":"1"}`} {
		var e trace.Event
		if err := json.Unmarshal([]byte(line), &e); err == nil {
			t.Errorf("%s is an event", line)
		}
	}
}

func TestSinksNeverFailAndAreSafeTogether(t *testing.T) {
	trace.Sink(nil).Emit(trace.Event{})
	var seen, lines bytes.Buffer
	count := 0
	all := trace.Join(nil, trace.JSONL(refusing{}), trace.Console(&seen), trace.JSONL(&lines), func(trace.Event) { count++ })
	all.Emit(events()[0])
	if count != 1 || seen.Len() == 0 || lines.Len() == 0 {
		t.Errorf("%d events, %q, %q", count, seen.String(), lines.String())
	}
	var wg sync.WaitGroup
	both := trace.Join(trace.Console(&seen), trace.JSONL(&lines))
	for range 8 {
		wg.Go(func() { both.Emit(events()[3]) })
	}
	wg.Wait()
	if n := bytes.Count(lines.Bytes(), []byte("\n")); n != 9 {
		t.Errorf("%d lines, want 9", n)
	}
}

type refusing struct{}

func (refusing) Write([]byte) (int, error) { return 0, errors.New("full") }

func TestConsoleShowsAnUnknownPayload(t *testing.T) {
	var b bytes.Buffer
	trace.Console(&b).Emit(trace.New("s", start, start, odd("x")))
	if got := b.String(); got != "05:06:07.008 s  odd               x\n" {
		t.Errorf("%q", got)
	}
}

// FuzzCheckJSON checks that every valid event is decoded and encoded without
// change.
func FuzzCheckJSON(f *testing.F) {
	for _, e := range events() {
		b, err := e.MarshalJSON()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		if trace.CheckJSON(line) != nil {
			return
		}
		var e, again trace.Event
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(e)
		if err != nil || trace.CheckJSON(b) != nil {
			t.Fatalf("%s: %v, %v", b, err, trace.CheckJSON(b))
		}
		if err := json.Unmarshal(b, &again); err != nil || again.Name != e.Name || !again.Start.Equal(e.Start) {
			t.Fatalf("%s came back as %+v, %v", line, again, err)
		}
		trace.Console(io.Discard).Emit(e)
		trace.Redacted(trace.Console(io.Discard), strings.ToUpper).Emit(e)
	})
}

type odd string

func (odd) Event() string { return "odd" }

func BenchmarkJSONL(b *testing.B) {
	s, e := trace.JSONL(io.Discard), events()[2]
	for _, n := range []int{100, 1000, 10000} {
		b.Run(fmt.Sprint("messages=", n), func(b *testing.B) { // an event each
			b.ReportAllocs()
			for b.Loop() {
				for range n {
					s.Emit(e)
				}
			}
		})
	}
}
