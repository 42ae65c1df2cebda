package embed

import (
	"math"
	"slices"

	"github.com/tiercompact/tiercompact/chat"
)

// Terms are the terms of a text for the lexical scorer: their hashes and how often
// each occurs. It is read-only; 5 bytes for each distinct term. The zero Terms are
// those of an empty text.
type Terms struct {
	data    []uint32 // hashes, sorted and distinct, then their counts, four in each
	length  int32    // terms in all
	content int32
}

// termHashes returns the hashes of t, sorted, each once.
func (t Terms) termHashes() []uint32 { return t.data[:len(t.data)*4/5] }

// termCount returns how often the k-th hash occurs, at most 255.
func (t Terms) termCount(k int) float64 {
	return float64(t.data[len(t.data)*4/5+k/4] >> (k % 4 * 8) & math.MaxUint8)
}

// TermsOf returns the terms of m: of its text, its results, and the names and
// arguments of its calls; not of thinking or images.
func TermsOf(m chat.Message) Terms {
	var buf [bufSize]uint32
	c := termCollector{hashes: buf[:0]}
	for _, p := range m.Parts {
		switch p.Kind {
		case chat.Text, chat.Result, chat.Summary, chat.ServerResult, chat.Opaque:
			c = c.collectText(p.Text, false)
		case chat.Call, chat.ServerCall:
			c = c.collectText(p.Name, false)
			c = c.collectText(p.Args, true)
		}
	}
	return c.collectedTerms()
}

// TermsOfText returns the terms of a text: words with their endings cut, names as a
// whole and by their parts, parts of paths; no single letters.
func TermsOfText(text string) Terms {
	var buf [bufSize]uint32
	c := termCollector{hashes: buf[:0]}
	c = c.collectText(text, false)
	return c.collectedTerms()
}

// Content returns the number of meaningful words in the text: names count once;
// words such as "the", "yes" and "please" do not count. A query of fewer than 3
// hardly says what it looks for.
func (t Terms) Content() int { return int(t.content) }

// bufSize is how many terms are gathered without an allocation.
const bufSize = 256

// A termCollector collects the hashes of terms. It is passed by value, so that its
// first hashes can be on the stack.
type termCollector struct {
	hashes  []uint32
	content int32
}

func (c termCollector) collectText(text string, escaped bool) termCollector {
	c.hashes = slices.Grow(c.hashes, len(text)/6)
	words := wordScanner{text: text, escaped: escaped}
	for words.nextWord() {
		c = c.addWord(&words.word)
	}
	return c
}

// addWord adds a word and, if it is a name of several parts, its parts.
func (c termCollector) addWord(w *word) termCollector {
	if w.parts == 1 {
		if !isStopWord(w.low[:w.n]) {
			c.content++
		}
		if w.n > 1 {
			c.hashes = append(c.hashes, termHash(w.low[:w.n]))
		}
		return c
	}
	c.content++
	c.hashes = append(c.hashes, termHash(w.low[:w.n]))
	start := 0
	for i := 1; i <= w.n; i++ {
		if i < w.n && !w.cut[i] {
			continue
		}
		if part := w.low[start:i]; len(part) > 1 {
			c.hashes = append(c.hashes, termHash(part))
		}
		start = i
	}
	return c
}

func (c termCollector) collectedTerms() Terms {
	slices.Sort(c.hashes)
	distinct := 0
	for i, h := range c.hashes {
		if i == 0 || h != c.hashes[i-1] {
			distinct++
		}
	}
	t := Terms{length: int32(len(c.hashes)), content: c.content}
	if distinct == 0 {
		return t
	}
	t.data = make([]uint32, distinct+(distinct+3)/4)
	counts := t.data[distinct:]
	k := -1
	for i, h := range c.hashes {
		if i == 0 || h != c.hashes[i-1] {
			k++
			t.data[k] = h
		}
		if shift := k % 4 * 8; counts[k/4]>>shift&math.MaxUint8 < math.MaxUint8 {
			counts[k/4] += 1 << shift
		}
	}
	return t
}

// hashTerm is FNV-1a with a final mix, so that its high bits can be used alone.
func hashTerm[T string | []byte](b T) uint32 {
	h := uint32(2166136261)
	for i := range len(b) {
		h = (h ^ uint32(b[i])) * 16777619
	}
	h ^= h >> 16
	h *= 0x7feb352d
	return h ^ h>>15
}
