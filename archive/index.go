package archive

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/tiercompact/tiercompact/embed"
)

// An Index finds entries by their words and, if it was made with an embedder, by
// their meaning. It is built once and may be searched concurrently.
type Index struct {
	// Damaged are the entries that could not be read, and are not in the index.
	Damaged error

	entries map[string]Entry
	texts   []string // pieces
	owners  []string // recall ids of pieces

	by      Meaning
	meaning pieceVectors // of the embedder; nil if there are none
	failed  error        // why there are none, if some were wanted
	words   func() (memoryVectors, error)
}

// NewIndex indexes the text removed from a session so far. If several entries have
// one id, the newest counts.
func NewIndex(ctx context.Context, store Store, session string) (*Index, error) {
	return NewIndexBy(ctx, store, session, Meaning{})
}

// NewIndexBy is [NewIndex] with the vectors of an embedder. If it fails, the index
// is by words, and [Index.Find] reports it.
func NewIndexBy(ctx context.Context, store Store, session string, by Meaning) (*Index, error) {
	infos, err := store.Steps(ctx, session)
	if err != nil {
		return nil, err
	}
	x := &Index{entries: make(map[string]Entry), by: by}
	for _, info := range slices.Backward(infos) {
		if len(info.Entries) == 0 && info.Damaged == nil {
			continue
		}
		if err := x.addStep(ctx, store, info); err != nil {
			return nil, err
		}
	}
	x.words = sync.OnceValues(func() (memoryVectors, error) {
		return embed.Lexical{}.Embed(context.WithoutCancel(ctx), x.texts)
	})
	return x, x.embedPieces(ctx, session)
}

// addStep adds the entries of a step; of a damaged one, the readable entries.
func (x *Index) addStep(ctx context.Context, store Store, info StepInfo) error {
	step, err := store.Get(ctx, info.Session, info.Number)
	if err == nil {
		for _, e := range step.Removed {
			x.addEntry(e)
		}
		return nil
	}
	if !unreadable(err) {
		return err
	}
	x.Damaged = errors.Join(x.Damaged, err)
	for _, id := range info.Entries {
		e, err := store.Recall(ctx, info.Session, id)
		switch {
		case err == nil:
			x.addEntry(e)
		case !unreadable(err):
			return err
		}
	}
	return nil
}

func (x *Index) addEntry(e Entry) {
	if _, there := x.entries[e.ID]; there {
		return
	}
	x.entries[e.ID] = e
	texts := []string{e.Text}
	for _, m := range e.Messages {
		texts = append(texts, m.TextWithCalls())
	}
	for _, text := range texts {
		for _, piece := range cutPieces(text, pieceSize) {
			x.texts, x.owners = append(x.texts, piece), append(x.owners, e.ID)
		}
	}
}

// embedPieces computes the vectors by meaning, if an embedder was given.
func (x *Index) embedPieces(ctx context.Context, session string) error {
	if len(x.texts) == 0 || x.by.Embedder == nil {
		return nil
	}
	short, stop := x.by.withTimeout(ctx)
	defer stop()
	vectors, err := newVectors(short, x.by.Embedder, session, x.texts)
	if err == nil {
		x.meaning = vectors
	}
	x.failed = err
	return ctx.Err()
}

const pieceSize = 1000 // bytes; longer texts mix several subjects

// cutPieces cuts text into pieces of at most size bytes, after a line feed if there
// is one in the second half, never inside a character. It omits pieces without a
// visible character.
func cutPieces(text string, size int) []string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	var pieces []string
	for text != "" {
		end := min(size, len(text))
		for end < len(text) && text[end]&0xC0 == 0x80 {
			end--
		}
		if at := strings.LastIndexByte(text[:end], '\n'); end < len(text) && at >= size/2 {
			end = at + 1
		}
		if strings.TrimSpace(text[:end]) != "" {
			pieces = append(pieces, text[:end])
		}
		text = text[end:]
	}
	return pieces
}
