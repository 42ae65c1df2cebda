package ariadnetest_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/trace/ariadne/ariadnetest"
)

const (
	aTrace = `{"type":"trace","trace_id":"t","name":"n","group_id":"g","started_at":"2026-03-04T05:06:07Z","metadata":{"a":"b"}}`
	aSpan  = `{"type":"span","trace_id":"t","span_id":"s","parent_id":null,"kind":"k","name":"compact.warning","started_at":"2026-03-04T05:06:07.008Z","ended_at":"2026-03-04T05:06:07.008Z","data":{"severity":"low","message":"m","remedy":""},"status":"ok"}`
)

func post(t *testing.T, s *ariadnetest.Server, path, kind, body string) int {
	t.Helper()
	resp, err := s.Client().Post("http://x"+path, kind, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

func TestContractIsKeptToTheLetter(t *testing.T) {
	batch := func(events ...string) string { return `{"batch":[` + strings.Join(events, ",") + `]}` }
	in := func(s, old, put string) string {
		if !strings.Contains(s, old) {
			t.Fatalf("no %s in %s", old, s)
		}
		return strings.Replace(s, old, put, 1)
	}
	child := in(in(aSpan, `"span_id":"s"`, `"span_id":"c"`), `"parent_id":null`, `"parent_id":"s"`)
	tests := []struct{ body, field string }{ // "": it is taken
		{aTrace, ""},
		{batch(aTrace, aSpan, child), ""},
		{batch(), "batch"},
		{`{"batch":{}}`, "batch"},
		{`{"batch":[` + aTrace + `],"more":1}`, "body"},
		{"[]", "body"},
		{aTrace + aSpan, "body"},
		{"\"\xff\"", "body"},
		{batch("3"), "batch[0].type"},
		{in(aTrace, `"trace",`, `"log",`), "type"},
		{in(aTrace, `,"group_id":"g"`, ``), "group_id"},
		{in(aTrace, `"g"`, `""`), "group_id"},
		{in(aTrace, `"b"`, `1`), "metadata"},
		{in(aTrace, `{"a":"b"}`, `null`), "metadata"},
		{in(aTrace, `07Z`, `07+00:00`), "started_at"},
		{in(aTrace, `2026-03`, `2026-13`), "started_at"},
		{in(aTrace, `"name"`, `"data":{},"name"`), "data"},
		{batch(aTrace, aTrace), "batch[1].trace_id"},
		{aSpan, "trace_id"},
		{batch(aTrace, aSpan, aSpan), "batch[2].span_id"},
		{batch(aTrace, child), "batch[1].parent_id"},
		{batch(aTrace, in(aSpan, `,"parent_id":null`, ``)), "batch[1].parent_id"},
		{batch(aTrace, in(aSpan, `"parent_id":null`, `"parent_id":""`)), "batch[1].parent_id"},
		{batch(aTrace, in(aSpan, `"k"`, `7`)), "batch[1].kind"},
		{batch(aTrace, in(aSpan, `"ended_at":"2026`, `"ended_at":"2025`)), "batch[1].ended_at"},
		{batch(aTrace, in(aSpan, `"status":"ok"`, `"status":"fine"`)), "batch[1].status"},
		{batch(aTrace, in(aSpan, `"status":"ok"`, `"status":"error"`)), "batch[1].status"},
		{batch(aTrace, in(aSpan, `"low"`, `"bad"`)), "batch[1].data"},
		{batch(aTrace, in(aSpan, `{"severity":"low","message":"m","remedy":""}`, `[]`)), "batch[1].data"},
		{batch(aTrace, in(aSpan, `compact.warning`, `compact.other`)), "batch[1].data"},
	}
	for _, test := range tests {
		s := ariadnetest.New()
		code, problems := post(t, s, "/ingest", "application/json", test.body), s.Problems()
		if test.field == "" {
			if code != http.StatusAccepted || len(problems) > 0 {
				t.Errorf("%s: %d %v", test.body, code, problems)
			}
			continue
		}
		if code != http.StatusBadRequest || len(problems) != 1 || problems[0].Field != test.field || problems[0].Error() == "" || len(s.Arrivals()) > 0 {
			t.Errorf("%s: %d %v, want %s", test.body, code, problems, test.field)
		}
		if code := post(t, s, "/ingest", "application/json; charset=utf-8", batch(aTrace, aSpan)); code != http.StatusAccepted {
			t.Errorf("%s left something: %v", test.body, s.Problems())
		}
	}
}

func TestRequestMustBeAPostOfJSONToIngest(t *testing.T) {
	s := ariadnetest.New()
	if post(t, s, "/other", "application/json", aTrace) != 400 || post(t, s, "/ingest", "text/plain", aTrace) != 400 {
		t.Error("it was taken")
	}
	resp, err := s.Client().Get("http://x/ingest")
	if err != nil || resp.StatusCode != 400 || s.Posts() != 3 {
		t.Errorf("%v, %d requests", err, s.Posts())
	}
}
