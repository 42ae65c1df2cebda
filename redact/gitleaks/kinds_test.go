package gitleaks_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"

	"github.com/zricethezav/gitleaks/v8/detect"

	"github.com/tiercompact/tiercompact/internal/redacttest"
	"github.com/tiercompact/tiercompact/redact"
	"github.com/tiercompact/tiercompact/redact/gitleaks"
)

// A sampler writes texts that a regular expression matches.
type sampler struct {
	*rand.Rand
	b strings.Builder
}

// sample returns a text that matches an expression.
func sample(r *rand.Rand, expression string) (string, error) {
	re, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return "", err
	}
	s := sampler{Rand: r}
	s.write(re.Simplify())
	return s.b.String(), nil
}

func (s *sampler) write(re *syntax.Regexp) {
	switch re.Op {
	case syntax.OpLiteral:
		if text := string(re.Rune); re.Flags&syntax.FoldCase != 0 {
			s.b.WriteString(strings.ToLower(text))
		} else {
			s.b.WriteString(text)
		}
	case syntax.OpCharClass:
		s.b.WriteRune(s.of(re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		s.b.WriteByte('x')
	case syntax.OpCapture, syntax.OpConcat:
		for _, sub := range re.Sub {
			s.write(sub)
		}
	case syntax.OpPlus:
		for range 1 + s.IntN(3) {
			s.write(re.Sub[0])
		}
	case syntax.OpRepeat:
		for range re.Min {
			s.write(re.Sub[0])
		}
	case syntax.OpAlternate:
		s.write(re.Sub[s.IntN(len(re.Sub))])
	}
}

// of returns a character of a class: a letter or a digit if it has some.
func (s *sampler) of(ranges []rune) rune {
	var plain []rune
	for _, c := range "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789" {
		for i := 0; i+1 < len(ranges); i += 2 {
			if ranges[i] <= c && c <= ranges[i+1] {
				plain = append(plain, c)
			}
		}
	}
	if plain == nil {
		return ranges[0]
	}
	return plain[s.IntN(len(plain))]
}

// unlike are rules whose expression matches texts that are not secrets of their
// kind: their beginning has only one case, or they contain more.
var unlike = map[string]string{
	"jwt":                 "the parts of a token are JSON in base64, and begin with eyJ",
	"private-key":         "the first line of a key is in capitals, with a blank",
	"grafana-api-key":     "JSON in base64 has one case",
	"atlassian-api-token": "ATATT3 has one case",
}

// commands are texts for rules whose expression also matches invalid commands.
var commands = map[string][]string{
	"curl-auth-header": {"curl -H \"Authorization: Bearer 4fJ9xQ7Lm2Zw8Rt3Vb\" https://api.test", "curl --header 'X-Api-Key: q8Zt5Lm3Wx7Rk2'  https://api.test"},
	"curl-auth-user":   {"curl -u 'deploy:w8Jq2zVb' https://api.test", "curl --user deploy:w8Jq2zVb https://api.test", "curl -u=deploy:w8Jq2zVb https://api.test"},
}

// The built-in rules find each kind that gitleaks finds: a text is generated for
// each of its rules.
func TestNoKindOfGitleaksIsMissed(t *testing.T) {
	d, err := detect.NewDetectorDefaultConfig()
	if err != nil {
		t.Fatal(err)
	}
	own := redact.Default()
	r := rand.New(rand.NewPCG(1, 2))
	made, found, missed, all, left := 0, 0, 0, 0, 0
	for _, id := range slices.Sorted(maps.Keys(d.Config.Rules)) {
		rule := d.Config.Rules[id]
		if rule.Regex == nil || rule.Path != nil || unlike[id] != "" {
			continue
		}
		made++
		known, bad := 0, []string(nil)
		texts := commands[id]
		for len(commands[id]) == 0 && len(texts) < 12 {
			text, err := sample(r, rule.Regex.String())
			if err != nil {
				t.Fatal(id, err)
			}
			texts = append(texts, text)
		}
		for _, text := range texts {
			for _, in := range []string{text, "x = 1\n" + text + "\n", fmt.Sprintf("token = %q\n", strings.TrimSpace(text))} {
				for _, f := range d.DetectString(in) {
					if f.RuleID != id || !strings.ContainsAny(f.Secret, "0123456789") { // what is letters alone may be a name
						continue
					}
					known++
					if strings.Contains(own.String(in), f.Secret) {
						bad = append(bad, fmt.Sprintf("%q of %q", f.Secret, in))
					}
				}
			}
		}
		if known > 0 {
			found++
		}
		all, left = all+known, left+len(bad)
		if len(bad)*5 > known { // a text with neither form nor name may be missed if it looks like a name by chance
			missed++
			t.Errorf("%s: %d of %d are left: %.300s", id, len(bad), known, bad[0])
		}
	}
	t.Logf("%d rules of gitleaks with an expression, texts made for %d, %d missed; %d of %d texts are left", made, found, missed, left, all)
}

// The corpus of kinds and surroundings, with the built-in rules and with gitleaks
// alone: in how many of its ten texts each leaves at least eight characters.
func TestTheCorpusBesideGitleaks(t *testing.T) {
	find, err := gitleaks.New()
	if err != nil {
		t.Fatal(err)
	}
	own := redact.Default()
	type row struct{ all, own, gitleaks int }
	rows := make(map[string]row)
	var kinds []string
	var sum row
	for _, s := range redacttest.Surrounded(1) {
		r, seen := rows[s.Kind]
		if !seen {
			kinds = append(kinds, s.Kind)
		}
		r.all++
		if s.Part(own.String(s.Text)) != "" {
			r.own++
		}
		if s.Part(find(s.Text)) != "" {
			r.gitleaks++
		}
		rows[s.Kind] = r
	}
	var table strings.Builder
	for _, k := range kinds {
		r := rows[k]
		sum.all, sum.own, sum.gitleaks = sum.all+r.all, sum.own+r.own, sum.gitleaks+r.gitleaks
		fmt.Fprintf(&table, "| %s | %d | %d |\n", k, r.own, r.gitleaks)
	}
	t.Logf("leaks of %d texts:\n| kind | built-in | gitleaks alone |\n|---|---|---|\n%s| all | %d | %d |", sum.all, table.String(), sum.own, sum.gitleaks)
	if sum.own > 0 || sum.all != 390 {
		t.Errorf("%d of %d leak", sum.own, sum.all)
	}
}
