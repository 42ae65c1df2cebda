package wire

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func said(c Conversation) string {
	var texts []string
	for _, m := range c.Messages {
		texts = append(texts, m.Text())
	}
	return strings.Join(texts, " ")
}

// records of a log whose value looks like a record
const (
	tornLog  = `{"type":"user","uuid":"u1","parentUuid":null,"isSidechain":false,"message":{"role":"user","content":[{"type":"text","text":"torn"}]}}`
	nextLog  = `{"type":"user","uuid":"u2","parentUuid":null,"isSidechain":false,"message":{"role":"user","content":"next"}}`
	thirdLog = `{"type":"assistant","uuid":"u3","parentUuid":"u2","isSidechain":false,"message":{"role":"assistant","content":[{"type":"text","text":"third"}]}}`
	tornChat = `{"role":"user","content":[{"type":"text","text":"torn"}],"meta":{"a":-1.5e3,"b":true,"c":"\u00e9\\"}}`
	nextChat = `{"role":"user","content":"next"}`
	lastChat = `{"role":"assistant","content":"third"}`
)

// A truncated record costs only itself, wherever it is cut.
func TestTornRecordCostsItselfAlone(t *testing.T) {
	for name, lines := range map[string][3]string{"claudecode": {tornLog, nextLog, thirdLog}, "jsonl": {tornChat, nextChat, lastChat}} {
		for cut := 1; cut < len(lines[0]); cut++ {
			for between, junk := range map[string]string{"": "", "NUL": "\x00\x00\x00", "space": "  "} {
				in := lines[0][:cut] + junk + lines[1] + "\n" + lines[2] + "\n"
				c, err := DecodeBytes([]byte(in), Options{Lenient: true, Format: name})
				if err != nil {
					t.Fatalf("%s cut at %d, %s between: %v", name, cut, between, err)
				}
				if said(c) != "next third" || c.Skipped != 1 || c.Unfinished != 0 {
					t.Errorf("%s cut at %d, %q between: %q, %d left out: %s", name, cut, between, said(c), c.Skipped, in)
				}
				if _, err := DecodeBytes([]byte(in), Options{Format: name}); !errors.Is(err, ErrBroken) {
					t.Errorf("%s cut at %d: %v", name, cut, err)
				}
			}
		}
	}
}

func TestTornRecordWithoutAnotherOnItsLineIsLeftOut(t *testing.T) {
	for cut := 1; cut < len(tornLog); cut++ {
		in := tornLog[:cut] + "\n" + nextLog + "\n" + thirdLog + "\n"
		if c, err := DecodeBytes([]byte(in), Options{Lenient: true, Format: "claudecode"}); err != nil || said(c) != "next third" || c.Skipped != 1 {
			t.Errorf("cut at %d: %q, %d left out, %v", cut, said(c), c.Skipped, err)
		}
	}
}

func TestSeveralRecordsGluedToATornOneAreRead(t *testing.T) {
	for name, in := range map[string]string{
		"two behind it":      tornLog[:40] + nextLog + thirdLog + "\n",
		"one behind another": tornLog[:40] + nextLog[:60] + nextLog + "\n" + thirdLog + "\n",
		"torn ones apart":    tornLog[:40] + nextLog + nextLog[:80] + thirdLog + "\n",
		"only an end of it":  tornLog[30:] + nextLog + "\n" + thirdLog + "\n",
	} {
		if c, err := DecodeBytes([]byte(in), Options{Lenient: true, Format: "claudecode"}); err != nil || said(c) != "next third" {
			t.Errorf("%s: %q, %v", name, said(c), err)
		}
	}
}

