package archive_test

import (
	"fmt"
	"testing"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/archivetest"
)

// BenchmarkPut stores rounds of a conversation of a length.
func BenchmarkPut(b *testing.B) {
	for _, n := range []int{100, 1000, 10000} {
		var t chat.Transcript
		for i := range n {
			t = append(t, chat.NewText(chat.User, fmt.Sprintf("message %d of two hundred bytes or so: %0160d", i, i)))
		}
		b.Run(fmt.Sprintf("messages=%d/memory", n), func(b *testing.B) {
			put(b, archive.NewMemory(), t)
		})
		b.Run(fmt.Sprintf("messages=%d/dir", n), func(b *testing.B) {
			d, err := archive.OpenDir(b.TempDir(), archive.DirOptions{})
			if err != nil {
				b.Fatal(err)
			}
			put(b, d, t)
		})
	}
}

func put(b *testing.B, to archive.Store, t chat.Transcript) {
	b.Helper()
	defer to.Close()
	b.ReportAllocs()
	for n := 1; b.Loop(); n++ {
		step := archivetest.Step("s", n)
		step.Before = t
		if err := to.Put(b.Context(), step); err != nil {
			b.Fatal(err)
		}
	}
}
