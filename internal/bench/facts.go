package bench

import (
	"context"
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/bench/corpus"
)

// maxQueries is the number of questions for a session of the given number of
// messages: each costs a compaction of its own.
func maxQueries(messages int) int { return max(3, min(12, 2400/max(1, messages))) }

// sampleQuestions returns a sample of the questions of facts: at most the given
// number, from all over the session.
func sampleQuestions(facts []corpus.Fact, most int) []string {
	var all []string
	known := make(map[string]bool)
	for _, f := range facts {
		if !known[f.Query] {
			known[f.Query] = true
			all = append(all, f.Query)
		}
	}
	if len(all) <= most {
		return all
	}
	out := make([]string, most)
	for i := range out {
		out[i] = all[i*len(all)/most]
	}
	return out
}

// countFactsIn returns, by kind, how many facts are in t: those of a query, or all
// for "".
func countFactsIn(facts []corpus.Fact, t chat.Transcript, query string) map[corpus.Kind]Share {
	out := make(map[corpus.Kind]Share)
	if len(facts) == 0 {
		return out
	}
	hay := newFinder(t, len(facts))
	for _, f := range facts {
		if query != "" && f.Query != query {
			continue
		}
		s := out[f.Kind]
		s.Whole++
		if hay.containsText(f.Text) {
			s.Part++
		}
		out[f.Kind] = s
	}
	return out
}

// askedFacts compacts s with w for each of its questions, and counts the retained
// facts of each.
func (r *runner) askedFacts(ctx context.Context, w *way, s *subject) (map[corpus.Kind]Share, error) {
	out := make(map[corpus.Kind]Share)
	for _, query := range s.queries {
		t := append(slices.Clone(s.messages), chat.NewText(chat.User, query))
		left, _, err := r.compactOnce(ctx, w, t, s.size)
		if err != nil {
			return nil, err
		}
		for kind, share := range countFactsIn(s.facts, left[:len(left)-1], query) {
			sum := out[kind]
			sum.addShare(share.Part, share.Whole)
			out[kind] = sum
		}
	}
	return out, nil
}

// addReasons adds tokens that an edit of soft freed, by its reasons: several have
// equal parts.
func (p *SoftPart) addReasons(why string, freed int) {
	reasons := strings.Split(why, ", ")
	for i, reason := range reasons {
		n := freed*(i+1)/len(reasons) - freed*i/len(reasons)
		switch {
		case strings.HasPrefix(reason, "outline of "):
			p.Files += n
		case reason == "digest":
			p.Outputs += n
		default:
			p.Again += n
		}
	}
}
