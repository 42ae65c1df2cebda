package archive

import (
	"errors"
	"testing"
)

// Whatever stands in the place of a step file is read without a panic, and
// what is read is what was written, or an error.
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
