package archive

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/philippgille/chromem-go"

	"github.com/tiercompact/tiercompact/chat"
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
	meaning *chromem.Collection // of the embedder's vectors; nil if there are none
	failed  error               // why there are none, if an embedder was given
	words   func() (*chromem.Collection, error)
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
	x.words = sync.OnceValues(func() (*chromem.Collection, error) {
		vectors, err := embed.Lexical{}.Embed(context.WithoutCancel(ctx), x.texts)
		if err != nil {
			return nil, err
		}
		return collection(vectors)
	})
	return x, x.embedPieces(ctx)
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
		texts = append(texts, searchText(m))
	}
	for _, text := range texts {
		for _, piece := range cutPieces(text, pieceSize) {
			x.texts, x.owners = append(x.texts, piece), append(x.owners, e.ID)
		}
	}
}

// embedPieces computes the vectors by meaning, if an embedder was given.
func (x *Index) embedPieces(ctx context.Context) error {
	if len(x.texts) == 0 || x.by.Embedder == nil {
		return nil
	}
	short, stop := x.by.withTimeout(ctx)
	defer stop()
	vectors, err := x.by.Embedder.Embed(short, x.texts)
	if err == nil && len(vectors) != len(x.texts) {
		err = fmt.Errorf("%d vectors for %d texts", len(vectors), len(x.texts))
	}
	if err == nil {
		x.meaning, err = collection(vectors)
	}
	x.failed = err
	return ctx.Err()
}

// collection returns vectors under the numbers of their pieces.
func collection(vectors [][]float32) (*chromem.Collection, error) {
	pieces, err := chromem.NewDB().CreateCollection("removed", nil, neverEmbed)
	if err != nil {
		return nil, err
	}
	for i, v := range vectors {
		if err := pieces.AddDocument(context.Background(), chromem.Document{ID: strconv.Itoa(i), Embedding: v}); err != nil {
			return nil, err
		}
	}
	return pieces, nil
}

// neverEmbed is set so that chromem does not call a service.
func neverEmbed(context.Context, string) ([]float32, error) {
	panic("archive: every document has its vector") // this package provides each one
}

// searchText returns the text of m for searches: its texts, and its calls with
// arguments.
func searchText(m chat.Message) string {
	var b strings.Builder
	b.WriteString(m.Text())
	for _, p := range m.Parts {
		if p.Kind == chat.Call || p.Kind == chat.ServerCall {
			b.WriteString("\n" + p.Name + " " + p.Args)
		}
	}
	return b.String()
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
