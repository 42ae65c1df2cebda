package levels

import (
	"cmp"
	"time"

	"github.com/tiercompact/tiercompact/summarize"
)

// Settings are what planners need to know beside the conversation. Tokens are as
// counted here, not as the server counts them.
type Settings struct {
	Budget               int                  // tokens that the conversation may have
	Share                func(of float64) int // tokens of a share of the window
	Worth                func(freed int) bool // reports whether so many tokens are worth a round
	Before               int                  // tokens of the conversation before the round
	Forced               bool                 // the round is made however little it frees
	SummaryDue           bool                 // a message or context threshold asked for a summary alone
	Refill               bool                 // outlines and excerpts fill the conversation up again, whatever the level
	Fill                 float64              // share of the window up to which they do; 0: they do not
	StaleAfter           int                  // of Soft
	HardTarget           int                  // of Hard; 0: half of the old messages stay
	KeepLast             int                  // newest messages that emergency keeps
	KeepShare            float64              // share of the window up to which it keeps more of them
	KeepTurns, KeepPairs int                  // most turns and pairs of tool calls and results that layers keep

	Ranker        Ranker
	Writer        Writer        // its limits of facts and names are set by the planner
	RoundDeadline time.Duration // of Writer; 0: none
	RankerWhy     string        // why it is this ranker
	WriterWhy     string        // why it is this writer
	NoModel       string        // why no model may be asked; "" if one may
	RankerOutage  string        // why the ranker's may not
	WriterOutage  string        // why the writer's may not
}

// fillTarget returns how many tokens a round that fills leaves; 0 if none does.
func (s Settings) fillTarget() int { return s.Share(s.Fill) }

// namesLimit returns the most tokens of names that would be lost, percent of the
// window unless the round refills the conversation.
func (s Settings) namesLimit(v View, percent int) int {
	if s.Refill {
		percent = 10
	}
	return v.Window * percent / 100
}

// keptLast returns how many of the newest messages emergency keeps.
func (s Settings) keptLast(v View) int {
	if s.KeepLast == 0 {
		return 0
	}
	n, sum, most := 0, 0, s.Share(s.KeepShare)
	for i := len(v.Sizes) - 1; i >= 0; i-- {
		if sum += v.Sizes[i]; sum > most {
			break
		}
		n++
	}
	return max(n, s.KeepLast)
}

// summaryWriter returns the writer of a summary, and why it is this one. A reason
// for no model leaves the built-in one.
func (s Settings) summaryWriter(v View, noModel string) (w Writer, why string) {
	w = s.Writer
	w.Facts, w.Ledger = v.Window*5/100, s.namesLimit(v, 3)
	if isBuiltIn(w.Summarizer) {
		return w, s.WriterWhy
	}
	if why = cmp.Or(noModel, s.WriterOutage); why != "" {
		w.Summarizer, w.Name = summarize.Extractive{}, FallbackExtractive
	}
	return w, cmp.Or(why, s.WriterWhy)
}

// filledTokens returns how many tokens the conversation has if excerpts of files
// fill it up around a summary of at most so many tokens. What cannot leave it may
// take up so much that nothing would be left for them: they have 18 % of the
// window as long as all stays below 80 %. docs/LEVELS.md has why.
func (s Settings) filledTokens(v View, c Cut, summary int) int {
	if s.Fill == 0 {
		return 0
	}
	rest := v.Total() - c.Tokens(v.Sizes)
	return min(max(s.fillTarget(), min(rest+summary+s.Share(0.18), s.Share(0.80))), s.Budget)
}
