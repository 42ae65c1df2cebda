package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/tiercompact/tiercompact/chat"
)

// Numbers returns the numbers of a session's steps, ascending, those that cannot be
// read included. It reads less than [Store.Steps], if the store can.
func Numbers(ctx context.Context, store Store, session string) ([]int, error) {
	if s, ok := unwrapAs[interface {
		numbers(ctx context.Context, session string) ([]int, error)
	}](store); ok {
		return s.numbers(ctx, session)
	}
	infos, err := store.Steps(ctx, session)
	if err != nil {
		return nil, err
	}
	numbers := make([]int, len(infos))
	for i, info := range infos {
		numbers[i] = info.Number
	}
	return numbers, nil
}

// Removals calls do with the steps of a session after number after, in their order,
// each with the conversation before it and the removed text, but without edits and
// summary. err is why a step could not be read: then it has what could be. An error of
// do ends it.
func Removals(ctx context.Context, store Store, session string, after int, do func(s Step, err error) error) error {
	if s, ok := unwrapAs[interface {
		removals(ctx context.Context, session string, after int, do func(Step, error) error) error
	}](store); ok {
		return s.removals(ctx, session, after, do)
	}
	infos, err := store.Steps(ctx, session)
	if err != nil {
		return err
	}
	for _, info := range infos {
		if info.Number <= after {
			continue
		}
		s, err := store.Get(ctx, session, info.Number)
		if errors.Is(err, ErrNotFound) {
			continue // removed meanwhile
		}
		if unreadable(err) {
			s = Step{Session: session, Number: info.Number, Time: info.Time, Level: info.Level}
			s.Removed, err = readableEntries(ctx, store, info, err)
		}
		if err != nil && !unreadable(err) {
			return err
		}
		if err := do(s, err); err != nil {
			return err
		}
	}
	return nil
}

// readableEntries returns what can be read of a damaged step, and damage.
func readableEntries(ctx context.Context, store Store, info StepInfo, damage error) (entries []Entry, err error) {
	for _, id := range info.Entries {
		e, err := store.Recall(ctx, info.Session, id)
		switch {
		case err == nil:
			entries = append(entries, e)
		case !unreadable(err):
			return nil, err
		}
	}
	return entries, damage
}

// A Ref names a removed message: its step, the recall id of its entry, and its index
// there. The index after the last is that of Entry.Text, as a message without a role.
type Ref struct {
	Step  int
	Entry string
	Index int
}

// A RemovedReader reads removed messages of a session. Close it soon: files are open.
type RemovedReader struct {
	store   Store
	session string
	steps   map[int]Step // read so far, if store has no way of its own

	packs   *packs // nil: store has none
	bodies  map[int]packedBody
	entries map[Ref]Entry // of steps in the former format, with index 0
}

// OpenRemoved returns a reader of what was removed from a session so far.
func OpenRemoved(ctx context.Context, store Store, session string) (*RemovedReader, error) {
	r := &RemovedReader{store: store, session: session, steps: make(map[int]Step), bodies: make(map[int]packedBody), entries: make(map[Ref]Entry)}
	if s, ok := unwrapAs[interface {
		openPacks(ctx context.Context, session string) (*packs, error)
	}](store); ok {
		var err error
		if r.packs, err = s.openPacks(ctx, session); err != nil {
			return nil, fmt.Errorf("read removed text of session %s: %w", session, err)
		}
	}
	return r, nil
}

// Close closes the files.
func (r *RemovedReader) Close() {
	if r.packs != nil {
		r.packs.close()
	}
}

// Messages returns the messages that refs name; one that cannot be read is nil, and the
// error says why.
func (r *RemovedReader) Messages(ctx context.Context, refs []Ref) ([]*chat.Message, error) {
	out := make([]*chat.Message, len(refs))
	var damaged error
	for i, ref := range refs {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		m, err := r.message(ctx, ref)
		if err != nil && !unreadable(err) && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrNotFound) {
			return out, err
		}
		out[i], damaged = m, errors.Join(damaged, err)
	}
	return out, damaged
}

