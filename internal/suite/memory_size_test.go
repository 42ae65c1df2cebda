package suite

import (
	"flag"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	tiercompact "github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
)

var long = flag.Int("long", 4000, "messages of the session in TestMemoryOfALongSession")

// maxHeld is the maximum memory of a session, with an archive in memory, as a multiple of the
// text that was ever added.
const maxHeld = 3

// maxOnDisk is the same for a folder.
const maxOnDisk = 2

// TestMemoryOfALongSession checks the memory of a session with an archive in memory, and that
// Forget releases it. With -v it prints the size:
//
//	go test ./internal/suite -run TestMemoryOfALongSession -long=100000 -v -timeout 1h
func TestMemoryOfALongSession(t *testing.T) {
	for name, open := range map[string]func(dir string) (archive.Store, error){
		"memory": func(string) (archive.Store, error) { return archive.NewMemory(), nil },
		"dir":    func(dir string) (archive.Store, error) { return archive.OpenDir(dir, archive.DirOptions{}) },
	} {
		for _, preset := range []tiercompact.Preset{tiercompact.Default, tiercompact.Steady} {
			t.Run(fmt.Sprint(name, "/", preset), func(t *testing.T) {
				dir := t.TempDir()
				store, err := open(dir)
				if err != nil {
					t.Fatal(err)
				}
				text := measureLong(t, tiercompact.Config{Window: 32_768, Preset: preset, Archive: store, Count: quarter})
				if name == "memory" {
					return
				}
				size, _, files := folderSize(t, dir)
				onDisk := float64(size) / float64(text)
				t.Logf("%.2f times the text on disk, in %d files", onDisk, files)
				if onDisk > maxOnDisk {
					t.Errorf("%.2f times the text is on disk, at most %d is meant to be", onDisk, maxOnDisk)
				}
			})
		}
	}
}

func measureLong(t *testing.T, cfg tiercompact.Config) (text int) {
	if s := start(t, cfg); s.Load(working(20, 600)) == nil { // what is loaded once
		_, _ = s.Compact(t.Context(), "")
	}
	empty := heapInUse()
	c, err := tiercompact.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	added, rounds := 0, 0
	for k := 0; added < *long; k++ {
		for _, m := range longTurn(k) {
			r, err := c.Session("long").AddMessage(t.Context(), m)
			if err != nil {
				t.Fatal(err)
			}
			if r.Compacted() {
				rounds++
			}
			text += textBytes(m)
			added++
		}
	}
	took := time.Since(began)
	held := float64(heapInUse()-empty) / float64(text)
	c.Forget("long")
	left := float64(heapInUse()-empty) / float64(text)
	t.Logf("%d messages, %d bytes of text, %d rounds, %s: %.2f times the text, %.2f after Forget", added, text, rounds, took.Round(time.Millisecond), held, left)
	if held > maxHeld {
		t.Errorf("%.2f times the text is held, at most %d is meant to be", held, maxHeld)
	}
	if left > 0.1 {
		t.Errorf("%.2f times the text is held after Forget", left)
	}
	runtime.KeepAlive(c)
	return text
}

// longTurn is a turn whose messages have 800 bytes in the mean, as those of real
// coding sessions do.
func longTurn(k int) []chat.Message {
	t := turn(k)
	t[2] = chat.NewResult(fmt.Sprint("c", k), strings.Clone(goSource(k, 2800))) // without the room behind a builder's text
	return t
}

func heapInUse() int {
	runtime.GC()
	runtime.GC() // what finalizers let go
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

func textBytes(m chat.Message) (n int) {
	for _, p := range m.Parts {
		n += len(p.Text) + len(p.Args)
	}
	return n
}
