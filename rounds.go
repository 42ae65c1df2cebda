package tiercompact

import (
	"context"
	"fmt"
	"slices"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/edit"
	"github.com/tiercompact/tiercompact/internal/guard"
)

// keptRounds is how many rounds can be taken back without the archive.
const keptRounds = 4

// done is a round that was made and can be undone. It holds what the round took
// out, or once it is let go only what of that the archive has redacted.
type done struct {
	step     int
	after    int     // messages it left
	from     []int32 // for each message before it its place in what it left, or -1-i for out[i]; nil once it is let go
	out      []taken
	alone    bool            // the archive does not have its step
	made     bool            // by this process
	recorded bool            // the recorder knows the round, and can take it back
	removed  []archive.Entry // as they were, where the archive has them redacted
}

// taken is a message that a round took out.
type taken struct {
	at      int // place before the round; -1 for what the round itself had written
	message chat.Message
}

// newDone returns the round that left after of before. removed is what its recall
// ids stand for.
func (cfg *settings) newDone(step int, before, after chat.Transcript, removed []archive.Entry) done {
	d := done{step: step, after: len(after), from: make([]int32, len(before)), recorded: true}
	if cfg.redacts() {
		d.removed = removed
	}
	places := make(map[string]int, len(after))
	for i, m := range after {
		places[m.ID] = i
	}
	for i, m := range before {
		if k, stands := places[m.ID]; stands && same(after[k], m) {
			d.from[i] = int32(k)
			continue
		}
		d.out = append(d.out, taken{i, m})
		d.from[i] = int32(-len(d.out))
	}
	return d
}

// same reports whether a and b are one message in all but its protection, which
// may have come since.
func same(a, b chat.Message) bool {
	return edit.Same(a, b) && a.Recall == b.Recall && a.Machine == b.Machine && a.Changed == b.Changed && a.Source == b.Source && a.Index == b.Index
}

// redacts reports whether the archive holds texts other than they were.
func (cfg *settings) redacts() bool { return cfg.outside && cfg.known != nil }

// takeBack returns the conversation before a round, of which now is what it left.
// A round that was let go comes from the archive.
func (cfg *settings) takeBack(ctx context.Context, session string, d *done, now chat.Transcript) (before chat.Transcript, err error) {
	if d.from != nil {
		before = make(chat.Transcript, len(d.from))
		for i, k := range d.from {
			if k >= 0 {
				before[i] = now[k]
			} else {
				before[i] = d.out[-1-k].message
			}
		}
		return edit.KeepProtection(before, now), nil
	}
	step, err := cfg.Archive.Get(ctx, session, d.step)
	if err != nil {
		return nil, fmt.Errorf("take back round %d, which only the archive has: %w", d.step, err)
	}
	before, _, err = archive.TakeBack(step, now)
	if err != nil {
		return nil, fmt.Errorf("take back round %d, which only the archive has: %w", d.step, err)
	}
	before = slices.Clone(before)
	for _, t := range d.out {
		if t.at >= 0 && t.at < len(before) {
			before[t.at] = t.message
		}
	}
	return edit.KeepProtection(before, now), nil
}

// letGoOldRounds leaves to the archive what rounds took out that are older than
// the newest ones, but for the secrets in it. Its caller has made the session
// busy, or alone has it.
func (s *Session) letGoOldRounds() {
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

// secrets returns what the round took out that the archive has other than it was.
func (d *done) secrets(cfg *settings) (secret []taken) {
	if !cfg.redacts() {
		return nil
	}
	told := make(map[string]bool)
	add := func(at int, m chat.Message) {
		changes := true // where the redactor fails, all may be secret
		cfg.faults.Add(guard.Recovered(func() error {
			_, changes = archive.Clean(chat.Transcript{m}, cfg.redact)
			return nil
		}))
		if changes {
			secret = append(secret, taken{at, m})
		}
		told[m.ID+"\x00"+string(m.State)] = true
	}
	for _, t := range d.out {
		add(t.at, t.message)
	}
	for _, e := range d.removed {
		for _, m := range e.Messages {
			if !told[m.ID+"\x00"+string(m.State)] {
				add(-1, m)
			}
		}
	}
	return secret
}

// withSecrets returns messages of the archive as they were, where standing rounds
// of this process took them out.
func (s *Session) withSecrets(messages []chat.Message) []chat.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.cfg.redacts() {
		return messages
	}
	messages = slices.Clone(messages)
	for _, r := range s.rounds {
		if !r.made {
			continue
		}
		for _, t := range r.out {
			for i, m := range messages {
				if m.ID == t.message.ID && m.State == t.message.State {
					messages[i] = t.message
				}
			}
		}
	}
	return messages
}

// firstRoundAfter returns the index of the first of rounds that was made after the
// message of an id was added: it may have taken the message out, and later ones
// have not met it. now is the conversation. Where there is none, it returns the
// number of rounds.
func (cfg *settings) firstRoundAfter(ctx context.Context, session string, rounds []done, now chat.Transcript, id string) (int, error) {
	first := len(rounds)
	for i := len(rounds) - 1; i >= 0; i-- {
		before, err := cfg.takeBack(ctx, session, &rounds[i], now[:rounds[i].after])
		if err != nil {
			return 0, err
		}
		switch {
		case messageIndex(before, id) >= 0:
			first = i
		case first < len(rounds) || messageIndex(now, id) >= 0:
			return first, nil // it was added since
		}
		now = slices.Concat(before, now[rounds[i].after:])
	}
	return first, nil
}
