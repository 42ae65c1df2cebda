package bench

import (
	"context"
	"strings"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/embed"
	"github.com/tiercompact/tiercompact/internal/recall"
)

// Recalled counts the edits whose old text a compaction removed, and how many of these
// texts a search brings back whole in a number of tokens: that of recall, plain BM25
// over the removed messages, and the newest of them. The query is what the assistant
// says before the edit, else its path.
type Recalled struct {
	Tokens               int // of one answer
	Lost                 int // edits
	Recall, BM25, Newest int
}

// steadyShare is the window of the measure, as a share of the tokens before the cut.
const steadyShare = 0.31

// Add cuts a session, replays the messages before each cut with the preset steady, and
// searches for the old text of each edit after it.
func (r *Recalled) Add(ctx context.Context, session chat.Transcript, count func(string) int) error {
	for _, c := range cuttings(session, nil, count) {
		if len(c.anchors) == 0 {
			continue
		}
		cfg := tiercompact.Defaults(tiercompact.Steady)
		cfg.Window = int(steadyShare * float64(c.size))
		s, err := replayMessages(ctx, c.before, cfg, nil, nil)
		if err != nil {
			return err
		}
		if err := r.addCut(ctx, s, c.before, session[len(c.before):], count); err != nil {
			return err
		}
	}
	return nil
}

func (r *Recalled) addCut(ctx context.Context, s *tiercompact.Session, before, after chat.Transcript, count func(string) int) error {
	left := s.Messages()
	stand := trimmedLines(left)
	removed := removedMessages(before, left)
	var err error
	eachAnchor(before, after, func(at int, path string, a Anchor) {
		if err != nil || a.foundInLines(stand) {
			return
		}
		query := saidBefore(after, at, path)
		var found recall.Result
		if found, err = s.SearchBy(ctx, recall.Query{Text: query, Tokens: r.Tokens, Count: count}); err != nil {
			return
		}
		r.Lost++
		r.Recall += flagOf(a.foundInLines(linesOf(found.Text())))
		r.BM25 += flagOf(a.foundInLines(trimmedLines(r.fill(removed, bm25Order(query, removed), count))))
		r.Newest += flagOf(a.foundInLines(trimmedLines(r.fill(removed, embed.Rank(make([]float64, len(removed))), count))))
	})
	return err
}

func flagOf(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

func linesOf(text string) map[string]bool {
	lines := make(map[string]bool)
	for line := range strings.SplitSeq(text, "\n") {
		lines[strings.TrimSpace(line)] = true
	}
	return lines
}

// saidBefore returns the last sentence that the assistant says before its call in message
// at: in the message, or in the one before it; else path.
func saidBefore(t chat.Transcript, at int, path string) string {
	for i := at; i >= max(0, at-1); i-- {
		if text := strings.TrimSpace(t[i].Text()); text != "" && t[i].Role == chat.Assistant {
			return text[strings.LastIndexByte(text, '\n')+1:]
		}
	}
	return path
}

// removedMessages returns the messages of before that left does not have as they were.
func removedMessages(before, left chat.Transcript) (removed chat.Transcript) {
	stand := make(map[string]bool, len(left))
	for _, m := range left {
		stand[TextOf(m)] = true
	}
	for _, m := range before {
		if !stand[TextOf(m)] {
			removed = append(removed, m)
		}
	}
	return removed
}

func bm25Order(query string, messages chat.Transcript) []int {
	terms := make([]embed.Terms, len(messages))
	for i, m := range messages {
		terms[i] = embed.TermsOf(m)
	}
	return embed.Rank(embed.Score(embed.TermsOfText(query), terms))
}

// fill returns the first messages of an order that fit; one that does not fit is skipped.
func (r *Recalled) fill(messages chat.Transcript, order []int, count func(string) int) (out chat.Transcript) {
	room := r.Tokens
	for _, i := range order {
		if n := count(TextOf(messages[i])) + frame; n <= room {
			room -= n
			out = append(out, messages[i])
		}
	}
	return out
}
