package evidence

import (
	"context"
	"fmt"

	"github.com/tiercompact/tiercompact/internal/bench"
)

// Shares returns the shares of a conversation's tokens at which recall is
// measured.
func Shares() []float64 { return []float64{0.05, 0.10, 0.25, 0.50} }

// A Tally sums the results of rankings, over samples.
type Tally struct {
	Rankings []Ranking
	Searches []Search
	Count    func(string) int // tokens of a text
	// Detail, if set, receives the kept turns for each question, ranking and share.
	Detail func(Choice) error
	// Progress, if set, is called after each question.
	Progress func()

	Samples, Turns, Tokens, Questions int
	LeftOut                           LeftOut

	recall  [][]Recall // of each ranking, at each of Shares, and then in AnswerTokens
	answers []Recall   // of recall itself, for each of Searches
}

// Answer returns the recall of the i-th ranking in [AnswerTokens].
func (t *Tally) Answer(i int) Recall { return t.all()[i][len(Shares())] }

// Answered returns the recall of what the command recall prints in [AnswerTokens], by
// the k-th of [Tally.Searches].
func (t *Tally) Answered(k int) Recall {
	if t.answers == nil {
		return Recall{}
	}
	return t.answers[k]
}

func (t *Tally) all() [][]Recall {
	if t.recall == nil {
		return emptyRecalls(len(t.Rankings))
	}
	return t.recall
}

// Recalls returns the recall of the i-th ranking at each of [Shares].
func (t *Tally) Recalls(i int) []Recall {
	return t.all()[i][:len(Shares())]
}

// A Recall is the number of questions whose evidence was kept.
type Recall struct {
	Share    float64
	Any, All bench.Share // any piece of the evidence, all of it; of the questions
}

// A Choice is what a ranking kept for a question.
type Choice struct {
	Sample   string   `json:"sample"`
	Question string   `json:"question"`
	Index    int      `json:"index"` // of the question in the sample's list, from 0
	Ranking  string   `json:"ranking"`
	Share    float64  `json:"p"`
	Kept     []string `json:"kept"` // ids of the turns, in their order
}

// frame is the cost of a turn beside its text, as everywhere in bench.
const frame = 4

// Add ranks the turns of a sample for each of its questions, fills each share of
// the tokens with the best, and counts the evidence among them.
func (t *Tally) Add(ctx context.Context, s *Sample) error {
	if t.recall == nil {
		t.recall, t.answers = emptyRecalls(len(t.Rankings)), make([]Recall, len(t.Searches))
	}
	searcher, err := newSearcher(ctx, s)
	if err != nil {
		return fmt.Errorf("sample %s: %w", s.ID, err)
	}
	sizes, total := make([]int, len(s.Turns)), 0
	for i, turn := range s.Turns {
		sizes[i] = t.Count(turn.String()) + frame
		total += sizes[i]
	}
	t.Samples++
	t.Turns += len(s.Turns)
	t.Tokens += total
	t.LeftOut.addLeftOut(s.LeftOut)
	v := viewOfTurns(s.messages())
	for _, q := range s.Questions {
		for r, ranking := range t.Rankings {
			order, err := ranking.rankTurns(ctx, v, q.Text)
			if err != nil {
				return fmt.Errorf("sample %s, question %d: %w", s.ID, q.Index, err)
			}
			for p := range t.recall[r] {
				room := t.recall[r][p].Share * float64(total)
				if p == len(Shares()) {
					room = AnswerTokens
				}
				kept := fillBudget(order, sizes, room)
				t.recall[r][p].addEvidence(q.Evidence, kept)
				if p == len(Shares()) {
					continue
				}
				if err := t.reportQuestion(s, q, ranking, t.recall[r][p].Share, kept); err != nil {
					return err
				}
			}
		}
		for k, by := range t.Searches {
			by.Query.Count = t.Count
			kept, err := searcher.answer(ctx, s, q.Text, by.Query)
			if err != nil {
				return fmt.Errorf("sample %s, question %d: %s: %w", s.ID, q.Index, by.Name, err)
			}
			t.answers[k].addEvidence(q.Evidence, kept)
		}
		t.Questions++
		if t.Progress != nil {
			t.Progress()
		}
	}
	return nil
}

func emptyRecalls(rankings int) [][]Recall {
	all := make([][]Recall, rankings)
	for r := range all {
		for _, p := range Shares() {
			all[r] = append(all[r], Recall{Share: p})
		}
		all[r] = append(all[r], Recall{})
	}
	return all
}

// addEvidence counts the question whose evidence is given.
func (r *Recall) addEvidence(evidence [][]int, kept []bool) {
	found := 0
	for _, piece := range evidence {
		for _, i := range piece {
			if kept[i] {
				found++
				break
			}
		}
	}
	r.Any.Whole++
	r.All.Whole++
	if found > 0 {
		r.Any.Part++
	}
	if found == len(evidence) {
		r.All.Part++
	}
}

func (t *Tally) reportQuestion(s *Sample, q Question, r Ranking, share float64, kept []bool) error {
	if t.Detail == nil {
		return nil
	}
	c := Choice{Sample: s.ID, Question: q.Text, Index: q.Index, Ranking: r.Name, Share: share, Kept: []string{}}
	for i, turn := range s.Turns {
		if kept[i] {
			c.Kept = append(c.Kept, turn.ID)
		}
	}
	return t.Detail(c)
}
