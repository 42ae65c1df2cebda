package archivetest_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/internal/archivetest"
)

// A broken store differs from Memory in one method.
type broken struct {
	archive.Store
	put    func(archive.Store, context.Context, archive.Step) error
	steps  func([]archive.StepInfo, error) ([]archive.StepInfo, error)
	get    func(archive.Step, error) (archive.Step, error)
	recall func(archive.Entry, error) (archive.Entry, error)
	event  func(error) error
	close  func(error) error
}

func (b broken) Put(ctx context.Context, s archive.Step) error {
	if b.put != nil {
		return b.put(b.Store, ctx, s)
	}
	return b.Store.Put(ctx, s)
}

func (b broken) Steps(ctx context.Context, session string) ([]archive.StepInfo, error) {
	infos, err := b.Store.Steps(ctx, session)
	if b.steps != nil {
		return b.steps(infos, err)
	}
	return infos, err
}

func (b broken) Get(ctx context.Context, session string, number int) (archive.Step, error) {
	s, err := b.Store.Get(ctx, session, number)
	if b.get != nil {
		return b.get(s, err)
	}
	return s, err
}

func (b broken) Recall(ctx context.Context, session, id string) (archive.Entry, error) {
	e, err := b.Store.Recall(ctx, session, id)
	if b.recall != nil {
		return b.recall(e, err)
	}
	return e, err
}

func (b broken) Event(ctx context.Context, session string, line []byte) error {
	err := b.Store.Event(ctx, session, line)
	if b.event != nil {
		return b.event(err)
	}
	return err
}

func (b broken) Close() error {
	err := b.Store.Close()
	if b.close != nil {
		return b.close(err)
	}
	return err
}

func TestCheckFindsBrokenStores(t *testing.T) {
	other := errors.New("other")
	tests := []struct {
		name, says string
		broken     broken
	}{
		{"loses the reason", "what was put comes back", broken{get: func(s archive.Step, err error) (archive.Step, error) { s.Reason = ""; return s, err }}},
		{"loses a message", "what was put comes back", broken{get: func(s archive.Step, err error) (archive.Step, error) {
			s.Before = s.Before[:max(0, len(s.Before)-1)]
			return s, err
		}}},
		{"cuts the time", "time", broken{get: func(s archive.Step, err error) (archive.Step, error) {
			s.Time = s.Time.Truncate(1e9)
			return s, err
		}}},
		{"never finds", "reopening", broken{get: func(s archive.Step, err error) (archive.Step, error) { return s, other }}},
		{"lists nothing", "want 1 and 3", broken{steps: func([]archive.StepInfo, error) ([]archive.StepInfo, error) { return nil, nil }}},
		{"lists without ids", "what was put comes back", broken{steps: func(infos []archive.StepInfo, err error) ([]archive.StepInfo, error) {
			for i := range infos {
				infos[i].Entries = nil
			}
			return infos, err
		}}},
		{"lists by another error", "use after Close", broken{steps: func(i []archive.StepInfo, err error) ([]archive.StepInfo, error) {
			if err != nil {
				return nil, other
			}
			return i, nil
		}}},
		{"recalls without text", "the newest entry is recalled", broken{recall: func(e archive.Entry, err error) (archive.Entry, error) { e.Text = ""; return e, err }}},
		{"recalls what is not there", "recall an unknown id", broken{recall: func(e archive.Entry, err error) (archive.Entry, error) { return e, nil }}},
		{"takes every event", "was taken", broken{event: func(error) error { return nil }}},
		{"takes no event", "events", broken{event: func(error) error { return other }}},
		{"cannot be closed", "close, twice", broken{close: func(error) error { return other }}},
		{"takes a number twice", "a number is taken once", broken{put: func(s archive.Store, ctx context.Context, step archive.Step) error {
			if err := s.Put(ctx, step); !errors.Is(err, archive.ErrExists) {
				return err
			}
			return nil
		}}},
		{"takes no step", "sessions are apart", broken{put: func(archive.Store, context.Context, archive.Step) error { return other }}},
		{"takes every step", "was put", broken{put: func(s archive.Store, ctx context.Context, step archive.Step) error {
			s.Put(ctx, step)
			return nil
		}}},
	}
	for _, test := range tests {
		err := archivetest.Check(t.Context(), func() archive.Store {
			b := test.broken
			b.Store = archive.NewMemory()
			return b
		})
		if test.says == "reopening" {
			err = archivetest.Check(t.Context(), outliving(test.broken))
		}
		if err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("a store that %s: %v; want %q", test.name, err, test.says)
		}
	}
}

// outliving returns a function that always opens the same store.
func outliving(b broken) func() archive.Store {
	b.Store = archive.NewMemory()
	return func() archive.Store { return b }
}
