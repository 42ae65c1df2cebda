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
	r.w.steps = nil // only the text of a summary needs them
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
	facts := n.listFacts()
	return renderFacts(facts)
}

// Facts returns what [FactsOf] returns for all messages of the record, without what
// the reader still has: kept reports the messages that stay, by their id. A later
// success in one of them settles a failure all the same. Values that the assistant
// made up are left out if they are of gone, the messages that leave.
func (r *Record) Facts(gone []chat.Message, kept func(id string) bool, maxTokens int, count func(string) int) string {
	n := r.snapshot()
	n.list = slices.DeleteFunc(n.list, func(x *summaryItem) bool { return x.last >= 0 && x.id != "" && kept(x.id) })
	n.removeInvented(gone)
	return n.fitFacts(maxTokens, tokenCounter(count))
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
	w.step = nil
	w.pending, w.tasks, w.byID = slices.Clone(w.pending), slices.Clone(w.tasks), maps.Clone(w.byID)
	return &Record{&w}
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
	n.steps = nil
}
