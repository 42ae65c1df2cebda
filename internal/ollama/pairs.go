package ollama

import (
	"container/heap"
	"unicode/utf8"

	"github.com/dlclark/regexp2"
)

// pairs merges byte pairs as llama.cpp does, which runs most models for Ollama: of
// equal pairs the first is merged first. Ollama's own tokenizer merges them in any
// order, and counts up to twice as many tokens in rules and indentation.
type pairs struct {
	split *regexp2.Regexp
	bytes [256]int32 // the token of each byte; -1: it has none
	join  map[[2]int32]joint
	whole map[string]int32 // words that are not merged; nil: all are merged
}

// A joint is the join of two tokens: its result and its priority.
type joint struct{ rank, token int32 }

// newPairs builds pairs from a vocabulary. If whole is set, a word that is a token
// is that token, even if merging would not produce it.
func newPairs(values, merges []string, split string, whole bool) *pairs {
	p := &pairs{split: regexp2.MustCompile(split, regexp2.RE2), join: make(map[[2]int32]joint, len(merges))}
	ids := make(map[string]int32, len(values))
	for i, v := range values {
		ids[v] = int32(i)
	}
	if whole {
		p.whole = ids
	}
	id := func(token string) int32 {
		if i, ok := ids[token]; ok {
			return i
		}
		return -1
	}
	for b := range p.bytes {
		p.bytes[b] = id(string(visibleRune(byte(b))))
	}
	for rank, m := range merges {
		at := 1 // tokens use a substitute for the blank
		for at < len(m) && m[at] != ' ' {
			at++
		}
		if at+1 >= len(m) {
			continue
		}
		left, right, both := id(m[:at]), id(m[at+1:]), id(m[:at]+m[at+1:])
		if _, twice := p.join[[2]int32{left, right}]; left >= 0 && right >= 0 && both >= 0 && !twice {
			p.join[[2]int32{left, right}] = joint{int32(rank), both}
		}
	}
	return p
}

// visibleRune returns the character that represents a byte in a vocabulary.
func visibleRune(b byte) rune {
	switch r := rune(b); {
	case b <= 0x20:
		return r + 0x100
	case b >= 0x7F && b <= 0xA0:
		return r + 0xA2
	case b == 0xAD:
		return 0x143
	default:
		return r
	}
}

func (p *pairs) countTokens(text string) int {
	n := 0
	runes := []rune(text)
	m, err := p.split.FindRunesMatch(runes)
	for ; m != nil && err == nil; m, err = p.split.FindNextMatch(m) {
		n += p.countWordTokens(runes[m.Index : m.Index+m.Length])
	}
	return n
}

// countWordTokens returns the tokens of a text that is never joined with its
// neighbours.
func (p *pairs) countWordTokens(word []rune) int {
	w := merging{pairs: p}
	var name []byte
	var buf [utf8.UTFMax]byte
	for _, r := range word {
		for _, b := range buf[:utf8.EncodeRune(buf[:], r)] {
			w.tokens = append(w.tokens, p.bytes[b])
			if p.whole != nil {
				name = utf8.AppendRune(name, visibleRune(b))
			}
		}
	}
	if _, ok := p.whole[string(name)]; ok {
		return 1
	}
	return w.mergePairs()
}

// A merging is a word during its merge. The tokens are a linked list; one that was
// joined to the one before is -2.
type merging struct {
	*pairs
	tokens     []int32
	prev, next []int32
	queue      []step
}

// A step joins two neighbours. It is void once either has changed.
type step struct {
	joint
	left, right int32 // places
	a, b        int32 // the tokens at these places
}

const joined = -2

func (w *merging) mergePairs() int {
	n := len(w.tokens)
	w.prev, w.next = make([]int32, n), make([]int32, n)
	for i := range w.tokens {
		w.prev[i], w.next[i] = int32(i)-1, int32(i)+1
	}
	for i := range n - 1 {
		w.proposePair(int32(i), int32(i)+1)
	}
	for len(w.queue) > 0 {
		s := heap.Pop(w).(step)
		if w.tokens[s.left] != s.a || w.tokens[s.right] != s.b {
			continue
		}
		w.tokens[s.left], w.tokens[s.right] = s.token, joined
		w.next[s.left] = w.next[s.right]
		if int(w.next[s.left]) < len(w.tokens) {
			w.prev[w.next[s.left]] = s.left
		}
		n--
		w.proposePair(w.prev[s.left], s.left)
		w.proposePair(s.left, w.next[s.left])
	}
	return n
}

func (w *merging) proposePair(left, right int32) {
	if left < 0 || int(right) >= len(w.tokens) {
		return
	}
	a, b := w.tokens[left], w.tokens[right]
	if j, ok := w.join[[2]int32{a, b}]; ok {
		heap.Push(w, step{j, left, right, a, b})
	}
}

// Len implements [heap.Interface].
func (w *merging) Len() int { return len(w.queue) }

// Less implements [heap.Interface].
func (w *merging) Less(i, j int) bool {
	a, b := &w.queue[i], &w.queue[j]
	return a.rank < b.rank || a.rank == b.rank && a.left < b.left
}

// Swap implements [heap.Interface].
func (w *merging) Swap(i, j int) { w.queue[i], w.queue[j] = w.queue[j], w.queue[i] }

// Push implements [heap.Interface].
func (w *merging) Push(x any) { w.queue = append(w.queue, x.(step)) }

// Pop implements [heap.Interface].
func (w *merging) Pop() any {
	last := w.queue[len(w.queue)-1]
	w.queue = w.queue[:len(w.queue)-1]
	return last
}
