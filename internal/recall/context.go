package recall

import (
	"context"
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/embed"
)

// Sizes of a context.
const (
	contextMessages = 6
	contextBytes    = 2000 // of one message
	// maxFrequent is how many passages may have a word of it.
	maxFrequent = 2000
)

// ContextOf returns what a conversation is about now, for [Query].Context: the newest
// texts and calls.
func ContextOf(t []chat.Message) string {
	var parts []string
	for _, m := range slices.Backward(t) {
		if len(parts) == contextMessages {
			break
		}
		if m.Role != chat.User && m.Role != chat.Assistant {
			continue
		}
		if text := textOf(m); text != "" {
			parts = append(parts, text[:min(len(text), contextBytes)])
		}
	}
	return strings.Join(parts, "\n")
}

// newestContext returns the context of the newest step of a session in the archive, "" if
// it cannot be read.
func (s *IndexedStore) newestContext(ctx context.Context, x *index) string {
	x.mu.Lock()
	number := 0
	if n := len(x.segments); n > 0 {
		if steps := x.segments[n-1].steps; len(steps) > 0 {
			number = steps[len(steps)-1].number
		}
	}
	text, known := x.context, x.contextStep == number
	x.mu.Unlock()
	if known || number == 0 {
		return text
	}
	step, err := s.Get(ctx, x.session, number)
	if err != nil {
		return ""
	}
	text = ContextOf(step.Before)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.context, x.contextStep = text, number
	return text
}

// contextScores returns how well each passage matches a context, from 0 to 1. Words that
// very many passages have say little, and cost most: they are left out. The scores of the
// last context are kept.
func (s *snapshot) contextScores(text string) []float64 {
	if text == "" {
		return nil
	}
	s.last.Lock()
	defer s.last.Unlock()
	if s.last.context != text {
		s.last.context, s.last.scores = text, s.matchContext(text)
	}
	return s.last.scores
}

func (s *snapshot) matchContext(text string) []float64 {
	corpus := s.corpus()
	find := corpus.Find
	corpus.Find = func(hash uint32, each func(doc, count int)) {
		if s.frequency(hash) <= maxFrequent {
			find(hash, each)
		}
	}
	scores := corpus.Match(embed.TermsOfText(text))
	top := 0.0
	for _, x := range scores {
		top = max(top, x)
	}
	for i := range scores {
		if top > 0 {
			scores[i] /= top
		}
	}
	return scores
}

// frequency returns about how many passages have a term: the bytes of its postings.
func (s *snapshot) frequency(hash uint32) (n int) {
	for _, seg := range s.segments {
		n += seg.postingBytes(hash)
	}
	return n
}
