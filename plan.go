package tiercompact

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/files"
	"github.com/tiercompact/tiercompact/internal/cooldown"
	"github.com/tiercompact/tiercompact/internal/edit"
	"github.com/tiercompact/tiercompact/internal/guard"
	"github.com/tiercompact/tiercompact/levels"
	"github.com/tiercompact/tiercompact/summarize"
)

// A round is one compaction in planning: levels plan in turn, each on the result of the
// one before. It changes nothing outside itself.
type round struct {
	cfg           *settings
	ratio         float64                 // tokens for the server / tokens counted here
	before        conversation            // the conversation before the round
	t             conversation            // the conversation in its planned form
	view          levels.View             // of t
	was           map[string]chat.Message // by id: rewritten messages in their original form
	steps         []levelStep
	minGain       int                      // tokens that a round within the budget frees, by the server's count
	summaryNumber int                      // of the next session summary
	step          int                      // its number in the archive
	ahead         bool                     // it was planned by Prepare
	given         func(recall string) bool // reports the recall ids of earlier rounds
	original      func() levels.View       // the conversation before the newest earlier rounds; nil: not used
	note          string                   // of a manual compaction
	noModel       string                   // why no model is called; "" if one may be
	unsure        string                   // why none is called because of the archive
	models        outages
	added         int               // messages ever added to the conversation
	work          *summarize.Record // of all messages up to recorded
	recorded      int
	kept          Kept
	warning       string
	sum           string          // hash of before; "" until it is needed
	removed       []archive.Entry // the messages of its recall ids, once it is archived
	// unlisted are ids of earlier rounds that the conversation had no room to show, and
	// those of this round, once it is archived.
	unlisted []string
	began    time.Time
	cause    string // why the round is made
	little   bool   // a summary would free too little, so none was written
}

// A levelStep is one application of edits.
type levelStep struct {
	level            levels.Name
	before           conversation
	edits            []edit.Edit
	front            []bool // messages that may move to the front; nil for none
	from, to         int    // tokens
	after            []int  // tokens that each edit inserts
	engine, fallback string
	why              string // reason for the engine
	attempts         []Attempt
	removed          int // removed lines of the summary
	summary          *levels.Summary
	grows            bool // it is made although it adds tokens
	noUser           bool // no user message has to stay
	began, ended     time.Time
}

func (r *round) setConversation(t conversation) {
	r.t = t
	r.view = t.levelView(r.cfg, r.was)
	r.view.Step, r.view.Taken, r.view.Original, r.view.Work = r.step, r.given, r.original, r.work
}

// levelView returns the view of c for levels.
func (c *conversation) levelView(cfg *settings, was map[string]chat.Message) levels.View {
	return levels.View{
		Messages: c.messages, Sizes: c.sizes, Facts: c.facts, Terms: c.terms,
		Protections: c.policy.Protections(c.messages), Was: was, Window: cfg.Window, Fixed: c.tools,
		Count: cfg.countText, Size: cfg.countMessage, Clean: cfg.nameless, NoRecall: cfg.NoRecall,
	}
}

// maxOriginals is the maximum length of the texts that a round plans from, in bytes for
// each token of the window.
const maxOriginals = 32

// originalView returns a function for the view of the conversation before the newest
// of rounds, nil if the round does not plan from it.
func (r *round) originalView(rounds []undoableRound) func() levels.View {
	if !r.refillsFiles() || len(rounds) == 0 {
		return nil
	}
	return sync.OnceValue(func() levels.View {
		at := make(map[string]int, len(r.before.messages))
		for i, m := range r.before.messages {
			at[m.ID] = i
		}
		c := conversation{calls: make(map[string][]chat.Part)} // no message of it is protected or ranked
		for _, m := range r.cfg.originals(rounds, r.before.messages, maxOriginals*r.cfg.Window) {
			call := c.matchResult(m)
			if i, known := at[m.ID]; known && edit.Same(m, r.before.messages[i]) {
				c.appendEntry(measuredMessage{message: m, size: r.before.sizes[i]}, r.before.facts[i])
				continue
			}
			c.appendEntry(measuredMessage{message: m, size: textBytes(chat.Transcript{m}) / 4}, files.ScanMessage(m, call))
		}
		return c.levelView(r.cfg, r.was)
	})
}

