package files

import (
	"cmp"
	"slices"

	"github.com/tiercompact/tiercompact/chat"
)

// An Index joins the scans of a conversation: which copies are of one file,
// which are newer, which were referred to last. It serves one plan and is not
// safe for concurrent use.
type Index struct {
	t       chat.Transcript
	facts   []Scan
	names   pathNames
	files   [][]spot           // copies of each file, oldest first
	edits   map[int]int        // newest message that edits or writes a file
	last    map[uint64]spot    // newest copy of each text
	swaps   map[int][]textSwap // edits of a file, filled on demand
	refs    map[int]int        // newest message after from that refers to a file
	from    int                // refs is complete from this message on
	owner   map[uint32]int     // the one file that defines a symbol, -1 if several do
	failed  map[callSpot]bool  // calls that did nothing
	removed map[int]bool       // files that were removed, on demand
}

// A spot is a copy in the conversation.
type spot struct{ message, copy int }

// NewIndex returns the index of t, given the scans of its messages. It is
// linear in the number of copies.
func NewIndex(t chat.Transcript, facts []Scan) *Index {
	x := &Index{t: t, facts: facts, edits: make(map[int]int), last: make(map[uint64]spot), swaps: make(map[int][]textSwap), refs: make(map[int]int), from: len(t)}
	x.names, x.failed = newNames(facts), failedCalls(t)
	x.files = make([][]spot, len(x.names.paths))
	for i := range facts {
		for k := range facts[i].Copies {
			c := &facts[i].Copies[k]
			x.last[c.Hash] = spot{i, k}
			id, ok := x.names.fileOfPath(c.Path)
			if !ok || x.Failed(i, *c) {
				continue
			}
			x.files[id] = append(x.files[id], spot{i, k})
			if c.isEdit() {
				x.edits[id] = i
			}
		}
	}
	return x
}

// copyAtSpot returns the copy at a spot.
func (x *Index) copyAtSpot(s spot) *Ref { return &x.facts[s.message].Copies[s.copy] }

// Stale reports whether at least after messages came since the last reference
// to the file or output c of message i. The copy itself is a reference. A
// later message refers to a file if it names the path or a base name that only
// this file has, reads or edits the file, or quotes a symbol that only this
// file defines.
func (x *Index) Stale(i int, c Ref, after int) bool {
	newest := len(x.t) - 1
	if newest-i < after {
		return false
	}
	id, ok := x.names.fileOfPath(c.Path)
	if !ok {
		return true
	}
	x.lookBack(newest - after + 1)
	at, referred := x.refs[id]
	return !referred || newest-at >= after
}

// lookBack collects the references in the messages from from on.
func (x *Index) lookBack(from int) {
	for x.from > max(from, 0) {
		x.from--
		x.linkReferences(x.from)
	}
}

func (x *Index) linkReferences(i int) {
	note := func(id int) {
		if _, known := x.refs[id]; !known {
			x.refs[id] = i
		}
	}
	f := &x.facts[i]
	for _, m := range f.Mentions {
		if id, ok := x.names.fileOfPath(m); ok {
			note(id)
		}
	}
	for k := range f.Copies {
		c := &f.Copies[k]
		if id, ok := x.names.fileOfPath(c.Path); ok {
			note(id)
		}
		if c.Kind == Edit && c.shape != nil {
			for _, w := range c.shape.words {
				x.eachSymbolFile(w.hash, note)
			}
		}
	}
	for _, h := range f.Idents {
		x.eachSymbolFile(h, note)
	}
}

func (x *Index) eachSymbolFile(hash uint32, note func(id int)) {
	if x.owner == nil {
		x.findOwners()
	}
	if id, ok := x.owner[hash]; ok && id >= 0 {
		note(id)
	}
}

// findOwners finds the one file that defines a symbol.
func (x *Index) findOwners() {
	x.owner = make(map[uint32]int)
	for id, spots := range x.files {
		for _, s := range spots {
			if c := x.copyAtSpot(s); c.shape != nil && c.Kind != Edit {
				for _, d := range c.shape.decls {
					x.defineSymbol(d.name, id)
				}
			}
		}
	}
}

func (x *Index) defineSymbol(name uint32, id int) {
	if name == 0 {
		return
	}
	if other, taken := x.owner[name]; taken && other != id {
		id = -1
	}
	x.owner[name] = id
}

