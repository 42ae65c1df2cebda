package summarize

import (
	"maps"
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

// A Record is the record of the work: what the user asked and what came of it, rules
// with what changed them, decisions, files with their last state, commands and how
// they ended, failures that nothing has settled, the plan. It grows with each message
// and is independent of rounds, so that no round loses any of it.
//
// The zero Record is not valid; use [NewRecord]. It is not safe for concurrent use.
type Record struct{ w *messageScanner }

// NewRecord returns the record with the text of a former one, as [Record.Text] returns
// it, or of a facts section; "" for a new record.
func NewRecord(text string) *Record { return &Record{newScanner(text)} }

// Add adds what a message says. Its results answer calls of earlier messages. Of a
// summary, it adds the facts.
func (r *Record) Add(m chat.Message) {
	switch {
	case m.IsSummary():
		r.w.addFormerFacts(m.Text())
		return
	case m.State == chat.Marked:
		return
	}
	known := len(r.w.list)
	r.w.add(m)
	r.w.keepLastStep()
	for _, x := range r.w.list[known:] {
		x.detach()
	}
	if len(r.w.list) > maxItems {
		r.w.dropOldItems()
	}
}

// detach copies the strings of the item, so that it does not keep whole messages in
// memory.
func (x *summaryItem) detach() {
	x.text, x.key, x.end = strings.Clone(x.text), strings.Clone(x.key), strings.Clone(x.end)
	for i, name := range x.names {
		x.names[i] = strings.Clone(name)
	}
}

// The number of items above which a record drops the oldest, and how many of each
// kind stay.
const maxItems, keptItems = 1000, 100

// Text returns the whole record as lines, from which [NewRecord] continues.
func (r *Record) Text() string {
	n := r.snapshot()
	for _, x := range n.list {
		x.brief = false
	}
	return renderFacts(n.listFacts())
}

// Facts returns what [FactsOf] returns for all messages of the record, except for the
// items last mentioned in messages that stay in the conversation: kept reports those
// messages by id. A success in one of them settles an earlier failure nevertheless.
// The values that the assistant invented in gone, the removed messages, are omitted.
func (r *Record) Facts(gone []chat.Message, kept func(id string) bool, maxTokens int, count func(string) int) string {
	n := r.snapshot()
	n.removeStaying(kept)
	n.removeInvented(gone)
	return n.fitFacts(maxTokens, tokenCounter(count))
}

// removeStaying removes the items whose last mention is in a message that stays.
func (n *itemList) removeStaying(stays func(id string) bool) {
	n.list = slices.DeleteFunc(n.list, func(x *summaryItem) bool { return x.last >= 0 && x.id != "" && stays(x.id) })
}

// keepLastStep drops all steps except the present one and the last one that produced
// something: only the text of a summary needs them.
func (w *messageScanner) keepLastStep() {
	for i := len(w.steps) - 1; i > 0; i-- {
		if len(w.steps[i-1].outputs) == 0 && w.steps[i-1] != w.step {
			w.steps = slices.Delete(w.steps, i-1, i)
		}
	}
	for i := len(w.steps) - 1; i > 0; i-- {
		if len(w.steps[i].outputs) > 0 {
			w.steps = slices.Clone(w.steps[i:])
			return
		}
	}
}

// snapshot returns the items as they are after the last message, on a copy.
func (r *Record) snapshot() *itemList { return r.Clone().w.finish() }

// Clone returns a copy: what is added to one is not in the other.
func (r *Record) Clone() *Record {
	w := *r.w
	old := w.itemList
	w.itemList = &itemList{at: make(map[itemKey]*summaryItem, len(old.at)), span: old.span}
	copies := make(map[*summaryItem]*summaryItem, len(old.list))
	for _, x := range old.list {
		c := *x
		copies[x] = &c
		w.list = append(w.list, &c)
		w.at[itemKey{c.kind, c.key}] = &c
	}
	w.itemList.asked = copies[old.asked]
	for _, x := range old.failures {
		w.failures = append(w.failures, copies[x])
	}
	w.rules, w.decided = copiesOf(r.w.rules, copies), copiesOf(r.w.decided, copies)
	w.turn.files = slices.Clone(w.turn.files)
	w.step, w.steps = nil, nil
	for _, s := range old.steps {
		c := *s
		c.inputs, c.outputs = slices.Clone(s.inputs), slices.Clone(s.outputs)
		w.steps = append(w.steps, &c)
		if s == r.w.step {
			w.step = &c
		}
	}
	w.pending, w.tasks, w.byID, w.cells = slices.Clone(w.pending), slices.Clone(w.tasks), maps.Clone(w.byID), maps.Clone(w.cells)
	return &Record{&w}
}

// copiesOf returns the copies of the items that have one.
func copiesOf(items []*summaryItem, copies map[*summaryItem]*summaryItem) []*summaryItem {
	var list []*summaryItem
	for _, x := range items {
		if c := copies[x]; c != nil {
			list = append(list, c)
		}
	}
	return list
}

// dropOldItems drops all but the newest items of each kind; the first request stays.
func (n *itemList) dropOldItems() {
	drop := make(map[*summaryItem]bool)
	for _, k := range append(factKinds(), factKind{kind: report}) {
		items := n.itemsOfKind(k.kind)
		if k.kind == request && len(items) > 0 {
			items = items[1:]
		}
		slices.SortStableFunc(items, func(a, b *summaryItem) int { return a.last - b.last })
		for _, x := range items[:max(0, len(items)-keptItems)] {
			drop[x] = x != n.asked
		}
	}
	n.list = slices.DeleteFunc(n.list, func(x *summaryItem) bool {
		if drop[x] {
			delete(n.at, itemKey{x.kind, x.key})
		}
		return drop[x]
	})
	n.failures = slices.DeleteFunc(n.failures, func(x *summaryItem) bool { return drop[x] })
}
