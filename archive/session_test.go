package archive

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/edit"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func text(id string) chat.Message {
	m := chat.NewText(chat.User, "text of "+id)
	m.ID = id
	return m
}

func ids(t chat.Transcript) string {
	var all []string
	for _, m := range t {
		all = append(all, m.ID)
	}
	return strings.Join(all, " ")
}

// replace returns a round of one list with one edit.
func replace(number, start, end int, with ...chat.Message) Round {
	return Round{Number: number, Level: "hard", Time: noon, Edits: edit.Round{
		Steps: [][]edit.Edit{{{Start: start, End: end, New: with, Why: "test"}}},
	}}
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func TestSessionFileKeepsTheState(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.jsonl")
	meta := Meta{Session: "s", Created: noon, Model: "llama3.2:3b", Window: 8192}
	f, err := CreateSession(path, meta)
	must(t, err)
	for _, step := range []struct {
		do    func() error
		want  string
		since int
	}{
		{func() error { return f.Load([]chat.Message{text("a"), text("b")}) }, "a b", -1},
		{func() error { return f.Append(text("c")) }, "a b c", -1},
		{func() error { return f.Round(replace(1, 0, 2, text("x"))) }, "x c", 0},
		{func() error { return f.Append(text("d")) }, "x c d", 1},
		{func() error { return f.Round(replace(2, 1, 2)) }, "x d", 0},
		{func() error { return f.Append(text("e")) }, "x d e", 1},
		{func() error { return f.Undo(noon) }, "x c d e", 0},
		{func() error { return f.Append(text("f")) }, "x c d e f", 1},
		{func() error { return f.Load([]chat.Message{text("g")}) }, "x c d e f g", 1},
		{func() error { return f.Undo(noon) }, "a b c d e f g", 0},
		{func() error { return f.Cut(5) }, "a b c d e", 0},
		{func() error { return f.Set(4, text("E")) }, "a b c d E", 0},
		{func() error { return f.Append(text("h")) }, "a b c d E h", 1},
		{func() error { return f.Round(Round{Level: "soft", Time: noon}) }, "a b c d E h", 1}, // it starts no cooldown
	} {
		must(t, step.do())
		s, err := ReadSession(path)
		must(t, err)
		if got := ids(s.Messages); got != step.want || s.Since != step.since {
			t.Errorf("it is at %q, %d since; want %q, %d", got, s.Since, step.want, step.since)
		}
	}
	must(t, f.Close(), f.Close())
	if err := f.Append(text("z")); !errors.Is(err, ErrClosed) {
		t.Errorf("Append after Close: %v", err)
	}
	f, s, err := OpenSession(path)
	must(t, err)
	defer f.Close()
	if s.Meta != meta || s.Number != 2 || s.Added != 8 || s.Torn != 0 || len(s.Rounds) != 0 {
		t.Errorf("state %+v", s)
	}
}

func TestSessionKnowsWhichLevelsWait(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.jsonl")
	f, err := CreateSession(path, Meta{Session: "s"})
	must(t, err)
	defer f.Close()
	waits := func(level, reason string, seen int) func() error {
		return func() error {
			return f.Round(Round{Level: level, Reason: reason, Time: noon, Edits: edit.Round{Seen: seen}})
		}
	}
	soft, hard := Wait{"soft", "nothing to do", 2}, Wait{"hard", "min_gain", 1}
	for i, step := range []struct {
		do   func() error
		want []Wait
	}{
		{func() error { return f.Load([]chat.Message{text("a"), text("b"), text("c")}) }, nil},
		{waits("soft", "nothing to do", 2), []Wait{soft}},
		{waits("hard", "min_gain", 1), []Wait{soft, hard}},
		{waits("soft", "nothing to do", 0), []Wait{hard, {"soft", "nothing to do", 3}}}, // as earlier versions wrote it
		{func() error { return f.Append(text("d")) }, []Wait{hard, {"soft", "nothing to do", 3}}},
		{func() error { return f.Round(replace(1, 0, 1)) }, nil},
		{waits("hard", "min_gain", 9), []Wait{{"hard", "min_gain", 3}}}, // more than the conversation has
		{func() error { return f.Undo(noon) }, nil},
		{waits("hard", "min_gain", 1), []Wait{hard}},
		{func() error { return f.Cut(2) }, nil},
	} {
		must(t, step.do())
		s, err := ReadSession(path)
		must(t, err)
		if !slices.Equal(s.Waiting, step.want) {
			t.Errorf("step %d: %+v wait, want %+v", i, s.Waiting, step.want)
		}
	}
}

func TestReopenedSessionKnowsItsRounds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.jsonl")
	f, err := CreateSession(path, Meta{Session: "s"})
	must(t, err)
	round := replace(3, 0, 1, text("x"))
	round.Edits.Seen, round.Edits.Sum, round.Reason = 2, "sum", "usage"
	must(t, f.Append(text("a")), f.Append(text("b")), f.Round(round), f.Append(text("c")), f.Close())
	f, s, err := OpenSession(path)
	must(t, err)
	defer f.Close()
	if len(s.Rounds) != 1 || !reflect.DeepEqual(s.Rounds[0].Round, round) {
		t.Fatalf("rounds %+v, want %+v", s.Rounds, round)
	}
	before, _, err := applyRound(s.Messages, s.Rounds[0].Inverse)
	if got := ids(before); err != nil || got != "a b c" {
		t.Errorf("taken back it is at %q, %v", got, err)
	}
}

