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
	var c contextText
	for _, m := range slices.Backward(t) {
		if !c.addMessage(m) {
			break
		}
	}
	return strings.Join(c, "\n")
}

// A contextText is texts and calls, the newest first.
type contextText []string

// addMessage adds the message before those that it has, and reports whether there is room
// for more.
func (c *contextText) addMessage(m chat.Message) bool {
	if m.Role == chat.User || m.Role == chat.Assistant {
		if text := textOf(m); text != "" {
			*c = append(*c, text[:min(len(text), contextBytes)])
		}
	}
	return len(*c) < contextMessages
}

// newestContext returns the context of the newest step of a session in the archive, "" if
// it cannot be read.
func (x *index) newestContext(ctx context.Context, segments []*segment, store *readers) string {
	number := 0
	if n := len(segments); n > 0 {
		if steps := segments[n-1].steps; len(steps) > 0 {
			number = steps[len(steps)-1].number
		}
	}
	x.mu.Lock()
	text, known := x.context, x.contextStep == number
	x.mu.Unlock()
	if known || number == 0 {
		return text
	}
	reader, err := store.of(ctx, x.session)
	if err != nil {
		return ""
	}
	var c contextText
	if err := reader.Newest(ctx, number, c.addMessage); err != nil {
		return ""
	}
	text = strings.Join(c, "\n")
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
	postings := corpus.Postings
	corpus.Postings = func(hash uint32, list []embed.Posting) []embed.Posting {
		if s.frequency(hash) > maxFrequent {
			return list
		}
		return postings(hash, list)
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
		n += len(seg.postingsOf(hash))
	}
	return n
}
