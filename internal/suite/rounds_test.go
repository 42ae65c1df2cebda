package suite

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	tiercompact "github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/archivetest"
)

// A session holds its newest rounds in memory. Older ones are restored from the archive, byte
// for byte, with the secrets that the archive does not have, even in another process.
func TestOldRoundsAreTakenBackFromTheArchive(t *testing.T) {
	const rounds = 40
	for _, from := range []string{"the same process", "the session file"} {
		t.Run(from, func(t *testing.T) {
			k := keep(t, working(4, 400))
			var was []chat.Transcript // before each round, and what came since
			for i := range rounds {
				for n, m := range working(3, 400)[1:] {
					if n == 0 {
						m = chat.NewText(chat.User, fmt.Sprintf("log in with password = \"Tr0ub4dor&3-%d\" and do what is next", i))
					}
					r := add(t, k.Session, m)
					m.ID = r.Message
					for b := range was {
						was[b] = append(was[b], m)
					}
				}
				was = append(was, k.Messages())
				if r, err := k.Compact(t.Context(), ""); err != nil || !r.Compacted() {
					t.Fatalf("round %d: %q, %v", i, r.Reason, err)
				}
			}
			if from == "the session file" {
				k.restart()
			}
			first := k.Messages()[1].ID
			for i, want := range slices.Backward(was) {
				if i%7 == 3 {
					if err := k.Protect(first); err != nil {
						t.Fatal(err)
					}
				}
				if _, err := k.Undo(t.Context()); err != nil {
					t.Fatalf("undo of round %d: %v", i, err)
				}
				sameAs(t, k.Messages(), want)
				if m, _ := byID(k.Session, first); i <= 38 && !m.Protected {
					t.Fatalf("round %d: what was protected since is not", i)
				}
				if t.Failed() {
					t.Fatalf("after undo of round %d", i)
				}
			}
		})
	}
}

// Text that an old round removed is returned with its secrets as long as the process lives; the
// archive has none of them.
func TestRecallOfOldRoundsHasTheSecrets(t *testing.T) {
	dir := t.TempDir()
	k := &kept{t: t, dir: dir}
	k.open()
	const secret = "Tr0ub4dor&3xyz"
	add(t, k.Session, chat.NewText(chat.System, "You are a careful assistant."))
	add(t, k.Session, chat.NewText(chat.User, "start"))
	m := chat.NewText(chat.Assistant, "the password = \""+secret+"\" is in the settings")
	m.ID = "told"
	add(t, k.Session, m)
	var ids []string
	for i := range 30 {
		for _, m := range working(8, 400)[1:] {
			add(t, k.Session, m)
		}
		r, err := k.Compact(t.Context(), "")
		if err != nil || !r.Compacted() {
			t.Fatalf("round %d: %q, %v", i, r.Reason, err)
		}
		if i == 0 {
			for _, e := range r.Edits {
				ids = append(ids, e.Recall)
			}
		}
	}
	found := false
	for _, id := range ids {
		e, err := k.Recall(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range e.Messages {
			found = found || strings.Contains(m.Text(), secret)
		}
	}
	if !found {
		t.Error("the first round's secret does not come back")
	}
	files, err := archivetest.Texts(dir + "/archive")
	if err != nil || len(files) < 3 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for name, text := range files {
		if strings.Contains(text, secret) {
			t.Errorf("%s has the secret", name)
		}
	}
}

// Forget frees the archive in memory, through all wrappers.
func TestForgetFreesTheArchiveInMemory(t *testing.T) {
	store := archive.NewMemory()
	c, err := tiercompact.New(tiercompact.Config{Window: 20000, NoAuto: true, Archive: wrapped{store}})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"a", "b"} {
		s := c.Session(id)
		if err := s.Load(working(20, 600)); err != nil {
			t.Fatal(err)
		}
		if r, err := s.Compact(t.Context(), ""); err != nil || !r.Compacted() {
			t.Fatal(r.Reason, err)
		}
	}
	c.Forget("a")
	if left, err := store.Sessions(t.Context()); err != nil || !slices.Equal(left, []string{"b"}) {
		t.Errorf("sessions %v, %v", left, err)
	}
}

type wrapped struct{ archive.Store }

func (w wrapped) Unwrap() archive.Store { return w.Store }
