package suite

import (
	"context"
	"errors"
	"strings"
	"testing"

	tiercompact "github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/edit"
)

// A slowUndo is a store that blocks in steps of undos until it is released.
type slowUndo struct {
	archive.Store
	came, letGo chan struct{}
}

func (s slowUndo) Put(ctx context.Context, step archive.Step) error {
	if step.Undoes > 0 {
		s.came <- struct{}{}
		<-s.letGo
	}
	return s.Store.Put(ctx, step)
}

// If an archive hangs in an undo, the conversation can still be read and extended.
func TestASessionContinuesWhileAnUndoIsArchived(t *testing.T) {
	for _, test := range []struct {
		name string
		undo func(s *tiercompact.Session, before chat.Transcript) error
		left func(before chat.Transcript, late chat.Message) chat.Transcript
	}{
		{"undo", func(s *tiercompact.Session, _ chat.Transcript) error {
			_, err := s.Undo(context.Background())
			return err
		}, func(before chat.Transcript, late chat.Message) chat.Transcript { return append(before, late) }},
		{"rewind", func(s *tiercompact.Session, before chat.Transcript) error {
			return s.Rewind(context.Background(), before[5].ID)
		}, func(before chat.Transcript, _ chat.Message) chat.Transcript { return before[:6] }},
	} {
		t.Run(test.name, func(t *testing.T) {
			store := slowUndo{archive.NewMemory(), make(chan struct{}), make(chan struct{})}
			c, err := tiercompact.New(tiercompact.Config{Window: 16384, NoAuto: true, Archive: store})
			if err != nil {
				t.Fatal(err)
			}
			s := c.Session("s")
			for range 30 {
				add(t, s, chat.NewText(chat.User, strings.Repeat("what is asked for ", 20)))
				add(t, s, chat.NewText(chat.Assistant, strings.Repeat("what is said to it ", 20)))
			}
			before := s.Messages()
			if r, err := s.Compact(t.Context(), ""); err != nil || !r.Compacted() {
				t.Fatalf("%+v, %v", r, err)
			}
			ended := make(chan error)
			go func() { ended <- test.undo(s, before) }()
			<-store.came
			late := chat.NewText(chat.User, "what came meanwhile")
			late.ID = "late"
			add(t, s, late)
			if _, again := s.Undo(t.Context()); !errors.Is(again, tiercompact.ErrBusy) || !errors.Is(s.Protect(before[0].ID), tiercompact.ErrBusy) {
				t.Errorf("meanwhile: %v", again)
			}
			store.letGo <- struct{}{}
			if err := <-ended; err != nil {
				t.Fatal(err)
			}
			if want := test.left(before, late); edit.Sum(s.Messages()) != edit.Sum(want) {
				t.Errorf("%d messages are left, want %d", len(s.Messages()), len(want))
			}
			if err := s.Protect(before[0].ID); err != nil {
				t.Error(err)
			}
		})
	}
}
