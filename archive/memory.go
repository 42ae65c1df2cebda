package archive

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/edit"
)

// Memory is a store that lasts as long as its process. It holds each message once,
// however many steps have it. Events are checked and discarded. The zero Memory is
// ready for use.
type Memory struct {
	mu       sync.RWMutex // guards the fields below; not held while waiting
	sessions map[string]*heldSession
	closed   bool
}

// NewMemory returns an empty store.
func NewMemory() *Memory { return new(Memory) }

// Put implements [Store].
func (m *Memory) Put(ctx context.Context, s Step) error {
	s, err := s.checkedStep()
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.checkUsable(ctx); err != nil {
		return err
	}
	h := m.sessions[s.Session]
	if h == nil {
		h = &heldSession{newest: make(map[string]heldPlace)}
	}
	at, there := h.find(s.Number)
	if there {
		return fmt.Errorf("archive step %d of session %s: %w", s.Number, s.Session, ErrExists)
	}
	if m.sessions == nil {
		m.sessions = make(map[string]*heldSession)
	}
	m.sessions[s.Session] = h
	h.steps = slices.Insert(h.steps, at, h.hold(s))
	h.remember(h.steps[at])
	return nil
}

// checkUsable is called under mu.
func (m *Memory) checkUsable(ctx context.Context) error {
	if m.closed {
		return fmt.Errorf("memory archive: %w", ErrClosed)
	}
	return ctx.Err()
}

// Steps implements [Store].
func (m *Memory) Steps(ctx context.Context, session string) ([]StepInfo, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if err := m.checkUsable(ctx); err != nil {
		return nil, err
	}
	h := m.sessions[session]
	if h == nil {
		return nil, nil
	}
	infos := make([]StepInfo, len(h.steps))
	for i, s := range h.steps {
		infos[i] = s.info()
	}
	return infos, nil
}

// Get implements [Store].
func (m *Memory) Get(ctx context.Context, session string, number int) (Step, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if err := m.checkUsable(ctx); err != nil {
		return Step{}, err
	}
	if h := m.sessions[session]; h != nil {
		if at, there := h.find(number); there {
			return h.step(h.steps[at]), nil
		}
	}
	return Step{}, fmt.Errorf("step %d of session %s: %w", number, session, ErrNotFound)
}

// Recall implements [Store].
func (m *Memory) Recall(ctx context.Context, session, id string) (Entry, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if err := m.checkUsable(ctx); err != nil {
		return Entry{}, err
	}
	if h := m.sessions[session]; h != nil {
		if p, there := h.newest[id]; there {
			at, _ := h.find(p.step)
			return h.entry(h.steps[at].removed[p.entry]), nil
		}
	}
	return Entry{}, fmt.Errorf("recall id %s of session %s: %w", id, session, ErrNotFound)
}

// Sessions returns the ids of the sessions, sorted.
func (m *Memory) Sessions(ctx context.Context) ([]string, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if err := m.checkUsable(ctx); err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(m.sessions)), nil
}

// Remove removes a step. A missing one is not an error.
func (m *Memory) Remove(ctx context.Context, session string, number int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.checkUsable(ctx); err != nil {
		return err
	}
	h := m.sessions[session]
	if h == nil {
		return nil
	}
	at, there := h.find(number)
	if !there {
		return nil
	}
	gone := h.steps[at]
	h.steps = slices.Delete(h.steps, at, at+1)
	for _, e := range gone.removed {
		if h.newest[e.ID].step == number {
			delete(h.newest, e.ID)
		}
	}
	for _, s := range h.steps[:at] { // an older entry of the same id is the newest now
		h.remember(s)
	}
	if h.removed++; h.removed > len(h.steps) {
		h.renew()
	}
	return nil
}

// Forget drops all data of a session.
func (m *Memory) Forget(session string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.sessions, session)
}

// Event implements [Store].
func (m *Memory) Event(ctx context.Context, session string, line []byte) error {
	if _, err := checkEvent(session, line); err != nil {
		return err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.checkUsable(ctx)
}

// Close implements [Store]; it drops all data.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed, m.sessions = true, nil
	return nil
}

// Where says that a step is in memory.
func (m *Memory) Where(string, int) (adapter, location string) { return "memory", "" }

// Forget makes store, or a store that it wraps, drop the data of a session in
// memory. Data elsewhere stays.
func Forget(store Store, session string) {
	if f, ok := unwrapAs[interface{ Forget(session string) }](store); ok {
		f.Forget(session)
	}
}

// A heldSession is the steps of a session, which share their messages: a step has
// mostly the messages of the one before.
type heldSession struct {
	steps    []heldStep
	newest   map[string]heldPlace // of each recall id
	messages []*chat.Message      // in order of first occurrence
	removed  int                  // steps since messages were last released
	last     map[string]uint32    // index of each message of the newest step, by id
}

// A heldPlace is an entry of a step.
type heldPlace struct{ step, entry int }

// A heldRun is a run of adjacent messages in heldSession.messages.
type heldRun struct{ start, count uint32 }

