package wire

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestBadInputIsAClearError(t *testing.T) {
	for _, c := range []struct {
		name, in string
		o        Options
		kind     error
		want     string
	}{
		{"nothing", "", Options{}, ErrEmpty, "f: is empty; give a file with messages in it"},
		{"only space and a mark", "\ufeff \r\n", Options{}, ErrEmpty, "f: is empty"},
		{"Latin 1", "[{\"role\":\"user\",\n\"content\":\"é\xe9\"}]", Options{}, ErrNotUTF8, "f:2: not UTF-8: byte 0xe9 at offset 30; convert the file to UTF-8, or have such bytes read as U+FFFD with --lenient"},
		{"UTF-16", "\xff\xfe[\x00", Options{}, ErrNotUTF8, "f:1: is UTF-16"},
		{"UTF-16, lenient", "\xfe\xff\x00[", Options{Lenient: true}, ErrNotUTF8, "f:1: is UTF-16"},
		{"not UTF-8 behind a mark", "\ufeff{}\n\xe9", Options{}, ErrNotUTF8, "f:2: not UTF-8: byte 0xe9 at offset 6"},
		{"half a character behind a document", "[]\xe2\x82", Options{}, ErrNotUTF8, "f:1: not UTF-8: byte 0xe2 at offset 2"},
		{"half a character behind a record", "{\"role\":\"user\",\"content\":\"a\"}\n{\"role\":\"user\",\"content\":\"a\"}\xe2", Options{}, ErrNotUTF8, "f:2: not UTF-8: byte 0xe2 at offset 59"},
		{"prose", "Dear Sir,\n", Options{}, ErrUnknown, "f: unknown format; known are openai, anthropic, ollama, jsonl"},
		{"a number", "42", Options{}, ErrUnknown, "--from"},
		{"another object", `{"a":1}`, Options{}, ErrUnknown, "unknown format"},
		{"another list", `[1,2]`, Options{}, ErrUnknown, "unknown format"},
		{"no such format", "[]", Options{Format: "chatml"}, ErrUnknown, "f: unknown format chatml; --from takes one of openai, "},
		{"cut list", `[{"role":"user","content":"a"},` + "\n" + `{"role":"user","cont`, Options{}, ErrBroken, "f:2: unexpected end of JSON in a string"},
		{"cut body", `{"model":"m","messages":[{"role":"user","content":"a"},` + "\n\n{", Options{}, ErrBroken, "f:3: unexpected end of JSON; repair the file"},
		{"cut at once", `{"messages`, Options{}, ErrBroken, "f:1: "},
		{"comma too many", `[{"role":"user","content":"a"},]`, Options{}, ErrBroken, `f:1: broken JSON: "]" where a JSON value is expected`},
		{"more behind", `[{"role":"user","content":"a"}]` + "\n[]", Options{}, ErrBroken, "f:2: more text after the end"},
		{"broken line", "{\"role\":\"user\",\"content\":\"a\"}\n{\"role\":\n{\"role\":\"user\",\"content\":\"b\"}", Options{}, ErrBroken, "f:2: unexpected end of JSON; repair the line, or leave such records out with --lenient"},
		{"role of another type", `{"messages":[{"role":"user","content":"a"},{"role":3,"content":"a"}]}`, Options{Format: "openai"}, ErrField, "f:1: messages[1].role: is a number, not a string"},
		{"no role", "[\n{\"content\":\"a\"}]", Options{Format: "openai"}, ErrField, "f:2: [0].role: is missing, not a string"},
		{"unknown role", `[{"role":"wizard","content":"a"}]`, Options{Format: "anthropic"}, ErrField, `f:1: [0].role: is "wizard", not system,`},
		{"content of another type", "{\"role\":\"user\",\"content\":\"a\"}\n{\"role\":\"user\",\"content\":{}}", Options{}, ErrField, "f:2: content: is an object, not a string or a list"},
		{"calls of another type", `[{"role":"assistant","content":true,"tool_calls":3}]`, Options{Format: "openai"}, ErrField, "content: is true or false"},
		{"calls no list", `[{"role":"assistant","content":"","tool_calls":3}]`, Options{Format: "openai"}, ErrField, "[0].tool_calls: is a number, not a list"},
		{"messages no list", `{"messages":"x"}`, Options{Format: "openai"}, ErrField, "f:1: messages: is a string, not a list of messages"},
		{"messages missing", `{"prompt":"x"}`, Options{Format: "ollama"}, ErrField, "f:1: messages: is missing, not a list of messages"},
		{"element no object", `[null]`, Options{Format: "openai"}, ErrField, "f:1: [0]: is null, not a message object"},
		{"string as openai", `"x"`, Options{Format: "openai"}, ErrField, "f:1: is a string, not a list of messages"},
		{"line no object", "3\n", Options{Format: "jsonl"}, ErrField, "f:1: is a number, not a message object"},
		{"no good line", "{\n{\n", Options{Format: "jsonl", Lenient: true}, ErrNoMessages, "f: no message in 2 lines"},
		{"several chats", `[{"traj":[{"role":"user","content":"a"}]},{"traj":[{"role":"user","content":"a"}]}]`, Options{}, ErrSeveralChats, "f: holds 2 chats; choose one with --chat N"},
		{"no such chat", `[{"role":"user","content":"a"}]`, Options{Chat: 2}, ErrNoChat, "f: has no chat 2, only 1"},
		{"negative chat", `[{"role":"user","content":"a"}]`, Options{Chat: -1}, ErrNoChat, "no chat -1"},
		{"too long", `[{"role":"user","content":"a"}]`, Options{MaxBytes: 10}, ErrTooLarge, "f: is longer than 10 bytes"},
		{"too deep", strings.Repeat("[", 20000), Options{Format: "openai"}, ErrBroken, "nested too deep"},
	} {
		c.o.Name = "f"
		_, err := Decode(strings.NewReader(c.in), c.o)
		var typed *Error
		if !errors.Is(err, c.kind) || !errors.As(err, &typed) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %s", c.name, err, c.want)
		}
		if _, again := DecodeBytes([]byte(c.in), c.o); again == nil || again.Error() != err.Error() {
			t.Errorf("%s: from bytes %v", c.name, again)
		}
	}
}

