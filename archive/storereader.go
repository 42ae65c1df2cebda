package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"sync"
)

// A fileSource gives access to a store's files: one folder for each session.
type fileSource interface {
	// folderNames returns the names of the folders.
	folderNames(ctx context.Context) ([]string, error)
	// fileNames returns the names of the files in a folder; none if it is missing.
	fileNames(ctx context.Context, folder string) ([]string, error)
	// openFile returns a file, or fs.ErrNotExist.
	openFile(ctx context.Context, folder, name string) (io.ReadCloser, error)
	// filePath is the name of a file in errors.
	filePath(folder, name string) string
}

// A storeReader reads sessions from a fileSource, the same way for all stores.
type storeReader struct {
	fileSource
	// headers caches headers, by path, if files never change and reading is slow;
	// nil: no cache
	headers *sync.Map
	// scans caches the scans of packs, by path; nil: no cache
	scans *sync.Map
	// shared says that several processes write, and that an incomplete number was
	// not reused.
	shared bool
}

// sessionIDs returns the ids of the sessions, sorted.
func (l storeReader) sessionIDs(ctx context.Context) ([]string, error) {
	folders, err := l.folderNames(ctx)
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	var ids []string
	for _, folder := range folders {
		id, err := l.presumedOwner(ctx, folder)
		if err != nil {
			return nil, fmt.Errorf("list sessions: %w", err)
		}
		if id != "" {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// headersOf returns the headers of a session's steps by number. One that cannot be
// read, or is lost, has Damaged set.
func (l storeReader) headersOf(ctx context.Context, session string) ([]headerLine, error) {
	if session == "" {
		return nil, ctx.Err()
	}
	v, err := l.packs(ctx, session)
	if err != nil {
		return nil, fmt.Errorf("list steps of session %s: %w", session, err)
	}
	defer v.close()
	in, err := v.inventory(ctx)
	if err != nil {
		return nil, fmt.Errorf("list steps of session %s: %w", session, err)
	}
	return in.headers, nil
}

// numbersOf returns the numbers of the steps among files, sorted.
func numbersOf(names []string) []int {
	var numbers []int
	for _, name := range names {
		if n, ok := stepNumber(name); ok {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers
}

// leftovers returns the numbers with files, but without a step: an interrupted
// process left them.
func (l storeReader) leftovers(ctx context.Context, session string) ([]int, error) {
	v, err := l.packs(ctx, session)
	if err != nil {
		return nil, fmt.Errorf("list files of session %s: %w", session, err)
	}
	defer v.close()
	in, err := v.inventory(ctx)
	if err != nil {
		return nil, fmt.Errorf("list files of session %s: %w", session, err)
	}
	there := make(map[int]bool)
	for _, h := range in.headers {
		there[h.Number] = true
	}
	var numbers []int
	for _, name := range v.names {
		n, ok := contentNumber(name)
		if !ok {
			n, ok = stepNumber(name)
		}
		if ok && !there[n] {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return slices.Compact(numbers), nil
}

// unreadable reports whether a step exists, and cannot be read.
func unreadable(err error) bool { return errors.Is(err, ErrDamaged) || errors.Is(err, ErrVersion) }

func (l storeReader) stepHeader(ctx context.Context, session string, n int) (headerLine, error) {
	if err := ctx.Err(); err != nil {
		return headerLine{}, err
	}
	path := l.filePath(folderName(session), stepName(n))
	if l.headers != nil {
		if h, ok := l.headers.Load(path); ok {
			return h.(headerLine), nil // nothing else is kept there
		}
	}
	h, err := l.readHeader(ctx, session, n)
	if err == nil && l.headers != nil {
		l.headers.Store(path, h)
	}
	return h, err
}

func (l storeReader) stepInfos(ctx context.Context, session string) ([]StepInfo, error) {
	headers, err := l.headersOf(ctx, session)
	if err != nil {
		return nil, err
	}
	var infos []StepInfo
	for _, h := range headers {
		infos = append(infos, h.StepInfo)
	}
	return infos, nil
}

// openStep returns a step; of several damages, the error names the first.
func (l storeReader) openStep(ctx context.Context, session string, number int) (Step, error) {
	s, err := l.getStep(ctx, session, number)
	if errors.Is(err, fs.ErrNotExist) || err == nil && s.Session != session {
		err = ErrNotFound
	}
	if err != nil {
		return Step{}, fmt.Errorf("step %d of session %s: %w", number, session, err)
	}
	return s, nil
}

func (l storeReader) getStep(ctx context.Context, session string, number int) (s Step, err error) {
	if err := ctx.Err(); err != nil {
		return s, err
	}
	v, err := l.packs(ctx, session)
	if err != nil {
		return s, err
	}
	defer v.close()
	if slices.Contains(v.names, prunedFile) {
		pruned, err := v.prunedOf(ctx, session)
		if err != nil && !unreadable(err) || pruned.Steps.has(number) {
			return s, cmp.Or(err, fs.ErrNotExist)
		}
	}
	if h, err := v.anyHeader(ctx, number); err == nil && h.Session == session {
		s, _, err = v.anyStep(ctx, h, func(d *Damage) error { return d })
		return s, err
	}
	in, err := v.inventory(ctx) // it is missing, damaged, or of another session
	if err != nil {
		return s, err
	}
	for _, h := range in.headers {
		if h.Number == number {
			s, _, err = v.anyStep(ctx, h, func(d *Damage) error { return d })
			return s, err
		}
	}
	return s, fs.ErrNotExist
}

// anyStep returns the step with the header h, in any file, and calls bad with each
// damage.
func (v *packs) anyStep(ctx context.Context, h headerLine, bad func(*Damage) error) (Step, headerLine, error) {
	switch {
	case h.Damaged != nil && slices.Contains(v.names, stepName(h.Number)) && !h.lost:
		if d, ok := errors.AsType[*Damage](h.Damaged); ok {
			return Step{}, h, bad(d)
		}
		return Step{}, h, h.Damaged
	case h.Damaged != nil:
		return Step{}, h, v.bad(h.Damaged, h.Number, bad)
	case h.packed:
		return v.step(h.Number, bad)
	}
	return v.readStep(ctx, v.session, h.Number, bad)
}

func (l storeReader) recallEntry(ctx context.Context, session, id string) (Entry, error) {
	e, err := l.newestEntry(ctx, session, id)
	if err != nil {
		return Entry{}, fmt.Errorf("recall id %s of session %s: %w", id, session, err)
	}
	return e, nil
}

// newestEntry returns the newest entry with an id.
func (l storeReader) newestEntry(ctx context.Context, session, id string) (Entry, error) {
	if session == "" {
		return Entry{}, ErrNotFound
	}
	v, err := l.packs(ctx, session)
	if err != nil {
		return Entry{}, err
	}
	defer v.close()
	in, err := v.inventory(ctx)
	if err != nil {
		return Entry{}, err
	}
	missing := ErrNotFound
	for _, h := range slices.Backward(in.headers) {
		if h.Damaged != nil {
			missing = fmt.Errorf("%w; %w", missing, h.Damaged)
		}
		if at := slices.Index(h.Entries, id); at >= 0 {
			return v.anyEntry(ctx, h, at)
		}
	}
	return Entry{}, missing
}

// anyEntry returns the entry at a place of the step with the header h.
func (v *packs) anyEntry(ctx context.Context, h headerLine, at int) (Entry, error) {
	if !h.packed {
		return v.readEntry(ctx, v.session, h, at)
	}
	b, err := v.body(h)
	if err != nil {
		if d, ok := errors.AsType[*Damage](err); ok {
			d.Entry = h.Entries[at]
		}
		return Entry{}, err
	}
	if b.entries[at].ID != h.Entries[at] {
		return Entry{}, v.damageOf(h.Number, h.Entries[at], errChanged)
	}
	return v.entry(h.Number, b.entries[at])
}
