package gitleaks_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/internal/redacttest"
	"github.com/tiercompact/tiercompact/redact"
	"github.com/tiercompact/tiercompact/redact/gitleaks"
)

// made is a secret that gitleaks finds, and the built-in rules do not.
const made = "Oycadow" + "FQJNqqirle"

func TestWhatTheBuiltInRulesDoNotKnowIsFound(t *testing.T) {
	find, err := gitleaks.New()
	if err != nil {
		t.Fatal(err)
	}
	in := "airtable=" + made + " # gitleaks:allow\nrest"
	r, err := redact.New(redact.Options{Extra: []func(string) string{find}})
	if err != nil {
		t.Fatal(err)
	}
	if redact.Default().String(in) != in {
		t.Error("the built-in rules know it now; take another secret")
	}
	got := r.String(in)
	if strings.Contains(got, made) || !strings.HasSuffix(got, "\nrest") {
		t.Errorf("%s became %s", in, got)
	}
	for range 2 { // the second time it is in the cache
		if again := r.String(got); again != got {
			t.Errorf("%s became %s", got, again)
		}
	}
}

func TestManyTextsAreRedactedWithTheOwnRules(t *testing.T) {
	find, err := gitleaks.New()
	if err != nil {
		t.Fatal(err)
	}
	r, err := redact.New(redact.Options{Extra: []func(string) string{find}})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range redacttest.Secrets() {
		got := r.String(s.Text)
		if leak := s.Leaks(got); leak != "" || r.String(got) != got {
			t.Errorf("%s in %s became %s", s.Kind, s.Form, got)
		}
	}
	for i := range 3000 { // more than half of the cache
		if got := find(fmt.Sprint("nothing ", i)); got != fmt.Sprint("nothing ", i) {
			t.Fatal(got)
		}
	}
}

func BenchmarkNew(b *testing.B) {
	find, err := gitleaks.New()
	if err != nil {
		b.Fatal(err)
	}
	i := 0
	text := strings.Repeat("func f(token string) error { return nil }\n", 2000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		i++
		find(fmt.Sprint(text, i))
	}
}