func TestErrorOfTheReaderIsWrapped(t *testing.T) {
	broken := errors.New("broken")
	if _, err := Decode(iotest.ErrReader(broken), Options{}); !errors.Is(err, broken) || err.Error() != "read input: broken" {
		t.Error(err)
	}
}

func TestLenientLeavesBrokenLinesOut(t *testing.T) {
	a, b, c := `{"role":"user","content":"a"}`, `{"role":"user","content":"b"}`, `{"role":"user","content":"c"}`
	for _, test := range []struct {
		name, in string
		skipped  int
		want     string
	}{
		{"between", a + "\n{\"role\":\n" + b + "\n", 1, a + "\n" + b + "\n"},
		{"first", "oops {\n" + a + "\n" + b, 1, a + "\n" + b},
		{"last, with an end", a + "\n" + b + "\n{\"ro\n", 1, a + "\n" + b + "\n"},
		{"between two on a line", a + b + " x " + c + "\n" + c + "\n", 1, a + b + "\n" + c + "\n" + c + "\n"},
		{"rest of a line", a + b + " x " + c + ", \n" + c + "\n", 1, a + b + "\n" + c + "\n"},
		{"not UTF-8", a + "\n{\"role\":\"user\",\"content\":\"\xe9\"}\n" + b + "\n", 0, a + "\n{\"role\":\"user\",\"content\":\"\ufffd\"}\n" + b + "\n"},
		{"no message", a + "\n{\"role\":\"wizard\",\"content\":\"\"}\n[]\n" + b + "\n", 2, a + "\n" + b + "\n"},
		{"list as lines", "\xe9[\n" + a + ",\n" + b + "\n]", 3, a + "\n" + b + "\n"},
		{"element of a list", "[" + a + ",7 ," + b + ", {} ]", 2, "[" + a + "," + b + "]"},
	} {
		read, err := DecodeBytes([]byte(test.in), Options{Lenient: true, Format: map[bool]string{true: "openai", false: "jsonl"}[test.in[0] == '[']})
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if got := encoded(t, read, ""); read.Skipped != test.skipped || got != test.want {
			t.Errorf("%s: skipped %d, want %d; got %q, want %q", test.name, read.Skipped, test.skipped, got, test.want)
		}
	}
}