// originals returns the conversation before the newest of rounds, without the archive:
// what earlier rounds removed is in its place. It goes back at most keptRounds rounds,
// and no further than to so many bytes of text. now is the present conversation.
func (cfg *settings) originals(rounds []undoableRound, now chat.Transcript, limit int) chat.Transcript {
	t := now
	for k := len(rounds) - 1; k >= max(0, len(rounds)-keptRounds); k-- {
		d := &rounds[k]
		if d.from == nil || d.after > len(t) {
			break
		}
		before, err := cfg.revertRound(context.Background(), "", d, t[:d.after])
		if err != nil || textBytes(before) > limit {
			break
		}
		t = slices.Concat(before, t[d.after:])
	}
	return t
}

func textBytes(t chat.Transcript) (sum int) {
	for _, m := range t {
		for _, p := range m.Parts {
			sum += len(p.Text) + len(p.Args)
		}
	}
	return sum
}

// serverTokens returns the server's tokens for a local count, estimated.
func (r *round) serverTokens(counted int) int { return int(math.Ceil(float64(counted) * r.ratio)) }

// localTokens is the reverse: the maximum local count for a number of server tokens.
func (r *round) localTokens(tokens int) int { return int(float64(tokens) / r.ratio) }

func (r *round) currentTokens() int { return r.serverTokens(r.t.totalTokens()) }
func (r *round) localLimit() int    { return r.localTokens(r.cfg.budget.Limit()) }
func (r *round) fitsBudget() bool   { return r.t.totalTokens() <= r.localLimit() }

// belowSoft reports whether usage is below the soft threshold.
func (r *round) belowSoft() bool {
	return float64(r.currentTokens())/float64(r.cfg.Window) < r.cfg.Thresholds.Lowest()
}

// newRound returns a round for a decision, on a copy of the settings.
func (s *Session) newRound(d decision) *round {
	plain := s.learnSecrets(d.t.messages)
	s.mu.Lock()
	cfg := s.cfg.forRound(withTexts(s.plain, plain))
	s.plain = nil
	s.mu.Unlock()
	work, recorded := s.recordWork(cfg)
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &round{
		cfg: cfg, ratio: s.serverRatio(), before: *d.t,
		was: make(map[string]chat.Message), summaryNumber: s.summary + 1, step: s.steps + 1, given: d.t.recalls.Has,
		cause: d.cause, note: strings.ToValidUTF8(d.note, "\uFFFD"), models: s.models, added: d.t.added, unlisted: slices.Clone(s.unlisted),
	}
	r.work, r.recorded = work, recorded
	r.began, r.original = r.cfg.Now(), r.originalView(slices.Clone(s.rounds))
	r.setMinGain(d.t)
	r.setConversation(*d.t)
	return r
}

// serverRatio returns the server's tokens for each token counted here. Its caller holds
// the lock.
func (s *Session) serverRatio() float64 {
	const many = 1 << 20
	return float64(s.cal.WithoutAnchor().Tokens(many, 0)) / many
}

// setMinGain sets the minimum gain of a round on t.
func (r *round) setMinGain(t *conversation) {
	r.minGain = int(math.Ceil(r.cfg.MinGain * float64(r.serverTokens(t.freeTokens()))))
}

// planned returns r with its plan. If a call of Count does not return, it returns r
// without changes: the abandoned goroutine works on another copy.
func (r *round) planned(ctx context.Context, d decision) (*round, error) {
	was := *r
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	_, err := guard.Watch(r.cfg.counting, func() (struct{}, error) {
		return struct{}{}, guard.Recovered(func() error { return r.planAll(ctx, d) })
	})
	if late, ok := errors.AsType[*CallbackError](err); ok && late.Callback == r.cfg.guards.count.Name {
		return &was, err
	}
	return r, err
}

// planAll runs the levels of a request in turn.
func (r *round) planAll(ctx context.Context, d decision) error {
	r.noModel = r.hopelessReason()
	var err error
	switch d.kind {
	case checkRequest, prepareRequest:
		err = r.planRound(ctx, d)
	case levelRequest:
		r.cfg.Level = d.level // requested by name: without cascade
		err = r.planRound(ctx, d)
	case roomRequest:
		err = r.planRoom(ctx, d)
	case preflightRequest, compactRequest:
		if err = r.planLevel(ctx, levels.LayerName, d); err == nil {
			err = r.truncateToBudget()
		}
	}
	if err != nil {
		return err
	}
	return r.makeReachable()
}

