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

func BenchmarkTermsOf10000Messages(b *testing.B) {
	texts := corpus(10_000, 200)
	b.SetBytes(10_000 * 200)
	b.ReportAllocs()
	for b.Loop() {
		for _, s := range texts {
			embed.TermsOfText(s)
		}
	}
}

func BenchmarkScore10000Messages(b *testing.B) {
	var docs []embed.Terms
	for _, s := range corpus(10_000, 200) {
		docs = append(docs, embed.TermsOfText(s))
	}
	for name, query := range map[string]embed.Terms{"short": docs[0], "long": embed.TermsOfText(strings.Join(corpus(50, 200), " "))} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				embed.Rank(embed.Fuse(nil, embed.Score(query, docs), embed.Weights{}))
			}
		})
	}
}

func BenchmarkCosine(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		vectors, err := embed.Lexical{}.Embed(b.Context(), corpus(n, 20))
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
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
