// Package tokens counts what a text, a message or a tool schema costs a model,
// says how many tokens a window leaves, and corrects estimates by the counts
// that a server reports.
//
// An [Encoding] counts text as tiktoken does, a [Counter] messages for a named
// model. [Budget] and [Calibration] are arithmetic. The encodings of today's
// models are counted here, those of retired ones by tiktoken-go, which also has
// the table of models. Nothing here reads a file, a clock, the environment or the
// network: the vocabularies are embedded by tiktoken-go-loader.
package tokens

import (
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/pkoukk/tiktoken-go"
	"github.com/pkoukk/tiktoken-go-loader/assets"
)

// The encodings for [Load]. The last two are those of retired models.
const (
	CL100K = "cl100k_base"
	O200K  = "o200k_base"
	P50K   = "p50k_base"
	R50K   = "r50k_base"
)

// An Encoding counts the tokens of text. It is immutable and safe for
// concurrent use.
type Encoding struct {
	retired *tiktoken.Tiktoken // counts in place of all below, unless it is nil

	vocab   *vocab
	classes *charClasses
	split   splitter
	scratch sync.Pool // of *scratch
}

// A splitter returns the end of the piece of s that begins at i < len(s).
type splitter func(c *charClasses, s string, i int) int

var (
	loadCL100K = sync.OnceValues(func() (*Encoding, error) { return newEncoding(CL100K, splitCL100K) })
	loadO200K  = sync.OnceValues(func() (*Encoding, error) { return newEncoding(O200K, splitO200K) })
)

// Load returns the encoding of that name, which is built once in a process. An
// unknown name is an error. Text has as many tokens in p50k_edit as in [P50K], and
// as many in gpt2 as in [R50K].
func Load(name string) (*Encoding, error) {
	switch name {
	case CL100K:
		return loadCL100K()
	case O200K:
		return loadO200K()
	case P50K, tiktoken.MODEL_P50K_EDIT:
		return loadP50K()
	case R50K, "gpt2":
		return loadR50K()
	}
	return nil, fmt.Errorf("unknown encoding %q; there are %s, %s, %s and %s", name, O200K, CL100K, P50K, R50K)
}

func newEncoding(name string, split splitter) (*Encoding, error) {
	v, err := loadVocab(name)
	if err != nil {
		return nil, fmt.Errorf("load ranks of %s: %w", name, err)
	}
	return &Encoding{
		vocab:   v,
		classes: newCharClasses(),
		split:   split,
		scratch: sync.Pool{New: func() any { return new(scratch) }},
	}, nil
}

func loadVocab(name string) (*vocab, error) {
	file, err := assets.Assets.Open(name + ".tiktoken") // ReadFile would copy it
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	return parseVocab(file, info.Size())
}

// Count returns the number of tokens in text. The text of a special token is
// ordinary text. A byte that is not part of valid UTF-8 counts as U+FFFD, as in
// tiktoken-go. Count takes time linear in len(text), and n log n for hostile pieces
// of hundreds of bytes. It allocates nothing after its first run, unless text is
// not valid UTF-8 or has a piece of more than 64 KB whose windows disagree.
func (e *Encoding) Count(text string) int {
	if !utf8.ValidString(text) {
		text = replaceInvalid(text)
	}
	if e.retired != nil {
		return countRetired(e.retired, text)
	}
	sc := e.scratch.Get().(*scratch)
	n := 0
	for i := 0; i < len(text); {
		end := e.split(e.classes, text, i)
		n += e.pieceTokens(text, i, end, sc)
		i = end
	}
	sc.trimScratch()
	e.scratch.Put(sc)
	return n
}

// pieceTokens returns the tokens of the piece s[i:end].
func (e *Encoding) pieceTokens(s string, i, end int, sc *scratch) int {
	if end-i == 1 || e.vocab.tokenRank(s, i, end) != noRank {
		return 1
	}
	if end-i > memoBytes {
		return e.vocab.countPiece(s[i:end], sc)
	}
	k := newMemoKey(s, i, end)
	m := &sc.memo[k.memoSlot()]
	if m.key != k {
		m.key, m.tokens = k, uint32(e.vocab.countPiece(s[i:end], sc))
	}
	return int(m.tokens)
}

// replaceInvalid returns s with each byte that is not part of valid UTF-8
// replaced by U+FFFD.
func replaceInvalid(s string) string {
	var b strings.Builder
	b.Grow(len(s) + len(s)/8)
	for _, r := range s {
		b.WriteRune(r)
	}
	return b.String()
}