// planRoom runs emergency, if that makes enough room for the next message.
func (r *round) planRoom(ctx context.Context, d decision) error {
	r.minGain = d.missing
	d.forced = false
	err := r.planLevel(ctx, levels.Emergency, d)
	if len(r.steps) > 0 && r.belowMinGain(r.before.totalTokens()-r.t.totalTokens()) {
		r.steps, r.little = nil, true
	}
	return err
}

// planRound runs the levels in turn: the picked one (under cascade soft first), then
// emergency and fit as long as the budget is exceeded.
func (r *round) planRound(ctx context.Context, d decision) error {
	picked := d.picked
	if r.refillsFiles() && r.cfg.Level == "" && !r.fitsBudget() {
		picked = levels.Emergency
	}
	if mildest := levels.All()[0]; r.mildestFirst(picked, d) {
		if err := r.planLevel(ctx, mildest.Name, d); err != nil {
			return err
		}
		if r.belowSoft() && r.fitsBudget() {
			return nil
		}
	}
	if err := r.planLevel(ctx, picked, d); err != nil {
		return err
	}
	if !r.fitsBudget() && picked != levels.Emergency {
		if err := r.planLevel(ctx, levels.Emergency, d); err != nil {
			return err
		}
	}
	return r.truncateToBudget()
}

// refillsFiles reports whether a round fills the conversation with current files at
// every level: outlines grow, and emergency takes excerpts from whole files. Only
// rounds that are rare may refill; with the other presets only a summary holds
// excerpts.
func (r *round) refillsFiles() bool { return r.cfg.Fill > 0 && r.cfg.Preset == Steady }

// mildestFirst reports whether the mildest level runs before a stronger one. A summary
// with excerpts takes them from whole files.
func (r *round) mildestFirst(picked levels.Name, d decision) bool {
	return r.cfg.Escalation == Cascade && r.cfg.Level == "" && !d.summary &&
		levels.Stronger(picked, levels.All()[0].Name) && (picked != levels.Emergency || !r.refillsFiles())
}

// hopelessReason returns why no model may be called: the floor is over the budget, or
// the result could not be archived.
func (r *round) hopelessReason() string {
	if r.unsure != "" {
		return r.unsure
	}
	if levels.Floor(r.view, r.localLimit()) <= r.localLimit() {
		return ""
	}
	return "what cannot leave the conversation is over the budget: no model can help"
}

// planLevel plans the steps of a level, each on the result of the one before.
func (r *round) planLevel(ctx context.Context, name levels.Name, d decision) error {
	for _, plan := range levels.Find(name).Steps {
		began, v := r.cfg.Now(), r.view
		v.Settings = r.levelSettings(d)
		p, err := plan(ctx, v)
		if err != nil {
			return err
		}
		if p.RankingCall.Made {
			r.models.ranking = r.models.ranking.AfterCall(p.RankingCall.Failed, r.added)
		}
		if p.SummaryCall.Made {
			r.models.summary = r.models.summary.AfterCall(p.SummaryCall.Failed, r.added)
		}
		r.little = r.little || p.TooLittle
		r.warning = cmp.Or(p.Warning, r.warning)
		if p.Turns > 0 {
			r.kept = Kept{Turns: p.Turns, Pairs: p.Pairs}
		}
		if len(p.Edits) == 0 {
			continue
		}
		s := stepOfPlan(name, began, p).redactStep(r.cfg.redactText)
		if err := r.applyStep(s, allProtections&^p.Releases); err != nil {
			return err
		}
	}
	return nil
}

func stepOfPlan(name levels.Name, began time.Time, p levels.Plan) levelStep {
	s := levelStep{
		level: name, began: began, edits: p.Edits, front: p.Front, noUser: p.NoUser,
		engine: p.Engine, fallback: p.Fallback, why: p.Why, summary: p.Summary,
	}
	for _, a := range p.Attempts {
		s.attempts = append(s.attempts, Attempt(a))
	}
	if p.Summary != nil {
		s.removed = p.Summary.Removed
	}
	return s
}

