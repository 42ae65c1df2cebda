package levels

import (
	"cmp"
	"time"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/protection"
	"github.com/tiercompact/tiercompact/summarize"
)

// Settings are the input of planners beside the conversation. Tokens are counted
// locally, not by the server.
type Settings struct {
	Budget               int                  // max tokens of the conversation
	Share                func(of float64) int // tokens of a share of the window
	Worth                func(freed int) bool // reports whether freed tokens are worth a round
	Before               int                  // tokens of the conversation before the round
	Forced               bool                 // the round is made even if it frees little
	SummaryDue           bool                 // a message or context threshold is exceeded: summary only
	Refill               bool                 // outlines and excerpts refill the conversation at every level
	Fill                 float64              // share of the window to refill; 0: no refill
	StaleAfter           int                  // of Soft
	HardTarget           int                  // of Hard; 0: half of the old messages stay
	KeepLast             int                  // newest messages that emergency keeps
	KeepShare            float64              // share of the window up to which emergency keeps more messages
	KeepTurns, KeepPairs int                  // max turns and pairs of tool calls and results that layers keep

	Ranker        Ranker
	Writer        Writer        // the planner sets its limits of facts and names
	RoundDeadline time.Duration // of Writer; 0: none
	RankerWhy     string        // reason for this ranker
	WriterWhy     string        // reason for this writer
	NoModel       string        // why no model may be asked; "" if one may
	RankerOutage  string        // why the ranking model may not be asked
	WriterOutage  string        // why the summary model may not be asked
}

// fillTarget returns the target of a round that refills, in tokens; 0 if it does not.
func (s Settings) fillTarget() int { return s.Share(s.Fill) }

// namesPercent is the maximum share of the window that all lists of bare names take.
const namesPercent = 3

// Shares of the window for lines that hold lost names, and for excerpts of files if fixed
// messages leave no room below the fill. docs/LEVELS.md explains the values.
const (
	namesShare, excerptsShare           = 0.12, 0.18
	namesOfRequest, excerptsWithRequest = 0.16, 0.08 // the first message is long
	longRequest                         = 0.25
)

// Up to smallWindow, the newest messages are worth more to a model than names:
// smallKeepLast of them stay, as long as what is no tool result takes at most
// smallKeepShare. Results can be cut.
const (
	smallWindow, smallKeepLast = 2560, 8
	smallKeepShare             = 0.4
)

// hasLongRequest reports whether the first message takes much of a window that is
// refilled. Such a request names much of what the conversation is about, and leaves
// little room for the rest.
func (s Settings) hasLongRequest(v View) bool {
	n := 0
	for i, p := range v.Protections {
		if p&protection.First != 0 {
			n += v.Sizes[i]
		}
	}
	return s.Refill && n > s.Share(longRequest)
}

// namesLimit returns the maximum number of tokens of lost names and of lines that hold
// them in a summary.
func (s Settings) namesLimit(v View) int {
	switch {
	case !s.Refill, v.Window <= smallWindow:
		return v.Window * namesPercent / 100
	case s.hasLongRequest(v):
		return s.Share(namesOfRequest)
	}
	return s.Share(namesShare)
}

// keptLast returns the number of newest messages that emergency keeps.
func (s Settings) keptLast(v View) int {
	if s.KeepLast == 0 {
		return 0
	}
	n, sum, other, small := 0, 0, 0, s.KeepShare > 0 && v.Window <= smallWindow
	for i := len(v.Sizes) - 1; i >= 0; i-- {
		sum += v.Sizes[i]
		if v.Messages[i].Role != chat.Tool {
			other += v.Sizes[i]
		}
		small = small && n < smallKeepLast && other <= s.Share(smallKeepShare)
		if sum > s.Share(s.KeepShare) && !small {
			break
		}
		n++
	}
	return max(n, s.KeepLast)
}

// summaryWriter returns the writer of a summary, and the reason for it. If no model
// may be asked, it is the built-in one.
func (s Settings) summaryWriter(v View, noModel string) (w Writer, why string) {
	w = s.Writer
	w.Facts, w.Ledger = v.Window*5/100, s.namesLimit(v)
	if isBuiltIn(w.Summarizer) {
		return w, s.WriterWhy
	}
	if why = cmp.Or(noModel, s.WriterOutage); why != "" {
		w.Summarizer, w.Name = summarize.Extractive{}, FallbackExtractive
	}
	return w, cmp.Or(why, s.WriterWhy)
}

// filledTokens returns the tokens of the conversation after excerpts of files refill
// it around a summary of at most so many tokens. If fixed messages leave no room for
// excerpts, these still get a share of the window as long as the total stays below 80 %.
func (s Settings) filledTokens(v View, c Cut, summary int) int {
	if s.Fill == 0 {
		return 0
	}
	excerpts := excerptsShare
	if s.hasLongRequest(v) {
		excerpts = excerptsWithRequest
	}
	rest := v.Total() - c.Tokens(v.Sizes)
	return min(max(s.fillTarget(), min(rest+summary+s.Share(excerpts), s.Share(0.80))), s.Budget)
}
