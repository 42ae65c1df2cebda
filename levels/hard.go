package levels

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/embed"
	"github.com/tiercompact/tiercompact/files"
	"github.com/tiercompact/tiercompact/internal/edit"
	"github.com/tiercompact/tiercompact/internal/protection"
)

// keepHard is how many of the newest messages hard always keeps.
const keepHard = 5

const reasonHard = "less relevant"

// Hard drops the less relevant half of the old messages.
type Hard struct {
	Keep   int // newest messages that always stay; 0: 5
	Target int // drop further groups, lowest first, until the conversation is below this many tokens; 0: stop at half
	Ledger int // max tokens for the names that would be lost
}

func hardLevel() Level {
	return Level{HardName, Threshold{Default: 0.75, Eager: 0.65, Steady: 0.80}, Ranking, "ochre", []Planner{planHard}}
}

// planHard ranks the messages, with a model if one is set and available, and drops
// the less relevant ones.
func planHard(ctx context.Context, v View) (p Plan, err error) {
	s := v.Settings
	ranker := s.Ranker
	p.Why = s.RankerWhy
	if without := cmp.Or(s.NoModel, s.RankerOutage); ranker.Embedder != nil && without != "" {
		ranker.Embedder, p.Why = nil, without
	}
	scores, err := ranker.Score(ctx, v)
	if err != nil {
		return p, err
	}
	p.RankingCall = Call{Made: ranker.Embedder != nil, Failed: scores.Fallback != ""}
	p.Edits = Hard{Ledger: v.Window * namesPercent / 100, Target: s.HardTarget}.Plan(v, scores.Of)
	p.Engine = scores.Engine
	if scores.Fallback != "" {
		p.Fallback, p.Why = scores.Engine, scores.Fallback
		p.Attempts = []Attempt{{s.Ranker.Name, scores.Fallback, scores.Engine}}
	}
	return p, nil
}

// Plan proposes the messages to drop, given the score of each message of v. The n
// old messages are all but the last five, the query (the last user message) and
// protected ones; floor(n/2) of them stay. Groups are taken by score; one that does
// not fit is skipped. A message and its correction are one group.
func (h Hard) Plan(v View, scores []float64) []edit.Edit {
	old, groups, repeats := h.oldMessages(v)
	order := rankGroups(old, groups, scores)
	n, drop := 0, make([]bool, len(v.Messages))
	for _, g := range order {
		n += len(groups[g])
	}
	for _, r := range repeats {
		for i := r.start; i < r.end; i++ {
			drop[i], n = true, n+1
		}
	}
	room := n / 2
	var stay []int // groups, best first
	for _, g := range order {
		if len(groups[g]) <= room {
			room -= len(groups[g])
			stay = append(stay, g)
			continue
		}
		markMembers(drop, groups[g])
	}
	edits := gapEdits(v, drop, h.Ledger, maxAnswer, reasonHard)
	if h.Target > 0 {
		edits = h.dropUntilTarget(v, groups, stay, drop)
	}
	return h.withRepeatCounts(v, edits, repeats, drop)
}

// withRepeatCounts adds the edits that note how often a call was made, if its first
// result stays.
func (h Hard) withRepeatCounts(v View, edits []edit.Edit, repeats []repeat, drop []bool) []edit.Edit {
	for _, r := range repeats {
		gap := slices.IndexFunc(edits, func(e edit.Edit) bool { return e.Start == r.start && e.End >= r.end })
		if gap >= 0 && !drop[r.first] {
			edits = append(edits, v.notedResult(r, r.gone, edits[gap].Recall, digestMax))
		}
	}
	return edit.Sorted(edits)
}

// oldMessages returns the messages that are old and free, by group: a group is left
// out as a whole if one of its messages is protected, new, or the query. The messages
// between the first and the last of a repeated call are separate: they are dropped.
func (h Hard) oldMessages(v View) (old []bool, groups [][]int, repeats []repeat) {
	keep := h.Keep
	if keep == 0 {
		keep = keepHard
	}
	if last := len(v.Messages) - 1; last >= 0 && v.Messages[last].Typed() {
		keep++ // the query is counted apart
	}
	groups, of := chat.Groups(v.Messages)
	newest := newestTail(v, keep)
	stays := make([]bool, len(groups))
	for g, members := range groups {
		for _, i := range members {
			stays[g] = stays[g] || newest[i] || v.Locked(i) || v.Messages[i].State == chat.Marked
		}
	}
	v.withReferents(stays, of)
	old = make([]bool, len(groups))
	for g := range groups {
		old[g] = !stays[g]
		for _, i := range groups[g] {
			newest[i] = newest[i] || stays[g]
		}
	}
	repeats = v.findRepeats(newest)
	for _, r := range repeats {
		for i := r.start; i < r.end; i++ {
			old[of[i]] = false
		}
	}
	v.joinReferents(old, groups, of)
	joinCorrections(v.Messages, old, groups, of)
	return old, groups, repeats
}