func TestEncodeRejectsReadOnlyFormats(t *testing.T) {
	c := decoded(t, `[{"role":"user","content":"a"}]`)
	if err := Encode(io.Discard, c, "cassette"); !errors.Is(err, ErrReadOnly) {
		t.Error(err)
	}
	if err := Encode(io.Discard, c, "chatml"); !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
	c.Format = "chatml"
	if err := Encode(io.Discard, c, ""); !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
	for _, from := range []string{"", "cassette"} {
		var out bytes.Buffer
		c.Format = from
		if err := Encode(&out, c, ""); err != nil || out.String() != "[{\"role\":\"user\",\"content\":\"a\"}]\n" {
			t.Errorf("from %q: %v %q", from, err, out.String())
		}
	}
}

func TestFormatsListsTheWrittenOnesFirst(t *testing.T) {
	var names []string
	for _, f := range Formats()[:4] {
		if !f.Writable || f.About == "" {
			t.Errorf("%+v", f)
		}
		names = append(names, f.Name)
	}
	if got := strings.Join(names, " "); got != "openai anthropic ollama jsonl" {
		t.Error(got)
	}
	for _, f := range Formats()[4:] {
		if f.Writable {
			t.Errorf("%+v", f)
		}
	}
}

func TestEachOfSeveralChatsIsReadByItself(t *testing.T) {
	a, b := `[{"role":"user","content":"a"}]`, `[ {"role":"user","content":"b"} , {"role":"assistant","content":"c"} ]`
	for _, c := range []struct{ name, in, second string }{
		{"list of lists", "[" + a + "," + b + "]", b},
		{"list of runs", `[{"task_id":1,"traj":` + a + `},{"task_id":2,"traj":` + b + `,"x":1}]`, b},
		{"list of bodies", `[{"messages":` + a + `},{"messages":` + b + `}]`, b},
		{"lines of bodies", `{"messages":` + a + `}` + "\n" + `{"x":1, "messages":` + b + ` }` + "\n", `{"x":1, "messages":` + b + ` }`},
	} {
		read, err := DecodeBytes([]byte(c.in), Options{Chat: 2})
		if err != nil || len(read.Messages) != 2 {
			t.Errorf("%s: %v, %d messages", c.name, err, len(read.Messages))
			continue
		}
		if got := encoded(t, read, ""); got != c.second {
			t.Errorf("%s: %s, want %s", c.name, got, c.second)
		}
		if got := encoded(t, read, "jsonl"); got != "{\"role\":\"user\",\"content\":\"b\"}\n{\"role\":\"assistant\",\"content\":\"c\"}\n" {
			t.Errorf("%s: %s", c.name, got)
		}
		for _, bad := range []string{strings.Replace(c.in, `"user"`, "3", 1), strings.Replace(c.in, "[ {", "{ {", 1), c.in + "7"} {
			if _, err := DecodeBytes([]byte(bad), Options{Chat: 2, Format: "openai"}); err == nil {
				t.Errorf("%s: no error for %s", c.name, bad)
			}
		}
	}
}

func TestOneChatInAWrapperKeepsTheWrapper(t *testing.T) {
	in := `[{"task_id":1,"traj":[{"role":"user","content":"a"}],"x":1}]`
	if got := encoded(t, decoded(t, in), ""); got != in {
		t.Error(got)
	}
}
