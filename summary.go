package tiercompact

import (
	"context"

	"github.com/tiercompact/tiercompact/levels"
)

// compactToLayers plans the layers of a preflight or manual compaction.
func (r *round) compactToLayers(ctx context.Context) error {
	r.noModel = r.hopelessReason()
	if err := r.planLevel(ctx, levels.LayerName, decision{}); err != nil {
		return err
	}
	return r.truncateToBudget()
}

// levelSettings returns what levels plan with.
func (r *round) levelSettings(d decision) levels.Settings {
	s := levels.Settings{
		Budget: r.localLimit(), Share: r.windowShare, Worth: func(freed int) bool { return !r.belowMinGain(freed) },
		Before: r.before.totalTokens(), Forced: d.over || d.summary, SummaryDue: d.summary,
		Refill: r.refillsFiles(), Fill: r.cfg.Fill, StaleAfter: r.cfg.Soft.StaleAfter,
		KeepLast: r.cfg.Emergency.KeepLast, KeepShare: r.cfg.Emergency.KeepShare, KeepTurns: r.cfg.Policy.KeepRecentTurns, KeepPairs: r.cfg.Policy.KeepToolIOPairs,
		Ranker: levels.Ranker{
			Ranking: r.cfg.Ranking, Embedder: r.cfg.Embed.Embedder, Name: r.cfg.Embed.Name,
			Weights: r.cfg.weights, Deadline: r.cfg.Deadlines.Ranking, Query: r.cfg.Hard.Query, Redact: r.cfg.promptRedactor(),
		},
		Writer: r.summaryWriter(), RoundDeadline: r.cfg.Deadlines.Round,
		RankerWhy: r.cfg.Embed.Why, WriterWhy: r.cfg.Summary.Why, NoModel: r.noModel,
		RankerOutage: r.modelSkipReason(r.models.ranking, r.cfg.Embed.Name),
		WriterOutage: r.modelSkipReason(r.models.summary, r.cfg.Summary.Name),
	}
	if r.cfg.Hard.Until == UntilSoft {
		s.HardTarget = r.windowShare(r.cfg.Thresholds.Lowest())
	}
	return s
}

func (r *round) summaryWriter() levels.Writer {
	w := levels.Writer{
		Summarizer: r.cfg.Summary.Summarizer, Name: r.cfg.Summary.Name, Strategy: r.cfg.Policy.Strategy,
		Role: r.cfg.SummaryRole, Fallback: r.cfg.Summary.Fallback, Deadline: r.cfg.Deadlines.Summary,
		Max: r.cfg.summaryMax(), Number: r.number, Note: r.note, Progress: r.cfg.Progress, Redact: r.cfg.promptRedactor(),
	}
	if !r.cfg.summarySet {
		w.Text = defaultTextMax(r.cfg.Window)
		w.Max += recallTokens // a limit that was set holds for all of the message
	}
	if r.cfg.known != nil {
		w.Clean = r.cfg.redactor(r.cfg.known.Secrets)
	}
	return w
}

// recallTokens is about what the line of its recall id takes in a summary.
const recallTokens = 12

// windowShare returns the tokens of a share of the window, as counted here.
func (r *round) windowShare(of float64) int { return r.localTokens(int(of * float64(r.cfg.Window))) }
