package archive

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tiercompact/tiercompact/chat"
)

// roundTrip returns the decoded form of in's encoding, which it checks to be
// stable.
func roundTrip(t interface{ Fatal(...any) }, in chat.Transcript) chat.Transcript {
	var first, second bytes.Buffer
	if err := EncodeTranscript(&first, in); err != nil {
		t.Fatal(err)
	}
	out, err := DecodeTranscript(bytes.NewReader(first.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if err := EncodeTranscript(&second, out); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Fatal("encoded again, it is another text")
	}
	return out
}

func drawMessage(rt *rapid.T, sources []*chat.Source) chat.Message {
	text := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
	m := chat.Message{
		ID: text.Draw(rt, "id"), Role: chat.Role(text.Draw(rt, "role")), State: chat.State(text.Draw(rt, "state")), Recall: text.Draw(rt, "recall"),
		Protected: rapid.Bool().Draw(rt, "protected"), Machine: rapid.Bool().Draw(rt, "machine"), Changed: rapid.Bool().Draw(rt, "changed"),
		Source: rapid.SampledFrom(sources).Draw(rt, "source"), Index: rapid.IntRange(0, 2).Draw(rt, "index"),
	}
	m.Parts = rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) chat.Part {
		p := chat.Part{Kind: chat.Kind(text.Draw(rt, "kind")), Text: text.Draw(rt, "text"), ID: text.Draw(rt, "call"), Args: text.Draw(rt, "args"), Raw: text.Draw(rt, "raw")}
		if rapid.Bool().Draw(rt, "picture") {
			p.Image = &chat.Picture{Data: text.Draw(rt, "data"), Height: 4}
		}
		return p
	}), 0, 3).Draw(rt, "parts")
	return m
}

func TestTranscriptComesBackByteForByte(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		bad := string(rapid.SliceOf(rapid.Byte()).Draw(rt, "source"))
		sources := []*chat.Source{nil, {Format: "a", JSON: `{"a" : "\ud83d"}`, Count: 3}, {Format: "b", JSON: bad, Count: 1}}
		in := chat.Transcript(rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) chat.Message { return drawMessage(rt, sources) }), 1, 6).Draw(rt, "t"))
		if out := roundTrip(rt, in); !reflect.DeepEqual(in, out) {
			rt.Fatalf("%+v came back as %+v", in, out)
		}
	})
}

func TestSharedSourceIsWrittenOnce(t *testing.T) {
	source := &chat.Source{Format: "x", JSON: `{"only": "once"}`, Count: 3}
	in := make(chat.Transcript, 3)
	for i := range in {
		in[i] = text("a")
		in[i].Source, in[i].Index = source, i
	}
	var b bytes.Buffer
	must(t, EncodeTranscript(&b, in))
	if n := strings.Count(b.String(), "once"); n != 1 {
		t.Errorf("it is written %d times", n)
	}
	out := roundTrip(t, in)
	if out[0].Source != out[1].Source || out[1].Source != out[2].Source || out[2].Index != 2 {
		t.Errorf("the source is not shared: %+v", out)
	}
}

func TestDecodeTranscriptErrors(t *testing.T) {
	tests := []struct {
		name, in, says string
		is             error
	}{
		{"no end", `{"v":1,"id":"a","role":"user","parts":null}`, "line 1", ErrDamaged},
		{"no JSON", "{\"v\":1,\"id\":\"a\",\"role\":\"user\",\"parts\":null}\nx\n", "line 2", ErrDamaged},
		{"no version", "{}\n", "no format version", ErrDamaged},
		{"the future", "{\"v\":2}\n", "format 2, this one reads 1", ErrVersion},
		{"no source to share", "{\"v\":1,\"same_source\":true}\n", "shares the source", ErrDamaged},
	}
	for _, test := range tests {
		_, err := DecodeTranscript(strings.NewReader(test.in))
		if !errors.Is(err, test.is) || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v, want %v and %q", test.name, err, test.is, test.says)
		}
	}
	if _, err := DecodeTranscript(io.MultiReader(strings.NewReader("{"), failing{})); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("a failing reader: %v", err)
	}
	if err := EncodeTranscript(failing{}, chat.Transcript{text("a")}); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("a failing writer: %v", err)
	}
	if err := EncodeTranscript(failing{}, chat.Transcript{text(strings.Repeat("a", 1<<17))}); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("a failing writer and a long message: %v", err)
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error)  { return 0, io.ErrClosedPipe }
func (failing) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// Lines of real sessions, of any length and with any character, come back.
func TestRealLinesComeBack(t *testing.T) {
	root := filepath.Join("..", "..", "shared", "transcripts")
	if _, err := os.Stat(root); err != nil {
		t.Skipf("no real sessions here: %v", err)
	}
	for _, folder := range []string{"claude-code", "codex", "pi"} {
		must(t, filepath.WalkDir(filepath.Join(root, folder), func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || filepath.Ext(path) != ".jsonl" {
				return err
			}
			in, err := lineMessages(path)
			if err != nil {
				return err
			}
			if out := roundTrip(t, in); !reflect.DeepEqual(in, out) {
				t.Errorf("%s came back changed", path)
			}
			return nil
		}))
	}
}

