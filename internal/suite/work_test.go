package suite

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/levels"
)

// No round loses what the record of the work has, and a resumed session goes on with
// it.
func TestTheRecordOfTheWorkOutlivesRounds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.jsonl")
	file, err := archive.CreateSession(path, archive.Meta{Session: "s"})
	if err != nil {
		t.Fatal(err)
	}
	open := func() *tiercompact.Compactor {
		c, err := tiercompact.New(tiercompact.Config{Window: 4000, Count: quarter})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	s := open().Session("s")
	if err := s.Record(file); err != nil {
		t.Fatal(err)
	}
	say := func(role chat.Role, text string) {
		if err := s.Load([]chat.Message{chat.NewText(role, text)}); err != nil {
			t.Fatal(err)
		}
	}
	round := func(n int) {
		for i := range 12 {
			say(chat.User, fmt.Sprintf("Request %d of round %d: write the part called part%d_%d of the exporter, as before.", i, n, n, i))
			say(chat.Assistant, fmt.Sprintf("The part%d_%d is written. ", n, i)+strings.Repeat("It is like the one before it. ", 12))
		}
		if _, err := s.CompactLevel(t.Context(), levels.Emergency); err != nil {
			t.Fatal(err)
		}
	}
	say(chat.User, "Build the exporter.")
	say(chat.Assistant, "I begin.")
	say(chat.User, "The queue is called orders-eu, its port is 7431. Use bcrypt with cost 12 because of SEC-411.")
	say(chat.Assistant, "It is noted.")
	for n := range 4 {
		round(n)
	}
	check := func(when string, parts int) {
		state, err := archive.ReadSession(path)
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"cost 12 because of SEC-411", "port is 7431"}
		for n := range parts {
			want = append(want, fmt.Sprintf("part%d_3 of the exporter", n))
		}
		for _, w := range want {
			if !strings.Contains(state.Work.Text, w) {
				t.Errorf("%s: %q is lost:\n%s", when, w, state.Work.Text)
			}
		}
	}
	check("after four rounds", 4)
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	file, state, err := archive.OpenSession(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if s, err = open().Resume(t.Context(), state); err != nil {
		t.Fatal(err)
	}
	if err := s.Record(file); err != nil {
		t.Fatal(err)
	}
	round(4)
	check("after another process", 5)
}

// A message may be recorded before another one shows that it holds a secret.
func TestTheRecordHasNoSecretThatIsLearntLater(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.jsonl")
	file, err := archive.CreateSession(path, archive.Meta{Session: "s"})
	if err != nil {
		t.Fatal(err)
	}
	c, err := tiercompact.New(tiercompact.Config{Window: 4000, Count: quarter})
	if err != nil {
		t.Fatal(err)
	}
	s := c.Session("s")
	if err := s.Record(file); err != nil {
		t.Fatal(err)
	}
	const secret = "vX7-kQ2#mZ9-tR4!pL8w"
	texts := []string{"Build the exporter.", "I begin.", "Try " + secret + " for the login.", "It works.", "password: " + secret, "It is noted."}
	for range 8 {
		texts = append(texts, "Go on.", "It is done.")
	}
	for i, text := range texts {
		role := chat.User
		if i%2 == 1 {
			role = chat.Assistant
		}
		if err := s.Load([]chat.Message{chat.NewText(role, text+strings.Repeat(" And so on.", 40))}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.CompactLevel(t.Context(), levels.Emergency); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	state, err := archive.ReadSession(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(state.Work.Text, "for the login") || strings.Contains(state.Work.Text, secret) {
		t.Errorf("recorded:\n%s", state.Work.Text)
	}
}
