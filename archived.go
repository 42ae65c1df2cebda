package tiercompact

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/edit"
	"github.com/tiercompact/tiercompact/levels"
	"github.com/tiercompact/tiercompact/memory"
)

// archive puts the round into the archive, before anything changes.
func (s *Session) archive(ctx context.Context, r *round, report *Report) (int, error) {
	s.mu.Lock()
	next := s.steps + 1
	s.mu.Unlock()
	r.gone = r.entries()
	a := archive.Step{
		Session: s.id, Number: next, Before: r.before.messages, Removed: r.gone,
		Edits: r.edits(), Reason: r.reason(report), Level: r.strongest(), Note: r.note, Time: s.cfg.Now(), Written: s.cfg.written(r.t.messages),
	}
	for _, st := range r.steps {
		if st.summary != nil {
			a.Summary = json.RawMessage(st.summary.Payload)
		}
	}
	return s.put(ctx, a)
}

// put archives a step. One that could not be written is kept, to ask the
// archive by it before another round is planned.
func (s *Session) put(ctx context.Context, a archive.Step) (int, error) {
	number, err := put(ctx, s.cfg.Archive, a)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.unkept = &a
		return 0, fmt.Errorf("archive round %d: %w", number, err)
	}
	s.unkept = nil
	s.steps = number // taken, whatever follows
	return number, nil
}

// archiveAgain puts the step that could not be archived, if there is one. The
// round itself is not made: it was planned for an earlier conversation, and an
// archive may hold steps of which nothing came.
func (s *Session) archiveAgain(ctx context.Context) error {
	s.mu.Lock()
	a := s.unkept
	if a != nil {
		a.Number = max(a.Number, s.steps+1)
	}
	s.mu.Unlock()
	if a == nil {
		return nil
	}
	_, err := s.put(ctx, *a)
	return err
}

// written returns what the file is known by that left is written to.
func (cfg *settings) written(left chat.Transcript) []archive.Written {
	if cfg.ReadBack == nil || !cfg.outside {
		return nil
	}
	var clean []archive.Reading
	if cfg.known != nil {
		if t, changed := archive.Clean(left, cfg.known.String); changed {
			clean = cfg.ReadBack(t)
		}
	}
	return archive.NewWritten(cfg.ReadBack(left), clean)
}

// reason returns why nothing was done, or else why the round is made. r is nil
// where none was planned.
func (r *round) reason(report *Report) string {
	if report.Reason != "" || r == nil {
		return report.Reason
	}
	return r.cause
}

// strongest returns the last level of the round; fit, which only trims what the
// others left, only where it was alone.
func (r *round) strongest() string {
	for _, st := range slices.Backward(r.steps) {
		if st.level != levels.FitName {
			return string(st.level)
		}
	}
	return string(levels.FitName)
}

// edits returns the round as it can be made again on a history that is sent
// anew.
func (r *round) edits() edit.Round {
	if r.sum == "" {
		r.sum = edit.Sum(r.before.messages)
	}
	out := edit.Round{Seen: len(r.before.messages), Sum: r.sum}
	for _, st := range r.steps {
		out.Steps = append(out.Steps, st.edits)
	}
	return out
}

// removed returns what each recall id of the round stands for, without what is
// put below it by [link].
func (r *round) removed() []archive.Entry {
	var out []archive.Entry
	at := make(map[string]int)
	for _, st := range r.steps {
		for _, e := range st.edits {
			gone := replaced(st.before.messages[e.Start:e.End], e.New)
			id := recallID(e)
			if len(gone) == 0 || id == "" {
				continue // what was put in alone stands for nothing, or for what another edit drops
			}
			k, seen := at[id]
			if !seen {
				k, at[id] = len(out), len(out)
				out = append(out, archive.Entry{ID: id})
			}
			for _, m := range gone {
				out[k].Messages = append(out[k].Messages, m)
				for _, below := range append([]string{m.Recall}, memory.RecallIDs(m)...) {
					if below != "" && below != id && !slices.Contains(out[k].Below, below) {
						out[k].Below = append(out[k].Below, below)
					}
				}
			}
		}
	}
	return out
}

func recallID(e edit.Edit) string {
	if e.Recall != "" {
		return e.Recall
	}
	for _, m := range e.New {
		if m.Recall != "" {
			return m.Recall
		}
	}
	return ""
}

// replaced returns the messages of run that do not stand unchanged in put.
func replaced(run, put []chat.Message) []chat.Message {
	stays := make(map[string]chat.Message, len(put))
	for _, m := range put {
		stays[m.ID] = m
	}
	var out []chat.Message
	for _, m := range run {
		if p, ok := stays[m.ID]; !ok || !edit.Same(m, p) {
			out = append(out, m)
		}
	}
	return out
}