func TestSessionFileIsPrivateAndNotOverwritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.jsonl")
	f, err := CreateSession(path, Meta{Session: "s"})
	must(t, err, f.Close())
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if _, err := CreateSession(path, Meta{Session: "s"}); !errors.Is(err, ErrExists) {
		t.Errorf("CreateSession again: %v", err)
	}
	if _, err := CreateSession(path+"2", Meta{}); err == nil {
		t.Error("a session without id was created")
	}
	if _, _, err := OpenSession(path + "3"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("OpenSession of nothing: %v", err)
	}
}

func TestSessionFileIsLocked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.jsonl")
	f, err := CreateSession(path, Meta{Session: "s"})
	must(t, err)
	_, _, err = OpenSession(path)
	if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), path) {
		t.Errorf("OpenSession of an open one: %v", err)
	}
	must(t, f.Close())
	f, _, err = OpenSession(path)
	must(t, err, f.Close())
}

// sessionBytes returns a session file with every kind of record, and the ids
// of the conversation after each of them.
func sessionBytes(t *testing.T) ([]byte, []string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s.jsonl")
	f, err := CreateSession(path, Meta{Session: "s"})
	must(t, err)
	source := &chat.Source{Format: "x", JSON: `{"a": 1}`, Count: 2}
	first, second := text("a"), text("b\xff")
	first.Source, second.Source, second.Index = source, source, 1
	var states []string
	for _, err := range []error{
		nil, f.Append(first), f.Append(second), f.Append(text("c")), f.Round(replace(1, 0, 2, text("x"))),
		f.Append(text("d")), f.Undo(noon), f.Set(0, text("A")), f.Cut(3), f.Append(text("é")),
	} {
		must(t, err)
	}
	states = []string{"", "a", "a b\xff", "a b\xff c", "x c", "x c d", "a b\xff c d", "A b\xff c d", "A b\xff c", "A b\xff c é"}
	must(t, f.Close())
	b, err := os.ReadFile(path)
	must(t, err)
	return b, states
}

func TestTornSessionKeepsWhatWasWhole(t *testing.T) {
	whole, states := sessionBytes(t)
	path := filepath.Join(t.TempDir(), "torn.jsonl")
	headerEnd := bytes.IndexByte(whole, '\n')
	for n := range len(whole) + 1 {
		must(t, os.WriteFile(path, whole[:n], 0o600))
		s, err := ReadSession(path)
		if n < headerEnd {
			if !errors.Is(err, ErrDamaged) {
				t.Fatalf("%d bytes: %v, want ErrDamaged", n, err)
			}
			continue
		}
		must(t, err)
		records := bytes.Count(whole[:n], []byte("\n"))
		start := bytes.LastIndexByte(whole[:n], '\n') + 1
		want, torn := states[max(0, records-1)], n-start
		if n < len(whole) && whole[n] == '\n' { // complete except its line feed
			want, torn = states[records], 0
		}
		if got := ids(s.Messages); got != want || s.Torn != torn {
			t.Fatalf("%d bytes: is at %q, %d torn; want %q, %d", n, got, s.Torn, want, torn)
		}
	}
}

