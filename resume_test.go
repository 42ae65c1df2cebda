package tiercompact_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
)

// A round that would free too little is put off, and begins the cooldown: a
// session that is resumed in it must not try again at once.
func TestAResumedSessionIsInTheCooldownOfARoundThatWasPutOff(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.jsonl")
	cfg := tiercompact.Config{Window: 1000, Preset: tiercompact.Steady}
	file, err := archive.CreateSession(path, archive.Meta{Session: "s"})
	if err != nil {
		t.Fatal(err)
	}
	c, err := tiercompact.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	s := c.Session("s")
	if err := s.Record(file); err != nil {
		t.Fatal(err)
	}
	reason := ""
	for i := 0; i < 40 && reason != tiercompact.ByMinGain && reason != tiercompact.NothingToDo; i++ {
		role := chat.User
		if i%2 == 1 {
			role = chat.Assistant
		}
		report, err := s.AddMessage(t.Context(), chat.NewText(role, strings.Repeat("a word ", 10)))
		if err != nil {
			t.Fatal(err)
		}
		reason = report.Reason
	}
	if reason != tiercompact.ByMinGain && reason != tiercompact.NothingToDo {
		t.Fatalf("no round was put off: %q", reason)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	state, err := archive.ReadSession(path)
	if err != nil {
		t.Fatal(err)
	}
	if c, err = tiercompact.New(cfg); err != nil {
		t.Fatal(err)
	}
	resumed, err := c.Resume(t.Context(), state)
	if err != nil {
		t.Fatal(err)
	}
	report, err := resumed.AddMessage(t.Context(), chat.NewText(chat.User, "go on"))
	if err != nil || report.Reason != tiercompact.InCooldown {
		t.Errorf("reason %q, %v; want %q", report.Reason, err, tiercompact.InCooldown)
	}
}
