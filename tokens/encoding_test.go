package tokens_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/tokens"
)

func goCorpus(t testing.TB, limit int) string {
	files, _ := filepath.Glob(filepath.Join(runtime.GOROOT(), "src/net/http/*.go"))
	if len(files) == 0 {
		t.Skip("no Go sources here")
	}
	var b strings.Builder
	for _, f := range files {
		d, _ := os.ReadFile(f)
		b.Write(d)
		if b.Len() > limit {
			break
		}
	}
	return b.String()[:limit]
}

func TestCountEqualsTiktokenOnGo(t *testing.T) {
	text := goCorpus(t, 300_000)
	for _, name := range []string{tokens.CL100K, tokens.O200K} {
		got, want := load(t, name).Count(text), len(reference[name]().EncodeOrdinary(text))
		if got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
}

func BenchmarkGo(b *testing.B) {
	text := goCorpus(b, 500_000)
	for _, name := range []string{tokens.CL100K, tokens.O200K} {
		b.Run(name, func(b *testing.B) {
			e := load(b, name)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				e.Count(text)
			}
		})
	}
}

func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
	}
}
