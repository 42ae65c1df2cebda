package tiercompact

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/edit"
	"github.com/tiercompact/tiercompact/internal/protection"
	"github.com/tiercompact/tiercompact/levels"
)

// makeReachable makes the removed messages of the round reachable from the remaining
// conversation, and lists them by recall id.
func (r *round) makeReachable() error {
	if err := r.showID(); err != nil {
		return err
	}
	r.removed = r.entries()
	return nil
}

// showID makes the conversation show a recall id of the round, if it shows none.
func (r *round) showID() error {
	hidden, shown := r.unshown(r.removedEntries())
	if len(hidden) == 0 || len(shown) > 0 {
		return nil
	}
	if room := r.localLimit() - mostShown; r.fitsBudget() && r.t.totalTokens() > room {
		if err := r.fitWithin(room); err != nil { // this may show an id
			return err
		}
		if hidden, shown = r.unshown(r.removedEntries()); len(shown) > 0 {
			return nil
		}
	}
	return r.show(hidden)
}

// mostShown is the approximate maximum number of tokens of a shown id.
const mostShown = 60

// show adds the first of entries whose ids are not shown to the conversation;
// [round.entries] lists the others below it. If the conversation would not fit the
// budget with it, or has no spoken messages yet, a later round lists them. A round
// that frees fewer tokens than the id takes is not made.
func (r *round) show(hidden []archive.Entry) error {
	count := 0
	for _, e := range hidden {
		count += len(e.Messages)
	}
	last := r.steps[len(r.steps)-1]
	mask := allProtections
	if last.level == levels.FitName {
		mask = protection.Protected
	}
	if !slices.ContainsFunc(r.t.messages, edit.Speaks) {
		mask &^= protection.Unread | protection.Open // no marker fits here: the next speaker is unknown
	}
	from := max(0, edit.FirstChanged(r.before.messages, r.t.messages))
	s := levelStep{level: last.level, grows: true, began: r.cfg.Now()}
	s.edits = levels.Show(r.view, from, mask, count, hidden[0].ID)
	t, fits, made := r.t, r.fitsBudget(), len(r.steps)
	if err := r.applyStep(s, mask); err != nil {
		return err
	}
	switch {
	case r.t.totalTokens() >= r.before.totalTokens():
		r.steps = nil
		r.setConversation(r.before)
	case fits && !r.fitsBudget():
		r.steps = r.steps[:made]
		r.setConversation(t)
	}
	return nil
}

// entries returns the removed messages of each recall id of the round. Those of an id
// that the conversation does not show are listed below the nearest shown id.
func (r *round) entries() []archive.Entry {
	entries := r.removedEntries()
	hidden, shown := r.unshown(entries)
	if len(shown) == 0 {
		for _, h := range hidden {
			r.unlisted = append(r.unlisted, h.ID)
		}
		return entries
	}
	first := &entries[shown[0]]
	first.Below, r.unlisted = append(first.Below, r.unlisted...), nil
	at := make(map[string]int, len(r.before.messages))
	for i, m := range r.before.messages {
		at[m.ID] = i
	}
	place := func(e archive.Entry) int {
		for _, m := range e.Messages {
			if i, stood := at[m.ID]; stood {
				return i
			}
		}
		return len(at)
	}
	for _, h := range hidden {
		nearest := shown[0]
		for _, s := range shown {
			if distance(place(entries[s]), place(h)) < distance(place(entries[nearest]), place(h)) {
				nearest = s
			}
		}
		entries[nearest].Below = append(entries[nearest].Below, h.ID)
	}
	return entries
}

func distance(a, b int) int { return max(a-b, b-a) }

// unshown returns the entries that are unreachable from the conversation, without those
// that are listed below another of them, and the indices of the entries that it shows.
func (r *round) unshown(entries []archive.Entry) (hidden []archive.Entry, shown []int) {
	reached := make(map[string]bool)
	for _, m := range r.t.messages {
		for _, id := range protection.RecallIDs(m) {
			reached[id] = true
		}
	}
	below := make(map[string][]string, len(entries))
	for i, e := range entries {
		below[e.ID] = e.Below
		if reached[e.ID] {
			shown = append(shown, i)
		}
	}
	reach(reached, below)
	for _, e := range entries {
		if reached[e.ID] {
			continue
		}
		hidden = append(hidden, e)
	}
	return withoutListed(hidden), shown
}

// reach adds the entries that are listed below reached ones.
func reach(reached map[string]bool, below map[string][]string) {
	todo := make([]string, 0, len(reached))
	for id := range reached {
		todo = append(todo, id)
	}
	for len(todo) > 0 {
		id := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, b := range below[id] {
			if !reached[b] {
				reached[b] = true
				todo = append(todo, b)
			}
		}
	}
}

// withoutListed returns entries without those that are listed below another of them: a
// later level removed the replacement of an earlier one.
func withoutListed(entries []archive.Entry) []archive.Entry {
	listed := make(map[string]bool)
	for _, e := range entries {
		for _, b := range e.Below {
			listed[b] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(entries), func(e archive.Entry) bool { return listed[e.ID] })
}

// removedEntries returns the removed messages of each recall id of the round, without
// those that [round.entries] lists below it.
func (r *round) removedEntries() []archive.Entry {
	var out []archive.Entry
	at := make(map[string]int)
	for _, st := range r.steps {
		for _, e := range st.edits {
			gone := replacedMessages(st.before.messages[e.Start:e.End], e.New)
			id := recallID(e)
			if len(gone) == 0 || id == "" {
				continue // a pure insertion replaces nothing, or what another edit drops
			}
			k, seen := at[id]
			if !seen {
				k, at[id] = len(out), len(out)
				out = append(out, archive.Entry{ID: id})
			}
			for _, m := range gone {
				out[k].Messages = append(out[k].Messages, m)
				for _, below := range append([]string{m.Recall}, protection.RecallIDs(m)...) {
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

// Recall returns the messages that an outline, marker or summary replaced, by its
// recall id. Text that an active round of this process removed is returned unchanged,
// with its secrets; other text is returned from the archive, which is redacted.
func (s *Session) Recall(ctx context.Context, id string) (archive.Entry, error) {
	if e, ok := s.removedEntry(id); ok {
		return e, nil
	}
	e, err := s.cfg.Archive.Recall(ctx, s.id, id)
	if errors.Is(err, archive.ErrNotFound) && !errors.Is(err, archive.ErrDamaged) {
		return e, fmt.Errorf("recall %q: %w", id, ErrNotFound)
	}
	if err == nil {
		e.Messages = s.withSecrets(e.Messages)
	}
	return e, s.cfg.redactError(err)
}

// removedEntry returns the messages that an active round removed, by recall id.
func (s *Session) removedEntry(id string) (archive.Entry, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range slices.Backward(s.rounds) {
		for _, e := range r.removed {
			if e.ID == id {
				return e, true
			}
		}
	}
	return archive.Entry{}, false
}

// Search finds removed messages, best first, at most n: by meaning, if
// Embed.Embedder answers within Deadlines.Ranking, otherwise by words. With
// Redact.Prompts no model is called.
func (s *Session) Search(ctx context.Context, text string, n int) ([]archive.Hit, error) {
	by := archive.Meaning{Embedder: s.cfg.Embed.Embedder, Within: s.cfg.Deadlines.Ranking}
	if s.cfg.Redact.Prompts {
		by.Embedder = nil
	}
	found, err := archive.SearchBy(ctx, s.cfg.Archive, s.id, text, n, by)
	return found.Hits, s.cfg.redactError(err)
}

// withSecrets returns messages of the archive in their original form, if active
// rounds of this process removed them.
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