// Newest calls do with the messages of the conversation before a step, the newest first,
// until it returns false. One that cannot be read is left out.
func (r *RemovedReader) Newest(ctx context.Context, step int, do func(chat.Message) bool) error {
	if r.packs == nil {
		return r.newestOf(ctx, step, do)
	}
	h, err := r.packs.anyHeader(ctx, step)
	if err != nil {
		return err
	}
	if !h.packed {
		return r.newestOf(ctx, step, do)
	}
	b, err := r.packs.body(h)
	if err != nil || b.Before == nil || !b.Before.Items.valid(maxNumbers) {
		return err
	}
	for _, n := range slices.Backward(slices.Collect(b.Before.Items.all())) {
		if m, err := r.packs.message(n); err == nil && !do(m) {
			break
		}
	}
	return nil
}

func (r *RemovedReader) newestOf(ctx context.Context, step int, do func(chat.Message) bool) error {
	s, err := r.store.Get(ctx, r.session, step)
	for _, m := range slices.Backward(s.Before) {
		if !do(m) {
			break
		}
	}
	return err
}

func (r *RemovedReader) message(ctx context.Context, ref Ref) (*chat.Message, error) {
	if r.packs == nil {
		s, known := r.steps[ref.Step]
		if !known {
			var err error
			if s, err = r.store.Get(ctx, r.session, ref.Step); err != nil {
				return nil, err
			}
			r.steps[ref.Step] = s
		}
		if at := slices.IndexFunc(s.Removed, func(e Entry) bool { return e.ID == ref.Entry }); at >= 0 {
			return s.Removed[at].message(ref.Index), nil
		}
		return nil, nil
	}
	h, err := r.packs.anyHeader(ctx, ref.Step)
	if err != nil {
		return nil, err
	}
	if h.packed {
		return r.packs.removedMessage(h, r.bodies, ref)
	}
	key := Ref{Step: ref.Step, Entry: ref.Entry}
	e, known := r.entries[key]
	if at := slices.Index(h.Entries, ref.Entry); !known && at >= 0 {
		if e, err = r.packs.readEntry(ctx, r.session, h, at); err != nil {
			return nil, err
		}
		r.entries[key] = e
	}
	return e.message(ref.Index), nil
}

// message returns the message with an index, as in a Ref; nil if there is none.
func (e Entry) message(index int) *chat.Message {
	switch {
	case index < len(e.Messages):
		return &e.Messages[index]
	case index == len(e.Messages) && e.Text != "":
		m := chat.NewText("", e.Text)
		return &m
	}
	return nil
}

// IndexPath is where the index of a session's removed text is kept. It is never the
// only copy of anything.
func (d *Dir) IndexPath(session string) string {
	return filepath.Join(d.folderPath(session), indexFile)
}

// indexFile belongs to package recall.
const indexFile = "recall.index"

func (d *Dir) numbers(ctx context.Context, session string) ([]int, error) {
	return withStore(ctx, d, func(l storeReader) ([]int, error) { return l.numbers(ctx, session) })
}

func (d *Dir) removals(ctx context.Context, session string, after int, do func(Step, error) error) error {
	_, err := withStore(ctx, d, func(l storeReader) (struct{}, error) { return struct{}{}, l.removals(ctx, session, after, do) })
	return err
}

func (d *Dir) openPacks(ctx context.Context, session string) (*packs, error) {
	return withStore(ctx, d, func(l storeReader) (*packs, error) { return l.unscannedPacks(ctx, session) })
}

// numbers reads only session.json and pruned.json, if they have all numbers.
func (l storeReader) numbers(ctx context.Context, session string) ([]int, error) {
	folder := folderName(session)
	record, err := l.readFormat(ctx, folder, sessionFile)
	names, listErr := l.fileNames(ctx, folder)
	if listErr != nil && !errors.Is(listErr, fs.ErrNotExist) {
		return nil, listErr
	}
	if err == nil && record.Session == session && len(record.Steps) > 0 {
		known := record.Steps.with(setOf(numbersOf(names)))
		for _, name := range names {
			if first, last, ok := packNumbers(name); ok { // the record may be older than the newest file
				known = known.with(runs{{first, first}}).with(runs{{last, last}})
			}
		}
		if !slices.Contains(names, prunedFile) {
			return slices.Collect(known.all()), nil
		}
		if pruned, err := l.prunedOf(ctx, session); err == nil {
			return slices.DeleteFunc(slices.Collect(known.all()), pruned.Steps.has), nil
		}
	}
	headers, err := l.headersOf(ctx, session)
	if err != nil {
		return nil, err
	}
	numbers := make([]int, len(headers))
	for i, h := range headers {
		numbers[i] = h.Number
	}
	return numbers, nil
}

