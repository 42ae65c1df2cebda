package archive

import (
	"context"
	"fmt"
	"slices"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/protection"
)

// A referenceFinder finds the steps to which a conversation refers.
type referenceFinder struct {
	store Store
	infos []StepInfo

	newest map[string]int      // step with the newest entry of a recall id
	below  map[string][]string // ids that an entry of a step in read refers to
	read   map[int]bool
}

func newReferrer(store Store, infos []StepInfo) *referenceFinder {
	r := &referenceFinder{store: store, infos: infos, newest: make(map[string]int), below: make(map[string][]string), read: make(map[int]bool)}
	for _, info := range infos {
		for _, id := range info.Entries {
			r.newest[id] = info.Number
		}
	}
	return r
}

// references returns for each referenced step of a session what refers to it. The
// error wraps ErrDamaged, ErrVersion or ErrNotFound if that is unknown.
func references(ctx context.Context, store Store, infos []StepInfo) (map[int]string, error) {
	r := newReferrer(store, infos)
	var unknown error
	for _, info := range infos {
		if info.Damaged != nil {
			unknown = info.Damaged
		}
	}
	wanted, err := r.standingIDs(ctx)
	needed := make(map[int]string)
	for seen := make(map[string]bool); len(wanted) > 0 && err == nil; {
		id := wanted[len(wanted)-1]
		wanted = wanted[:len(wanted)-1]
		if seen[id] {
			continue
		}
		seen[id] = true
		n, there := r.newest[id]
		if !there && unknown != nil {
			return nil, unknown
		}
		if !there {
			continue
		}
		if needed[n] == "" {
			needed[n] = fmt.Sprintf("the conversation refers to its entry %s", id)
		}
		err = r.readStep(ctx, n)
		wanted = append(wanted, r.below[id]...)
	}
	return needed, err
}

// standingIDs returns the recall ids that may be in the conversation, according to
// the newest step.
func (r *referenceFinder) standingIDs(ctx context.Context) ([]string, error) {
	last := r.infos[len(r.infos)-1]
	step, err := r.store.Get(ctx, last.Session, last.Number)
	if err != nil {
		return nil, err
	}
	ids := recallIDs(step.Before)
	for _, edits := range step.Edits.Steps {
		for _, e := range edits {
			ids = append(ids, recallIDs(e.New)...)
		}
	}
	if step.Undoes == 0 {
		return ids, nil
	}
	undone, err := r.store.Get(ctx, last.Session, step.Undoes)
	return append(ids, recallIDs(undone.Before)...), err
}

// readStep adds the references in the entries of step n.
func (r *referenceFinder) readStep(ctx context.Context, n int) error {
	if r.read[n] {
		return nil
	}
	r.read[n] = true
	step, err := r.store.Get(ctx, r.infos[0].Session, n)
	for _, e := range step.Removed {
		if r.newest[e.ID] == n {
			r.below[e.ID] = slices.Concat(e.Below, recallIDs(e.Messages))
		}
	}
	return err
}

// recallIDs returns the ids of messages, and those in their texts: an outline may
// refer to more than the text that it replaces.
func recallIDs(messages []chat.Message) []string {
	var ids []string
	for _, m := range messages {
		if m.Recall != "" {
			ids = append(ids, m.Recall)
		}
		ids = append(ids, protection.RecallIDs(m)...)
	}
	return ids
}
