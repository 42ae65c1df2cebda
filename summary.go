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
		Refill: r.refillsFiles(), Fill: r.cfg.Fill, StaleAfter: r.cfg.StaleAfter,
		KeepLast: r.cfg.KeepLast, KeepShare: r.cfg.KeepShare, KeepTurns: r.cfg.KeepRecentTurns, KeepPairs: r.cfg.KeepToolIOPairs,
		Ranker: levels.Ranker{
			Ranking: r.cfg.Ranking, Embedder: r.cfg.Embedder, Name: r.cfg.EmbedderName,
			Weights: r.cfg.weights, Deadline: r.cfg.RankDeadline, Query: r.cfg.Query, Redact: r.cfg.promptRedactor(),
		},
		Writer: r.summaryWriter(), RoundDeadline: r.cfg.RoundDeadline,
		RankerWhy: r.cfg.EmbedderWhy, WriterWhy: r.cfg.SummarizerWhy, NoModel: r.noModel,
		RankerOutage: r.modelSkipReason(r.models.ranking, r.cfg.EmbedderName),
		WriterOutage: r.modelSkipReason(r.models.summary, r.cfg.SummarizerName),
	}
	if r.cfg.HardUntil == UntilSoft {
		s.HardTarget = r.windowShare(r.cfg.Thresholds.Lowest())
	}
	return s
}

func (r *round) summaryWriter() levels.Writer {
	w := levels.Writer{
		Summarizer: r.cfg.Summarizer, Name: r.cfg.SummarizerName, Strategy: r.cfg.Strategy,
		Role: r.cfg.SummaryRole, Fallback: r.cfg.SummaryFallback, Deadline: r.cfg.SummaryDeadline,
		Max: r.cfg.SummaryMaxTokens, Number: r.number, Note: r.note, Progress: r.cfg.Progress, Redact: r.cfg.promptRedactor(),
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