type (
	// A heldStep is a step whose messages are runs.
	heldStep struct {
		Step    // without Before, Removed and Edits.Steps
		before  []heldRun
		removed []heldEntry
		edits   [][]heldEdit
	}
	heldEntry struct {
		Entry    // without Messages
		messages []heldRun
	}
	heldEdit struct {
		edit.Edit // without New
		put       []heldRun
	}
)

func (h *heldSession) find(number int) (at int, there bool) {
	return slices.BinarySearchFunc(h.steps, number, func(s heldStep, n int) int { return cmp.Compare(s.Number, n) })
}

// remember makes the entries of s the recalled ones, unless a later step has
// others.
func (h *heldSession) remember(s heldStep) {
	for i, e := range s.removed {
		if p, there := h.newest[e.ID]; !there || p.step < s.Number {
			h.newest[e.ID] = heldPlace{s.Number, i}
		}
	}
}

// renew keeps only the messages of the steps, without those of removed steps alone.
func (h *heldSession) renew() {
	steps := h.steps
	renewed := &heldSession{newest: make(map[string]heldPlace)}
	for _, s := range steps {
		renewed.steps = append(renewed.steps, renewed.hold(h.step(s)))
		renewed.remember(renewed.steps[len(renewed.steps)-1])
	}
	*h = *renewed
}

func (h *heldSession) hold(s Step) heldStep {
	now := make(map[string]uint32, len(s.Before))
	held := heldStep{Step: s, before: h.holdAll(s.Before, now)}
	held.Before, held.Removed, held.Edits.Steps = nil, nil, nil
	if s.Removed != nil {
		held.removed = make([]heldEntry, len(s.Removed))
	}
	if s.Edits.Steps != nil {
		held.edits = make([][]heldEdit, len(s.Edits.Steps))
	}
	for i, edits := range s.Edits.Steps {
		if edits != nil {
			held.edits[i] = make([]heldEdit, len(edits))
		}
		for k, e := range edits {
			put := h.holdAll(e.New, now)
			e.New = nil
			held.edits[i][k] = heldEdit{e, put}
		}
	}
	for i, e := range s.Removed {
		messages := h.holdAll(e.Messages, now)
		e.Messages = nil
		held.removed[i] = heldEntry{e, messages}
	}
	h.last = now
	return held
}

// holdAll returns messages as runs, and records their indices in now. nil stays
// nil.
func (h *heldSession) holdAll(messages []chat.Message, now map[string]uint32) []heldRun {
	if messages == nil {
		return nil
	}
	var runs []heldRun
	for _, m := range messages {
		at := h.place(m, now)
		if n := len(runs); n > 0 && runs[n-1].start+runs[n-1].count == at {
			runs[n-1].count++
		} else {
			runs = append(runs, heldRun{at, 1})
		}
	}
	return append(make([]heldRun, 0, len(runs)), runs...) // no larger than needed
}

// place returns the index of m, which is held from now on.
func (h *heldSession) place(m chat.Message, now map[string]uint32) uint32 {
	for _, known := range []map[string]uint32{now, h.last} {
		if at, there := known[m.ID]; there && identical(*h.messages[at], m) {
			now[m.ID] = at
			return at
		}
	}
	at := uint32(len(h.messages))
	h.messages = append(h.messages, &m)
	now[m.ID] = at
	return at
}

// identical reports whether a and b are equal in all fields.
func identical(a, b chat.Message) bool {
	return edit.Same(a, b) && (a.Parts == nil) == (b.Parts == nil) && a.Recall == b.Recall && a.Protected == b.Protected && a.Machine == b.Machine &&
		a.Changed == b.Changed && a.Source == b.Source && a.Index == b.Index
}

func (h *heldSession) step(held heldStep) Step {
	s := held.Step
	s.Before = h.all(held.before)
	if held.removed != nil {
		s.Removed = make([]Entry, len(held.removed))
	}
	for i, e := range held.removed {
		s.Removed[i] = h.entry(e)
	}
	if held.edits != nil {
		s.Edits.Steps = make([][]edit.Edit, len(held.edits))
	}
	for i, edits := range held.edits {
		if edits != nil {
			s.Edits.Steps[i] = make([]edit.Edit, len(edits))
		}
		for k, e := range edits {
			s.Edits.Steps[i][k] = e.Edit
			s.Edits.Steps[i][k].New = h.all(e.put)
		}
	}
	return s
}

func (h *heldSession) entry(held heldEntry) Entry {
	e := held.Entry
	e.Messages = h.all(held.messages)
	return e
}

// all returns the messages of runs.
func (h *heldSession) all(runs []heldRun) []chat.Message {
	if runs == nil {
		return nil
	}
	n := 0
	for _, r := range runs {
		n += int(r.count)
	}
	out := make([]chat.Message, 0, n)
	for _, r := range runs {
		for _, m := range h.messages[r.start : r.start+r.count] {
			out = append(out, *m)
		}
	}
	return out
}

// info returns what s is without its messages.
func (s heldStep) info() StepInfo {
	out := s.Step.stepInfo()
	out.Messages, out.Entries = 0, make([]string, len(s.removed))
	for _, r := range s.before {
		out.Messages += int(r.count)
	}
	for i, e := range s.removed {
		out.Entries[i] = e.ID
	}
	return out
}
