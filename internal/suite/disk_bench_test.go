package suite

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tiercompact "github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
)

// BenchmarkArchiveSize runs whole sessions with an archive in a folder, and
// reports how large the folder is, as a multiple of the text of all messages, of
// what it consists, and how many files it has. The events are reported apart too,
// because each message has some and their size does not depend on its text.
func BenchmarkArchiveSize(b *testing.B) {
	for _, messages := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("messages=%d", messages), func(b *testing.B) {
			for b.Loop() {
				archiveSize(b, messages)
			}
		})
	}
}

func archiveSize(b *testing.B, messages int) {
	root := b.TempDir()
	store, err := archive.OpenDir(root, archive.DirOptions{})
	if err != nil {
		b.Fatal(err)
	}
	c, err := tiercompact.New(tiercompact.Config{Window: 120_000, Preset: tiercompact.Steady, Archive: store})
	if err != nil {
		b.Fatal(err)
	}
	s := c.Session("long")
	text, rounds := 0, 0
	began := time.Now()
	for k := range messages / 4 {
		for _, m := range turn(k) {
			text += textOf(m)
			r, err := s.AddMessage(b.Context(), m)
			if err != nil {
				b.Fatal(err)
			}
			if r.Compacted() {
				rounds++
			}
		}
	}
	took := time.Since(began)
	if err := c.Close(); err != nil {
		b.Fatal(err)
	}
	all, events, files := folderSize(b, root)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(text)/1e6, "MB-text")
	b.ReportMetric(float64(rounds), "compactions")
	b.ReportMetric(float64(files), "files")
	b.ReportMetric(float64(all)/float64(text), "disk/text")
	b.ReportMetric(float64(events)/float64(text), "events/text")
	b.ReportMetric(took.Seconds()*1e6/float64(messages), "µs/message")
}

// textOf is how many bytes of text a message has, with the arguments of calls.
func textOf(m chat.Message) (n int) {
	for _, p := range m.Parts {
		n += len(p.Text) + len(p.Name) + len(p.Args)
	}
	return n
}

// folderSize adds the sizes of the files in a folder.
func folderSize(b testing.TB, root string) (all, events int64, files int) {
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		files++
		all += info.Size()
		if strings.HasPrefix(e.Name(), "events") {
			events += info.Size()
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return all, events, files
}
