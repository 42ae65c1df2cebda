package tiercompact

import (
	"fmt"
	"slices"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/files"
	"github.com/tiercompact/tiercompact/internal/edit"
	"github.com/tiercompact/tiercompact/internal/protection"
	"github.com/tiercompact/tiercompact/levels"
)

const allProtections = protection.Protected | protection.First | protection.Session | protection.Open | protection.Unread | protection.Latest | protection.Correction

// applyStep applies the edits of a step to the planned conversation. It skips a step
// that would not shrink it.
func (r *round) applyStep(s levelStep, mask protection.Protection) error {
	if len(s.edits) == 0 {
		return nil
	}
	holds := r.view.Protections
	edits, err := edit.Separate(r.t.messages, s.edits, r.view.Separator(s.level, s.edits...), r.before.messages)
	if err != nil {
		return fmt.Errorf("%s: %w", s.level, err)
	}
	rules := edit.Rules{
		Locked: func(i int) bool { return holds[i]&mask != 0 },
		Moved:  func(i int) bool { return s.front != nil && s.front[i] },
		NoUser: s.noUser,
	}
	after, err := edit.Apply(r.t.messages, edits, rules)
	if err != nil {
		return fmt.Errorf("%s: %w", s.level, err)
	}
	next := r.t.withMessages(&r.cfg.counters, after)
	if !s.grows && next.totalTokens() >= r.t.totalTokens() {
		return nil
	}
	s.before, s.edits, s.from, s.to, s.ended = r.t, edits, r.currentTokens(), r.serverTokens(next.totalTokens()), r.cfg.Now()
	for _, e := range edits {
		put := 0
		for _, m := range e.New {
			put += r.cfg.countMessage(m)
		}
		s.after = append(s.after, put)
		for _, m := range replacedMessages(r.t.messages[e.Start:e.End], e.New) {
			if _, known := r.was[m.ID]; !known {
				r.was[m.ID] = m
			}
		}
	}
	if s.summary != nil && s.summary.Message != nil {
		r.summaryNumber++
	}
	r.steps = append(r.steps, s)
	r.setConversation(next)
	return nil
}

// withMessages returns c with other messages: those with unchanged content keep their
// values.
func (c *conversation) withMessages(by *counters, messages chat.Transcript) conversation {
	at := make(map[string]int, len(c.messages))
	for i, m := range c.messages {
		at[m.ID] = i
	}
	out := conversation{policy: c.policy, ids: c.ids, recalls: c.recalls, added: c.added, tools: c.tools, calls: make(map[string][]chat.Part)}
	out.growCapacity(len(messages))
	for _, m := range messages {
		call := out.matchResult(m)
		if i, old := at[m.ID]; old && slices.Equal(c.messages[i].Parts, m.Parts) {
			out.appendEntry(measuredMessage{m, c.sizes[i], c.terms[i]}, c.facts[i])
			continue
		}
		out.appendEntry(by.measure(m), files.ScanMessage(m, call))
	}
	return out
}

// replacedMessages returns the messages of run that are not unchanged in put.
func replacedMessages(run, put []chat.Message) []chat.Message {
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

// truncateToBudget is the last resort if the budget is still exceeded.
func (r *round) truncateToBudget() error {
	if r.fitsBudget() {
		return nil
	}
	return r.fitWithin(r.localLimit())
}

func (r *round) fitWithin(limit int) error {
	s := levelStep{level: levels.FitName, began: r.cfg.Now()}
	s.edits = levels.Truncate(r.view, limit)
	t := r.t
	if err := r.applyStep(s, protection.Protected); err != nil {
		return err
	}
	if was, is, cut := t.firstUserCut(r.t); cut && r.warning == "" {
		r.warning = fmt.Sprintf("the first user message does not fit the budget: its middle is left out, %d of %d tokens stay; use a larger window", r.serverTokens(is), r.serverTokens(was))
	}
	return nil
}

// firstUserCut returns the tokens of the first user message in c and in next, and whether
// they differ.
func (c *conversation) firstUserCut(next conversation) (was, is int, cut bool) {
	i := slices.IndexFunc(c.policy.Protections(c.messages), func(h protection.Protection) bool { return h&protection.First != 0 })
	if i < 0 {
		return 0, 0, false
	}
	k := slices.IndexFunc(next.messages, func(m chat.Message) bool { return m.ID == c.messages[i].ID })
	if k < 0 || next.sizes[k] == c.sizes[i] {
		return 0, 0, false
	}
	return c.sizes[i], next.sizes[k], true
}

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
	if len(hidden) == 0 || len(shown) > 0 || r.cfg.NoRecall {
		return nil
	}
	if room := r.localLimit() - maxShown; r.fitsBudget() && r.t.totalTokens() > room {
		if err := r.fitWithin(room); err != nil { // this may show an id
			return err
		}
		if hidden, shown = r.unshown(r.removedEntries()); len(shown) > 0 {
			return nil
		}
	}
	return r.show(hidden)
}

// maxShown is the approximate maximum number of tokens of a shown id.
const maxShown = 60

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
			if i, found := at[m.ID]; found {
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
			id := replacementID(e)
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

// replacementID is the recall id that the new text of an edit shows, or stands for.
func replacementID(e edit.Edit) string {
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
