package tokens

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
)

// makeVocab returns a vocabulary of all bytes and then joins, and its ranks.
func makeVocab(t *testing.T, joins []string) (*vocab, map[string]int) {
	t.Helper()
	ranks := map[string]int{}
	var file strings.Builder
	add := func(token string) {
		fmt.Fprintf(&file, "%s %d\n", base64.StdEncoding.EncodeToString([]byte(token)), len(ranks))
		ranks[token] = len(ranks)
	}
	for i := range 256 {
		add(string([]byte{byte(i)}))
	}
	for _, j := range joins {
		add(j)
	}
	v, err := parseVocab(strings.NewReader(file.String()), int64(file.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return v, ranks
}

// chainVocab returns a vocabulary in which bytes i and i+1 join, higher ones
// before lower ones.
func chainVocab(t *testing.T) (*vocab, map[string]int) {
	t.Helper()
	var joins []string
	for i := 254; i >= 0; i-- {
		joins = append(joins, string([]byte{byte(i), byte(i + 1)}))
	}
	return makeVocab(t, joins)
}

func TestRankFindsEveryToken(t *testing.T) {
	for _, name := range []string{CL100K, O200K} {
		v := mustLoad(t, name).vocab
		for token, want := range slowRanks(t, name) {
			if got := v.tokenRank(token, 0, len(token)); int(got) != want {
				t.Fatalf("%s: %q has rank %d, want %d", name, token, got, want)
			}
			if s := token + "\x00"; v.tokenRank(s, 0, len(token)) != uint32(want) {
				t.Fatalf("%s: %q is not found in front of a zero byte", name, token)
			}
		}
	}
}

func TestRankDistinguishesSimilarTexts(t *testing.T) {
	v := mustLoad(t, CL100K).vocab
	for _, s := range []string{
		"a\x00", "\x00\x00\x00\x00\x00", strings.Repeat(" ", 20) + "x" + strings.Repeat(" ", 20),
		strings.Repeat("-", 9) + "+" + strings.Repeat("-", 9), strings.Repeat("q", 300),
	} {
		if got := v.tokenRank(s, 0, len(s)); got != noRank {
			t.Errorf("%q has rank %d", s, got)
		}
	}
}

func TestParseVocabNamesTheBrokenLine(t *testing.T) {
	for _, c := range []struct{ name, file, want string }{
		{"no rank", "IQ== 0\nIg==\n", "line 2: no rank"},
		{"no rank in the middle", "IQ==\nIg== 1\n", "line 1: illegal base64"},
		{"no base64", "IQ== 0\n!!!! 1\n", "line 2: illegal base64"},
		{"part of base64", "IQ 0\n", "line 1: illegal base64"},
		{"no number", "IQ== zero\n", "line 1: rank is not 0"},
		{"another rank", "IQ== 0\nIg== 2\n", "line 2: rank is not 1"},
		{"rank too high", "IQ== 99999999999999999999\n", "line 1: rank is not 0"},
		{"empty token", " 0\n", "line 1: no token"},
		{"empty line", "IQ== 0\n\n", "line 2: no token"},
		{"long token", base64.StdEncoding.EncodeToString(make([]byte, 256)) + " 0\n", "line 1: no token of 1 to 255 bytes"},
		{"longer token", base64.StdEncoding.EncodeToString(make([]byte, 5000)) + " 0\n", "line 1: no token of 1 to 255 bytes"},
		{"line longer than the buffer", "IQ== 0\n" + strings.Repeat("A", 1<<16) + " 1\n", "line 2: too long"},
		{"half a line", "IQ== 0\nIg== 1", "line 2: no line end"},
		{"bytes missing", "IQ== 0\n", "not every byte is a token"},
		{"empty", "", "not every byte is a token"},
	} {
		if _, err := parseVocab(strings.NewReader(c.file), int64(len(c.file))); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
}
