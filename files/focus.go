package files

import "github.com/tiercompact/tiercompact/chat"

// A Focus is the subject of the recent messages: identifiers, each with a
// weight.
type Focus struct {
	weight map[uint32]float32
}

// NewFocus returns the focus of identifiers, all of one weight.
func NewFocus(identifiers []string) *Focus {
	f := &Focus{weight: make(map[uint32]float32, len(identifiers))}
	for _, id := range identifiers {
		f.weight[hashIdent(id)] = 1
	}
	return f
}

// focusSpan is how many of the newest messages make the focus.
const focusSpan = 60

// FocusOf returns the subject of the newest messages of t. Words of an
// assistant or user weigh more than tool outputs, and newer messages more than
// older ones.
func FocusOf(t chat.Transcript, facts []Scan) *Focus {
	f := &Focus{weight: make(map[uint32]float32)}
	for i := max(0, len(t)-focusSpan); i < len(t); i++ {
		age := float32(len(t) - i)
		near := 1 / (1 + age/30)
		spoken := near
		if t[i].Role == chat.Tool {
			spoken = near / 2
		}
		for _, h := range facts[i].Idents {
			f.weight[h] += spoken
		}
		for k := range facts[i].Copies {
			f.addCopied(&facts[i].Copies[k], near)
		}
	}
	return f
}

func (f *Focus) addCopied(c *Ref, near float32) {
	if c.Kind == Edit {
		near *= 2
	} else {
		near /= 2
	}
	if c.shape == nil {
		return
	}
	for _, w := range c.shape.words {
		f.weight[w.hash] += near
	}
}

func (f *Focus) weightOf(hash uint32) float32 {
	if f == nil {
		return 0
	}
	return f.weight[hash]
}

// blockScores returns for each block of s its score for the focus. A word that
// many blocks contain distinguishes none of them.
func (s *fileOutline) blockScores(f *Focus) []float32 {
	out := make([]float32, len(s.blocks))
	if f == nil || len(f.weight) == 0 {
		return out
	}
	holders := make(map[uint32]int)
	for _, w := range s.words {
		if f.weightOf(w.hash) > 0 {
			holders[w.hash]++
		}
	}
	for i, b := range s.blocks {
		for _, w := range s.words[b.first:b.last] {
			if n := holders[w.hash]; n > 0 {
				out[i] += min(f.weightOf(w.hash), 3) / float32(n)
			}
		}
	}
	return out
}
