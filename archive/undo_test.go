package archive

import (
	"errors"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
)

// rounds puts two rounds into an archive, and returns it with the conversation
// after them.
func rounds(t *testing.T) (Store, chat.Transcript) {
	t.Helper()
	m := NewMemory()
	now := chat.Transcript{text("a"), text("b"), text("c")}
	for n := 1; n <= 2; n++ {
		step := Step{Session: "s", Number: n, Before: now, Edits: replace(n, 0, 2, text("x"+now[0].ID)).Edits}
		must(t, m.Put(t.Context(), step))
		after, _, err := applyRound(now, step.Edits.Steps)
		must(t, err)
		now = append(after, text(string(rune('c'+n))))
	}
	return m, now // xxa d e
}

func TestUndoTakesRoundsBackOneByOne(t *testing.T) {
	store, now := rounds(t)
	for i, want := range []string{"xa c d e", "a b c d e"} {
		u, err := Undo(t.Context(), store, "s", now)
		before, info := u.Messages, u.Round
		if err != nil || ids(before) != want || info.Number != 2-i {
			t.Fatalf("undo %d: %q, round %d, %v; want %q", i+1, ids(before), info.Number, err, want)
		}
		infos, err := store.Steps(t.Context(), "s")
		must(t, err, store.Put(t.Context(), Step{Session: "s", Number: Next(infos), Undoes: info.Number, Before: now}))
		now = before
	}
	if _, err := Undo(t.Context(), store, "s", now); !errors.Is(err, ErrNotFound) {
		t.Errorf("a third undo: %v", err)
	}
	infos, err := store.Steps(t.Context(), "s")
	must(t, err)
	if Next(infos) != 5 {
		t.Errorf("next %d", Next(infos))
	}
}

func TestUndoPassesOverARoundThatWasNeverMade(t *testing.T) {
	store, now := rounds(t)
	must(t, store.Put(t.Context(), Step{Session: "s", Number: 3, Before: now, Edits: replace(3, 0, 3, text("y")).Edits}))
	if u, err := Undo(t.Context(), store, "s", now); err != nil || u.Round.Number != 2 || ids(u.Messages) != "xa c d e" {
		t.Errorf("Undo = %q, round %d, %v", ids(u.Messages), u.Round.Number, err)
	}
}

func TestUndoOfAnotherConversationIsRefused(t *testing.T) {
	store, now := rounds(t)
	for _, other := range []chat.Transcript{nil, {text("a")}, append(chat.Transcript{text("q")}, now[1:]...)} {
		if _, err := Undo(t.Context(), store, "s", other); !errors.Is(err, ErrNotFound) {
			t.Errorf("Undo of %q: %v", ids(other), err)
		}
	}
	if _, err := Undo(t.Context(), store, "t", now); !errors.Is(err, ErrNotFound) {
		t.Errorf("Undo of another session: %v", err)
	}
	must(t, store.Close())
	if _, err := Undo(t.Context(), store, "s", now); !errors.Is(err, ErrClosed) {
		t.Errorf("Undo in a closed archive: %v", err)
	}
}

func TestNextFollowsTheHighestNumber(t *testing.T) {
	infos := []StepInfo{{Number: 1}, {Number: 6, Undoes: 1}, {Number: 4}}
	if Next(infos) != 7 || Next(nil) != 1 {
		t.Errorf("next %d, and %d of no steps", Next(infos), Next(nil))
	}
}
