package redact

// A span says that s[from:to] is a secret. A span whose to is 0 means that nothing
// was found.
type span struct{ from, to int }

// An anchor is a word of at least two bytes, in lower case, near which secrets are
// searched. Find examines the surroundings of one such word, s[from:to], in any
// case; its result may be before the word. It must read only a bounded
// part of s, or only its result and the text up to the next word of the same kind.
type anchor struct {
	word  string
	find  func(s string, from, to int) span
	grade grade // of a name that ends with the word; 0 if the word is not such a word
}

// An automaton finds all anchors in one pass over a text.
type automaton struct {
	class  [256]uint8 // of a byte, 0 for one in no anchor
	width  int        // the number of classes
	next   []uint32   // at row + class; a row is the number of a state times width
	low    uint32     // the last row of a state of at most one byte
	accept uint32     // the first row of a state where an anchor ends
	begins pairs      // the first two bytes of anchors
	ends   [][]anchor // of those states, in order; longer ones first
}

// A trieNode of the trie that an automaton is made from. Node 0 is the root.
type trieNode struct {
	next []trieEdge // few but for the root; maps would take most of the time
	fail int
	ends []anchor
}

type trieEdge struct {
	by byte
	to int
}

// child returns the node after n by c, or 0.
func (n *trieNode) child(c byte) int {
	for _, e := range n.next {
		if e.by == c {
			return e.to
		}
	}
	return 0
}

// pairs is a set of two bytes each.
type pairs [1 << 10]uint64

func (p *pairs) add(a, b byte) { p[(uint(a)<<8|uint(b))>>6] |= 1 << (b & 63) }

func (p *pairs) has(a, b byte) bool { return p[(uint(a)<<8|uint(b))>>6]>>(b&63)&1 != 0 }

func newAutomaton(anchors []anchor) *automaton {
	nodes := buildTrie(anchors)
	a := &automaton{width: 1}
	for _, x := range anchors {
		for i := range len(x.word) {
			a.classify(x.word[i])
		}
		for _, first := range cases(x.word[0]) {
			for _, second := range cases(x.word[1]) {
				a.begins.add(first, second)
			}
		}
	}
	order := linkFailures(nodes)
	rows := a.numberNodes(nodes, order)
	a.next = make([]uint32, len(nodes)*a.width)
	for _, n := range order {
		row, fail := rows[n], rows[nodes[n].fail]
		copy(a.next[row:], a.next[fail:int(fail)+a.width])
		if n == 0 {
			clear(a.next[:a.width])
		}
		for _, e := range nodes[n].next {
			a.next[int(row)+int(a.class[e.by])] = rows[e.to]
		}
	}
	return a
}

// classify gives c, and its upper case, a class.
func (a *automaton) classify(c byte) {
	if a.class[c] != 0 {
		return
	}
	a.class[c] = uint8(a.width) // there are fewer than 256 bytes
	if 'a' <= c && c <= 'z' {
		a.class[c-'a'+'A'] = a.class[c]
	}
	a.width++
}

// cases returns c and its upper case.
func cases(c byte) []byte {
	if 'a' <= c && c <= 'z' {
		return []byte{c, c - 'a' + 'A'}
	}
	return []byte{c}
}

func buildTrie(anchors []anchor) []trieNode {
	nodes := []trieNode{{}}
	for _, x := range anchors {
		at := 0
		for i := range len(x.word) {
			to := nodes[at].child(x.word[i])
			if to == 0 {
				to = len(nodes)
				nodes[at].next = append(nodes[at].next, trieEdge{x.word[i], to})
				nodes = append(nodes, trieNode{})
			}
			at = to
		}
		nodes[at].ends = append(nodes[at].ends, x)
	}
	return nodes
}

// linkFailures sets the failure links, and returns the nodes with shorter prefixes
// before longer ones.
func linkFailures(nodes []trieNode) []int {
	order := []int{0}
	for i := 0; i < len(order); i++ {
		n := order[i]
		for _, e := range nodes[n].next {
			order = append(order, e.to)
			if n == 0 {
				continue
			}
			fail := nodes[n].fail
			for fail != 0 && nodes[fail].child(e.by) == 0 {
				fail = nodes[fail].fail
			}
			to := &nodes[e.to]
			to.fail = nodes[fail].child(e.by)
			to.ends = append(to.ends, nodes[to.fail].ends...)
		}
	}
	return order
}

// numberNodes returns the row of each node: first the root, then nodes of one byte;
// those at which an anchor ends come last.
func (a *automaton) numberNodes(nodes []trieNode, order []int) []uint32 {
	rows := make([]uint32, len(nodes))
	a.low = uint32(len(nodes[0].next) * a.width)
	var row uint32
	for _, accepting := range []bool{false, true} {
		if accepting {
			a.accept = row
		}
		for _, i := range order {
			if n := nodes[i]; (n.ends != nil) == accepting {
				rows[i] = row
				row += uint32(a.width)
				if accepting {
					a.ends = append(a.ends, n.ends)
				}
			}
		}
	}
	return rows
}

// markSecrets returns s with marks in place of the secrets that the anchors find.
func (a *automaton) markSecrets(s string, seen func(string)) string {
	e := markEditor{text: s, seen: seen}
	free := 0
	for i := 0; i+1 < len(s); {
		if !a.begins.has(s[i], s[i+1]) {
			i++
			continue
		}
		row := a.next[a.class[s[i]]]
		for i++; i < len(s); i++ {
			row = a.next[row+uint32(a.class[s[i]])]
			if row <= a.low { // only s[i] is the beginning of an anchor
				break
			}
			if row < a.accept {
				continue
			}
			found := a.findSpan(&e, i+1, free, a.ends[int(row-a.accept)/a.width])
			if found.to > 0 {
				e.markSpan(found)
				free, i = found.to, max(found.to, i+1)
				break
			}
		}
	}
	if e.head {
		return markColumns(e.resultText(), seen)
	}
	return e.resultText()
}

// findSpan returns the first secret after free that the anchors ending at end find.
func (a *automaton) findSpan(e *markEditor, end, free int, anchors []anchor) span {
	s := e.text
	if anchors[0].grade == must && columnEnds[byteAt(s, skipBytes(s, end, &cellEnds))] {
		e.head = true
	}
	for _, x := range anchors {
		if found := x.find(s, end-len(x.word), end); found.to > 0 && found.from >= free {
			return found
		}
	}
	return span{}
}
