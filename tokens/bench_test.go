package tokens_test

import (
	"fmt"
	"testing"

	"github.com/tiercompact/tiercompact/tokens"
)

func BenchmarkCount(b *testing.B) {
	for _, name := range []string{tokens.CL100K, tokens.O200K} {
		slow := reference[name]()
		for _, c := range corpora(b) {
			b.Run(name+"/"+c.name, func(b *testing.B) {
				text := c.text(b)
				count(b, "tiercompact", text, load(b, name).Count)
				count(b, "tiktoken-go", text, func(s string) int { return len(slow.EncodeOrdinary(s)) })
			})
		}
	}
}

func count(b *testing.B, name, text string, count func(string) int) {
	b.Run(name, func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		b.ReportAllocs()
		n := 0
		for b.Loop() {
			n = count(text)
		}
		b.ReportMetric(float64(len(text))/float64(n), "B/token")
	})
}

func BenchmarkMegabyte(b *testing.B) {
	for _, c := range hostile(1 << 20) {
		b.Run(c.name, func(b *testing.B) {
			for _, name := range []string{tokens.CL100K, tokens.O200K} {
				count(b, name, c.text, load(b, name).Count)
			}
		})
	}
}

func BenchmarkPrompt(b *testing.B) {
	text := fromGo(b)
	e := load(b, tokens.CL100K)
	for e.Count(text) < 128_000 {
		text += text
	}
	text = text[:128_000*len(text)/e.Count(text)]
	b.Run(fmt.Sprint(e.Count(text)), func(b *testing.B) {
		for b.Loop() {
			e.Count(text)
		}
	})
}
