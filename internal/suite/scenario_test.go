package suite

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	tiercompact "github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/levels"
	"github.com/tiercompact/tiercompact/trace"
)

// The scenario_*_test.go files have one test for each rule of the contract that has no example
// in contract_test.go. They count tokens in the same way, and use only the public API.

// as returns m under an id.
func as(id string, m chat.Message) chat.Message {
	m.ID = id
	return m
}

// guarded returns m protected by its mark, as meta.protected makes it.
func guarded(m chat.Message) chat.Message {
	m.Protected = true
	return m
}

// source returns about n tokens of Go whose names no other file has.
func source(name string, n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "package %s\n", name)
	for k := 0; b.Len() < 4*n; k++ {
		fmt.Fprintf(&b, "\n// load%s%d loads.\nfunc load%s%d(id int) error {\n\treturn keep%s(%d, id)\n}\n", name, k, name, k, name, k)
	}
	return b.String()
}

// reads returns a call that reads name.go, and its result of about n tokens.
func reads(name string, n int) chat.Transcript {
	call := chat.Message{ID: name + "-call", Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Call, ID: name, Name: "read", Args: fmt.Sprintf(`{"path":%q}`, name+".go")}}}
	return chat.Transcript{call, as(name, chat.NewResult(name, source(name, n)))}
}

// turns returns n exchanges of a user and the assistant, of size tokens each
// message: u0, a0, u1 and so on, the ids with a prefix.
func turns(prefix string, n, size int) (out chat.Transcript) {
	for i := range n {
		out = append(out, as(fmt.Sprintf("%su%d", prefix, i), said(chat.User, size, 200+2*i)), as(fmt.Sprintf("%sa%d", prefix, i), said(chat.Assistant, size, 201+2*i)))
	}
	return out
}

// loaded returns a session that holds messages, without a check.
func loaded(t *testing.T, cfg tiercompact.Config, messages ...chat.Message) *tiercompact.Session {
	t.Helper()
	s := start(t, cfg)
	if err := s.Load(messages); err != nil {
		t.Fatal(err)
	}
	return s
}

// byID returns the message with an id in s; ok is false if there is none.
func byID(s *tiercompact.Session, id string) (m chat.Message, ok bool) {
	for _, m := range s.Messages() {
		if m.ID == id {
			return m, true
		}
	}
	return m, false
}

// summaries returns the session summaries of t.
func summaries(t chat.Transcript) (out []chat.Message) {
	for _, m := range t {
		if m.IsSummary() {
			out = append(out, m)
		}
	}
	return out
}

// compactTo runs a level at once.
func compactTo(t *testing.T, s *tiercompact.Session, level levels.Name) tiercompact.Report {
	t.Helper()
	r, err := s.CompactLevel(t.Context(), level)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// hearing records the events of cfg, and returns the record.
func hearing(cfg *tiercompact.Config) *[]trace.Event {
	heard := new([]trace.Event)
	cfg.Trace = func(e trace.Event) { *heard = append(*heard, e) }
	return heard
}

// eventsOf returns the payloads of one kind.
func eventsOf[P trace.Payload](heard []trace.Event) (out []P) {
	for _, e := range heard {
		if p, is := e.Data.(P); is {
			out = append(out, p)
		}
	}
	return out
}

// steps returns how many rounds the archive holds of session x.
func steps(t *testing.T, store archive.Store) int {
	t.Helper()
	infos, err := store.Steps(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	return len(infos)
}

// held reports whether every message of want is in got unchanged, in order.
func held(want, got chat.Transcript) error {
	at := 0
	for _, m := range want {
		i := slices.IndexFunc(got[at:], func(g chat.Message) bool { return g.ID == m.ID })
		if i < 0 {
			return fmt.Errorf("message %s is gone or out of order", m.ID)
		}
		if at += i; !unchanged(m, got[at]) || m.State != got[at].State {
			return fmt.Errorf("message %s is not what it was", m.ID)
		}
	}
	return nil
}

// sameIDs reports the first difference between the ids of t and want.
func sameIDs(t chat.Transcript, want string) error {
	if got := strings.Join(ids(t), " "); got != want {
		return fmt.Errorf("left are\n%s\nwant\n%s", got, want)
	}
	return nil
}

func always() bool { return true }
