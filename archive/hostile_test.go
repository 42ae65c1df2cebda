package archive

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// Any content of a step file is read without a panic, and the result is the written
// step, or an error.
func FuzzStepFile(f *testing.F) {
	h := newHeap()
	o, err := OpenObjects(f.Context(), h)
	if err == nil {
		err = o.Put(f.Context(), twoEntries(1))
	}
	if err != nil {
		f.Fatal(err)
	}
	key := "s/" + stepName(1)
	whole := h.objects[key]
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add("{}\n{}\n{}\n")
	f.Add(`{"v":1,"step":1,"session":"s","redacted":1e3,"messages":-1,"entries":["r"]}` + "\n{\"v\":1,\"steps\":[[{}]]}\n\n")
	f.Fuzz(func(t *testing.T, text string) {
		h := &heap{objects: map[string]string{key: text}}
		for k, v := range o.bucket.(*heap).objects {
			if k != key {
				h.objects[k] = v
			}
		}
		store := openHeap(t, h)
		found, err := Verify(t.Context(), store, "s")
		must(t, err)
		_, getErr := store.Get(t.Context(), "s", 1)
		if clean := found.Clean() && found.Steps == 1; clean != (getErr == nil) {
			t.Errorf("Get: %v, Verify: %+v", getErr, found)
		}
		if _, err := store.Recall(t.Context(), "s", "q"); err != nil && !unreadable(err) && !errors.Is(err, ErrNotFound) {
			t.Errorf("Recall: %v", err)
		}
	})
}

// Any content of a pack is read without a panic, and the result is the written
// steps, or an error.
func FuzzPack(f *testing.F) {
	root := f.TempDir()
	d, err := openDir(root, DirOptions{}, unsynced)
	if err == nil {
		err = errors.Join(d.Put(f.Context(), twoEntries(1)), d.Close())
	}
	path := filepath.Join(root, "s", packName(1, 1))
	whole, readErr := os.ReadFile(path)
	if err := errors.Join(err, readErr); err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add([]byte("~~ steps 1 1 0 \n"))
	f.Add(fmt.Appendf(nil, "~~ items 1 99999999999 3 %064d\nabc\n~~ head 1 1 1000000 %064d\n", 0, 0))
	f.Fuzz(func(t *testing.T, text []byte) {
		must(t, os.WriteFile(path, text, 0o600))
		d, err := OpenDir(root, DirOptions{ReadOnly: true})
		must(t, err)
		found, err := Verify(t.Context(), d, "s")
		must(t, err)
		step, getErr := d.Get(t.Context(), "s", 1)
		if getErr != nil && !unreadable(getErr) || getErr == nil && !sameStep(step, twoEntries(1)) {
			t.Errorf("Get = %+v, %v", step, getErr)
		}
		if found.Clean() && !bytes.Equal(text, whole) {
			t.Errorf("it was changed, and verify finds nothing: %+v", found)
		}
	})
}
