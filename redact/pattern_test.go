package redact_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tiercompact/tiercompact/redact"
)

func TestNamesInJSONStay(t *testing.T) {
	args := `{"path":"a.go","old_string":"x := 1","nested":{"new_string":["y"],"n":1},"inner":"{\"path\":\"b.go\"}","api_key":"abcdef12"}`
	for _, pattern := range []string{`(?s).+`, `\w+`, `path|string`, `[a-z]`, `"`, `\S+`, `.`, `"path":`} {
		r, err := redact.New(redact.Options{Patterns: []redact.Pattern{{Regexp: pattern}}})
		if err != nil {
			t.Fatal(err)
		}
		k := r.Known()
		k.Learn(`password: old_string9Xk`)
		for name, f := range map[string]func(string) string{"String": r.String, "JSON": func(s string) string { return redact.JSON(r.String, s) }, "Known": k.String} {
			var got map[string]any
			text := f(args)
			if err := json.Unmarshal([]byte(text), &got); err != nil {
				t.Fatalf("%s, %s: %v in %s", name, pattern, err, text)
			}
			inner, _ := got["inner"].(string)
			nested, _ := got["nested"].(map[string]any)
			if got["path"] == nil || got["old_string"] == nil || got["api_key"] != redact.Mark || nested["new_string"] == nil || !strings.Contains(inner, `"path"`) {
				t.Errorf("%s, %s: %s", name, pattern, text)
			}
		}
	}
}

// Many patterns have the same effect as each of them, one after the other.
func TestManyPatternsDoWhatEachDoes(t *testing.T) {
	pieces := []string{"alpha", "ALPHA", "beta", "key", "sky", "straße", "x12", "0000", " ", "\n", "gamma-7", "<REDACTED>", "delta", "K", "ſky", "ab", "abc"}
	sources := []string{`alpha\d*`, `(?i)alpha`, `beta|gamma-\d`, `(?i)sky`, `(?i)k[a-z]y`, `x\d+`, `\d{4}`, `(?P<value>delta)s?`, `stra(ß)e`, `(?:abc){1,2}`, `ab(c)?`, `(?i:gamma)-[0-9]`, `REDACTED.`, `a(l|b)p?ha`, `(alpha)+beta`, `z{0}abc`}
	rapid.Check(t, func(t *rapid.T) {
		chosen := rapid.SliceOfN(rapid.SampledFrom(sources), 8, 20).Draw(t, "patterns")
		text := strings.Join(rapid.SliceOf(rapid.SampledFrom(pieces)).Draw(t, "text"), "")
		var all []redact.Pattern
		want := text
		for _, p := range chosen {
			all = append(all, redact.Pattern{Regexp: p})
			one, err := redact.New(redact.Options{KeepPII: true, Patterns: []redact.Pattern{{Regexp: p}}})
			if err != nil {
				t.Fatal(err)
			}
			want = one.String(want)
		}
		r, err := redact.New(redact.Options{KeepPII: true, Patterns: all})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.String(text); got != want {
			t.Fatalf("%q became %q, one after the other %q", text, got, want)
		}
	})
}

func TestManyPatternsAreBounded(t *testing.T) {
	var slow, fine []redact.Pattern
	for i := range 101 {
		slow = append(slow, redact.Pattern{Regexp: fmt.Sprintf(`\d{%d}`, i+1)})
	}
	if _, err := redact.New(redact.Options{Patterns: slow}); err == nil || !strings.Contains(err.Error(), "at most 100") {
		t.Errorf("patterns without a text: %v", err)
	}
	if _, err := redact.New(redact.Options{Patterns: slow[1:]}); err != nil {
		t.Error(err)
	}
	for i := range 10_001 {
		fine = append(fine, redact.Pattern{Regexp: fmt.Sprintf(`name%d`, i)})
	}
	if _, err := redact.New(redact.Options{Patterns: fine}); err == nil || !strings.Contains(err.Error(), "at most 10000") {
		t.Errorf("too many patterns: %v", err)
	}
}

func TestShareSaysWhoTakesEverything(t *testing.T) {
	for pattern, want := range map[string][2]float64{`(?s).+`: {1, 1}, `\w+`: {0.9, 1}, `[a-z]+`: {0.6, 1}, `e`: {0.05, 0.2}, `TICKET-\d+`: {0, 0}} {
		share, err := redact.Share(redact.Pattern{Regexp: pattern})
		if err != nil || share < want[0] || share > want[1] {
			t.Errorf("%s takes %v, %v, want %v", pattern, share, err, want)
		}
	}
	if _, err := redact.Share(redact.Pattern{Regexp: "("}); err == nil || regexp.MustCompile(`\(`).FindString(err.Error()) == "" {
		t.Error("a pattern that is none is taken: ", err)
	}
}

func BenchmarkPatterns(b *testing.B) {
	text := sources(b)[:1<<18]
	for _, n := range []int{1, 30, 300, 3000} {
		var all []redact.Pattern
		for i := range n {
			all = append(all, redact.Pattern{Regexp: fmt.Sprintf(`(?i)project%d[-_](\w+)`, i)})
		}
		r, err := redact.New(redact.Options{Patterns: all})
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprint("n=", n), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				r.String(text)
			}
		})
	}
}
