package archive

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// PruneOptions say which steps are to go. Keep or Before must be set.
type PruneOptions struct {
	// Keep is how many of the newest steps stay. The newest always does: it
	// numbers the next. 0 keeps that one alone of those before Before.
	Keep int
	// Before has steps go that were made before it; zero: of any age.
	Before time.Time
	// Force has steps go that something still refers to, that are damaged, or
	// lost. A recall of what they held fails from then on, and so does an undo of
	// their rounds.
	Force bool
	// Dry removes nothing.
	Dry bool
}

// Pruned is what [Prune] removed, or would remove.
type Pruned struct {
	Session string
	Steps   []StepInfo // that went, by number
	Spared  []Spared   // that would have gone, by number
	// Leftovers are the numbers of which an interrupted process had left a
	// transcript or a summary without a step; those went too.
	Leftovers []int
}

// A Spared step is one that stays because something refers to it.
type Spared struct {
	StepInfo
	Why string
}

// Prune removes steps of a session from store. Each goes whole or not at all:
// where an error comes between, Pruned says what had gone.
//
// What the conversation refers to is known from its newest step: the recall ids
// that stood in it then, before and after the round, and all that is listed
// below those. No later message brings an older id back but by an undo, which
// makes a step itself. So a step stays where it holds the newest entry of such
// an id. It also stays where it takes back a round whose step stays, and where it
// is damaged or lost: what is left of it is not touched. Where a step that stays
// cannot be read, all that could go stays. A conversation that
// lives elsewhere too, such as one that a client sends anew, may know more ids.
//
// Once the step of a round is gone, [Undo] cannot take it back; a session file
// still can.
func Prune(ctx context.Context, store Store, session string, o PruneOptions) (Pruned, error) {
	p, err := pruneSession(ctx, store, session, o)
	if err != nil {
		err = fmt.Errorf("prune session %s: %w", session, err)
	}
	return p, err
}

// A stepRemover is a store from which steps can be removed.
type stepRemover interface {
	// Remove removes a step, or what is left of one. None is no error.
	Remove(ctx context.Context, session string, number int) error
}

// A bulkRemover removes several steps at once, all or none. released are recall
// ids that the conversation refers to, and that are given up.
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

// givenUp returns the recall ids that the conversation refers to and that due
// steps hold.
func givenUp(ctx context.Context, store Store, infos, due []StepInfo) ([]string, error) {
	r := newReferrer(store, infos)
	ids, err := r.standingIDs(ctx)
	if unreadable(err) || errors.Is(err, ErrNotFound) {
		err = nil // who forces it knows
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

// dueSteps returns the steps that are to go by number and age.
func dueSteps(infos []StepInfo, o PruneOptions) []StepInfo {
	var due []StepInfo
	for _, info := range infos[:max(0, len(infos)-max(1, o.Keep))] {
		if o.Before.IsZero() || info.Damaged == nil && info.Time.Before(o.Before) {
			due = append(due, info)
		}
	}
	return due
}

// sweepLeftovers removes drafts, and what has no step, but for numbers behind the newest, which
// another process may be writing.
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

// spareReferred parts the steps that nothing refers to from the others.
func spareReferred(ctx context.Context, store Store, infos, due []StepInfo) (free []StepInfo, spared []Spared, err error) {
	needed, err := references(ctx, store, infos)
	if unreadable(err) || errors.Is(err, ErrNotFound) {
		for _, info := range due {
			spared = append(spared, Spared{info, fmt.Sprintf("what refers to it is not known: %v", err)})
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
	for _, info := range due { // by number: what is undone comes before its undo
		why := needed[info.Number]
		if info.Undoes > 0 && stays[info.Undoes] {
			why = fmt.Sprintf("it takes back step %d, which stays", info.Undoes)
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
