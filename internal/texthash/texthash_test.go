package texthash

import (
	"hash/maphash"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestListsDifferByTheirTexts: two lists have the same hash if and only if they have the
// same texts, in the same order and with the same borders.
func TestListsDifferByTheirTexts(t *testing.T) {
	seed := maphash.MakeSeed()
	sum := func(texts []string) uint64 {
		l := New(seed)
		size := 0
		for _, s := range texts {
			l.AddText(s)
			size += len(s)
		}
		if l.Size() != size {
			t.Fatalf("%q: %d bytes, want %d", texts, l.Size(), size)
		}
		return l.Sum()
	}
	text := rapid.Custom(func(t *rapid.T) string {
		return strings.Repeat(rapid.SampledFrom([]string{"", "a", "b", "\xff", "\x00", "\x01a"}).Draw(t, "text"), rapid.SampledFrom([]int{1, 2, 63, 64, 65, 300}).Draw(t, "times"))
	})
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.SliceOfN(text, 0, 12).Draw(t, "a")
		b := rapid.SliceOfN(text, 0, 12).Draw(t, "b")
		if sum(a) != sum(slices.Clone(a)) {
			t.Fatalf("%q has two hashes", a)
		}
		if same := sum(a) == sum(b); same != slices.Equal(a, b) {
			t.Fatalf("the hashes of %q and %q are the same: %v", a, b, same)
		}
		if all := strings.Join(a, ""); len(a) > 1 && sum(a) == sum([]string{all}) {
			t.Fatalf("%q has the hash of one text", a)
		}
	})
}
