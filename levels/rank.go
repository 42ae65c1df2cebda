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
	Cosine = "cosine" // similarity to the last user message alone, if an embedder answers
	Fused  = "fused"  // with the lexical score, neighbours and recency, and a longer query
)

// A Ranker scores messages by their relevance to the current work.
type Ranker struct {
	Ranking  string              // Cosine or Fused
	Embedder Embedder            // nil: the built-in lexical scorer
	Name     string              // of the embedder, for reports
	Weights  embed.Weights       // of Fused
	Deadline time.Duration       // for the whole ranking; 0: none
	Query    string              // replaces the conversation's query; "": the last user message
	Redact   func(string) string // redacts the embedder's input; nil: no redaction
}

// Scores are the relevance of each message, and the engine that found them.
type Scores struct {
	Of       []float64
	Engine   string // "lexical" or the embedder's name
	Fallback string // why the embedder was not used; "" if it was
}

// Score ranks all messages of v. It returns an error only if ctx ends: if an embedder
// fails or is late, the lexical scorer ranks all messages.
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

// failureReason returns the reason why the embedder has no vectors.
func (r Ranker) failureReason(err error) string {
	if errors.Is(err, context.DeadlineExceeded) && r.Deadline > 0 {
		return fmt.Sprintf("no ranking within %s", r.Deadline)
	}
	return err.Error()
}

// lexicalScores ranks without an embedder. Words alone keep less than the newest
// messages do (docs/LEVELS.md), so neighbours and, with less weight than in [Fused],
// recency count even in place of a cosine.
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

// A chunkEmbedder embeds queries in a separate way, and long texts in chunks, of
// which each can match the query.
type chunkEmbedder interface {
	EmbedQuery(ctx context.Context, text string) ([]float32, error)
	EmbedChunks(ctx context.Context, texts []string) ([][][]float32, error)
}

// embedTexts returns the query's vector, and those of each text: one for each chunk
// if e supports chunks, or else one.
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

// bestScores returns the highest score of each text's vectors, 0 for a text without
// vectors.
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

// maxDimensions exceeds the dimensions of embedding models: the largest known ones
// have 12,288. Vectors are copied for comparison and must not fill the memory.
const maxDimensions = 1 << 14

// checkVectors reports vectors that cannot be compared with the query's: such an
// answer is a failure of the server. A document's vector may have no direction.
func checkVectors(vectors [][]float32, query int) error {
	if n := len(vectors[query]); n > maxDimensions {
		return fmt.Errorf("vectors have %d dimensions, more than %d", n, maxDimensions)
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

// minContent is the minimum number of content words of a meaningful query.
const minContent = 3

// queryText is the last user message. Under Fused, the previous user message is added
// if the query has too few content words, and so is the assistant's text among the
// last five messages.
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