// joinCorrections adds each old message that corrects another old one to the group
// of that one. A correction of a protected message is itself protected.
func joinCorrections(t chat.Transcript, old []bool, groups [][]int, of []int) {
	root := make([]int, len(groups)) // root of the group that a group was added to
	for g := range root {
		root[g] = g
	}
	for i, corrected := range protection.Corrections(t) {
		if corrected < 0 {
			continue
		}
		g, to := of[i], root[of[corrected]]
		if old[g] && old[to] && g != to {
			groups[to] = slices.Concat(groups[to], groups[g])
			old[g], root[g] = false, to
		}
	}
}

// rankGroups returns the old groups, best first. The score of a group is that of
// its best message; ties go to the newer one.
func rankGroups(old []bool, groups [][]int, scores []float64) []int {
	var at []int
	var best []float64
	for g, members := range groups {
		if !old[g] {
			continue
		}
		score := scores[members[0]]
		for _, i := range members[1:] {
			score = max(score, scores[i])
		}
		at, best = append(at, g), append(best, score)
	}
	order := embed.Rank(best)
	for k, i := range order {
		order[k] = at[i]
	}
	return order
}

// dropUntilTarget drops further groups of stay, the lowest first, until v is below
// Target with the required markers in its gaps. Optional markers are added if they
// have room.
func (h Hard) dropUntilTarget(v View, groups [][]int, stay []int, drop []bool) []edit.Edit {
	total := v.Total()
	for i, gone := range drop {
		if gone {
			total -= v.Sizes[i]
		}
	}
	limit := h.Target
	for k := len(stay) - 1; ; {
		for ; k >= 0 && total >= limit; k-- {
			markMembers(drop, groups[stay[k]])
			for _, i := range groups[stay[k]] {
				total -= v.Sizes[i]
			}
		}
		for _, answer := range []int{maxAnswer, 0} {
			edits := gapEdits(v, slices.Clone(drop), h.Ledger, answer, reasonHard)
			left := v.tokensAfter(edits, v.Separator(HardName))
			if left < h.Target || k < 0 && answer == 0 {
				return edits
			}
			limit = min(limit, total-(left-h.Target)) // markers in the gaps take room too
		}
	}
}

func markMembers(in []bool, members []int) {
	for _, i := range members {
		in[i] = true
	}
}

// gapEdits makes the edits that drop messages: one for each run, with a marker
// if invariant 11 (docs/INVARIANTS.md) requires or allows one. Markers of earlier
// rounds that are no longer needed are removed with the messages, and their names
// are carried over: adjacent gaps have one marker. answer is the maximum number of
// tokens of a text that quotes an answer.
func gapEdits(v View, drop []bool, ledger, answer int, why string) []edit.Edit {
	absorbMarkers(v, drop)
	var edits []edit.Edit
	eachRun(drop, func(start, end int) {
		edits = append(edits, edit.Edit{
			Start: start, End: end, Recall: v.recallOf(v.Messages[start:end]),
			Why: why + ": " + protection.Counted(end-start),
		})
	})
	if len(edits) == 0 {
		return nil
	}
	kept := pickMessages(v.Messages, drop, false)
	names := v.lostNames(v.lostMessages(drop), kept, "", min(ledger, v.listRoom(kept)))
	return withMarkers(v, edits, names, answer)
}

// absorbMarkers adds the markers of earlier rounds beside a dropped message, and
// those that separate messages which no longer meet: of two with speakers around them, one is dropped.
func absorbMarkers(v View, drop []bool) {
	var marked []int // since the last message that is not a marker
	gone := false    // whether that message is dropped
	for i, m := range v.Messages {
		switch {
		case m.State == chat.Marked:
			if gone || i > 0 && drop[i-1] {
				drop[i] = true
			}
			marked = append(marked, i)
		case edit.Speaks(m):
			if gone = drop[i]; gone {
				for _, k := range marked {
					drop[k] = true
				}
			}
			marked = nil
		case drop[i] && len(marked) > 0 && marked[len(marked)-1] == i-1:
			drop[i-1] = true
		}
	}
}

// recallOf returns the recall id of dropped messages.
func (v View) recallOf(run []chat.Message) string {
	of := make([]string, 0, 1+len(run))
	of = append(of, edit.Sum(run))
	for _, m := range run {
		of = append(of, m.ID)
	}
	return v.recallID(of...)
}

// recallID returns the recall id of parts: a hash of them and of the round's step,
// so that the same text gets a new id if it is removed again. The hash is repeated
// while an earlier round used the id.
func (v View) recallID(parts ...string) string {
	parts = append(parts, strconv.Itoa(v.Step))
	id := files.RecallID(parts...)
	for v.Taken != nil && v.Taken(id) {
		parts = append(parts, id)
		id = files.RecallID(parts...)
	}
	return id
}
