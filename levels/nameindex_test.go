package levels

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Names are found wherever they are, inside texts and inside each other, however many
// share their beginning.
func TestNameIndexFindsNamesInside(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfDistinct(rapid.StringMatching(`[ab./]{2,7}|[abc]{3,12}`), rapid.ID).Draw(t, "names")
		texts := rapid.SliceOfN(rapid.StringMatching(`[abc./ \n]{0,40}`), 0, 4).Draw(t, "texts")
		inTexts, inNames := newNameIndex(names), newNameIndex(names)
		for _, text := range texts {
			inTexts.markInside(text, false)
		}
		for _, name := range names {
			inNames.markInside(name, true)
		}
		for _, name := range names {
			said, listed := strings.Contains(strings.Join(texts, "\n"), name), false
			for _, other := range names {
				listed = listed || other != name && strings.Contains(other, name)
			}
			if inTexts.contains(name) != said || inNames.contains(name) != listed {
				t.Fatalf("%q in %q: %v, want %v; in %q: %v, want %v", name, texts, !said, said, names, !listed, listed)
			}
		}
	})
}
