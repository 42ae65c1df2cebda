package embed

import (
	"math"
	"slices"

	"github.com/tiercompact/tiercompact/chat"
)

// Terms is what the lexical scorer keeps of a text: the hashes of its terms
// and how often each occurs. It is read-only; 5 bytes for each distinct term.
type Terms struct {
	hashes  []uint32 // sorted, distinct
	counts  []uint8  // of each hash, at most 255
	length  int      // terms in all
	content int
}

// TermsOf returns the terms of m: of its text, its results, and the names and
// arguments of its calls; not of thinking or images.
func TermsOf(m chat.Message) *Terms {
	var c collector
	for _, p := range m.Parts {
		switch p.Kind {
		case chat.Text, chat.Result, chat.Summary:
			c.take(p.Text, false)
		case chat.Call:
			c.take(p.Name, false)
			c.take(p.Args, true)
		}
	}
	return c.terms()
}

// TermsOfText returns the terms of a text: words with their endings cut,
// names as a whole and by their parts, parts of paths.
func TermsOfText(text string) *Terms {
	var c collector
	c.take(text, false)
	return c.terms()
}

// Content returns how many words of the text carry meaning: names count once,
// words such as "the", "yes" and "please" do not. A query of fewer than 3
// says little about what it is after.
func (t *Terms) Content() int {
	if t == nil {
		return 0
	}
	return t.content
}

// A collector gathers the hashes of terms.
type collector struct {
	hashes  []uint32
	content int
}

func (c *collector) take(text string, escaped bool) {
	c.hashes = slices.Grow(c.hashes, len(text)/6)
	eachWord(text, escaped, c.word)
}

// word adds a word, and where it is a name of several parts, its parts too.
func (c *collector) word(w *word) {
	if w.parts == 1 {
		if !stop(w.low[:w.n]) {
			c.content++
			c.hashes = append(c.hashes, hash(stem(w.low[:w.n])))
		}
		return
	}
	c.content++
	c.hashes = append(c.hashes, hash(stem(w.low[:w.n])))
	start := 0
	for i := 1; i <= w.n; i++ {
		if i < w.n && !w.cut[i] {
			continue
		}
		if part := w.low[start:i]; !stop(part) {
			c.hashes = append(c.hashes, hash(stem(part)))
		}
		start = i
	}
}

func (c *collector) terms() *Terms {
	slices.Sort(c.hashes)
	distinct := 0
	for i, h := range c.hashes {
		if i == 0 || h != c.hashes[i-1] {
			distinct++
		}
	}
	t := &Terms{
		hashes:  make([]uint32, 0, distinct),
		counts:  make([]uint8, 0, distinct),
		length:  len(c.hashes),
		content: c.content,
	}
	for i, h := range c.hashes {
		if i == 0 || h != c.hashes[i-1] {
			t.hashes = append(t.hashes, h)
			t.counts = append(t.counts, 1)
		} else if k := len(t.counts) - 1; t.counts[k] < math.MaxUint8 {
			t.counts[k]++
		}
	}
	return t
}

// hash is FNV-1a with a last mix, so that its high bits can be used alone.
func hash(b []byte) uint32 {
	h := uint32(2166136261)
	for _, c := range b {
		h = (h ^ uint32(c)) * 16777619
	}
	h ^= h >> 16
	h *= 0x7feb352d
	return h ^ h>>15
}
