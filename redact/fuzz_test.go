package redact_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tiercompact/tiercompact/internal/redacttest"
	"github.com/tiercompact/tiercompact/redact"
)

// demanded are the patterns that must find nothing in redacted text, except in
// code: the value has letters and digits, and its line has no sign of code.
var demanded = regexp.MustCompile(`(?im)^(.*?)(?:api[_-]?key|password)[ \t]*[:=][ \t]*([a-z!#+-]+[0-9][a-z0-9!#+-]*)(?:[\s,]|$)`)

var codeInLine = regexp.MustCompile(`(?i)\b(?:const|let|var|val|final|static|public|private|protected|readonly|def|func|fn|function|async|await|return|mut|param|type|keyword|ivar|attr|property)\b|self\.|this\.`)

// left returns the matches of the demanded patterns in text.
func left(text string) string {
	for _, m := range demanded.FindAllStringSubmatch(text, -1) {
		if !codeInLine.MatchString(m[1]) {
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
		t.Fatalf("%q became %q, which is not UTF-8", in, out)
	}
	valid := json.Valid([]byte(in))
	if valid && !json.Valid([]byte(out)) {
		t.Fatalf("%q became %q, which is not JSON", in, out)
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
		"if (password == b) {", "token: Token = x", "let password = a1;", "token = t[0]", "password: a.b", "pass: 12", "PASS: x", "secret = (a, b)", "f('Password: ') + 'x'", "if password:\n  x = 1", "mail a@b.co, +49 30 901820", "tel: 030 901820",
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