// An object inside a broken record is not a record of its own.
func TestValueInsideABrokenRecordIsNotARecord(t *testing.T) {
	for _, in := range []string{
		`{"role":"user","n":bad,"a":{"role":"user","content":"inner"}}`,
		`{"role":"user","a":[{"role":"user","content":"inner"}`,
		`{"id":1,"a":{"role":"user","content":"inner"}`,
	} {
		c, err := DecodeBytes([]byte(nextChat+"\n"+in+"\n"+lastChat+"\n"), Options{Lenient: true, Format: "jsonl"})
		if err != nil || said(c) != "next third" {
			t.Errorf("%s: %q, %v", in, said(c), err)
		}
	}
}

// The last line of an unfinished session may end anywhere, even inside a character.
func TestRecordThatIsBeingWrittenIsLeftOut(t *testing.T) {
	for name, lines := range map[string][2]string{
		"claudecode": {nextLog, strings.Replace(thirdLog, "third", "d’où \\u00e9 𝄞", 1)},
		"jsonl":      {nextChat, strings.Replace(tornChat, "torn", "d’où 𝄞", 1)},
		"codex":      {`{"timestamp":"t","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"next"}]}}`, `{"timestamp":"t","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"𝄞"}]}}`},
		"pi":         {`{"type":"message","id":"a","parentId":null,"timestamp":"t","message":{"role":"user","content":"next"}}`, `{"type":"message","id":"b","parentId":"a","timestamp":"t","message":{"role":"toolResult","toolCallId":"x","content":[{"type":"text","text":"x"}]}}`},
	} {
		for cut := 1; cut < len(lines[1]); cut++ {
			for _, lenient := range []bool{false, true} {
				in := lines[0] + "\n" + lines[1][:cut]
				c, err := DecodeBytes([]byte(in), Options{Lenient: lenient, Format: name})
				if err != nil || said(c) != "next" || c.Unfinished != 2 || c.Skipped != 0 {
					t.Errorf("%s cut at %d, lenient %v: %q, line %d without an end, %d left out, %v", name, cut, lenient, said(c), c.Unfinished, c.Skipped, err)
				}
			}
		}
		whole, err := DecodeBytes([]byte(lines[0]+"\n"+lines[1]), Options{Format: name})
		if err != nil || len(whole.Messages) != 2 || whole.Unfinished != 0 {
			t.Errorf("%s: %d messages, %v", name, len(whole.Messages), err)
		}
	}
}

func TestInvalidLastLineIsAnError(t *testing.T) {
	for _, last := range []string{"oops", `{"role":user`, `{"role":"user"]`, `["a"`, "{\"role\":\"us\x00", tornChat[:50] + "\n"} {
		if _, err := DecodeBytes([]byte(nextChat+"\n"+last), Options{Name: "f", Format: "jsonl"}); !errors.Is(err, ErrBroken) && !errors.Is(err, ErrField) || !strings.HasPrefix(err.Error(), "f:2: ") {
			t.Errorf("%s: %v", last, err)
		}
	}
	if _, err := DecodeBytes([]byte(tornChat[:50]), Options{Name: "f", Format: "jsonl"}); !errors.Is(err, ErrBroken) {
		t.Error(err)
	}
}

// The unfinished record is not written back; the others are unchanged.
func TestRecordsBeforeOneWithoutAnEndAreWrittenAsTheyWere(t *testing.T) {
	c := decoded(t, nextChat+"\n"+lastChat+"\n"+tornChat[:20])
	if got := encoded(t, c, ""); got != nextChat+"\n"+lastChat+"\n" {
		t.Error(got)
	}
}

func TestBytesThatAreNotUTF8BecomeReplacementCharacters(t *testing.T) {
	c, err := DecodeBytes([]byte(nextChat+"\n{\"role\":\"assistant\",\"content\":\"caf\xe9 \xff\xfe \xe2\x82 €\"}\n"), Options{Lenient: true})
	if err != nil {
		t.Fatal(err)
	}
	if got := said(c); got != "next caf\ufffd \ufffd\ufffd \ufffd\ufffd €" || c.Replaced != 5 || c.Skipped != 0 {
		t.Errorf("%q, %d replaced, %d left out", got, c.Replaced, c.Skipped)
	}
	if c, err := DecodeBytes([]byte(aiderStart+"x\n\n#### caf\xe9\n\nyes\xe2"), Options{Lenient: true}); err != nil || said(c) != "caf\ufffd yes\ufffd" {
		t.Errorf("%q, %v", said(c), err)
	}
	if _, err := DecodeBytes([]byte(aiderStart+"x\n\n#### caf\n\nyes\xe2"), Options{}); !errors.Is(err, ErrNotUTF8) {
		t.Error(err)
	}
}

