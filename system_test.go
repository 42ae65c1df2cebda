package tiercompact_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
)

func TestSetSystemReplacesThePromptAndItsCount(t *testing.T) {
	c, err := tiercompact.New(tiercompact.Config{Window: 4096})
	if err != nil {
		t.Fatal(err)
	}
	s := c.Session("one")
	if err := s.SetSystem("x"); !errors.Is(err, tiercompact.ErrNotFound) {
		t.Errorf("an empty conversation: %v", err)
	}
	path := filepath.Join(t.TempDir(), "one.jsonl")
	file, err := archive.CreateSession(path, archive.Meta{Session: "one"})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Record(file), s.Load([]chat.Message{chat.NewText(chat.System, "be brief"), chat.NewText(chat.User, "hello")})); err != nil {
		t.Fatal(err)
	}
	before := s.Usage()
	if err := s.SetSystem("you are a pirate, and you say so in each answer\xff"); err != nil {
		t.Fatal(err)
	}
	if u := s.Usage(); u.System <= before.System || u.Tokens-before.Tokens != u.System-before.System {
		t.Errorf("usage %+v, before it was %+v", u, before)
	}
	m := s.Messages()
	if got := m[0].Text(); got != "you are a pirate, and you say so in each answer\uFFFD" || m[1].Text() != "hello" || len(m) != 2 {
		t.Errorf("the messages are %v", m)
	}
	if err := errors.Join(s.Close(), file.Close()); err != nil {
		t.Fatal(err)
	}
	if err := s.SetSystem("x"); !errors.Is(err, tiercompact.ErrClosed) {
		t.Errorf("a closed session: %v", err)
	}
	state, err := archive.ReadSession(path)
	if err != nil || state.Messages[0].Text() != m[0].Text() {
		t.Errorf("on disk is %v, %v", state.Messages, err)
	}
}
