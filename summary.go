package tiercompact

import (
	"cmp"
	"context"
	"sort"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/protection"
	"github.com/tiercompact/tiercompact/levels"
	"github.com/tiercompact/tiercompact/summarize"
)

// compactToLayers puts a summary between what is protected and what is recent, with the
// largest keep-recent policy that fits the budget.
func (r *round) compactToLayers(ctx context.Context) error {
	w := r.summaryWriter()
	var cut levels.Cut
	fits := func(k int) bool {
		r.kept.Turns, r.kept.Pairs = protection.Reduced(r.cfg.KeepRecentTurns, r.cfg.KeepToolIOPairs, k)
		cut = levels.LayersCut(r.view, r.kept.Turns, r.kept.Pairs)
		return r.t.totalTokens()-cut.Tokens(r.t.sizes)+w.Max <= r.localLimit()
	}
	if last := r.cfg.KeepRecentTurns + r.cfg.KeepToolIOPairs - 2; !fits(0) {
		fits(sort.Search(last, fits)) // each step keeps less than the one before
	}
	if err := r.summarizeRange(ctx, cut, levels.LayerName, true); err != nil {
		return err
	}
	return r.truncateToBudget()
}

// summarizeRange has a summary written and put in the place of what cut takes out. Where
// the gain would be too small even before a model is asked, nothing is done
// unless the round is forced.
func (r *round) summarizeRange(ctx context.Context, cut levels.Cut, name levels.Name, forced bool) error {
	if cut.Empty(r.t.messages) {
		return nil
	}
	s := levelStep{level: name, began: r.cfg.Now()}
	if cut.Tokens(r.t.sizes) < leastForModel {
		r.noModel = cmp.Or(r.noModel, "too little is summarised for a model to help")
	}
	w := r.summaryWriter()
	w.Target = r.filledTokens(cut, w.Max)
	_, builtIn := w.Summarizer.(summarize.Extractive)
	gain := r.before.totalTokens() - max(r.t.totalTokens()-cut.Tokens(r.t.sizes)+w.Max, w.Target)
	if r.little = !forced && !builtIn && (gain <= 0 || r.belowMinGain(gain)); r.little {
		return nil
	}
	why := r.summarizerWhy()
	summary, err := r.writeSummary(ctx, w, cut)
	if err != nil {
		return err
	}
	if _, builtIn := w.Summarizer.(summarize.Extractive); !builtIn {
		r.models.summary = r.models.summary.AfterCall(summary.Failed != "", r.added)
	}
	s.summary, s.engine, s.fallback, s.removed = &summary, summary.Engine, summary.Fallback, summary.Removed
	s.why = why
	for _, a := range summary.Attempts {
		s.attempts, s.why = append(s.attempts, Attempt(a)), a.Reason
	}
	s.edits = levels.SummaryEdits(r.view, cut, summary.Message, "summarised")
	mask := allProtections &^ protection.Session
	if name == levels.Emergency && r.cfg.KeepLast == 0 {
		mask &^= protection.First | protection.Correction
		if r.cfg.SummaryRole == chat.System {
			mask &^= protection.Latest
		}
	}
	s.front = cut.Front
	if w.Role == chat.System && r.t.system > 0 {
		r.warning = "the summary is a second system message, which some chat templates refuse; use summary_role assistant"
	}
	return r.applyStep(s, mask)
}

// leastForModel is how many tokens a summary must stand for before a model is
// asked: below, the facts and a line or two say all there is.
const leastForModel = 200

// writeSummary has the summary written. Where the round's deadline ends before it is,
// the built-in summarizer takes over.
func (r *round) writeSummary(ctx context.Context, w levels.Writer, cut levels.Cut) (levels.Summary, error) {
	limited, stop := ctx, context.CancelFunc(func() {})
	if r.cfg.RoundDeadline > 0 {
		limited, stop = context.WithTimeout(ctx, r.cfg.RoundDeadline)
	}
	defer stop()
	summary, err := w.Write(limited, r.view, cut)
	if err != nil && ctx.Err() == nil {
		const passed = "the round's deadline passed"
		failed := append(summary.Attempts, levels.Attempt{Engine: w.Name, Reason: passed, Then: levels.FallbackExtractive})
		w.Summarizer, w.Name = summarize.Extractive{}, levels.FallbackExtractive
		summary, err = w.Write(ctx, r.view, cut)
		summary.Fallback, summary.Attempts, summary.Failed = levels.FallbackExtractive, append(failed, summary.Attempts...), passed
	}
	return summary, err
}

func (r *round) summaryWriter() levels.Writer {
	w := levels.Writer{
		Summarizer: r.cfg.Summarizer, Name: r.cfg.SummarizerName, Strategy: r.cfg.Strategy,
		Role: r.cfg.SummaryRole, Fallback: r.cfg.SummaryFallback, Deadline: r.cfg.SummaryDeadline,
		Max: r.cfg.SummaryMaxTokens, Facts: r.cfg.Window * 5 / 100, Ledger: r.namesLimit(),
		Number: r.number, Note: r.note, Progress: r.cfg.Progress, Redact: r.cfg.promptRedactor(),
	}
	if !r.cfg.summarySet {
		w.Text = defaultTextMax(r.cfg.Window)
		w.Max += recallTokens // a limit that was set holds for all of the message
	}
	if r.cfg.known != nil {
		w.Clean = r.cfg.redactor(r.cfg.known.Secrets)
	}
	if r.withoutModel() != "" {
		w.Summarizer, w.Name = summarize.Extractive{}, levels.FallbackExtractive
	}
	return w
}

// recallTokens is about what the line of its recall id takes in a summary.
const recallTokens = 12

// namesLimit returns the most tokens of the names in a summary.
func (r *round) namesLimit() int {
	if r.refillsFiles() {
		return r.cfg.Window * 10 / 100
	}
	return r.cfg.Window * 3 / 100
}

// fillTarget returns how many tokens a round that fills leaves; 0 where none does.
func (r *round) fillTarget() int { return r.windowShare(r.cfg.Fill) }

// windowShare returns a share of the window, as counted here.
func (r *round) windowShare(of float64) int { return r.localTokens(int(of * float64(r.cfg.Window))) }

// filledTokens returns how many tokens the conversation has where parts of files fill
// it up around a summary of at most so many tokens. What cannot leave it may
// take up so much that nothing would be left for them: they have 18 % of the
// window as long as all stays below 80 %. docs/LEVELS.md has why.
func (r *round) filledTokens(cut levels.Cut, summary int) int {
	if r.cfg.Fill == 0 {
		return 0
	}
	rest := r.t.totalTokens() - cut.Tokens(r.t.sizes)
	return min(max(r.fillTarget(), min(rest+summary+r.windowShare(0.18), r.windowShare(0.80))), r.localLimit())
}

// withoutModel returns why the summarizer that was set is not asked, "" if it
// is, or needs no model.
func (r *round) withoutModel() string {
	if _, builtIn := r.cfg.Summarizer.(summarize.Extractive); builtIn {
		return ""
	}
	return cmp.Or(r.noModel, r.modelSkipReason(r.models.summary, r.cfg.SummarizerName))
}

func (r *round) summarizerWhy() string { return cmp.Or(r.withoutModel(), r.cfg.SummarizerWhy) }