// redactStep returns s with its texts about models redacted: a server's error may quote
// its input.
func (s levelStep) redactStep(redact func(string) string) levelStep {
	s.why = redact(s.why)
	for i := range s.attempts {
		s.attempts[i].Reason = redact(s.attempts[i].Reason)
	}
	return s
}

// levelSettings returns the planners' settings.
func (r *round) levelSettings(d decision) levels.Settings {
	s := levels.Settings{
		Budget: r.localLimit(), Share: r.windowShare, Worth: func(freed int) bool { return !r.belowMinGain(freed) },
		Before: r.before.totalTokens(), Forced: d.forced, SummaryDue: d.summary,
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

// promptRedactor returns the redactor of model input, nil for none. If it fails, it
// panics: a model must not get unredacted text.
func (cfg *settings) promptRedactor() func(string) string {
	if !cfg.Redact.Prompts {
		return nil
	}
	return cfg.redact
}

func (r *round) summaryWriter() levels.Writer {
	w := levels.Writer{
		Summarizer: r.cfg.Summary.Summarizer, Name: r.cfg.Summary.Name, Strategy: r.cfg.Policy.Strategy,
		Role: r.cfg.SummaryRole, Fallback: r.cfg.Summary.Fallback, Deadline: r.cfg.Deadlines.Summary,
		Max: r.cfg.summaryMax(), Number: r.summaryNumber, Note: r.note, Progress: r.cfg.Progress, Redact: r.cfg.promptRedactor(),
	}
	if !r.cfg.summarySet {
		w.Text = defaultTextMax(r.cfg.Window)
		w.Max += recallTokens // a limit that was set is for all of the message
		if r.refillsFiles() {
			w.Lines = r.windowShare(linesShare)
			w.Max += w.Lines
		}
	}
	if r.cfg.known != nil {
		w.Clean = r.cfg.secrets
	}
	return w
}

// summaryMax is the maximum length of a summary, in tokens, without what lines of names
// extend it by.
func (cfg Config) summaryMax() int {
	if n, set := cfg.Summary.MaxTokens.Get(); set {
		return n
	}
	return defaultSummaryMax(cfg.Window)
}

// defaultSummaryMax is the default limit of a summary, in tokens. It has no ceiling: a
// large window holds more rules, todos and names that must not be lost.
func defaultSummaryMax(window int) int { return max(1, window/8) }

// defaultTextMax is the default limit of a model's text in a summary, in tokens.
func defaultTextMax(window int) int { return min(1024, defaultSummaryMax(window)) }

// linesShare is the share of the window by which lines of names extend the default limit
// of a summary in a round that refills.
const linesShare = 0.07

// recallTokens is the approximate size of the recall line in a summary.
const recallTokens = 12

// windowShare returns the tokens of a share of the window, in the local count.
func (r *round) windowShare(of float64) int { return r.localTokens(int(of * float64(r.cfg.Window))) }

// belowMinGain reports whether a gain is below the minimum for a round within the
// budget.
func (r *round) belowMinGain(gain int) bool { return r.serverTokens(gain) < r.minGain }

// outages are those of the two models of a session, and of its archive.
type outages struct{ ranking, summary, archive cooldown.Outage }

// makeRound plans a round, or takes the prepared one, and commits it. While the archive cannot be written, no model
// is called, because its result could not be archived.
func (s *Session) makeRound(ctx context.Context, o *outcome) {
	r := s.preparedRound(ctx, o)
	ready := r != nil
	if !ready {
		r = s.newRound(o.decision)
	}
	if !o.dryRun {
		if o.err = s.putPending(ctx, r); o.err != nil {
			o.failed = "archive"
		}
	}
	if o.err == nil && !ready {
		if r, o.err = r.planned(ctx, o.decision); o.err != nil {
			o.failed = "plan"
		}
	}
	o.round = r
	s.commit(ctx, o)
}

// modelSkipReason returns why the round does not call a model that has an outage, "" if
// it does. A manual compaction calls it again.
func (r *round) modelSkipReason(o cooldown.Outage, name string) string {
	left := o.MessagesLeft(r.added)
	if left == 0 || r.cause == byHand {
		return ""
	}
	return fmt.Sprintf("%s failed when it was last asked: it is asked again after %d more messages", cmp.Or(name, "the model"), left)
}
