package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The made module has calls in arguments, deferred, through an interface, and of a
// function that is passed; long functions are steps, short ones part of their callers.
var made = map[string]string{
	"go.mod": "module example.com/made\n\ngo 1.26\n",
	"a.go": `package made

import "example.com/made/store"

type saver interface{ Save(n int) int }

func Enter(s saver) {
	defer last()
	each(s.Save(first()), short)
	store.Open()

}

func short(n int) { passed(n) }

func passed(n int) {
	_ = n
	_ = n
	_ = n
	_ = n
}
`,
	"b.go": `package made

func first() int {


	never()
	return 1
}

func each(n int, f func(int)) {

	if n > 0 {
		f(n)
	}
}

func never() {




}

func last() {




}
`,
	"store/disk.go": `package store

type Disk struct{}

func (Disk) Save(n int) int {


	return n

}

func Open() {




}
`,
}

func TestAWalkFollowsTheOrderOfCalls(t *testing.T) {
	folder := t.TempDir()
	for name, text := range made {
		file := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	w, err := load(folder, []string{".", "store"})
	if err != nil {
		t.Fatal(err)
	}
	w.impl = map[string]string{"made.saver": "store.Disk"}
	steps, err := w.walk("made", "Enter", []string{"never"})
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	report(&got, steps, false)
	const want = `7 steps, 4 turns back by file, 3 by package
  made.Enter (a.go:7)
    made.first (b.go:3)
    store.Disk.Save (store/disk.go:5)
<   made.each (b.go:10)
<   made.passed (a.go:16)
<   store.Open (store/disk.go:12)
<   made.last (b.go:24)
`
	if got.String() != want {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want)
	}
	got.Reset()
	report(&got, steps, true)
	if way := "a b store/disk <b <a <store/disk <b\n"; !strings.HasSuffix(got.String(), "\n"+way) {
		t.Errorf("the files are %q, want %q", got.String(), way)
	}
	if _, err := w.walk("made", "Absent", nil); err == nil {
		t.Error("a walk from a function that does not exist has no error")
	}
}