func TestTornSessionGoesOn(t *testing.T) {
	whole, _ := sessionBytes(t)
	old, err := os.ReadFile(filepath.Join("testdata", "session-v1.jsonl"))
	must(t, err)
	_, r, err := decodeSession(bytes.NewReader(whole), nil)
	must(t, err)
	var next bytes.Buffer
	_, err = encodeRecord(&next, sessionLine{Message: &message{Message: text("w")}}, r.at)
	must(t, err)
	for _, test := range []struct{ file, tail string }{
		{string(whole), ""},
		{string(whole), `{"v":2,"n":11,"mess`},
		{string(whole), "\x00\x00\x00"},
		{string(whole), strings.TrimSuffix(next.String(), "\n")},
		{string(old), ""},
		{string(old), `{"v":1,"mess`},
		{string(old), `{"v":1,"message":{"id":"w","role":"user","parts":null}}`},
	} {
		path, tail := filepath.Join(t.TempDir(), "torn.jsonl"), test.tail
		must(t, os.WriteFile(path, []byte(test.file+tail), 0o600))
		f, s, err := OpenSession(path)
		must(t, err, f.Append(text("z")), f.Close())
		again, err := ReadSession(path)
		must(t, err)
		if got, want := ids(again.Messages), ids(s.Messages)+" z"; got != want || again.Torn != 0 {
			t.Errorf("tail %q: is at %q, want %q", tail, got, want)
		}
	}
}

func TestDamagedSessionNamesTheLine(t *testing.T) {
	const meta = `{"v":1,"session":{"session":"s","created":"2026-01-02T00:00:00Z"}}` + "\n"
	tests := []struct {
		name, file, says string
		is               error
	}{
		{"no JSON", meta + "{\n", "line 2", ErrDamaged},
		{"no version", meta + "{}\n", "no format version", ErrDamaged},
		{"unknown record", meta + `{"v":1}` + "\n", "unknown kind", ErrDamaged},
		{"two sessions", meta + meta, "line 2", ErrDamaged},
		{"empty", "", "session's record", ErrDamaged},
		{"another file", `{"role":"user","content":"hi"}` + "\n", "line 1", ErrDamaged},
		{"from the future", meta + `{"v":3,"message":"?"}` + "\n", "format 3", ErrVersion},
		{"from the future, torn", meta + `{"v":3,"message":"?"}`, "format 3", ErrVersion},
		{"undo of nothing", meta + `{"v":1,"undo":{}}` + "\n", "without a round", ErrDamaged},
		{"cut too long", meta + `{"v":1,"cut":1}` + "\n", "cut to 1 of 0", ErrDamaged},
		{"set of nothing", meta + `{"v":1,"set":{"at":-1}}` + "\n", "message -1 of 0", ErrDamaged},
		{"round that does not fit", meta + `{"v":1,"round":{"step":1,"edits":{"steps":[[{"start":3,"end":4}]]}}}` + "\n", "round 1", ErrDamaged},
		{"overlapping edits", meta + `{"v":1,"round":{"step":1,"edits":{"steps":[[{"start":-1,"end":0}]]}}}` + "\n", "out of bounds", ErrDamaged},
		{"source of nobody", meta + `{"v":1,"message":{"same_source":true}}` + "\n", "shares the source", ErrDamaged},
		{"bytes that are none", meta + `{"v":1,"message":{"bytes":true,"id":"ā"}}` + "\n", "over 255", ErrDamaged},
	}
	for _, test := range tests {
		path := filepath.Join(t.TempDir(), "s.jsonl")
		must(t, os.WriteFile(path, []byte(test.file), 0o600))
		_, _, err := OpenSession(path)
		if !errors.Is(err, test.is) || !strings.Contains(err.Error(), test.says) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want %v, %q and the path", test.name, err, test.is, test.says)
		}
		if now, _ := os.ReadFile(path); string(now) != test.file {
			t.Errorf("%s: the file was changed", test.name)
		}
	}
}