// removals reads each message once, as long as it is in the conversation.
func (l storeReader) removals(ctx context.Context, session string, after int, do func(Step, error) error) error {
	v, err := l.packs(ctx, session)
	if err != nil {
		return fmt.Errorf("read removed text of session %s: %w", session, err)
	}
	defer v.close()
	in, err := v.inventory(ctx)
	if err != nil {
		return fmt.Errorf("read removed text of session %s: %w", session, err)
	}
	read := make(map[int]chat.Message)
	for _, h := range in.headers {
		if h.Number <= after {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		var s Step
		var damage error
		if h.packed && h.Damaged == nil {
			s, read, err = v.removal(h, read)
			damage = err
		} else {
			s, err = v.anyStep(ctx, h, func(d *Damage) error { damage = errors.Join(damage, d); return nil })
			damage = errors.Join(damage, err)
		}
		s.Session, s.Number, s.Time, s.Level = session, h.Number, h.Time, h.Level
		if damage != nil && !unreadable(damage) && !errors.Is(damage, fs.ErrNotExist) {
			return damage
		}
		if err := do(s, damage); err != nil {
			return err
		}
	}
	return nil
}

// removal returns a step without edits and sources. read has messages of the step
// before; the result has those of this one.
func (v *packs) removal(h headerLine, read map[int]chat.Message) (s Step, now map[int]chat.Message, err error) {
	b, err := v.body(h)
	if err != nil {
		return s, read, err
	}
	now = make(map[int]chat.Message, len(read))
	messages := func(r *refs) (out []chat.Message) {
		if r == nil || !r.Items.valid(maxNumbers) {
			return nil
		}
		for n := range r.Items.all() {
			m, known := read[n]
			if !known {
				var bad error
				if m, bad = v.message(n); bad != nil {
					err = errors.Join(err, v.damageOf(h.Number, "", bad))
				}
			}
			read[n], now[n] = m, m
			out = append(out, m)
		}
		return out
	}
	s.Before = messages(b.Before)
	for _, e := range b.entries {
		s.Removed = append(s.Removed, Entry{ID: e.ID, Messages: messages(e.Messages), Below: e.Below, Text: e.Text})
	}
	return s, now, err
}

// message returns item n without its source.
func (v *packs) message(n int) (chat.Message, error) {
	x, _, err := v.item(n)
	if err != nil {
		return chat.Message{}, err
	}
	return new(sourceSharing).decodeMessage(x.message)
}

// removedMessage returns a message, nil if r names none.
func (v *packs) removedMessage(h headerLine, bodies map[int]packedBody, r Ref) (*chat.Message, error) {
	b, known := bodies[r.Step]
	if !known {
		var err error
		if b, err = v.body(h); err != nil {
			return nil, err
		}
		bodies[r.Step] = b
	}
	for _, e := range b.entries {
		if e.ID != r.Entry || e.Messages != nil && !e.Messages.Items.valid(maxNumbers) {
			continue
		}
		at := 0
		if e.Messages == nil {
			return Entry{Text: e.Text}.message(r.Index), nil
		}
		for n := range e.Messages.Items.all() {
			if at == r.Index {
				m, err := v.message(n)
				if err != nil {
					return nil, v.damageOf(r.Step, r.Entry, err)
				}
				return &m, nil
			}
			at++
		}
		return Entry{Text: e.Text}.message(r.Index - at), nil
	}
	return nil, nil
}

func (o *Objects) numbers(ctx context.Context, session string) ([]int, error) {
	if err := o.checkUsable(ctx); err != nil {
		return nil, err
	}
	return o.lib.numbers(ctx, session)
}

func (o *Objects) removals(ctx context.Context, session string, after int, do func(Step, error) error) error {
	if err := o.checkUsable(ctx); err != nil {
		return err
	}
	return o.lib.removals(ctx, session, after, do)
}

func (o *Objects) openPacks(ctx context.Context, session string) (*packs, error) {
	if err := o.checkUsable(ctx); err != nil {
		return nil, err
	}
	return o.lib.unscannedPacks(ctx, session)
}
