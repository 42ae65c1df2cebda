package bench

import (
	"context"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
)

// Refill sums what a server must read again over a whole session, with compaction
// and without.
type Refill struct {
	Prefill  Share // tokens with compaction, without compaction
	Rounds   int   // compactions
	Sessions int
}

// Add replays a session in a window of a share of its tokens, with a request before
// each assistant message. One of fewer than 40 messages adds nothing.
func (r *Refill) Add(session chat.Transcript, cfg tiercompact.Config, window float64, count func(string) int) error {
	if len(session) < minSession {
		return nil
	}
	cfg.Window = int(window * float64(Size(session, count)))
	_, err := r.addReplay(context.Background(), session, cfg, count, func(tiercompact.Report) {})
	return err
}

// addReplay adds the cost of the replay of a session, and returns the final
// conversation. It reports each round.
func (r *Refill) addReplay(ctx context.Context, session chat.Transcript, cfg tiercompact.Config, count func(string) int, told func(tiercompact.Report)) (chat.Transcript, error) {
	with := NewPrefill(count)
	s, err := replayMessages(ctx, session, cfg, func(i int, s *tiercompact.Session) {
		if isRequestAt(session, i) {
			with.Request(s.Messages())
		}
	}, func(report tiercompact.Report) {
		if report.Compacted() {
			r.Rounds++
			told(report)
		}
	})
	if err != nil {
		return nil, err
	}
	r.Prefill.addShare(with.Tokens, withoutCompaction(session, count))
	r.Sessions++
	return s.Messages(), nil
}

// isRequestAt reports whether a request is before message i of a session.
func isRequestAt(session chat.Transcript, i int) bool {
	return i > 0 && session[i].Role == chat.Assistant
}

// withoutCompaction returns the tokens of the requests of a session if each begins
// with the one before: each message is read once.
func withoutCompaction(session chat.Transcript, count func(string) int) int {
	for i := len(session) - 1; i > 0; i-- {
		if isRequestAt(session, i) {
			return Size(session[:i], count)
		}
	}
	return 0
}

// trimFrom is the usage of the window from which a baseline is applied before a
// request.
const trimFrom = 0.60

// addPolicy adds the cost of a session with a baseline applied before each request
// over 0.60 of the window. Shares of the baseline are then shares of the window.
func (r *Refill) addPolicy(session chat.Transcript, b Way, window int, count func(string) int) {
	with, sizes := NewPrefill(count), sizer{count: count, known: make(map[*chat.Part]int)}
	var t chat.Transcript
	used := 0
	for i, m := range session {
		if isRequestAt(session, i) {
			if float64(used) > trimFrom*float64(window) {
				t = b.trim(t, count, window)
				left := sizes.transcriptTokens(t)
				if left < used {
					r.Rounds++
				}
				used = left
			}
			with.Request(t[:len(t):len(t)])
		}
		t = append(t, m)
		used += sizes.transcriptTokens(t[len(t)-1:])
	}
	r.Prefill.addShare(with.Tokens, withoutCompaction(session, count))
	r.Sessions++
}

// A sizer counts messages, and caches the counts by their parts, which are never
// modified.
type sizer struct {
	count func(string) int
	known map[*chat.Part]int
}

func (s sizer) transcriptTokens(t chat.Transcript) (sum int) {
	for i, m := range t {
		if len(m.Parts) == 0 {
			sum += frame
			continue
		}
		n, ok := s.known[&m.Parts[0]]
		if !ok {
			n = Size(t[i:i+1], s.count)
			s.known[&m.Parts[0]] = n
		}
		sum += n
	}
	return sum
}