// Superseded returns the message whose newer copy shows all the lines that
// copy c of message i shows, or -1. A text that an edit removed is superseded
// by the edit itself.
func (x *Index) Superseded(i int, c Ref) int {
	id, ok := x.names.fileOfPath(c.Path)
	if !ok {
		return -1
	}
	spots := x.files[id]
	for k := len(spots) - 1; k >= max(0, len(spots)-maxNewer) && spots[k].message > i; k-- {
		n := x.copyAtSpot(spots[k])
		if n.Kind != Edit && n.coversLines(c, x.editedBetween(id, i, spots[k].message)) {
			return spots[k].message
		}
	}
	return -1
}

// maxNewer limits how many of the newest copies of a file are compared.
const maxNewer = 256

// editedBetween reports whether a call between two messages edits a file, so
// that the file may have fewer lines than before.
func (x *Index) editedBetween(id, from, to int) bool {
	spots := x.files[id]
	at, _ := slices.BinarySearchFunc(spots, from, func(s spot, m int) int { return cmp.Compare(s.message, m) })
	for seen := 0; at < len(spots) && spots[at].message <= to && seen < maxNewer; at, seen = at+1, seen+1 {
		if spots[at].message >= from && x.copyAtSpot(spots[at]).isEdit() {
			return true
		}
	}
	return false
}

// coversLines reports whether n shows the lines that an older copy shows. A
// read without a line range covers the whole file, unless it shows fewer lines
// than the file had: a tool may have a limit. edited says that the file was
// edited since.
func (n *Ref) coversLines(old Ref, edited bool) bool {
	if n.Kind == Block && !n.Whole {
		return false
	}
	if n.Whole {
		sure := edited || n.Kind != Read || n.total > 0 || old.Kind == Edit
		return sure || old.Last == 0 && old.First == 0 || n.Last >= old.Last
	}
	return old.Kind != Edit && n.First > 0 && old.First > 0 && n.First <= old.First && n.Last >= old.Last && old.Last > 0
}

// Repeated returns the newest message with the same text as copy c of message
// i, or -1 if no later one has it.
func (x *Index) Repeated(i int, c Ref) int {
	if s, ok := x.last[c.Hash]; ok && s.message > i && x.copyAtSpot(s).Size == c.Size {
		return s.message
	}
	return -1
}

// ChangedSince returns the newest message after i that edits or writes the
// file of c, or -1.
func (x *Index) ChangedSince(i int, c Ref) int {
	id, ok := x.names.fileOfPath(c.Path)
	if !ok {
		return -1
	}
	if at, edited := x.edits[id]; edited && at > i {
		return at
	}
	return -1
}

// ActiveEdit reports whether the file of path is being edited: it was read and
// edited within the last five messages.
func (x *Index) ActiveEdit(path string) bool {
	id, ok := x.names.fileOfPath(path)
	if !ok {
		return false
	}
	from := len(x.t) - 5
	if at, edited := x.edits[id]; !edited || at < from {
		return false
	}
	spots := x.files[id]
	for k := len(spots) - 1; k >= 0 && spots[k].message >= from; k-- {
		if kind := x.copyAtSpot(spots[k]).Kind; kind == Read || kind == Attached {
			return true
		}
	}
	return false
}

// PathOf returns the longest path under which the conversation names the file of path.
func (x *Index) PathOf(path string) string {
	if id, ok := x.names.fileOfPath(path); ok {
		return x.names.paths[id]
	}
	return path
}

// Edited reports whether the file of path was edited or written at all.
func (x *Index) Edited(path string) bool {
	id, ok := x.names.fileOfPath(path)
	if !ok {
		return false
	}
	_, edited := x.edits[id]
	return edited
}

// A Span is a block of a text, in bytes, and the number of its first line.
type Span struct{ Start, End, Line int }

// Blocks returns the blocks of c and the score of each for the focus.
func (c Ref) Blocks(near *Focus) (spans []Span, scores []float32) {
	if c.shape == nil {
		return nil, nil
	}
	for _, b := range c.shape.blocks {
		spans = append(spans, Span{int(b.start), int(b.end), int(b.line)})
	}
	return spans, c.shape.blockScores(near)
}
