package redact_test

import (
	"encoding/json"
	"testing"

	"github.com/tiercompact/tiercompact/internal/redacttest"
	"github.com/tiercompact/tiercompact/redact"
)

func TestNoSecretIsLeft(t *testing.T) {
	r := redact.Default()
	for seed := range uint64(50) {
		bad := 0
		for _, s := range redacttest.Seeded(seed + 1) {
			got := r.String(s.Text)
			if leak := s.Leaks(got); leak != "" {
				bad++
				t.Errorf("seed %d: %s in %s leaves %q in\n%s", seed, s.Kind, s.Form, leak, got)
			}
			if json.Valid([]byte(s.Text)) && !json.Valid([]byte(got)) {
				t.Errorf("%s in %s is no longer JSON: %s", s.Kind, s.Form, got)
			}
			if again := r.String(got); again != got {
				t.Errorf("%s in %s: first\n%s\nthen\n%s", s.Kind, s.Form, got, again)
			}
		}
		if t.Failed() {
			t.Fatalf("%d leak", bad)
		}
	}
}

func TestLookAlikesStay(t *testing.T) {
	r := redact.Default()
	for seed := range uint64(50) {
		all := redacttest.SeededLookAlikes(seed + 1)
		if len(all) != 200 {
			t.Fatalf("%d look-alikes", len(all))
		}
		for _, s := range all {
			if got := r.String(s); got != s {
				t.Errorf("%s\nbecame\n%s", s, got)
			}
			if got := redact.JSON(r.String, s); got != s {
				t.Errorf("as JSON, %s\nbecame\n%s", s, got)
			}
		}
		if t.Failed() {
			return
		}
	}
}

func TestNoSecretIsLeftInItsSurroundings(t *testing.T) {
	r := redact.Default()
	for seed := range uint64(20) {
		bad := 0
		all := redacttest.Surrounded(seed + 1)
		if len(all) != 390 {
			t.Fatalf("%d texts, want 39 kinds in 10 surroundings", len(all))
		}
		for _, s := range all {
			got := r.String(s.Text)
			if leak := s.Part(got); leak != "" {
				bad++
				t.Errorf("seed %d: %s in %s leaves %q in\n%s", seed+1, s.Kind, s.Form, leak, got)
			}
			if json.Valid([]byte(s.Text)) && !json.Valid([]byte(got)) {
				t.Errorf("%s in %s is no longer JSON: %s", s.Kind, s.Form, got)
			}
			if again := r.String(got); again != got {
				t.Errorf("%s in %s: first\n%s\nthen\n%s", s.Kind, s.Form, got, again)
			}
		}
		if t.Failed() {
			t.Fatalf("%d of %d leak", bad, len(all))
		}
	}
}
