package levels

import (
	"cmp"
	"context"
	"sort"
	"time"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/protection"
	"github.com/tiercompact/tiercompact/summarize"
)

func emergencyLevel() Level {
	return Level{Emergency, Threshold{Default: 0.90, Eager: 0.80, Steady: 0.90}, Summarizing, "plum", []Planner{planSummary, planKeptFiles}}
}

func layersLevel() Level {
	return Level{Name: LayerName, Work: Summarizing, Color: "blue", Steps: []Planner{planLayers}}
}

// planSummary replaces all but the newest messages with one summary.
func planSummary(ctx context.Context, v View) (Plan, error) {
	cut := EmergencyCut(v, v.Settings.keptLast(v), v.Settings.Writer.Role)
	p, err := v.summarizeRange(ctx, cut, v.Settings.Forced)
	if p.Releases = protection.Session; v.Settings.KeepLast == 0 {
		p.Releases |= protection.First | protection.Correction
		if v.Settings.Writer.Role == chat.System {
			p.Releases |= protection.Latest
			p.NoUser = true
		}
	}
	return p, err
}

// planKeptFiles compresses the files in the result of planSummary. It does nothing
// if a summary alone is due, or if the round fills the conversation with files.
func planKeptFiles(ctx context.Context, v View) (p Plan, err error) {
	if !v.Settings.SummaryDue && !v.Settings.Refill {
		p.Edits, err = Soft{StaleAfter: v.Settings.StaleAfter, All: true}.Plan(ctx, v)
	}
	return p, err
}

// planLayers puts a summary between protected and recent messages, with the largest
// keep-recent policy that fits the budget.
func planLayers(ctx context.Context, v View) (Plan, error) {
	s := v.Settings
	w, _ := s.summaryWriter(v, s.NoModel)
	var cut Cut
	var turns, pairs int
	fits := func(k int) bool {
		turns, pairs = protection.Reduced(s.KeepTurns, s.KeepPairs, k)
		cut = LayersCut(v, turns, pairs)
		return v.Total()-cut.Tokens(v.Sizes)+w.Max <= s.Budget
	}
	if last := s.KeepTurns + s.KeepPairs - 2; !fits(0) {
		fits(sort.Search(last, fits)) // each step keeps less than the one before
	}
	p, err := v.summarizeRange(ctx, cut, true)
	p.Releases, p.Turns, p.Pairs = protection.Session, turns, pairs
	return p, err
}

// minForModel is the minimum number of tokens that a summary must replace before a
// model is asked: for fewer, the facts and a line or two are enough.
const minForModel = 200

// summarizeRange replaces the messages of cut with a summary. If it would free too
// little even before a model is asked, it proposes nothing, unless forced.
func (v View) summarizeRange(ctx context.Context, cut Cut, forced bool) (p Plan, err error) {
	if cut.Empty(v.Messages) {
		return p, nil
	}
	s, noModel := v.Settings, v.Settings.NoModel
	if cut.Tokens(v.Sizes) < minForModel {
		noModel = cmp.Or(noModel, "too little is summarised for a model to help")
	}
	w, why := s.summaryWriter(v, noModel)
	w.Target = s.filledTokens(v, cut, w.Max-w.Lines)
	gain := s.Before - max(v.Total()-cut.Tokens(v.Sizes)+w.Max, w.Target)
	if p.TooLittle = !forced && !isBuiltIn(w.Summarizer) && (gain <= 0 || !s.Worth(gain)); p.TooLittle {
		return p, nil
	}
	summary, err := w.writeWithin(ctx, s.RoundDeadline, v, cut)
	if err != nil {
		return p, err
	}
	p.SummaryCall = Call{Made: !isBuiltIn(w.Summarizer), Failed: summary.Failed != ""}
	p.Summary, p.Engine, p.Fallback, p.Why = &summary, summary.Engine, summary.Fallback, why
	if p.Attempts = summary.Attempts; len(p.Attempts) > 0 {
		p.Why = p.Attempts[len(p.Attempts)-1].Reason
	}
	p.Edits, p.Front = SummaryEdits(v, cut, summary.Message, "summarised"), cut.Front
	if w.Role == chat.System && chat.Newest(v.Messages, func(m chat.Message) bool { return m.Role == chat.System && !m.IsSummary() }) >= 0 {
		p.Warning = "the summary is a second system message, which some chat templates refuse; use summary_role assistant"
	}
	return p, nil
}

// writeWithin returns the summary of c. If the deadline of the round passes first,
// the built-in summarizer writes it.
func (w Writer) writeWithin(ctx context.Context, deadline time.Duration, v View, c Cut) (Summary, error) {
	limited, stop := ctx, context.CancelFunc(func() {})
	if deadline > 0 {
		limited, stop = context.WithTimeout(ctx, deadline)
	}
	defer stop()
	summary, err := w.Write(limited, v, c)
	if err != nil && ctx.Err() == nil {
		const passed = "the round's deadline passed"
		failed := append(summary.Attempts, Attempt{Engine: w.Name, Reason: passed, Then: FallbackExtractive})
		w.Summarizer, w.Name = summarize.Extractive{}, FallbackExtractive
		summary, err = w.Write(ctx, v, c)
		summary.Fallback, summary.Attempts, summary.Failed = FallbackExtractive, append(failed, summary.Attempts...), passed
	}
	return summary, err
}
