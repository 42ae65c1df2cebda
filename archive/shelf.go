package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"sync"
)

// A shelf is where a store has its files: in one folder for each session.
type shelf interface {
	// folders returns the names of the folders.
	folders(ctx context.Context) ([]string, error)
	// names returns the names of the files in a folder; none where it is
	// missing.
	names(ctx context.Context, folder string) ([]string, error)
	// open returns a file, or fs.ErrNotExist.
	open(ctx context.Context, folder, name string) (io.ReadCloser, error)
	// path is what errors call a file.
	path(folder, name string) string
}

// A library reads sessions from a shelf, the same way for all stores.
type library struct {
	shelf
	// headers keeps those that were read, by path, where a file never changes
	// and reading is slow; nil: they are read every time.
	headers *sync.Map
}

// sessions returns the ids of the sessions, sorted.
func (l library) sessions(ctx context.Context) ([]string, error) {
	folders, err := l.folders(ctx)
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	var ids []string
	for _, folder := range folders {
		id, err := l.resident(ctx, folder)
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

// headersOf returns the headers of a session's steps by number. One that cannot
// be read has Damaged set.
func (l library) headersOf(ctx context.Context, session string) ([]headerLine, error) {
	if session == "" {
		return nil, ctx.Err()
	}
	names, err := l.names(ctx, folderName(session))
	if err != nil {
		return nil, fmt.Errorf("list steps of session %s: %w", session, err)
	}
	var headers []headerLine
	for _, n := range numbersOf(names) {
		h, err := l.header(ctx, session, n)
		switch {
		case errors.Is(err, fs.ErrNotExist): // removed meanwhile
		case unreadable(err):
			headers = append(headers, headerLine{StepInfo: StepInfo{Session: session, Number: n, Damaged: err}})
		case err != nil:
			return nil, fmt.Errorf("list steps of session %s: %w", session, err)
		case h.Session == session:
			headers = append(headers, h)
		}
	}
	return headers, nil
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

// leftovers returns the numbers of transcripts and summaries that have no step.
func (l library) leftovers(ctx context.Context, session string) ([]int, error) {
	names, err := l.names(ctx, folderName(session))
	if err != nil {
		return nil, fmt.Errorf("list files of session %s: %w", session, err)
	}
	var numbers []int
	for _, name := range names {
		if n, ok := contentNumber(name); ok && !slices.Contains(names, stepName(n)) {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return slices.Compact(numbers), nil
}

// unreadable reports whether a step is there, and cannot be read.
func unreadable(err error) bool { return errors.Is(err, ErrDamaged) || errors.Is(err, ErrVersion) }

func (l library) header(ctx context.Context, session string, n int) (headerLine, error) {
	if err := ctx.Err(); err != nil {
		return headerLine{}, err
	}
	path := l.path(folderName(session), stepName(n))
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

func (l library) steps(ctx context.Context, session string) ([]StepInfo, error) {
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

// get returns a step; where several things are damaged, the error names the
// first.
func (l library) get(ctx context.Context, session string, number int) (Step, error) {
	s, _, err := l.readStep(ctx, session, number, func(d *Damage) error { return d })
	if errors.Is(err, fs.ErrNotExist) || err == nil && s.Session != session {
		err = ErrNotFound
	}
	if err != nil {
		return Step{}, fmt.Errorf("step %d of session %s: %w", number, session, err)
	}
	return s, nil
}

func (l library) recall(ctx context.Context, session, id string) (Entry, error) {
	e, err := l.newest(ctx, session, id)
	if err != nil {
		return Entry{}, fmt.Errorf("recall id %s of session %s: %w", id, session, err)
	}
	return e, nil
}

// newest returns the newest entry with an id.
func (l library) newest(ctx context.Context, session, id string) (Entry, error) {
	headers, err := l.headersOf(ctx, session)
	if err != nil {
		return Entry{}, err
	}
	missing := ErrNotFound
	for _, h := range slices.Backward(headers) {
		if h.Damaged != nil {
			missing = fmt.Errorf("%w; %w", missing, h.Damaged)
		}
		if at := slices.Index(h.Entries, id); at >= 0 {
			return l.readEntry(ctx, session, h, at)
		}
	}
	return Entry{}, missing
}
