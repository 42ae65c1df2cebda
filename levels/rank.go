package levels

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/embed"
)

// An Embedder turns texts into vectors of length 1, one for each text.
type Embedder interface {
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// The two ways of ranking.
const (
	Cosine = "cosine" // similarity to the last user message alone: the contract's letter, if an embedder answers
	Fused  = "fused"  // with the lexical score, neighbours and recency, and a longer query
)

// A Ranker scores messages by their relevance to what is being worked on.
type Ranker struct {
	Ranking  string              // Cosine or Fused
	Embedder Embedder            // nil: the built-in lexical scorer
	Name     string              // of the embedder, for reports
	Weights  embed.Weights       // of Fused
	Deadline time.Duration       // for the whole ranking; 0: none
	Query    string              // in place of the conversation's own; "" takes the last user message
	Redact   func(string) string // of what the embedder is given; nil: nothing is
}

// Scores are the relevance of each message, and how they were found.
type Scores struct {
	Of       []float64
	Engine   string // "lexical" or the embedder's name
	Fallback string // why not the embedder; "" where nothing went wrong
}

// Score ranks all messages of v. It fails only where ctx ends: an embedder
// that fails or is late leaves the whole ranking to the lexical scorer.
func (r Ranker) Score(ctx context.Context, v View) (Scores, error) {
	query := r.queryText(v)
	if r.Embedder == nil {
		return Scores{Of: r.lexicalScores(v, query), Engine: "lexical"}, nil
	}
	cos, err := r.cosineScores(ctx, v, query)
	if ctx.Err() != nil {
		return Scores{}, fmt.Errorf("rank messages: %w", ctx.Err())
	}
	if err != nil {
		return Scores{Of: r.lexicalScores(v, query), Engine: "lexical", Fallback: r.failureReason(err)}, nil
	}
	if r.Ranking == Fused {
		cos = embed.Fuse(cos, embed.Match(embed.TermsOfText(query), v.Terms), r.Weights)
	}
	return Scores{Of: cos, Engine: r.Name}, nil
}

// failureReason says why the embedder's vectors are not to be had.
func (r Ranker) failureReason(err error) string {
	if errors.Is(err, context.DeadlineExceeded) && r.Deadline > 0 {
		return fmt.Sprintf("no ranking within %s", r.Deadline)
	}
	return err.Error()
}

// lexicalScores ranks without an embedder. Words alone keep less than the newest
// messages do (docs/LEVELS.md), so what stands in for a cosine also counts
// neighbours and, for less than [Fused] does, recency.
func (r Ranker) lexicalScores(v View, query string) []float64 {
	weights := r.Weights
	if r.Ranking != Fused {
		weights = embed.StandInWeights()
	}
	return embed.Fuse(nil, embed.Match(embed.TermsOfText(query), v.Terms), weights)
}

func (r Ranker) cosineScores(ctx context.Context, v View, query string) ([]float64, error) {
	if r.Deadline > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, r.Deadline)
		defer stop()
	}
	texts := make([]string, len(v.Messages))
	redact := r.Redact
	if redact == nil {
		redact = func(text string) string { return text }
	}
	for i, m := range v.Messages {
		texts[i] = redact(m.TextWithCalls())
	}
	query = redact(query)
	about, of, err := embedTexts(ctx, r.Embedder, query, texts)
	if err != nil {
		return nil, err
	}
	for i, chunks := range of {
		if len(chunks) > 1+len(texts[i]) {
			return nil, fmt.Errorf("%d vectors for a text of %d bytes", len(chunks), len(texts[i]))
		}
	}
	flat := slices.Concat(of...)
	if err := checkVectors(append(flat, about), len(flat)); err != nil {
		return nil, err
	}
	return bestScores(embed.Cosine(about, flat), of), nil
}

// A chunkEmbedder embeds a query in its own way, and long texts in chunks, each
// of which may be what the query is about.
type chunkEmbedder interface {
	EmbedQuery(ctx context.Context, text string) ([]float32, error)
	EmbedChunks(ctx context.Context, texts []string) ([][][]float32, error)
}

// embedTexts returns the query's vector, and those of each text: of its chunks
// where e knows such, else one.
func embedTexts(ctx context.Context, e Embedder, query string, texts []string) (about []float32, of [][][]float32, err error) {
	if c, ok := e.(chunkEmbedder); ok {
		if about, err = c.EmbedQuery(ctx, query); err != nil {
			return nil, nil, err
		}
		if of, err = c.EmbedChunks(ctx, texts); err == nil && len(of) != len(texts) {
			err = fmt.Errorf("vectors of %d texts for %d", len(of), len(texts))
		}
		return about, of, err
	}
	whole, err := e.Embed(ctx, append(texts, query))
	if err != nil {
		return nil, nil, err
	}
	if len(whole) != len(texts)+1 {
		return nil, nil, fmt.Errorf("%d vectors for %d texts", len(whole), len(texts)+1)
	}
	for i := range texts {
		of = append(of, whole[i:i+1])
	}
	return whole[len(texts)], of, nil
}

// bestScores returns the highest score among each text's vectors. A text without any
// scores 0.
func bestScores(scores []float64, of [][][]float32) []float64 {
	out := make([]float64, len(of))
	for i, vectors := range of {
		if n := len(vectors); n > 0 {
			out[i] = slices.Max(scores[:n])
			scores = scores[n:]
		}
	}
	return out
}

// mostDimensions is more than embedding models have: the largest known ones have
// 12,288. Vectors are copied to be compared, and must not fill the memory.
const mostDimensions = 1 << 14

// checkVectors reports vectors that cannot be compared with the query's: a
// server that answers with such has failed. A document may be without direction.
func checkVectors(vectors [][]float32, query int) error {
	if n := len(vectors[query]); n > mostDimensions {
		return fmt.Errorf("vectors have %d dimensions, more than %d", n, mostDimensions)
	}
	for i, v := range vectors {
		if len(v) != len(vectors[query]) {
			return fmt.Errorf("vector %d has %d dimensions, the query's %d", i, len(v), len(vectors[query]))
		}
		var sum float64
		for _, x := range v {
			sum += float64(x) * float64(x)
		}
		if math.IsNaN(sum) || math.IsInf(sum, 0) || sum == 0 && i == query {
			return fmt.Errorf("vector %d has no direction", i)
		}
	}
	return nil
}

// minContent is how many content words a query needs to carry a meaning.
const minContent = 3

// queryText is the last user message. Under Fused a query that carries no meaning
// is joined by the user message before it, and the assistant's text among the
// last five messages joins too.
func (r Ranker) queryText(v View) string {
	if r.Query != "" {
		return r.Query
	}
	last := chat.Newest(v.Messages, chat.Message.Typed)
	if last < 0 {
		last = chat.Newest(v.Messages, func(m chat.Message) bool { return m.Role == chat.User })
	}
	if last < 0 {
		return ""
	}
	query := cmp.Or(v.Messages[last].TypedText(), v.Messages[last].Text())
	if r.Ranking != Fused {
		return query
	}
	if embed.TermsOfText(query).Content() < minContent {
		if before := chat.Newest(v.Messages[:last], chat.Message.Typed); before >= 0 {
			query = v.Messages[before].TypedText() + "\n" + query
		}
	}
	for _, m := range v.Messages[max(0, len(v.Messages)-keepHard):] {
		if m.Role == chat.Assistant && !m.IsSummary() {
			query += "\n" + m.Text()
		}
	}
	return query
}
