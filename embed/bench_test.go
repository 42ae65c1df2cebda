package embed_test

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/embed"
)

// corpus makes n messages of size bytes each, of code-like words.
func corpus(n, size int) []string {
	r := rand.New(rand.NewSource(1))
	texts := make([]string, n)
	for i := range texts {
		var b strings.Builder
		for b.Len() < size {
			fmt.Fprintf(&b, "word%d handleRequest%d the /src/pkg_%d/file.go returns an error; ", r.Intn(5000), r.Intn(300), r.Intn(40))
		}
		texts[i] = b.String()[:size]
	}
	return texts
}

var lengths = []int{100, 1000, 10000}

func messages(n int) string { return fmt.Sprint("messages=", n) }

func BenchmarkTermsOf(b *testing.B) {
	for _, n := range lengths {
		texts := corpus(n, 200)
		b.Run(messages(n), func(b *testing.B) {
			b.SetBytes(int64(n) * 200)
			b.ReportAllocs()
			for b.Loop() {
				for _, s := range texts {
					embed.TermsOfText(s)
				}
			}
		})
	}
}

func BenchmarkScore(b *testing.B) {
	for _, n := range lengths {
		var docs []embed.Terms
		for _, s := range corpus(n, 200) {
			docs = append(docs, embed.TermsOfText(s))
		}
		for _, query := range []struct {
			name  string
			terms embed.Terms
		}{{"short", docs[0]}, {"long", embed.TermsOfText(strings.Join(corpus(50, 200), " "))}} {
			b.Run(messages(n)+"/"+query.name, func(b *testing.B) {
				for b.Loop() {
					embed.Rank(embed.Fuse(nil, embed.Match(query.terms, docs), embed.Weights{}))
				}
			})
		}
	}
}

// BenchmarkCosine compares one vector with that of each message.
func BenchmarkCosine(b *testing.B) {
	for _, n := range lengths {
		vectors, err := embed.Lexical{}.Embed(b.Context(), corpus(n, 20))
		if err != nil {
			b.Fatal(err)
		}
		b.Run(messages(n), func(b *testing.B) {
			for b.Loop() {
				embed.Cosine(vectors[0], vectors)
			}
		})
	}
}

func BenchmarkLexicalEmbed(b *testing.B) {
	texts := corpus(100, 570)
	b.SetBytes(100 * 570)
	for b.Loop() {
		if _, err := (embed.Lexical{}).Embed(b.Context(), texts); err != nil {
			b.Fatal(err)
		}
	}
}
