package tiercompact

import (
	"context"
	"slices"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/internal/edit"
	"github.com/tiercompact/tiercompact/internal/protection"
	"github.com/tiercompact/tiercompact/levels"
)

// plan has the levels take their turn, and sees to it that what they take out can
// be reached from the conversation that is left.
func (r *round) plan(ctx context.Context, levels func(context.Context) error) error {
	if err := levels(ctx); err != nil {
		return err
	}
	hidden, shown := r.unshown(r.removedEntries())
	if len(hidden) == 0 || len(shown) > 0 {
		return nil
	}
	if room := r.localLimit() - mostShown; r.fitsBudget() && r.t.totalTokens() > room {
		if err := r.fitWithin(room); err != nil { // which may show an id
			return err
		}
		if hidden, shown = r.unshown(r.removedEntries()); len(shown) > 0 {
			return nil
		}
	}
	return r.show(hidden)
}

// mostShown is about the most tokens that it takes to show an id.
const mostShown = 60

// show has the conversation name the first of entries whose ids it does not show,
// below which [round.entries] lists the others. Where the conversation would not
// fit the budget with that, or nobody has spoken in it, a later round lists them.
// A round that frees less than that takes is not made.
func (r *round) show(hidden []archive.Entry) error {
	count := 0
	for _, e := range hidden {
		count += len(e.Messages)
	}
	last := r.steps[len(r.steps)-1]
	mask := allProtections
	if last.level == levels.TruncateName {
		mask = protection.Protected
	}
	if !slices.ContainsFunc(r.t.messages, edit.Speaks) {
		mask &^= protection.Unread | protection.Open // no marker may stand: nobody knows who speaks first
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

// entries returns what each recall id of the round stands for. What is under an
// id that the conversation does not show is listed below the nearest one that
// it shows.
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

// unshown returns the entries that cannot be reached from what the conversation
// shows, without those that are listed below another of them, and the places of
// the entries that it shows.
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

// reach adds what is listed below what was reached.
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

// withoutListed returns entries without those that are listed below another of
// them: a later level took out what an earlier one had written.
func withoutListed(entries []archive.Entry) []archive.Entry {
	listed := make(map[string]bool)
	for _, e := range entries {
		for _, b := range e.Below {
			listed[b] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(entries), func(e archive.Entry) bool { return listed[e.ID] })
}
