package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/internal/edit"
	"github.com/tiercompact/tiercompact/internal/proxy/page"
)

// A board has what the page shows of requests.
type board struct {
	changed func()
	stored  sampleStore // nil: a restart forgets them

	mu      sync.Mutex
	samples map[string][]page.Sample // by conversation, oldest first
	order   []string                 // of samples, first seen first
}

// A sampleStore is a [State] that keeps the usage of conversations as well.
type sampleStore interface {
	// AddSample stores a sample soon, and forgets the oldest of a conversation.
	AddSample(id string, sample []byte)
	// Samples returns those of a conversation, oldest first.
	Samples(id string) [][]byte
}

const (
	maxBoardSessions = 500
	maxBoardSamples  = 240 // of a conversation
)

// addSample adds what was decided for a request.
func (b *board) addSample(id string, s page.Sample) {
	b.load(id)
	b.mu.Lock()
	all := append(b.samples[id], s)
	b.samples[id] = all[max(0, len(all)-maxBoardSamples):]
	b.mu.Unlock()
	if b.stored != nil {
		if text, err := json.Marshal(s); err == nil {
			b.stored.AddSample(id, text)
		}
	}
	if b.changed != nil {
		b.changed()
	}
}

// load makes room for the samples of a conversation, with those that are stored.
func (b *board) load(id string) {
	b.mu.Lock()
	_, known := b.samples[id]
	b.mu.Unlock()
	if known {
		return
	}
	earlier := []page.Sample{}
	if b.stored != nil {
		for _, text := range b.stored.Samples(id) {
			var s page.Sample
			if json.Unmarshal(text, &s) == nil { // a damaged one is left out
				if n := len(earlier); n > 0 && maps.Equal(earlier[n-1].Thresholds, s.Thresholds) {
					s.Thresholds = earlier[n-1].Thresholds
				}
				earlier = append(earlier, s)
			}
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.samples == nil {
		b.samples = make(map[string][]page.Sample)
	}
	if _, known := b.samples[id]; known {
		return
	}
	b.samples[id] = earlier
	b.order = append(b.order, id)
	if len(b.order) > maxBoardSessions {
		delete(b.samples, b.order[0])
		b.order = b.order[1:]
	}
}

func (b *board) samplesOf(id string) []page.Sample {
	b.load(id)
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.samples[id])
}

// noteSample puts a plan on the board.
func (e *engine) noteSample(p plan, planned bool) {
	s := page.Sample{
		Time: e.cfg.Now(), Before: max(p.report.Before, p.report.Usage.Tokens), After: p.report.Usage.Tokens,
		Window: p.report.Usage.Window, Budget: p.report.Usage.Budget, Thresholds: p.model.thresholds, Planned: planned, Note: p.warning,
	}
	if p.report.Compacted() {
		s.Level = string(strongestOf(p.report))
	}
	e.board.addSample(p.session, s)
}

// conversations are the page's view of the state.
type conversations struct{ e *engine }

func (c conversations) Sessions(ctx context.Context) ([]page.Session, error) {
	tips, err := c.e.cfg.State.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the conversations: %w", err)
	}
	all := make([]page.Session, 0, len(tips))
	for i, tip := range tips {
		s := sessionOf(tip)
		if i < maxBoardSessions {
			s.Samples = c.e.board.samplesOf(tip.ID)
		}
		all = append(all, s)
	}
	return all, nil
}

func sessionOf(tip Tip) page.Session {
	return page.Session{ID: tip.ID, Parent: tip.Parent, Used: tip.Used, Messages: len(tip.Chain)}
}

func (c conversations) Session(ctx context.Context, id string) (page.Session, error) {
	tips, err := c.e.cfg.State.List(ctx)
	if err != nil {
		return page.Session{}, fmt.Errorf("list the conversations: %w", err)
	}
	for _, tip := range tips {
		if tip.ID == id {
			s := sessionOf(tip)
			s.Samples = c.e.board.samplesOf(id)
			return s, nil
		}
	}
	return page.Session{}, page.ErrUnknown
}

func (c conversations) Rounds(ctx context.Context, id string) ([]int, error) {
	rounds, _, err := c.e.storedRounds(ctx, id)
	return rounds.Steps(), err
}

// storedRounds returns the rounds of a conversation as they are stored.
func (e *engine) storedRounds(ctx context.Context, id string) (rounds tiercompact.Rounds, version uint64, err error) {
	data, version, err := e.cfg.State.Rounds(ctx, id)
	if err != nil {
		return rounds, 0, fmt.Errorf("read the conversation's rounds: %w", err)
	}
	if len(data) > 0 && json.Unmarshal(data, &rounds) != nil {
		return tiercompact.Rounds{}, version, nil // damaged: they are made anew
	}
	return rounds, version, nil
}

// Undo takes back the newest round of a conversation. The next request goes on with
// the messages that it replaced.
func (c conversations) Undo(ctx context.Context, id string, step int) error {
	release, err := c.e.cfg.State.Lease(ctx, id)
	if err != nil {
		return fmt.Errorf("wait for the conversation's requests: %w", err)
	}
	defer release()
	s, err := c.Session(ctx, id)
	if err != nil {
		return err
	}
	rounds, version, err := c.e.storedRounds(ctx, id)
	if err != nil {
		return err
	}
	if made := rounds.Steps(); len(made) == 0 || made[len(made)-1] != step {
		return page.ErrChanged
	}
	p := plan{session: id, rounds: liveRounds{rounds: rounds.Undo(s.Messages), version: version}}
	switch err := c.e.store(ctx, &p); {
	case errors.Is(err, ErrConflict):
		return page.ErrChanged
	case err != nil:
		return err
	}
	return c.e.archiveUndo(ctx, id, step)
}

// archiveUndo records in the archive that a step was undone.
func (e *engine) archiveUndo(ctx context.Context, id string, step int) error {
	if e.cfg.Archive == nil {
		return nil
	}
	undone, err := e.cfg.Archive.Get(ctx, id, step)
	if errors.Is(err, archive.ErrNotFound) {
		return nil
	}
	if err == nil {
		before, _ := edit.Replay(undone.Before, []edit.Round{undone.Edits})
		for tries := 0; tries <= maxConflicts; tries++ { // another proxy may take the number
			var infos []archive.StepInfo
			if infos, err = e.cfg.Archive.Steps(ctx, id); err != nil {
				break
			}
			err = e.cfg.Archive.Put(ctx, archive.Step{Session: id, Number: archive.Next(infos), Before: before, Reason: "undo", Undoes: step, Time: e.cfg.Now()})
			if !errors.Is(err, archive.ErrExists) {
				break
			}
		}
	}
	if err != nil {
		return fmt.Errorf("the compaction is undone, but the archive does not record it: %w", err)
	}
	return nil
}
