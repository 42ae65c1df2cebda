package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/philippgille/chromem-go"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/embed"
)

// A Hit is an entry that a search found.
type Hit struct {
	ID    string
	Score float64 // cosine, and the share of the query's words that stand in Text: up to 2
	Text  string  // the piece that fits best
	Entry Entry
}

// Search returns the n entries of a session that fit the query best, best
// first, ties by id. An entry that shares nothing with the query is no hit.
// With an error that wraps ErrDamaged, what could be read was searched.
func Search(ctx context.Context, store Store, session, query string, n int) ([]Hit, error) {
	x, err := NewIndex(ctx, store, session)
	if err != nil {
		return nil, fmt.Errorf("search session %s: %w", session, err)
	}
	hits, err := x.Search(ctx, query, n)
	if err = errors.Join(err, x.Damaged); err != nil {
		return hits, fmt.Errorf("search session %s: %w", session, err)
	}
	return hits, nil
}

// An Index finds entries by their words. It is built once and may be searched
// concurrently.
type Index struct {
	// Damaged says which steps could not be read and are not in the index.
	Damaged error

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
		if len(info.Entries) == 0 && info.Damaged == nil {
			continue
		}
		step, err := store.Get(ctx, session, info.Number)
		if errors.Is(err, ErrDamaged) || errors.Is(err, ErrVersion) {
			x.Damaged = errors.Join(x.Damaged, err)
			continue
		}
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

const pieceSize = 1000 // bytes; longer texts blur what they are about

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

// best returns the n best hits, by the cosine of each piece and the share of
// the query's words in it.
func (x *Index) best(query string, cosines []float64, n int) []Hit {
	found := make(map[string]Hit)
	for i, share := range x.shares(query) { // in the order of pieces: the first of equals counts
		if share == 0 && cosines[i] < alike {
			continue
		}
		score := math.Round((cosines[i]+share)*1e6) / 1e6
		id := x.owners[i]
		if old, there := found[id]; !there || score > old.Score {
			found[id] = Hit{ID: id, Score: score, Text: x.texts[i], Entry: x.entries[id]}
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID))
	})[:min(n, len(found))]
}

// alike is the cosine from which texts that share no word are alike by more
// than chance.
const alike = 0.2

// shares returns for each piece the share of the query's words that stand in
// it, 0 to 1. A word counts the more, the fewer pieces have it.
func (x *Index) shares(query string) []float64 {
	words := strings.FieldsFunc(query, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' })
	slices.Sort(words)
	words = slices.Compact(words)
	shares := make([]float64, len(x.texts))
	lower := make([]string, len(x.texts))
	for i, text := range x.texts {
		lower[i] = strings.ToLower(text)
	}
	var total float64
	for _, word := range words[:min(len(words), maxWords)] {
		var with []int
		for i, text := range lower {
			if strings.Contains(text, word) {
				with = append(with, i)
			}
		}
		if len(with) == 0 {
			continue
		}
		weight := math.Log(1 + float64(len(lower))/float64(len(with)))
		total += weight
		for _, i := range with {
			shares[i] += weight
		}
	}
	if total > 0 {
		for i := range shares {
			shares[i] /= total
		}
	}
	return shares
}

const maxWords = 64 // of a query that are looked for
