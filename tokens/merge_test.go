package tokens

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/pkoukk/tiktoken-go-loader"
)

// slowMerge is the definition: it joins the leftmost two neighbours of lowest
// rank until there are none.
func slowMerge(p string, ranks map[string]int) int {
	var parts []string
	for i := range len(p) {
		parts = append(parts, p[i:i+1])
	}
	for {
		lowest, at := -1, -1
		for i := range len(parts) - 1 {
			if r, ok := ranks[parts[i]+parts[i+1]]; ok && (at < 0 || r < lowest) {
				lowest, at = r, i
			}
		}
		if at < 0 {
			return len(parts)
		}
		parts[at] += parts[at+1]
		parts = append(parts[:at+1], parts[at+2:]...)
	}
}

func slowRanks(t *testing.T, name string) map[string]int {
	t.Helper()
	ranks, err := tiktoken_loader.NewOfflineLoader().LoadTiktokenBpe(name + ".tiktoken")
	if err != nil {
		t.Fatal(err)
	}
	return ranks
}

func mustLoad(t testing.TB, name string) *Encoding {
	t.Helper()
	e, err := Load(name)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestRunsOfOneCharacterEqualSlowMerge(t *testing.T) {
	for _, name := range []string{CL100K, O200K} {
		e, ranks := mustLoad(t, name), slowRanks(t, name)
		for _, c := range []string{"a", "Z", "_", "=", " ", "\n", "\t", "é", "中", "か", "😀", "\u0301", "ก"} {
			for _, n := range []int{1, 2, 3, 7, 17, 129, 256, 257, 511} {
				p := strings.Repeat(c, n)
				if got, want := e.Count(p), slowMerge(p, ranks); got != want {
					t.Errorf("%s: %d x %q has %d tokens, by slow merge %d", name, n, c, got, want)
				}
			}
		}
	}
}

func TestMergeEqualsSlowMerge(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	alphabets := []string{"ab", "etaoin", "abcdefghijklmnopqrstuvwxyz", "-=_*#", "的一是不了人我在有他这", "あいうえおかきくけこ", "\u0300\u0301a"}
	for _, name := range []string{CL100K, O200K} {
		e, ranks := mustLoad(t, name), slowRanks(t, name)
		for range 150 {
			p := randomText(r, alphabets[r.IntN(len(alphabets))], 2+r.IntN(600))
			want := slowMerge(p, ranks)
			if got := e.vocab.countPiece(p, new(scratch)); got != want {
				t.Fatalf("%s: %q: %d tokens, by slow merge %d", name, p, got, want)
			}
			if got := new(scratch).mergePiece(p, e.vocab); got != want {
				t.Fatalf("%s: %q in one window: %d tokens, by slow merge %d", name, p, got, want)
			}
		}
	}
}

func randomText(r *rand.Rand, alphabet string, n int) string {
	all := []rune(alphabet)
	var b strings.Builder
	for b.Len() < n {
		b.WriteRune(all[r.IntN(len(all))])
	}
	return b.String()
}

// Windows of any size that agree give the count; small ones often disagree.
func TestWindowsAgreeOnlyOnTheCount(t *testing.T) {
	e := mustLoad(t, CL100K)
	r := rand.New(rand.NewPCG(3, 4))
	agreed, disagreed := 0, 0
	for range 2000 {
		p := randomText(r, "aeinorst", 400)
		size := 8 + r.IntN(60)
		got, ok := e.vocab.stitchWindows(p, size, new(scratch))
		if !ok {
			disagreed++
			continue
		}
		agreed++
		if want := new(scratch).mergePiece(p, e.vocab); got != want {
			t.Fatalf("%q in windows of %d: %d tokens, in one %d", p, size, got, want)
		}
	}
	if _, ok := e.vocab.stitchWindows(strings.Repeat(" ", 400), 16, new(scratch)); ok {
		t.Error("windows shorter than a token agreed")
	}
	if agreed == 0 || disagreed == 0 {
		t.Errorf("%d agreed, %d did not; both were to be seen", agreed, disagreed)
	}
}

// In a chain each join has a lower rank than the one before it, so that its
// last byte decides how the first ones are merged, and windows that end inside
// it disagree.
func TestCountLooksFartherThanAWindow(t *testing.T) {
	v, ranks := chainVocab(t)
	for _, n := range []int{2, 17, 128, 192, 193, 255, 256} {
		p := chain(n)
		for len(p) < 700 {
			p += chain(n)
		}
		if got, want := v.countPiece(p, new(scratch)), slowMerge(p, ranks); got != want {
			t.Fatalf("chains of %d: %d tokens, by slow merge %d", n, got, want)
		}
	}
}

func chain(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i)
	}
	return string(b)
}
