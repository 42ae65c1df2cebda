package tiercompact

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/edit"
	"github.com/tiercompact/tiercompact/internal/guard"
	"github.com/tiercompact/tiercompact/levels"
)

// commit archives, records and swaps in a planned round. A level that would free too
// little is put off instead.
func (s *Session) commit(ctx context.Context, o *outcome) {
	r := o.round
	if o.err == nil {
		o.skip = r.skipReason(o.forced)
	}
	if o.dryRun {
		return
	}
	if o.skip != "" {
		s.deferLevel(o.picked, o.skip, &r.before)
	} else if o.err == nil {
		if o.number, o.err = s.archiveRound(ctx, r); o.err != nil {
			o.failed = "archive"
		} else if o.err = s.swapIn(o); o.err != nil {
			o.failed = "record"
		} else {
			s.forgetOldRounds()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.models = r.models
}

// skipReason returns why the round is not worth making, "" if it is.
func (r *round) skipReason(forced bool) string {
	switch {
	case len(r.steps) == 0 && r.little:
		return ByMinGain
	case len(r.steps) == 0:
		return NothingToDo
	case !forced && r.belowMinGain(r.before.totalTokens()-r.t.totalTokens()):
		return ByMinGain
	}
	return ""
}

// deferLevel puts off the level of a round that changed nothing. No cooldown starts:
// only a compaction starts one, and a stronger level does not wait.
func (s *Session) deferLevel(level levels.Name, reason string, planned *conversation) {
	if level == levels.LayerName {
		return // it is never due without a request
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wait[level] = waitingSince(planned, reason)
	none := archive.Round{Level: string(level), Reason: reason, Edits: edit.Round{Seen: len(planned.messages)}, Time: s.cfg.Now()}
	_ = s.recordDone(func(f Recorder) error { return f.Round(none) }) // if it fails, it is written before the next record
}

// archiveRound puts the round into the archive, before the conversation changes.
func (s *Session) archiveRound(ctx context.Context, r *round) (int, error) {
	s.mu.Lock()
	next := s.steps + 1
	s.mu.Unlock()
	var written []archive.Written
	err := guard.Recovered(func() error { written = s.cfg.writtenForms(r.t.messages); return nil })
	if err != nil {
		return 0, fmt.Errorf("archive round %d: %w", next, err)
	}
	a := archive.Step{
		Session: s.id, Number: next, Before: r.before.messages, Removed: r.removed,
		Edits: r.roundEdits(), Reason: r.cause, Level: r.strongestLevel(), Note: r.note, Time: s.cfg.Now(), Written: written,
	}
	for _, st := range r.steps {
		if st.summary != nil {
			a.Summary = json.RawMessage(st.summary.Payload)
		}
	}
	return s.putStep(ctx, r, a)
}

// writtenForms returns the forms in which the caller's file holds the result, nil if
// ReadBack fails.
func (cfg *settings) writtenForms(left chat.Transcript) []archive.Written {
	if cfg.ReadBack == nil || !cfg.outside {
		return nil
	}
	failed := false
	read := func(t chat.Transcript) []archive.Reading {
		readings, err := guard.Do(cfg.guards.readBack, func() []archive.Reading { return cfg.ReadBack(guard.Copied(t)) })
		cfg.faults.Add(err)
		failed = failed || err != nil
		return readings
	}
	var clean []archive.Reading
	if cfg.known != nil {
		if t, changed := archive.Clean(left, cfg.redact); changed {
			clean = read(t)
		}
	}
	readings := read(left)
	if failed {
		return nil
	}
	return archive.NewWritten(readings, clean)
}

// putStep archives a step. It keeps a step that could not be written, and tries it
// again before a model is called for another round.
func (s *Session) putStep(ctx context.Context, r *round, a archive.Step) (int, error) {
	number, err := archiveStep(ctx, s.cfg.Archive, s.cfg.Deadlines.Archive, a)
	s.mu.Lock()
	defer s.mu.Unlock()
	if broken, ok := errors.AsType[*CallbackError](err); !ok || broken.Callback == s.cfg.guards.archive.Name {
		r.models.archive = r.models.archive.AfterCall(err != nil, r.added)
	} // or else Redact failed before the archive was called
	if err != nil {
		err = fmt.Errorf("archive round %d: %w", number, err)
		s.failedStep = &failedStep{step: a, err: err}
		return 0, err
	}
	s.failedStep = nil
	s.steps = number // the number is used, whatever follows
	return number, nil
}

// A failedStep is a step that could not be archived, and the error.
type failedStep struct {
	step archive.Step
	err  error
}

// putPending archives the pending step, if there is one and the archive is not
// skipped. If it returns an error, no round may be made now. The step's own round is
// not made: it was planned for an earlier conversation, and an archive may hold steps
// without effect.
//
// It may be impossible to write a step at all. So if it fails again after the
// conversation has changed, the round goes on without a model, and its step replaces
// the pending one.
func (s *Session) putPending(ctx context.Context, r *round) error {
	s.mu.Lock()
	u := s.failedStep
	if u == nil {
		s.mu.Unlock()
		return nil
	}
	a := u.step
	a.Number = max(a.Number, s.steps+1)
	s.mu.Unlock()
	if left := r.models.archive.MessagesLeft(r.added); left > 0 && r.cause != byHand {
		return fmt.Errorf("%w: the archive is tried again after %d more messages", u.err, left)
	}
	before := r.models.archive
	_, err := s.putStep(ctx, r, a)
	if err == nil {
		return nil
	}
	late, ok := errors.AsType[*CallbackError](err)
	if ok && late.Late() || ctx.Err() != nil || edit.Sum(a.Before) == r.sumBefore() {
		return err
	}
	r.models.archive = before // the archive is called once more, and fails once
	r.unsure = "the archive failed: it is asked before a model is"
	return nil
}

// archiveStep archives a under its number, or the next one if the archive already has
// that number: from an earlier process, or from a write that failed late. One
// deadline covers all attempts.
func archiveStep(ctx context.Context, store archive.Store, within time.Duration, a archive.Step) (number int, err error) {
	if within > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, within)
		defer stop()
	}
	const tries = 100 // each means that another process took the number
	for range tries {
		err = guard.Recovered(func() error { return store.Put(ctx, a) }) // a redactor in front of it may panic
		if !errors.Is(err, archive.ErrExists) {
			break
		}
		infos, listErr := store.Steps(ctx, a.Session)
		if listErr != nil {
			return a.Number, errors.Join(err, listErr)
		}
		a.Number = max(a.Number+1, archive.Next(infos))
	}
	return a.Number, err
}

// swapIn replaces the messages for which the round was planned with its result. The
// messages that arrived meanwhile follow.
func (s *Session) swapIn(o *outcome) error {
	r, number := o.round, o.number
	s.mu.Lock()
	defer s.mu.Unlock()
	made := archive.Round{Number: number, Level: r.strongestLevel(), Edits: r.roundEdits(), Time: s.cfg.Now()}
	if s.recorder != nil {
		made.Work = archive.Work{Text: s.cfg.withoutLearnt(r.work.Text()), Added: r.recorded}
	}
	n := len(r.before.messages)
	arrived := len(s.t.messages) - n
	next := r.t.withLaterMessages(&s.t, n)
	d := s.cfg.newUndoableRound(number, r.before.messages, r.t.messages, r.removed)
	if err := s.writeRecord(func(f Recorder) error { return f.Round(made) }); err != nil {
		return err
	}
	s.t, s.unlisted = next, r.unlisted
	for _, e := range r.removed {
		s.t.recalls.Add(e.ID)
	}
	s.gate = s.cfg.gate.Start(arrived)
	s.cal, s.anchor = s.cal.WithoutAnchor(), 0
	s.summary = r.summaryNumber - 1
	d.made = true
	s.rounds = append(s.rounds, d)
	clear(s.wait)
	o.after = s.currentUsage()
	return nil
}

// withoutLearnt returns text without the secrets that the session has learnt: a message
// may have been recorded before another one showed that it holds one.
func (cfg *settings) withoutLearnt(text string) string {
	if cfg.known == nil {
		return text
	}
	return cfg.known.Remembered(text)
}

// withLaterMessages returns c followed by the messages of since after the first n.
func (c conversation) withLaterMessages(since *conversation, n int) conversation {
	c.ids, c.recalls = since.ids, since.recalls
	c.reserveIDs(c.messages) // messages that a round inserted count too
	for i := n; i < len(since.messages); i++ {
		c.matchResult(since.messages[i])
		c.appendEntry(measuredMessage{since.messages[i], since.sizes[i], since.terms[i]}, since.facts[i])
	}
	c.added, c.tools = since.added, since.tools
	return c
}

// sumBefore is a hash of the conversation before the round.
func (r *round) sumBefore() string {
	if r.sum == "" {
		r.sum = edit.Sum(r.before.messages)
	}
	return r.sum
}

// strongestLevel returns the last level of the round. Fit only trims the result of the
// others, so it counts only if it is the only one.
func (r *round) strongestLevel() string {
	for _, st := range slices.Backward(r.steps) {
		if st.level != levels.FitName {
			return string(st.level)
		}
	}
	return string(levels.FitName)
}

// roundEdits returns the round in a form that can be replayed on a resent history.
func (r *round) roundEdits() edit.Round {
	out := edit.Round{Seen: len(r.before.messages), Sum: r.sumBefore()}
	for _, st := range r.steps {
		out.Steps = append(out.Steps, st.edits)
	}
	return out
}

// An undoableRound is a round that can be undone. It holds the removed messages; after forgetOldRounds, only
// those that the archive has redacted.
type undoableRound struct {
	step     int
	after    int     // number of messages it left
	from     []int32 // for each message before it its index in the result, or -1-i for out[i]; nil after forgetOldRounds
	out      []removedMessage
	alone    bool            // the archive does not have its step
	made     bool            // in this process
	recorded bool            // the recorder knows the round, and can revert it
	removed  []archive.Entry // in their original form, if the archive has them redacted
}

// A removedMessage is a message that a round removed.
type removedMessage struct {
	at      int // index before the round; -1 if the round wrote it
	message chat.Message
}

// newUndoableRound returns the round that turned before into after. removed has the messages of
// its recall ids.
func (cfg *settings) newUndoableRound(step int, before, after chat.Transcript, removed []archive.Entry) undoableRound {
	d := undoableRound{step: step, after: len(after), from: make([]int32, len(before)), recorded: true}
	if cfg.redacts() {
		d.removed = removed
	}
	places := make(map[string]int, len(after))
	for i, m := range after {
		places[m.ID] = i
	}
	for i, m := range before {
		if k, stands := places[m.ID]; stands && sameMessage(after[k], m) {
			d.from[i] = int32(k)
			continue
		}
		d.out = append(d.out, removedMessage{i, m})
		d.from[i] = int32(-len(d.out))
	}
	return d
}

// sameMessage reports whether a and b are the same message apart from protection, which may be
// added later.
func sameMessage(a, b chat.Message) bool {
	return edit.Same(a, b) && a.Recall == b.Recall && a.Machine == b.Machine && a.Changed == b.Changed && a.Source == b.Source && a.Index == b.Index
}

// redacts reports whether the archive has changed texts.
func (cfg *settings) redacts() bool { return cfg.outside && cfg.known != nil }

// forgetOldRounds frees the removed messages of all but the newest rounds, except those
// with secrets: the archive has the others. Its caller has made the session busy, or
// has exclusive access.
func (s *Session) forgetOldRounds() {
	s.mu.Lock()
	old := slices.Clone(s.rounds[:max(0, len(s.rounds)-keptRounds)])
	s.mu.Unlock()
	for i := len(old) - 1; i >= 0 && (old[i].from != nil || old[i].alone); i-- {
		if old[i].alone {
			continue
		}
		secret := old[i].secrets(&s.cfg)
		s.mu.Lock()
		s.rounds[i].out, s.rounds[i].from, s.rounds[i].removed = secret, nil, nil
		s.mu.Unlock()
	}
}

// secrets returns the removed messages that the archive has in another form.
func (d *undoableRound) secrets(cfg *settings) (secret []removedMessage) {
	if !cfg.redacts() {
		return nil
	}
	seen := make(map[string]bool)
	add := func(at int, m chat.Message) {
		changes := true // if the redactor fails, all text may be secret
		cfg.faults.Add(guard.Recovered(func() error {
			_, changes = archive.Clean(chat.Transcript{m}, cfg.redact)
			return nil
		}))
		if changes {
			secret = append(secret, removedMessage{at, m})
		}
		seen[m.ID+"\x00"+string(m.State)] = true
	}
	for _, t := range d.out {
		add(t.at, t.message)
	}
	for _, e := range d.removed {
		for _, m := range e.Messages {
			if !seen[m.ID+"\x00"+string(m.State)] {
				add(-1, m)
			}
		}
	}
	return secret
}