// NUL and halves of surrogate pairs are characters of a JSON string: unchanged
// strings keep their bytes, and no such character ends a text.
func TestNULAndLoneSurrogatesPass(t *testing.T) {
	for _, content := range []string{`a\u0000b`, `\ud83d`, `\ude00\ud83d`, `x\ud83dy\ude00`, `\ud83d\ud83d\ude00`} {
		for _, in := range []string{
			`{"role":"user","content":"` + content + `"}` + "\n" + lastChat + "\n",
			`[{"role":"user","content":[{"type":"text","text":"` + content + `"}]},` + lastChat + `]`,
			`{"model":"m","messages":[{"role":"user","content":"` + content + `"},{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"a\":\"` + strings.ReplaceAll(content, `\`, `\\`) + `\"}"}}]}]}`,
		} {
			c := decoded(t, in)
			if got := encoded(t, c, ""); got != in {
				t.Errorf("%s became %s", in, got)
			}
			for _, to := range []string{"openai", "anthropic", "ollama", "jsonl"} {
				checkJSON(t, encoded(t, c, to))
			}
		}
	}
	if c := decoded(t, nextChat+"\n"+`{"role":"assistant","content":"a\u0000b"}`); said(c) != "next a\x00b" {
		t.Errorf("%q", said(c))
	}
	_, err := DecodeBytes([]byte(nextChat+"\n{\"role\":\"user\",\"content\":\"a\x00b\"}\n"), Options{Name: "f"})
	if err == nil || !strings.HasPrefix(err.Error(), "f:2: control character in a JSON string") {
		t.Error(err)
	}
}

func TestTornLinesAreReadInLinearTime(t *testing.T) {
	const n = 1 << 18
	for _, line := range []string{
		strings.Repeat("{", n), strings.Repeat(`{"`, n), strings.Repeat(`{"a":`, n), strings.Repeat(`{"a":[`, n), strings.Repeat(`{"a":{}`, n), strings.Repeat(`{"a":"{`, n),
		strings.Repeat(`[{"a":1}`, n), strings.Repeat(`x{"a":`, n), strings.Repeat(`{"a":1,"b":{"a":1,"b":2}`, n), strings.Repeat("{\"a\":\x00", n),
	} {
		_, err := DecodeBytes([]byte(nextChat+"\n"+line+"\n"), Options{Lenient: true, Format: "jsonl"}) // the search would not end otherwise
		if err != nil {
			t.Error(err)
		}
	}
}

func TestLenientNeverLosesAWholeLine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var in strings.Builder
		var want []string
		for n := range rapid.IntRange(1, 8).Draw(t, "lines") {
			text := fmt.Sprintf("m%d", n)
			record := `{"role":"user","content":"` + text + `"}`
			if rapid.Bool().Draw(t, "torn") {
				in.WriteString(tornChat[:rapid.IntRange(1, len(tornChat)-1).Draw(t, "cut")])
				if rapid.Bool().Draw(t, "ended") {
					in.WriteByte('\n')
				}
			}
			in.WriteString(record + "\n")
			want = append(want, text)
		}
		c, err := DecodeBytes([]byte(in.String()), Options{Lenient: true, Format: "jsonl"})
		if err != nil || said(c) != strings.Join(want, " ") {
			t.Fatalf("%q, want %q, %v: %s", said(c), want, err, in.String())
		}
	})
}
