package archive

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/protection"
)

// PruneOptions select the steps to remove. Keep or Before must be set.
type PruneOptions struct {
	// Keep is the number of newest steps that stay. The newest always stays,
	// because it numbers the next. 0 keeps only that one of those before Before.
	Keep int
	// Before selects the steps made before it; zero: of any age.
	Before time.Time
	// Force also removes steps that are referenced, damaged, or lost. Recalls of
	// their text fail from then on, and so do undos of their rounds.
	Force bool
	// Dry removes nothing.
	Dry bool
}

// Pruned is what [Prune] removed, or would remove.
type Pruned struct {
	Session string
	Steps   []StepInfo // removed, by number
	Spared  []Spared   // not removed, by number
	// Leftovers are the numbers for which an interrupted process left a transcript
	// or a summary without a step; those were removed too.
	Leftovers []int
}

// A Spared step is one that stays because something refers to it.
type Spared struct {
	StepInfo
	Why string
}

// Prune removes steps of a session from store. Each is removed whole or not at all:
// after an error, Pruned says which were removed. The references of the
// conversation come from its newest step: the recall ids in it, before and after
// the round, and all that are listed below those. A later message brings an older
// id back only by an undo, which makes a step itself. So a step stays if it has the
// newest entry of such an id. It also stays if it undoes a round whose step stays,
// and if it is damaged or lost: its remains are not changed. If a step that stays
// cannot be read, all stay. A conversation that also exists elsewhere, such as one
// that a client resends, may have more ids. Once the step of a round is removed,
// [Undo] cannot undo it; a session file still can.
func Prune(ctx context.Context, store Store, session string, o PruneOptions) (Pruned, error) {
	p, err := pruneSession(ctx, store, session, o)
	if err != nil {
		err = fmt.Errorf("prune session %s: %w", session, err)
	}
	return p, err
}

// A stepRemover is a store from which steps can be removed.
type stepRemover interface {
	// Remove removes a step, or the remains of one. A missing one is not an error.
	Remove(ctx context.Context, session string, number int) error
}

// A bulkRemover removes several steps at once, all or none. released are recall ids
// of the conversation that are given up.
type bulkRemover interface {
	removeSteps(ctx context.Context, session string, numbers []int, released []string) error
}

func pruneSession(ctx context.Context, store Store, session string, o PruneOptions) (Pruned, error) {
	p := Pruned{Session: session}
	if o.Keep < 1 && o.Before.IsZero() {
		return p, errors.New("nothing says which steps stay; set Keep or Before")
	}
	r, ok := unwrapAs[stepRemover](store)
	if !ok {
		return p, errors.New("this store cannot remove steps")
	}
	infos, err := store.Steps(ctx, session)
	if err != nil || len(infos) == 0 {
		return p, err
	}
	due := dueSteps(infos, o)
	var released []string
	switch {
	case len(due) == 0:
	case o.Force:
		if released, err = givenUp(ctx, store, infos, due); err != nil {
			return p, err
		}
	default:
		if due, p.Spared, err = spareReferred(ctx, store, infos, due); err != nil {
			return p, err
		}
	}
	if err := p.removeSteps(ctx, store, r, due, released, o.Dry); err != nil {
		return p, err
	}
	return p, p.sweepLeftovers(ctx, store, r, infos[len(infos)-1].Number, o.Dry)
}

func (p *Pruned) removeSteps(ctx context.Context, store Store, r stepRemover, due []StepInfo, released []string, dry bool) error {
	if bulk, ok := unwrapAs[bulkRemover](store); ok && !dry && len(due) > 0 {
		var numbers []int
		for _, info := range due {
			numbers = append(numbers, info.Number)
		}
		if err := bulk.removeSteps(ctx, p.Session, numbers, released); err != nil {
			return err
		}
		p.Steps = due
		return nil
	}
	for _, info := range due {
		if err := removeStep(ctx, r, p.Session, info.Number, dry); err != nil {
			return err
		}
		p.Steps = append(p.Steps, info)
	}
	return nil
}

// givenUp returns the recall ids of the conversation that due steps hold.
func givenUp(ctx context.Context, store Store, infos, due []StepInfo) ([]string, error) {
	r := newReferrer(store, infos)
	ids, err := r.standingIDs(ctx)
	if unreadable(err) || errors.Is(err, ErrNotFound) {
		err = nil // the caller forces it knowingly
	}
	var released []string
	for _, id := range ids {
		n := r.newest[id]
		if n == 0 || slices.ContainsFunc(due, func(d StepInfo) bool { return d.Number == n }) {
			released = append(released, id)
		}
	}
	return released, err
}

func removeStep(ctx context.Context, r stepRemover, session string, number int, dry bool) error {
	if dry {
		return ctx.Err()
	}
	return r.Remove(ctx, session, number)
}

// dueSteps returns the steps to remove by number and age.
func dueSteps(infos []StepInfo, o PruneOptions) []StepInfo {
	var due []StepInfo
	for _, info := range infos[:max(0, len(infos)-max(1, o.Keep))] {
		if o.Before.IsZero() || info.Damaged == nil && info.Time.Before(o.Before) {
			due = append(due, info)
		}
	}
	return due
}

// sweepLeftovers removes drafts, and files without a step, except for numbers after
// the newest, which another process may be writing.
func (p *Pruned) sweepLeftovers(ctx context.Context, store Store, r stepRemover, newest int, dry bool) error {
	l, ok := unwrapAs[interface {
		leftovers(ctx context.Context, session string) ([]int, error)
	}](store)
	if !ok {
		return nil
	}
	if t, ok := unwrapAs[interface{ cleanDrafts(session string) error }](store); ok && !dry {
		if err := t.cleanDrafts(p.Session); err != nil {
			return err
		}
	}
	numbers, err := l.leftovers(ctx, p.Session)
	if err != nil {
		return err
	}
	for _, n := range numbers {
		if n > newest || slices.ContainsFunc(p.Steps, func(s StepInfo) bool { return s.Number == n }) {
			continue
		}
		if err := removeStep(ctx, r, p.Session, n, dry); err != nil {
			return err
		}
		p.Leftovers = append(p.Leftovers, n)
	}
	return nil
}

// spareReferred separates the unreferenced steps from the others.
func spareReferred(ctx context.Context, store Store, infos, due []StepInfo) (free []StepInfo, spared []Spared, err error) {
	needed, err := references(ctx, store, infos)
	if unreadable(err) || errors.Is(err, ErrNotFound) {
		for _, info := range due {
			spared = append(spared, Spared{info, fmt.Sprintf("it is not known what refers to it: %v", err)})
		}
		return nil, spared, nil
	}
	if err != nil {
		return nil, nil, err
	}
	stays := make(map[int]bool)
	for _, info := range infos {
		stays[info.Number] = !slices.ContainsFunc(due, func(d StepInfo) bool { return d.Number == info.Number })
	}
	for _, info := range due { // by number: a round comes before its undo
		why := needed[info.Number]
		if info.Undoes > 0 && stays[info.Undoes] {
			why = fmt.Sprintf("it undoes step %d, which stays", info.Undoes)
		}
		damaged := info.Damaged
		if damaged == nil && why == "" {
			if _, damaged = store.Get(ctx, info.Session, info.Number); damaged != nil && !unreadable(damaged) {
				return nil, nil, damaged
			}
		}
		if damaged != nil {
			why = fmt.Sprintf("what it holds is not known: %v", damaged)
		}
		if why == "" {
			free = append(free, info)
			continue
		}
		stays[info.Number] = true
		spared = append(spared, Spared{info, why})
	}
	return free, spared, nil
}

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
