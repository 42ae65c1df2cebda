package redact_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/internal/redacttest"
	"github.com/tiercompact/tiercompact/redact"
)

func learnt(t testing.TB) *redact.Known {
	t.Helper()
	k := redact.Default().Known()
	for _, x := range redacttest.Secrets() {
		k.Learn(x.Text)
	}
	return k
}

func TestWhatIsKnownIsFoundWhereNothingTellsItApart(t *testing.T) {
	k := learnt(t)
	for _, x := range redacttest.Secrets() {
		for _, part := range x.Parts {
			if len(part) < 8 {
				continue
			}
			for _, around := range []string{"%", "names: a, %, b", "x\n%\ny", "…%…"} {
				text := strings.ReplaceAll(around, "%", part)
				if got := k.String(text); strings.Contains(got, part) {
					t.Errorf("%s in %s: %q is left as %q", x.Kind, x.Form, text, got)
				}
			}
		}
	}
}

func TestAPartOfWhatIsKnownIsFound(t *testing.T) {
	k := redact.Default().Known()
	token := "Zq7Lm2" + "Xw9Rt4Vb8Np1Kc6Hd3Js5Gf0"
	k.Learn("api_key=" + token)
	for from, to := range map[int]int{0: 14, 5: 20, 10: len(token), 16: len(token)} {
		if got := k.String("see " + token[from:to] + ", and so on"); got != "see "+redact.Mark+", and so on" {
			t.Errorf("%d to %d: %s", from, to, got)
		}
	}
	if text := "see " + token[:7]; k.String(text) != text {
		t.Error("seven characters are no sign")
	}
}

// A secret may be encoded where it is found again.
func TestWhatIsKnownIsFoundInEncodings(t *testing.T) {
	for _, c := range []struct{ secret, text string }{
		{"p&ss<w0>" + "rd9x!", "the answer: %"}, {"pä$$w0rd" + "-99x", "line\n%\n"}, {"p&ss<w0>" + "rd9x!", "https://a.test/?x=p%26ss%3Cw0%3E" + "rd9x%21&y"}, {"S0mmer" + "2024!", "https://a.test/?x=S0mmer2024%21&y"},
		{"p&ss<w0>" + "rd9x!", `log: "p\u0026ss\u003cw0\u003e` + `rd9x!"`}, {"a\"b\\c9" + "dEf0", `log: "a\"b\\c9` + `dEf0"`}, {"Tr0ub4dor" + "-zeb7", "  db: VHIwdWI0ZG9y" + "LXplYjc="}, {"Tr0ub4dor" + "-zeb7", "  db: VHIwdWI0ZG9y" + "LXplYjcK\n"}, {"Tr0ub4dor" + "-zeb7", "/tmp/%.txt"},
	} {
		k := redact.Default().Known()
		k.Learn("DB_PASSWORD='" + c.secret + "'")
		text := strings.ReplaceAll(c.text, "%\n", c.secret+"\n")
		if strings.HasSuffix(text, "%") || strings.Contains(text, "/%.") {
			text = strings.Replace(text, "%", c.secret, 1)
		}
		if got := k.String(text); !strings.Contains(got, redact.Mark) || strings.Contains(got, "9x!") || strings.Contains(got, "LXplY") {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func TestWordsAreNotKnown(t *testing.T) {
	k := redact.Default().Known()
	for _, text := range []string{"password: string", "api_key = the key of the account", `{"password":"correct horse battery"}`, "password: hunter2", "api_key=config.APIKey"} {
		k.Learn(text)
	}
	for _, text := range []string{"string", "the key of the account", "correct horse battery", "hunter2", "config.APIKey"} {
		if got := k.String(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// A password made by a person is replaced inside names, too.
func TestWhatIsKnownStaysInIdentifiers(t *testing.T) {
	k := redact.Default().Known()
	for _, secret := range []string{"test", "Winter2031x", "shop-2024-Ab"} {
		k.Learn("password: " + secret)
	}
	for _, text := range []string{"test_user", "Winter2031xReport()", "my_Winter2031x", "load_Winter2031x_rows", "new_shop-2024-Abstract"} {
		if got := k.String(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
	for _, text := range []string{"it is Winter2031x.", `"a\nWinter2031x\nb"`, "redis -a Winter2031x", "x=Winter2031x&y"} {
		if got := k.String(text); strings.Contains(got, "Winter2031x") {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func TestWhatOnlyLooksAlikeStaysWhateverIsKnown(t *testing.T) {
	k := learnt(t)
	for _, text := range redacttest.LookAlikes() {
		if got := k.String(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// Secrets beyond the limit of a redactor are found by the rules alone.
func TestKnownIsBounded(t *testing.T) {
	k := redact.Default().Known()
	value := func(i int) string { return fmt.Sprintf("Zq7Lm2%05dXw9Rt4Vb8Np1Kc6Hd3", i) }
	const n = 20_000 // of 29 bytes
	for i := range n {
		k.Learn("api_key=" + value(i))
	}
	if got := k.String("see " + value(0)); got != "see "+redact.Mark {
		t.Error("the first is not known: ", got)
	}
	if got := k.String("see " + value(n-1)); got == "see "+redact.Mark {
		t.Error("the last is known: there is no bound")
	}
	if got := k.String("api_key=" + value(n-1)); got != "api_key="+redact.Mark {
		t.Error("the rules do not find the last: ", got)
	}
}

func BenchmarkKnown(b *testing.B) {
	k := learnt(b)
	text := strings.Repeat("func (s *Session) Undo(ctx context.Context) (Report, error) {\n\treturn s.undo(ctx)\n}\n", 4000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		k.String(text)
	}
}
