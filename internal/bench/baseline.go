package bench

import (
	"math/rand/v2"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/embed"
)

// A Way is a way to make a conversation smaller.
type Way struct {
	Name string
	Make func(t chat.Transcript, count func(string) int) (chat.Transcript, error)

	trim trim // nil: only for baselines
}

// A trim makes t smaller. If it keeps a share, the share is of the whole t's
// tokens.
type trim func(t chat.Transcript, count func(string) int, whole int) chat.Transcript

func baseline(name string, trim trim) Way {
	return Way{Name: name, trim: trim, Make: func(t chat.Transcript, count func(string) int) (chat.Transcript, error) {
		return trim(t, count, Size(t, count)), nil
	}}
}

// baselines are the baselines with a seed for random ones.
func baselines(seed uint64) []Way {
	return []Way{
		baseline(everything, func(t chat.Transcript, _ func(string) int, _ int) chat.Transcript { return t }),
		baseline("newest 0.20", newestShare(0.20)),
		baseline("newest 0.30", newestShare(0.30)),
		baseline("newest 0.40", newestShare(0.40)),
		baseline("newest 0.50", newestShare(0.50)),
		baseline("mask but 10", maskToolResults),
		baseline("drop oldest to 0.58", dropOldest(0.58)),
		baseline("drop to half", dropOldest(0.50)),
		baseline("BM25 top half", bm25Half),
		baseline("random half", randomHalf(seed)),
	}
}

// everything is the baseline that removes nothing.
const everything = "keep everything"

// newestShare keeps the first message and the newest that fill a share of the tokens.
func newestShare(share float64) trim {
	return func(t chat.Transcript, count func(string) int, whole int) chat.Transcript {
		budget, used, from := share*float64(whole), 0, len(t)
		for from > 0 {
			if used += Size(t[from-1:from], count); float64(used) > budget {
				break
			}
			from--
		}
		for from < len(t) && t[from].Role == chat.Tool {
			from++
		}
		return joinTranscripts(t[:min(1, len(t))], t[max(from, min(1, len(t))):])
	}
}

// maskToolResults clears the text of all tool results except in the last ten
// messages.
func maskToolResults(t chat.Transcript, _ func(string) int, _ int) chat.Transcript {
	const cleared = "[cleared]"
	out := append(chat.Transcript(nil), t...)
	for i := range max(0, len(t)-10) {
		if out[i].Role == chat.Tool && len(out[i].Parts) > 0 && out[i].Parts[0].Text != cleared {
			p := out[i].Parts[0]
			p.Text = cleared
			out[i].Parts = []chat.Part{p}
		}
	}
	return out
}

// dropOldest drops the oldest groups until at most a share of the tokens is left.
func dropOldest(share float64) trim {
	return func(t chat.Transcript, count func(string) int, whole int) chat.Transcript {
		left, limit := Size(t, count), share*float64(whole)
		groups, _ := chat.Groups(t)
		drop := make([]bool, len(t))
		for _, g := range groups {
			if float64(left) <= limit {
				break
			}
			for _, i := range g {
				drop[i] = true
				left -= Size(t[i:i+1], count)
			}
		}
		return withoutMessages(t, drop)
	}
}

// bm25Half keeps the half of the groups with the highest score for the last user
// message.
func bm25Half(t chat.Transcript, _ func(string) int, _ int) chat.Transcript {
	terms := make([]embed.Terms, len(t))
	for i, m := range t {
		terms[i] = embed.TermsOf(m)
	}
	last := chat.Newest(t, chat.Message.Typed)
	if last < 0 {
		return t
	}
	score := embed.Score(terms[last], terms)
	groups, _ := chat.Groups(t)
	best := make([]float64, len(groups))
	for g, members := range groups {
		for _, i := range members {
			best[g] = max(best[g], score[i])
		}
	}
	return keepHalf(t, groups, embed.Rank(best))
}

// randomHalf keeps a random half of the groups, by a seed.
func randomHalf(seed uint64) trim {
	return func(t chat.Transcript, _ func(string) int, _ int) chat.Transcript {
		groups, _ := chat.Groups(t)
		return keepHalf(t, groups, rand.New(rand.NewPCG(seed, 0)).Perm(len(groups)))
	}
}

// keepHalf keeps the first half of the groups in order.
func keepHalf(t chat.Transcript, groups [][]int, order []int) chat.Transcript {
	drop := make([]bool, len(t))
	for _, g := range order[len(order)/2:] {
		for _, i := range groups[g] {
			drop[i] = true
		}
	}
	return withoutMessages(t, drop)
}

func withoutMessages(t chat.Transcript, drop []bool) (out chat.Transcript) {
	for i, m := range t {
		if !drop[i] {
			out = append(out, m)
		}
	}
	return out
}

func joinTranscripts(a, b chat.Transcript) chat.Transcript {
	return append(append(chat.Transcript(nil), a...), b...)
}
