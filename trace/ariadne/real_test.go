package ariadne_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/ariadnetest"
	"github.com/tiercompact/tiercompact/trace"
	"github.com/tiercompact/tiercompact/trace/ariadne"
	"github.com/tiercompact/tiercompact/wire"
)

func TestEventsOfTranscriptsAreAllTaken(t *testing.T) {
	names, _ := filepath.Glob("../../../shared/transcripts/*/*")
	if len(names) == 0 {
		t.Skip("the corpus ../shared/transcripts is not here")
	}
	taken := make(map[string]int) // by folder: of each kind some
	for i, name := range names {
		if taken[filepath.Dir(name)] == 2 {
			continue
		}
		data, err := os.ReadFile(name)
		if err != nil {
			continue // a folder
		}
		c, err := wire.DecodeBytes(data, wire.Options{Name: name, Chat: 1})
		if err != nil || len(c.Messages) < 20 {
			continue
		}
		taken[filepath.Dir(name)]++
		preset := []tiercompact.Preset{tiercompact.Default, tiercompact.Eager, tiercompact.Steady}[i%3]
		run(t, filepath.Base(name), func(t *testing.T) { replay(t, preset, c.Messages[:min(len(c.Messages), 200)]) })
	}
}

func replay(t *testing.T, preset tiercompact.Preset, messages []chat.Message) {
	server := ariadnetest.New()
	log := new(lines)
	sink, err := ariadne.New(ariadne.Config{URL: "http://x", Client: server.Client(), Stderr: log, Size: 1 << 16})
	if err != nil {
		t.Fatal(err)
	}
	sent := 0
	c, err := tiercompact.New(tiercompact.Config{Window: 8000, Preset: preset, Trace: func(e trace.Event) {
		sent++
		sink.Emit(e)
	}})
	if err != nil {
		t.Fatal(err)
	}
	s := c.Session(t.Name())
	for _, m := range messages {
		if _, err := s.AddMessage(t.Context(), m); err != nil && !errors.Is(err, tiercompact.ErrInsufficientBudget) {
			t.Fatal(err)
		}
	}
	if err := sink.Close(t.Context()); err != nil || log.String() != "" || sink.Lost() > 0 || len(server.Spans()) != sent {
		t.Errorf("%d of %d events, %v, %s", len(server.Spans()), sent, err, log)
	}
	for _, fault := range server.Faults() {
		t.Error(fault)
	}
}
