package embed

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// An index on disk ranks as the scorer in memory does.
func TestACorpusMatchesAsItsDocumentsDo(t *testing.T) {
	words := rapid.SampledFrom([]string{"the", "lake", "readFile", "read_file", "cache", "caches", "lock", "what", "did", "x1"})
	text := rapid.Map(rapid.SliceOfN(words, 0, 12), func(w []string) string { return strings.Join(w, " ") })
	rapid.Check(t, func(t *rapid.T) {
		var docs []Terms
		var c Corpus
		for _, d := range rapid.SliceOfN(text, 0, 9).Draw(t, "documents") {
			docs = append(docs, TermsOfText(d))
			c.Lengths = append(c.Lengths, int32(docs[len(docs)-1].Length()))
		}
		c.Postings = func(hash uint32, list []Posting) []Posting {
			for d := range docs {
				for h, n := range docs[d].Counts() {
					if h == hash {
						list = append(list, Posting{int32(d), int32(n)})
					}
				}
			}
			return list
		}
		query := TermsOfText(text.Draw(t, "query"))
		if got, want := c.Match(query), Match(query, docs); !slices.Equal(got, want) {
			t.Fatalf("the index has %v, the documents %v", got, want)
		}
	})
}
