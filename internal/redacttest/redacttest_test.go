package redacttest_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/internal/redacttest"
)

func TestTheCorpusIsWhole(t *testing.T) {
	all := redacttest.Secrets()
	kinds, forms := make(map[string]bool), make(map[string]bool)
	for _, s := range all {
		kinds[s.Kind], forms[s.Form] = true, true
		for _, p := range s.Parts {
			if !strings.Contains(s.Text, p) {
				t.Errorf("%s in %s: %q is not in %s", s.Kind, s.Form, p, s.Text)
			}
		}
		if s.Leaks(s.Text) == "" || s.Leaks("nothing") != "" {
			t.Errorf("%s in %s: what leaks is not seen", s.Kind, s.Form)
		}
	}
	if len(all) != 220 || len(kinds) != 20 || len(forms) != 11 {
		t.Errorf("%d texts, %d kinds, %d forms", len(all), len(kinds), len(forms))
	}
	if !reflect.DeepEqual(all, redacttest.Secrets()) || reflect.DeepEqual(all, redacttest.Seeded(2)) {
		t.Error("the corpus is not that of its seed")
	}
	if n := len(redacttest.LookAlikes()); n != 200 {
		t.Errorf("%d look-alikes", n)
	}
}
