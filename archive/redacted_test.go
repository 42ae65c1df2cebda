package archive

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
)

const secret = "sk-abc123"

// redactKey redacts the value of a key, up to the next space, which breaks JSON.
func redactKey(s string) string {
	return regexp.MustCompile(`(?i)(api_key"?\s*[:=]\s*)\S+`).ReplaceAllString(s, "${1}<REDACTED>")
}

func TestNothingSecretIsInTheArchive(t *testing.T) {
	root := t.TempDir()
	d, err := OpenDir(root, DirOptions{})
	must(t, err)
	store := Redacted(d, redactKey)
	source := &chat.Source{Format: "x", JSON: `{"content":"set api_key=` + secret + ` now","n":1.50}`, Count: 1}
	unfit := &chat.Source{Format: "x", JSON: `{"api_key":"` + secret + `"}`, Count: 1}
	before := chat.Transcript{
		{ID: "a", Role: chat.User, Source: source, Parts: []chat.Part{{Kind: chat.Text, Text: "set api_key=" + secret + " now"}}},
		{ID: "b", Role: chat.Assistant, Source: unfit, Parts: []chat.Part{{Kind: chat.Call, ID: "1", Args: unfit.JSON, Raw: `{"input":` + unfit.JSON + `}`}}},
		{ID: "c", Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Call, ID: "2", Args: `{"cmd":"echo \"api_key: ` + secret + ` \""}`}, {Kind: chat.Call, ID: "3", Args: "api_key=" + secret + "{", Name: "api_key=" + secret}}},
		{ID: "d", Role: chat.User, Parts: []chat.Part{{Kind: chat.Image, Image: &chat.Picture{URL: "https://example.org/?api_key=" + secret, Data: "AAAA"}}}},
		text("untouched"),
	}
	step := Step{
		Session: "s", Number: 1, Before: before, Note: "api_key=" + secret, Summary: json.RawMessage(`{"facts":["api_key=` + secret + `"]}`),
		Removed: []Entry{{ID: "r", Messages: before[:2], Text: "api_key=" + secret}},
		Edits:   replace(1, 0, 2, before[0]).Edits,
	}
	must(t, store.Put(t.Context(), step))
	must(t, store.Event(t.Context(), "s", []byte(`{"message":"api_key=`+secret+`"}`)), store.Event(t.Context(), "s", []byte(unfit.JSON)))
	if store.Event(t.Context(), "s", []byte("{")) == nil {
		t.Error("an event that is no JSON was taken")
	}
	files, err := filepath.Glob(filepath.Join(root, "s", "*"))
	must(t, err)
	if len(files) != 3 {
		t.Errorf("files %v", files)
	}
	for _, path := range files {
		if b := inflated(t, path); bytes.Contains(b, []byte(secret)) {
			t.Errorf("%s holds the secret: %s", path, b)
		}
	}
	if before[0].Parts[0].Text != "set api_key="+secret+" now" || source.JSON == "" || step.Removed[0].Text != "api_key="+secret {
		t.Error("what was put is changed")
	}
	checkRedacted(t, store)
	must(t, store.Close())
}

func checkRedacted(t *testing.T, store Store) {
	t.Helper()
	got, err := store.Get(t.Context(), "s", 1)
	must(t, err)
	if len(got.Redacted) != 4 || !got.Before[0].Changed || got.Before[4].Changed || got.Before[3].Parts[0].Image.Data != "AAAA" {
		t.Errorf("%v are said to be redacted, of %+v", got.Redacted, got.Before)
	}
	if s := got.Before[0].Source; s == nil || s.JSON != `{"content":"set api_key=<REDACTED> now","n":1.50}` {
		t.Errorf("source %+v", s)
	}
	if s := got.Before[1].Source; s != nil {
		t.Errorf("a source that could not stay JSON is %+v", s)
	}
	for _, args := range []string{got.Before[1].Parts[0].Args, got.Before[2].Parts[0].Args} {
		if !json.Valid([]byte(args)) {
			t.Errorf("arguments %s", args)
		}
	}
	if !strings.HasPrefix(got.Before[2].Parts[0].Args, `{"cmd":"echo `) {
		t.Errorf("arguments %s", got.Before[2].Parts[0].Args)
	}
	if adapter, path := Where(store, "s", 1); adapter != "dir" || path == "" {
		t.Errorf("Where = %s, %s", adapter, path)
	}
}

func TestUndoOfARedactedRound(t *testing.T) {
	m := NewMemory()
	store := Redacted(m, redactKey)
	now := chat.Transcript{chat.NewText(chat.User, "api_key="+secret), chat.NewText(chat.User, "and api_key="+secret)}
	now[0].ID, now[1].ID = "stays", "goes"
	step := Step{Session: "s", Number: 1, Before: now, Edits: replace(1, 1, 2).Edits}
	must(t, store.Put(t.Context(), step))
	u, err := Undo(t.Context(), store, "s", now[:1])
	before, info := u.Messages, u.Round
	if err != nil || !slices.Equal(info.Redacted, []int{1}) || len(before) != 2 {
		t.Fatalf("Undo = %+v, %+v, %v", before, info, err)
	}
	if before[0].Text() != now[0].Text() || before[1].Text() != "and api_key=<REDACTED>" {
		t.Errorf("came back as %q, %q", before[0].Text(), before[1].Text())
	}
	if _, err := Undo(t.Context(), store, "s", chat.Transcript{text("other")}); err == nil {
		t.Error("another conversation was taken for this one")
	}
	if adapter, _ := Where(store, "s", 1); adapter != "memory" {
		t.Errorf("adapter %s", adapter)
	}
	if adapter, _ := Where(struct{ Store }{m}, "s", 1); adapter != "unknown" {
		t.Errorf("adapter %s", adapter)
	}
}

func FuzzRedactedJSON(f *testing.F) {
	f.Add(`{"a":"api_key=x\" \\","b":["\ud83d",{"api_key":1}]}`)
	f.Add(`"{\"api_key\":\"x\"}"`)
	r := redacted{redact: redactKey}
	f.Fuzz(func(t *testing.T, in string) {
		out, ok := r.redactString(in)
		if json.Valid([]byte(in)) && ok && !json.Valid([]byte(out)) {
			t.Fatalf("%q became %q, which is no JSON", in, out)
		}
		if !strings.Contains(strings.ToLower(in), "key") && !strings.Contains(in, `\u`) && out != in {
			t.Fatalf("%q became %q", in, out)
		}
	})
}

// inflated returns the content of a file, with its frames decompressed.
func inflated(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	first, last, ok := packNumbers(filepath.Base(path))
	if !ok {
		return b
	}
	p := &packFile{packScan: &packScan{first: first, last: last, size: int64(len(b)), places: make(map[frameKey]int)}, f: bytes.NewReader(b)}
	must(t, p.scan())
	if len(p.frames) < 2 || len(p.damages) > 0 {
		t.Fatalf("%s has %d frames, %v", path, len(p.frames), p.damages)
	}
	for _, f := range p.frames {
		text, err := p.text(f)
		must(t, err)
		b = append(b, text...)
	}
	return b
}
