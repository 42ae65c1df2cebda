package wire

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

var jsonTexts = []string{
	`null`, `true`, `-0`, `0.5e+10`, `01`, `1.`, `-`, `1e`, `.5`, `"a"`, `"\u00e9\ud83d\ude00\ud83d"`, `"\u12"`, `"\x"`,
	"\"a\nb\"", `"open`, `"\`, `{}`, `[]`, `{"a":[1,{"b":null}],"c":"]}"}`, `{"a" : 1 , "b":2}`, `[1,]`, `{,}`, `{"a"}`, `{"a":}`,
	`{a:1}`, `[1 2]`, `[}`, `{]`, `tru`, `nullx`, ` [ ] `, `{"a":1}{`, `"\\\\\""`, "[\t\r\n1]", `[[[[[]]]]]`, "\u00a0[]", `{"\n":1}`,
}

// FuzzScan: the scanner accepts what encoding/json accepts, and reads the same.
func FuzzScan(f *testing.F) {
	for _, s := range jsonTexts {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		end, err := scanValue(s, 0)
		valid := err == nil && skipSpace(s, end) == len(s)
		if valid != json.Valid([]byte(s)) {
			t.Fatalf("%q: ours %v (%v)", s, valid, err)
		}
		for range objectMembers(s) { // does not panic on broken input
		}
		for range elements(s) {
		}
		if !valid || !utf8.ValidString(s) {
			return
		}
		start := skipSpace(s, 0)
		if at := skipValue(s, start); at != end {
			t.Fatalf("%q: ends at %d, skipped to %d", s, end, at)
		}
		checkReading(t, s[start:end])
	})
}

// checkReading compares the parts of a value with encoding/json's.
func checkReading(t *testing.T, raw string) {
	switch raw[0] {
	case '"':
		var want string
		if err := json.Unmarshal([]byte(raw), &want); err != nil || unquoteText(raw) != want {
			t.Fatalf("%s: %q, want %q", raw, unquoteText(raw), want)
		}
		var again string
		if err := json.Unmarshal(appendQuoted(nil, want), &again); err != nil || again != want {
			t.Fatalf("%q quoted is %s", want, appendQuoted(nil, want))
		}
	case '{':
		var want map[string]json.RawMessage
		if err := json.Unmarshal([]byte(raw), &want); err != nil {
			t.Fatal(err)
		}
		o := parseObject(raw)
		for key, value := range want {
			if got := o.rawValue(key); got != string(value) {
				t.Fatalf("%s: %q is %s, want %s", raw, key, got, value)
			}
		}
	case '[':
		var want []json.RawMessage
		if err := json.Unmarshal([]byte(raw), &want); err != nil {
			t.Fatal(err)
		}
		i := 0
		for start, end := range elements(raw) {
			if got := raw[start:end]; got != string(want[i]) {
				t.Fatalf("%s: element %d is %s, want %s", raw, i, got, want[i])
			}
			i++
		}
		if i != len(want) {
			t.Fatalf("%s: %d elements, want %d", raw, i, len(want))
		}
	}
}

func TestScannerSharesPlainStrings(t *testing.T) {
	raw := `"` + strings.Repeat("plain ", 1000) + `"`
	if n := testing.AllocsPerRun(10, func() { unquoteText(raw) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestQuoteEscapesAsLittleAsItCan(t *testing.T) {
	if got := quotedJSON("<a href=\"x\">&\u2028 \t\r\n\b\f\x01 é\xff 😀/\\"); got != `"<a href=\"x\">&`+"\u2028"+` \t\r\n\b\f\u0001 é`+"\ufffd"+` 😀/\\"` {
		t.Error(got)
	}
}

func TestObjectChangesKeepAllOtherBytes(t *testing.T) {
	for _, c := range []struct {
		in      string
		changes []change
		want    string
	}{
		{`{ "a" : 1 , "b":2 }`, nil, `{ "a" : 1 , "b":2 }`},
		{`{ "a" : 1 , "b":2 }`, []change{{"a", `"x"`}}, `{ "a" : "x" , "b":2 }`},
		{`{ "a" : 1 , "b":2 }`, []change{{"a", ""}}, `{ "b":2 }`},
		{`{ "a" : 1 , "b":2 }`, []change{{"b", ""}}, `{ "a" : 1 }`},
		{`{ "a" : 1 , "b":2 }`, []change{{"b", ""}, {"a", ""}}, `{ }`},
		{`{"a":1,"b":2,"c":3}`, []change{{"a", ""}, {"b", ""}}, `{"c":3}`},
		{`{"a":1,"b":2,"c":3}`, []change{{"b", ""}, {"c", ""}, {"d", "4"}}, `{"a":1,"d":4}`},
		{`{"a":1}`, []change{{"b", `"x"`}, {"c", ""}}, `{"a":1,"b":"x"}`},
		{`{ }`, []change{{"b", `[]`}}, `{"b":[] }`},
		{`{"a":1,"a":2}`, []change{{"a", "3"}}, `{"a":3,"a":3}`},
		{`{"a":1,"a":2}`, []change{{"a", ""}}, `{}`},
	} {
		got := parseObject(c.in).withChanges(c.changes...)
		if got != c.want || !json.Valid([]byte(got)) {
			t.Errorf("%s with %v: %s, want %s", c.in, c.changes, got, c.want)
		}
	}
}

func TestKindsOfValues(t *testing.T) {
	var got []string
	for _, raw := range []string{"", `"a"`, "{}", "[]", "true", "null", "-1"} {
		got = append(got, jsonKindName(raw))
	}
	if want := []string{"missing", "a string", "an object", "a list", "true or false", "null", "a number"}; !slices.Equal(got, want) {
		t.Error(got)
	}
}

// A string ends at the same place wherever its bytes are: 8 are read at a time.
func TestStringsAreScannedAtEveryOffset(t *testing.T) {
	for before := range 20 {
		for after := range 20 {
			for _, c := range []string{`"`, `\\"`, `\u00e9"`, "\x7f\"", "\u00ff\"", "\xff\"", " \"", "\x1f\"", "\x00\"", `\x"`} {
				text := `"` + strings.Repeat("a", before) + c
				end, err := scanString(text+strings.Repeat(`"`, after), 0)
				broken := c[0] < ' ' || c == `\x"`
				if broken != (err != nil) || !broken && end != len(text) || broken && end != before+1+strings.Count(c, `\`) {
					t.Errorf("%q ends at %d, %v", text, end, err)
				}
			}
		}
	}
}