// lineMessages makes a message of each of the first lines of a file.
func lineMessages(path string) (chat.Transcript, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var t chat.Transcript
	b := bufio.NewReader(f)
	for {
		line, err := readLine(b)
		if err != nil || len(t) == 100 {
			return t, nil
		}
		m := chat.NewText(chat.User, string(line))
		m.Source = &chat.Source{Format: "line", JSON: string(line), Count: 1}
		t = append(t, m)
	}
}

func FuzzDecodeTranscript(f *testing.F) {
	f.Add([]byte(`{"v":1,"id":"a","role":"user","parts":[{"type":"text","text":"x"}],"source":{"format":"x","json":"{}","count":1}}` + "\n"))
	f.Add([]byte("{\"v\":1,\"bytes\":true,\"id\":\"\u00ff\"}\n{\"v\":1,\"same_source\":true}\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		if out, err := DecodeTranscript(bytes.NewReader(in)); err == nil {
			again := roundTrip(t, out)
			if len(again) != len(out) {
				t.Fatalf("%d messages came back as %d", len(out), len(again))
			}
		}
	})
}

func FuzzReadSession(f *testing.F) {
	const meta = `{"v":1,"session":{"session":"s","created":"2026-01-02T00:00:00Z"}}` + "\n"
	f.Add([]byte(meta + `{"v":1,"message":{"id":"a","role":"user","parts":null}}` + "\n" + `{"v":1,"round":{"step":1,"edits":{"steps":[[{"start":0,"end":1}]]}}}` + "\n" + `{"v":1,"undo":{}}` + "\n"))
	f.Add([]byte(meta + `{"v":1,"cut":0}` + "\n" + `{"v":1,"set":{"at":0}}`))
	checked, _, err := encodeRecords([]sessionLine{{Meta: &Meta{Session: "s"}}, {Message: &message{Message: text("a")}}, {Cut: new(int)}}, position{})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(checked)
	f.Add(append(checked[:200:200], checked...))
	path := filepath.Join(f.TempDir(), "s.jsonl")
	f.Fuzz(func(t *testing.T, in []byte) {
		must(t, os.RemoveAll(sessionLock(path)), os.WriteFile(path, in, 0o600))
		left, found, err := CheckSession(t.Context(), path, nil)
		if again, _, err2 := CheckSession(t.Context(), path, nil); (err == nil) != (err2 == nil) || !reflect.DeepEqual(again, left) {
			t.Fatalf("read again it is at %q, %v, not %q, %v", ids(again.Messages), err2, ids(left.Messages), err)
		}
		if whole, strict := ReadSession(path); strict == nil && err == nil && len(found.Damages) == 0 && !reflect.DeepEqual(whole.Messages, left.Messages) {
			t.Fatalf("it is at %q, and leniently at %q", ids(whole.Messages), ids(left.Messages))
		}
		was, err := ReadSession(path)
		if err != nil {
			return
		}
		file, s, err := OpenSession(path)
		must(t, err, file.Append(text("z")), file.Close())
		now, err := ReadSession(path)
		must(t, err)
		if len(now.Messages) != len(s.Messages)+1 || len(s.Messages) != len(was.Messages) {
			t.Fatalf("%d, %d, %d messages", len(was.Messages), len(s.Messages), len(now.Messages))
		}
	})
}

func BenchmarkTranscript(b *testing.B) {
	var t chat.Transcript
	for range 10000 {
		m := text(strings.Repeat("two hundred bytes or so ", 8))
		m.Source = &chat.Source{Format: "x", JSON: strings.Repeat("y", 200), Count: 1}
		t = append(t, m)
	}
	var buf bytes.Buffer
	b.Run("encode", func(b *testing.B) {
		for b.Loop() {
			buf.Reset()
			if err := EncodeTranscript(&buf, t); err != nil {
				b.Fatal(err)
			}
		}
		b.SetBytes(int64(buf.Len()))
	})
	b.Run("decode", func(b *testing.B) {
		b.SetBytes(int64(buf.Len()))
		for b.Loop() {
			if _, err := DecodeTranscript(bytes.NewReader(buf.Bytes())); err != nil {
				b.Fatal(err)
			}
		}
	})
}
