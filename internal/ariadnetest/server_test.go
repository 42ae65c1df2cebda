package ariadnetest_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/internal/ariadnetest"
)

const (
	aTrace = `{"type":"trace","trace_id":"t","name":"n","group_id":"g","started_at":"2026-03-04T05:06:07Z","ended_at":"2026-03-04T05:06:08.123456Z","metadata":{"a":"b"}}`
	aSpan  = `{"type":"span","trace_id":"t","span_id":"s","parent_id":"p","kind":"k","name":"m","started_at":"2026-03-04T05:06:07.008Z","ended_at":"2026-03-04T05:06:07.008Z","data":{"message":"it is done"},"status":"ok"}`
)

func post(t *testing.T, s *ariadnetest.Server, path, body string) (code int, answer string) {
	t.Helper()
	resp, err := s.Client().Post("http://x"+path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

func batch(events ...string) string { return `{"batch":[` + strings.Join(events, ",") + `]}` }

func in(t *testing.T, s, old, put string) string {
	t.Helper()
	if !strings.Contains(s, old) {
		t.Fatalf("no %s in %s", old, s)
	}
	return strings.Replace(s, old, put, 1)
}

func TestEachRuleOfIngestIsKept(t *testing.T) {
	tests := []struct {
		body, field string // "": the event is valid
		status      int
	}{
		{aTrace, "", 200},
		{aSpan, "", 200}, // its trace and its parent may be unknown
		{batch(aTrace, aSpan, aSpan, aTrace), "", 200},
		{batch(), "", 200},
		{`{"batch":[` + aTrace + `],"more":1}`, "", 200},
		{in(t, aTrace, `"metadata"`, `"color":null,"metadata"`), "", 200},
		{`{"type":"trace","trace_id":"t"}`, "", 200},
		{`{"type":"span","trace_id":"t","span_id":"s"}`, "", 200},
		{in(t, aSpan, `"p"`, `""`), "", 200},
		{in(t, aSpan, `{"message":"it is done"}`, `{}`), "", 200},
		{in(t, aSpan, `07.008Z","ended_at"`, `06Z","ended_at"`), "", 200},

		{"{", "body", 500},
		{aTrace + aSpan, "body", 500},
		{`{"batch":{}}`, "batch", 500},
		{`{"batch":null}`, "batch", 500},
		{"[]", "body", 400},
		{batch("3"), "batch[0].trace_id", 400},
		{batch("null"), "batch[0].trace_id", 400},
		{in(t, aTrace, `"trace",`, `"log",`), "type", 400},
		{in(t, aTrace, `"type":"trace",`, ``), "type", 400},
		{in(t, aTrace, `"t"`, `""`), "trace_id", 400},
		{in(t, aTrace, `"t"`, `null`), "trace_id", 400},
		{in(t, aTrace, `"n"`, `null`), "name", 400},
		{in(t, aTrace, `"g"`, `null`), "group_id", 400},
		{in(t, aTrace, `"g"`, `7`), "group_id", 400},
		{in(t, aTrace, `"b"`, `1`), "metadata", 400},
		{in(t, aTrace, `"b"`, `null`), "metadata", 400},
		{in(t, aTrace, `{"a":"b"}`, `null`), "metadata", 400},
		{in(t, aTrace, `{"a":"b"}`, `["a"]`), "metadata", 400},
		{in(t, aTrace, `07Z`, `07+00:00`), "started_at", 400},
		{in(t, aTrace, `07Z`, `07`), "started_at", 400},
		{in(t, aTrace, `"2026-03-04T05:06:07Z"`, `""`), "started_at", 400},
		{in(t, aTrace, `"2026-03-04T05:06:07Z"`, `null`), "started_at", 400},
		{in(t, aTrace, `2026-03`, `2026-13`), "started_at", 400},
		{in(t, aTrace, `2026-03`, `12026-03`), "started_at", 400},
		{in(t, aTrace, `"ended_at":"2026`, `"ended_at":"2025`), "ended_at", 400},
		{batch(aTrace, in(t, aSpan, `"s"`, `""`)), "batch[1].span_id", 400},
		{batch(aTrace, in(t, aSpan, `"span_id":"s",`, ``)), "batch[1].span_id", 400},
		{batch(aTrace, in(t, aSpan, `"p"`, `null`)), "batch[1].parent_id", 400},
		{batch(aTrace, in(t, aSpan, `"k"`, `null`)), "batch[1].kind", 400},
		{batch(aTrace, in(t, aSpan, `"m"`, `null`)), "batch[1].name", 400},
		{batch(aTrace, in(t, aSpan, `"ended_at":"2026`, `"ended_at":"2025`)), "batch[1].ended_at", 400},
		{batch(aTrace, in(t, aSpan, `"ok"`, `"fine"`)), "batch[1].status", 400},
		{batch(aTrace, in(t, aSpan, `"ok"`, `""`)), "batch[1].status", 400},
		{batch(aTrace, in(t, aSpan, `"ok"`, `null`)), "batch[1].status", 400},
		{batch(aTrace, in(t, aSpan, `{"message":"it is done"}`, `[]`)), "batch[1].data", 400},
		{batch(aTrace, in(t, aSpan, `{"message":"it is done"}`, `null`)), "batch[1].data", 400},
		{in(t, aSpan, `it is done`, strings.Repeat("x", 262144)), "Content-Length", 413},
	}
	for _, test := range tests {
		s := ariadnetest.New()
		code, answer := post(t, s, "/ingest", test.body)
		problems := s.Problems()
		if test.field == "" {
			if want := fmt.Sprintf(`{"success":true,"count":%d}`, len(s.Arrivals())); code != 200 || answer != want || len(problems) > 0 {
				t.Errorf("%s: %d %s %v", test.body, code, answer, problems)
			}
			continue
		}
		if code != test.status || len(problems) != 1 || problems[0].Field != test.field || problems[0].Status != code || len(s.Arrivals()) > 0 {
			t.Errorf("%.200s: %d %v, want %d %s", test.body, code, problems, test.status, test.field)
		}
		if code == 400 && answer != `{"error":"Validation failed","details":[{"path":[],"message":"Invalid input"}]}` {
			t.Errorf("%s: %s", test.body, answer)
		}
	}
}

func TestOnlyPostsToIngestAreTaken(t *testing.T) {
	s := ariadnetest.New()
	for _, path := range []string{"/other", "/ingest/ingest", "/ingest/", "//ingest", "/base/ingest"} {
		if code, _ := post(t, s, path, aTrace); code != 404 {
			t.Errorf("%s: %d", path, code)
		}
	}
	resp, err := s.Client().Get("http://x/ingest")
	if err != nil || resp.StatusCode != 404 || s.Posts() != 6 || len(s.Faults()) != 6 {
		t.Errorf("%v, %d requests, %q", err, s.Posts(), s.Faults())
	}
}

func TestLongTextsAreCut(t *testing.T) {
	s := ariadnetest.New()
	long := strings.Repeat("\u00e9", 102401)
	body := in(t, in(t, aSpan, `"m"`, `"`+strings.Repeat("n", 1025)+`"`), `"it is done"`, fmt.Sprintf(`%q,"in":{"a":%[1]q}`, long))
	// By Content-Length alone it would be too large.
	r, err := http.NewRequest(http.MethodPost, "http://x/ingest", io.NopCloser(strings.NewReader(body)))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := s.Client().Do(r)
	if err != nil || resp.StatusCode != 200 {
		t.Fatal(err, s.Problems())
	}
	a := s.Spans()[0]
	cut := strings.Repeat("\u00e9", 102400) + "... [truncated]"
	if want := fmt.Sprintf(`{"message":%q,"in":{"a":%[1]q}}`, cut); a.Name != strings.Repeat("n", 1024)+"... [truncated]" || string(a.Data) != want {
		t.Errorf("%d of name, %d of data, want %d", len(a.Name), len(a.Data), len(want))
	}
	list := in(t, aSpan, `"it is done"`, `["`+strings.Repeat("x", 110000)+`"]`)
	if code, _ := post(t, s, "/ingest", list); code != 200 || strings.Contains(string(s.Spans()[1].Data), "truncated") {
		t.Errorf("%d: a text in a list is cut", code)
	}
}

func TestPageShowsTrees(t *testing.T) {
	s := ariadnetest.New()
	span := func(trace, id, rest string) string {
		return fmt.Sprintf(`{"type":"span","trace_id":%q,"span_id":%q%s}`, trace, id, rest)
	}
	post(t, s, "/ingest", batch(
		`{"type":"trace","trace_id":"open","group_id":"g","started_at":"2026-01-01T00:00:00Z"}`,
		`{"type":"trace","trace_id":"open","group_id":"g","started_at":"2026-01-01T00:00:00Z","ended_at":"2026-01-01T00:00:02Z"}`,
		`{"type":"trace","trace_id":"done","group_id":"g","name":" both ","started_at":"2026-01-01T00:00:00Z","ended_at":"2026-01-01T00:00:02Z"}`,
		`{"type":"trace","trace_id":"none","name":"alone"}`,
		span("done", "b", `,"parent_id":"a","kind":"my_Tool","started_at":"2026-01-01T00:00:01Z","ended_at":"2026-01-01T00:00:01Z","data":{"output":{"text":" said "}}`),
		span("done", "c", `,"parent_id":"a","kind":"LLM","started_at":"2026-01-01T00:00:00Z","data":{"final_output_of_it":"a b c d","content":""}`),
		span("done", "a", `,"name":"Handoff","data":{"x":1}`),
		span("nameless", "o", `,"parent_id":"gone","name":"check it","data":{"message_count":"a b c"}`),
	))
	var got []string
	for _, g := range s.Page() {
		got = append(got, "group "+g.ID+" "+g.Label)
		for _, tr := range g.Traces {
			got = append(got, fmt.Sprintf("trace %s %q running %v %v", tr.ID, tr.Name, tr.Running, tr.Took))
			tr.Walk(func(sp *ariadnetest.Span, depth int) {
				got = append(got, fmt.Sprintf("%d %s %s running %v orphan %v %q", depth, sp.Span, sp.Icon, sp.Running, sp.Orphan, sp.Response))
			})
		}
	}
	want := []string{
		"group nameless nameless", `trace nameless "nameless" running false 0s`, `0 o tool running true orphan true ""`,
		"group g  both ", `trace done "both" running false 2s`, `0 a handoff running true orphan false ""`, `1 c api running true orphan false "a b c d"`, `1 b tool running false orphan false "said"`,
		`trace open "open" running true 0s`, // a later end is ignored
		"group alone alone", `trace none "alone" running false 0s`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	faults := strings.Join(s.Faults(), "\n")
	for _, fault := range []string{
		"trace nameless has no name", "trace open (open) runs for ever", "span o (check it) of trace nameless runs for ever", "names a parent that is not there",
		"span a (Handoff) of trace done has no response data", "has no kind", "span b () of trace done has no name",
	} {
		if !strings.Contains(faults, fault) {
			t.Errorf("nothing says %q: %s", fault, faults)
		}
	}
}
