package archive

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/philippgille/chromem-go"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/embed"
)

// A Hit is an entry that a search found.
type Hit struct {
	ID    string
	Score float64 // cosine, up to 1, and 1 more where the query stands in Text as it is but for case
	Text  string  // the piece that fits best
	Entry Entry
}

// Search returns the n entries of a session that fit the query best, best
// first, ties by id. An entry that has no word of the query is no hit.
func Search(ctx context.Context, store Store, session, query string, n int) ([]Hit, error) {
	x, err := NewIndex(ctx, store, session)
	if err != nil {
		return nil, fmt.Errorf("search session %s: %w", session, err)
	}
	hits, err := x.Search(ctx, query, n)
	if err != nil {
		return nil, fmt.Errorf("search session %s: %w", session, err)
	}
	return hits, nil
}

// An Index finds entries by their words. It is built once and may be searched
// concurrently.
type Index struct {
	entries map[string]Entry
	pieces  *chromem.Collection // nil where there is none
	texts   []string            // of pieces, whose ids are places in it
	owners  []string            // recall ids of pieces
}

// NewIndex indexes what was removed from a session so far. Where several
// entries have one id, the newest counts.
func NewIndex(ctx context.Context, store Store, session string) (*Index, error) {
	infos, err := store.Steps(ctx, session)
	if err != nil {
		return nil, err
	}
	x := &Index{entries: make(map[string]Entry)}
	for _, info := range slices.Backward(infos) {
		if len(info.Entries) == 0 {
			continue
		}
		step, err := store.Get(ctx, session, info.Number)
		if err != nil {
			return nil, err
		}
		for _, e := range step.Removed {
			x.add(e)
		}
	}
	return x, x.embed(ctx)
}

func (x *Index) add(e Entry) {
	if _, there := x.entries[e.ID]; there {
		return
	}
	x.entries[e.ID] = e
	texts := []string{e.Text}
	for _, m := range e.Messages {
		texts = append(texts, content(m))
	}
	for _, text := range texts {
		for _, piece := range cut(text, pieceSize) {
			x.texts, x.owners = append(x.texts, piece), append(x.owners, e.ID)
		}
	}
}

// content is what a search sees of m: its texts, and its calls with arguments.
func content(m chat.Message) string {
	var b strings.Builder
	b.WriteString(m.Text())
	for _, p := range m.Parts {
		if p.Kind == chat.Call {
			b.WriteString("\n" + p.Name + " " + p.Args)
		}
	}
	return b.String()
}

const pieceSize = 2000 // bytes; longer texts blur what they are about

// cut cuts text into pieces of at most size bytes, behind a line feed where
// there is one in the second half, never inside a character. Pieces without a
// visible character are left out.
func cut(text string, size int) []string {
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

func (x *Index) embed(ctx context.Context) error {
	if len(x.texts) == 0 {
		return nil
	}
	vectors, err := embed.Lexical{}.Embed(ctx, x.texts)
	if err != nil {
		return err
	}
	pieces, err := chromem.NewDB().CreateCollection("removed", nil, neverEmbed)
	if err != nil {
		return err
	}
	for i, v := range vectors {
		if err := pieces.AddDocument(ctx, chromem.Document{ID: strconv.Itoa(i), Embedding: v}); err != nil {
			return err
		}
	}
	x.pieces = pieces
	return nil
}

// neverEmbed stands where chromem would otherwise call a service.
func neverEmbed(context.Context, string) ([]float32, error) {
	panic("archive: every document has its vector") // this package gives each one
}

// Search returns the n entries that fit the query best, as [Search] does.
func (x *Index) Search(ctx context.Context, query string, n int) ([]Hit, error) {
	query = strings.TrimSpace(query)
	if x.pieces == nil || query == "" || n <= 0 {
		return nil, nil
	}
	vectors, err := embed.Lexical{}.Embed(ctx, []string{query})
	if err != nil {
		return nil, err
	}
	results, err := x.pieces.QueryEmbedding(ctx, vectors[0], len(x.texts), nil, nil)
	if err != nil {
		return nil, err
	}
	scores := make([]float64, len(x.texts))
	for _, r := range results {
		at, err := strconv.Atoi(r.ID)
		if err != nil {
			return nil, err
		}
		scores[at] = float64(r.Similarity)
	}
	return x.best(strings.ToLower(query), scores, n), nil
}

// best returns the n best hits of the pieces with the given scores.
func (x *Index) best(query string, scores []float64, n int) []Hit {
	found := make(map[string]Hit)
	for i, score := range scores { // in the order of pieces: the first of equals counts
		if strings.Contains(strings.ToLower(x.texts[i]), query) {
			score++
		}
		score = math.Round(score*1e6) / 1e6
		id := x.owners[i]
		if old, there := found[id]; score >= least && (!there || score > old.Score) {
			found[id] = Hit{ID: id, Score: score, Text: x.texts[i], Entry: x.entries[id]}
		}
	}
	hits := make([]Hit, 0, len(found))
	for _, h := range found {
		hits = append(hits, h)
	}
	slices.SortFunc(hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID))
	})
	return hits[:min(n, len(hits))]
}

// least is the score below which what two texts share is chance.
const least = 0.05
