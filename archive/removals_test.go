package archive

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
)

// removedEntries returns the removed text of a session that can be read, and why some
// cannot.
func removedEntries(ctx context.Context, store Store, session string) (entries []Entry, damaged error) {
	err := Removals(ctx, store, session, 0, func(s Step, err error) error {
		entries, damaged = append(entries, s.Removed...), errors.Join(damaged, err)
		return nil
	})
	return entries, errors.Join(damaged, err)
}

// onlyStore hides the further abilities of a store.
type onlyStore struct{ Store }

// A folder reads removed text in a way of its own, as every other store would.
func TestRemovedTextIsTheSameInEveryWay(t *testing.T) {
	d, err := OpenDir(t.TempDir(), DirOptions{})
	must(t, err)
	defer d.Close()
	for n := range 5 {
		must(t, d.Put(t.Context(), twoEntries(n+1)))
	}
	must(t, d.Remove(t.Context(), "s", 2))
	var ways [2][]string
	for i, store := range []Store{d, onlyStore{d}} {
		numbers, err := Numbers(t.Context(), store, "s")
		must(t, err)
		ways[i] = append(ways[i], fmt.Sprint(numbers))
		var refs []Ref
		must(t, Removals(t.Context(), store, "s", 1, func(s Step, err error) error {
			must(t, err)
			ways[i] = append(ways[i], fmt.Sprint(s.Number, ids(s.Before)))
			for _, e := range s.Removed {
				for at := range e.Messages {
					refs = append(refs, Ref{s.Number, e.ID, at})
				}
				ways[i] = append(ways[i], fmt.Sprint(e.ID, ids(e.Messages), e.Below, e.Text))
			}
			return nil
		}))
		r, err := OpenRemoved(t.Context(), store, "s")
		must(t, err)
		defer r.Close()
		messages, err := r.Messages(t.Context(), append(refs, Ref{1, "r", 99}, Ref{1, "none", 0}))
		must(t, err)
		var t2 chat.Transcript
		for _, m := range messages {
			if m != nil {
				t2 = append(t2, *m)
			}
		}
		ways[i] = append(ways[i], ids(t2), fmt.Sprint(len(messages)-len(t2)))
	}
	if !slices.Equal(ways[0], ways[1]) || ways[0][0] != "[1 3 4 5]" {
		t.Errorf("a folder has %q, a plain store %q", ways[0], ways[1])
	}
}
