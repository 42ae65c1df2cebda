package files

import (
	"cmp"
	"slices"

	"github.com/tiercompact/tiercompact/chat"
)

// Text returns the text of copy c of m without wrappers.
func (c Ref) Text(m chat.Message) string {
	if c.Part >= len(m.Parts) {
		return ""
	}
	p := m.Parts[c.Part]
	text := p.Text
	if p.Kind == chat.Call {
		text = ""
		for _, l := range stringLeaves(p.Args) {
			if l.at == c.leafAt {
				text = l.value
			}
		}
	}
	if c.Start > c.End || c.End > len(text) {
		return ""
	}
	text = text[c.Start:c.End]
	switch {
	case c.Kind == Output:
		return trimReminders(unixLines(text))
	case p.Kind == chat.Call || c.held || c.Framed():
		return unixLines(text)
	}
	return unwrapText(text).text
}

// Known is the set of identifiers that stay in the conversation.
type Known struct {
	slots []uint32 // open addressing, 0 is free
	used  int
}

// Known returns the identifiers that the conversation names outside the copies
// for which changed reports true.
func (x *Index) Known(changed func(message, place int) bool) *Known {
	k := &Known{slots: make([]uint32, 1<<12)}
	for i := range x.facts {
		f := &x.facts[i]
		gone := f.outputIdentifiers(func(place int) bool { return changed(i, place) })
		for _, h := range f.Idents {
			if !gone[h] {
				k.addHash(h)
			}
		}
		for n := range f.Copies {
			if c := &f.Copies[n]; c.shape != nil && !changed(i, n) {
				for _, w := range c.shape.words {
					k.addHash(w.hash)
				}
			}
		}
	}
	return k
}

// outputIdentifiers returns the identifiers of the outputs for which changed
// reports true: the Idents include them.
func (f *Scan) outputIdentifiers(changed func(place int) bool) map[uint32]bool {
	var found map[uint32]bool
	for n := range f.Copies {
		c := &f.Copies[n]
		if c.Kind != Output || c.shape == nil || !changed(n) {
			continue
		}
		if found == nil {
			found = make(map[uint32]bool, len(c.shape.words))
		}
		for _, w := range c.shape.words {
			found[w.hash] = true
		}
	}
	return found
}

func (k *Known) addHash(h uint32) {
	h |= 1 // 0 marks a free slot
	if k.used*2 >= len(k.slots) {
		k.growTable()
	}
	for i := h * 2654435769 >> 7; ; i++ {
		switch slot := &k.slots[i&uint32(len(k.slots)-1)]; *slot {
		case h:
			return
		case 0:
			*slot = h
			k.used++
			return
		}
	}
}

func (k *Known) growTable() {
	old := k.slots
	k.slots, k.used = make([]uint32, 4*len(old)), 0
	for _, h := range old {
		if h != 0 {
			k.addHash(h)
		}
	}
}

func (k *Known) hasHash(h uint32) bool {
	h |= 1
	for i := h * 2654435769 >> 7; ; i++ {
		switch k.slots[i&uint32(len(k.slots)-1)] {
		case h:
			return true
		case 0:
			return false
		}
	}
}

// Add adds the identifiers of a text.
func (k *Known) Add(text string) {
	eachIdent(text, func(start, end int) { k.addHash(hashIdent(text[start:end])) })
}

// Lost returns at most limit identifiers of copy c, whose text without
// wrappers is text, that are not known, most wanted first: those of the focus,
// and short ones.
func (k *Known) Lost(c Ref, text string, near *Focus, limit int) []string {
	if c.shape == nil || limit <= 0 {
		return nil
	}
	var lost []hashedName
	seen := make(map[uint32]bool)
	for _, w := range c.shape.words {
		if k.hasHash(w.hash) || seen[w.hash] || int(w.at) >= len(text) {
			continue
		}
		seen[w.hash] = true
		if id := w.listedNameAt(text); id != "" && len(id) <= longestName {
			lost = append(lost, hashedName{id, w.at, (near.weightOf(w.hash) + 0.2) / float32(len(id)+4)})
		}
	}
	slices.SortFunc(lost, func(a, b hashedName) int { return cmp.Or(cmp.Compare(b.worth, a.worth), cmp.Compare(a.at, b.at)) })
	out := make([]string, 0, min(limit, len(lost)))
	for _, n := range lost[:min(limit, len(lost))] {
		out = append(out, n.id)
	}
	return out
}

// A hashedName is an identifier that a ledger may contain.
type hashedName struct {
	id    string
	at    int32
	worth float32
}
