package redact_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tiercompact/tiercompact/redact"
	"github.com/tiercompact/tiercompact/redact/redacttest"
)

// demanded are the patterns that must find nothing in what is redacted.
var demanded = regexp.MustCompile(`(?i)(?:api[_-]?key|password)\s*[:=]\s*(\S+)`)

var ended = regexp.MustCompile("^[:=>([{\"'`\\\\]*[])},;]")

// left returns what the demanded patterns find in text that is neither a mark,
// nor punctuation, nor what follows the end of a string or a bracket.
func left(text string) string {
	for _, m := range demanded.FindAllStringSubmatch(text, -1) {
		numbered := strings.Contains(m[0], "\n") && strings.Trim(m[1], "0123456789→│:|-") == "" // the number of a line
		if ended.MatchString(m[1]) || numbered {
			continue
		}
		value := strings.TrimLeft(m[1], "\"'`([{\\,;:=>-+|#*}])")
		if value != "" && !strings.Contains(value, redact.Mark) {
			return m[0]
		}
	}
	return ""
}

func check(t *testing.T, r *redact.Redactor, in string) {
	t.Helper()
	out := r.String(in)
	if again := r.String(out); again != out {
		t.Fatalf("%q\nbecame %q\nand then %q", in, out, again)
	}
	if utf8.ValidString(in) && !utf8.ValidString(out) {
		t.Fatalf("%q became %q, which is no UTF-8", in, out)
	}
	valid := json.Valid([]byte(in))
	if valid && !json.Valid([]byte(out)) {
		t.Fatalf("%q became %q, which is no JSON", in, out)
	}
	if !valid && left(out) != "" {
		t.Fatalf("%q became %q, where %q is left", in, out, left(out))
	}
	if out := redact.JSON(r.String, in); valid && (!json.Valid([]byte(out)) || redact.JSON(r.String, out) != out) {
		t.Fatalf("%q became %q, and then %q", in, out, redact.JSON(r.String, out))
	}
}

func FuzzString(f *testing.F) {
	for _, s := range redacttest.Secrets() {
		f.Add(s.Text)
	}
	for _, s := range redacttest.LookAlikes() {
		f.Add(s)
	}
	for _, s := range []string{
		`password = "a" + "b"`, "password: 'it''s'", `api_key="abc"def "x"`, `{"password":["a",1,{"b":2}]}`, "password:\n  | x", `password=\"a\",\"b\"`,
		"password=a\\\n  b", `password: str = "x"`, "password := f(\"a b\")", "<password>x</password>", "password=\"\"", "password='''a'b'''", "password=<REDACTED>x",
	} {
		f.Add(s)
	}
	r := redact.Default()
	f.Fuzz(func(t *testing.T, in string) { check(t, r, in) })
}

func TestRealSessionsStayWhatTheyAre(t *testing.T) {
	const dir = "../../shared/transcripts"
	files, _ := filepath.Glob(filepath.Join(dir, "*", "*"))
	if len(files) == 0 {
		t.Skipf("no sessions in %s", dir)
	}
	r := redact.Default()
	for _, path := range files {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // a folder
		}
		if json.Valid(b) {
			check(t, r, string(b))
			continue
		}
		for line := range strings.Lines(string(b)) {
			check(t, r, strings.TrimSuffix(line, "\n"))
		}
	}
}
