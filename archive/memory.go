package archive

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// Memory is a store that lasts as long as its process. Events are checked and
// discarded. The zero Memory is ready for use.
type Memory struct {
	mu     sync.RWMutex // guards what follows; nothing waits under it
	steps  map[string][]Step
	newest map[entryKey]numbered
	closed bool
}

type (
	entryKey struct{ session, id string }
	numbered struct {
		step  int
		entry Entry
	}
)

// NewMemory returns an empty store.
func NewMemory() *Memory { return new(Memory) }

// Put implements [Store].
func (m *Memory) Put(ctx context.Context, s Step) error {
	s, err := s.checked()
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return err
	}
	steps := m.steps[s.Session]
	at, there := slices.BinarySearchFunc(steps, s.Number, byNumber)
	if there {
		return fmt.Errorf("archive step %d of session %s: %w", s.Number, s.Session, ErrExists)
	}
	if m.steps == nil {
		m.steps, m.newest = make(map[string][]Step), make(map[entryKey]numbered)
	}
	m.steps[s.Session] = slices.Insert(steps, at, s)
	m.remember(s)
	return nil
}

func byNumber(s Step, number int) int { return cmp.Compare(s.Number, number) }

// usable is called under mu.
func (m *Memory) usable(ctx context.Context) error {
	if m.closed {
		return fmt.Errorf("memory archive: %w", ErrClosed)
	}
	return ctx.Err()
}

// Steps implements [Store].
func (m *Memory) Steps(ctx context.Context, session string) ([]StepInfo, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if err := m.usable(ctx); err != nil {
		return nil, err
	}
	var infos []StepInfo
	for _, s := range m.steps[session] {
		infos = append(infos, s.info())
	}
	return infos, nil
}

// Get implements [Store].
func (m *Memory) Get(ctx context.Context, session string, number int) (Step, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if err := m.usable(ctx); err != nil {
		return Step{}, err
	}
	at, there := slices.BinarySearchFunc(m.steps[session], number, byNumber)
	if !there {
		return Step{}, fmt.Errorf("step %d of session %s: %w", number, session, ErrNotFound)
	}
	return m.steps[session][at], nil
}

// Recall implements [Store].
func (m *Memory) Recall(ctx context.Context, session, id string) (Entry, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if err := m.usable(ctx); err != nil {
		return Entry{}, err
	}
	e, there := m.newest[entryKey{session, id}]
	if !there {
		return Entry{}, fmt.Errorf("recall id %s of session %s: %w", id, session, ErrNotFound)
	}
	return e.entry, nil
}

// Sessions returns the ids of the sessions, sorted.
func (m *Memory) Sessions(ctx context.Context) ([]string, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if err := m.usable(ctx); err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(m.steps)), nil
}

// Remove removes a step. None is no error.
func (m *Memory) Remove(ctx context.Context, session string, number int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return err
	}
	steps := m.steps[session]
	at, there := slices.BinarySearchFunc(steps, number, byNumber)
	if !there {
		return nil
	}
	gone := steps[at]
	steps = slices.Delete(slices.Clone(steps), at, at+1) // readers may have the old one
	m.steps[session] = steps
	for _, e := range gone.Removed {
		if m.newest[entryKey{session, e.ID}].step == number {
			delete(m.newest, entryKey{session, e.ID})
		}
	}
	for _, s := range steps[:at] { // an older entry of the same id is the newest now
		m.remember(s)
	}
	return nil
}

// remember makes the entries of s those that are recalled, where no later step
// has others. It is called under mu.
func (m *Memory) remember(s Step) {
	for _, e := range s.Removed {
		if key := (entryKey{s.Session, e.ID}); m.newest[key].step < s.Number {
			m.newest[key] = numbered{s.Number, e}
		}
	}
}

// Event implements [Store].
func (m *Memory) Event(ctx context.Context, session string, line []byte) error {
	if _, err := checkEvent(session, line); err != nil {
		return err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.usable(ctx)
}

// Close implements [Store]; what was put is let go.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed, m.steps, m.newest = true, nil, nil
	return nil
}

// Where says that a step is in memory.
func (m *Memory) Where(string, int) (adapter, location string) { return "memory", "" }
