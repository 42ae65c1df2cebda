package trace_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
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

// events returns one event of each kind, and more where they differ.
func events() []trace.Event {
	policy := trace.Policy{TriggerPct: 0.85, HardCapBuffer: 1500, Strategy: "task_state", Thresholds: trace.Thresholds{Soft: 0.6, Hard: 0.75, Emergency: 0.9}}
	var all []trace.Event
	for i, p := range []trace.Payload{
		trace.TokenEstimate{Model: "llama3.2:3b", TEst: 20000, MaxTokens: 32000, UsagePct: 0.625, Breakdown: trace.Breakdown{System: 500, ToolsSchema: 700, Messages: 18800}},
		trace.TriggerDecision{Reason: "cooldown", Level: "soft", Policy: policy},
		trace.TriggerDecision{Triggered: true, Reason: "usage", Level: "hard", Policy: policy, Kept: &trace.Kept{Pinned: 1, RecentTurns: 2, ToolPairs: 3}, PrunedCount: new(0), Note: "by hand"},
		trace.LevelApplied{Level: "soft", Before: 20000, After: 9250, Freed: 10750, FirstChanged: 4, PrefillTokens: 8000},
		trace.PrunedMessages{Layers: trace.Layers{Pinned: trace.Layer{Messages: 1, Tokens: 2}, Summary: trace.Layer{Messages: 3, Tokens: 4}, Recent: trace.Layer{Messages: 5, Tokens: 6}}},
		trace.SummaryCreated{Strategy: "task_state", InputMessages: 40, SummaryTokens: 900, CompressionRatio: 0.05, Fallback: "extractive", Payload: json.RawMessage(`{"goals":[]}`)},
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

func TestEveryEventHasWhatItsKindDemands(t *testing.T) {
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

func TestCheckNamesWhatIsMissing(t *testing.T) {
	ok := events()
	tests := []struct {
		name  string
		spoil func() trace.Event
		says  string
	}{
		{"session", func() trace.Event { e := ok[0]; e.Session = ""; return e }, "no session"},
		{"name", func() trace.Event { e := ok[0]; e.Name = "compact.x"; return e }, "unknown name"},
		{"order", func() trace.Event { e := ok[0]; e.End = start.Add(-1); return e }, "ends before it starts"},
		{"start", func() trace.Event { e := ok[0]; e.Start = time.Time{}; return e }, "no start"},
		{"status", func() trace.Event { e := ok[0]; e.Status = "fine"; return e }, `status "fine"`},
		{"error that is ok", func() trace.Event { e := ok[9]; e.Status = trace.OK; return e }, "does not fit"},
		{"kept", func() trace.Event { return trace.New("s", start, start, trace.TriggerDecision{Triggered: true}) }, "no kept.pinned"},
		{"pruned", func() trace.Event { return trace.New("s", start, start, trace.TriggerDecision{Triggered: true}) }, "no pruned_count"},
		{"path", func() trace.Event { return trace.New("s", start, start, trace.Archival{StorageAdapter: "dir"}) }, "no file_path"},
		{"key", func() trace.Event { return trace.New("s", start, start, trace.Archival{StorageAdapter: "s3"}) }, "no S3_key"},
		{"payload", func() trace.Event { return trace.New("s", start, start, trace.SummaryCreated{}) }, "no payload"},
		{"broken payload", func() trace.Event {
			return trace.New("s", start, start, trace.SummaryCreated{Payload: json.RawMessage("{")})
		}, "encode event compact.summary_created"},
	}
	for _, test := range tests {
		if err := trace.Check(test.spoil()); err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v, want %q", test.name, err, test.says)
		}
	}
	for _, line := range []string{"", "1", `{"v":1,"data":3}`, `{"v":1,"name":"compact.warning"}`} {
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
	if got := b.String(); got != "05:06:07.008 s odd: x\n" {
		t.Errorf("%q", got)
	}
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
