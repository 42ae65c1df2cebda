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
	"github.com/tiercompact/tiercompact/internal/protection"
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
	case preflightRequest, compactRequest:
		if err = r.planLevel(ctx, levels.LayerName, d); err == nil {
			err = r.truncateToBudget()
		}
	case roomRequest:
		err = r.planRoom(ctx, d)
	case levelRequest:
		r.cfg.Level = d.level // requested by name: without cascade
		err = r.planRound(ctx, d)
	default:
		err = r.planRound(ctx, d)
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
		if err := r.applyStep(stepOfPlan(name, began, p), allProtections&^p.Releases); err != nil {
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

// linesShare is the share of the window by which lines of names extend the default limit
// of a summary in a round that refills.
const linesShare = 0.07

// recallTokens is the approximate size of the recall line in a summary.
const recallTokens = 12

// windowShare returns the tokens of a share of the window, in the local count.
func (r *round) windowShare(of float64) int { return r.localTokens(int(of * float64(r.cfg.Window))) }

// truncateToBudget is the last resort if the budget is still exceeded.
func (r *round) truncateToBudget() error {
	if r.fitsBudget() {
		return nil
	}
	return r.fitWithin(r.localLimit())
}

func (r *round) fitWithin(limit int) error {
	s := levelStep{level: levels.FitName, began: r.cfg.Now()}
	s.edits = levels.Truncate(r.view, limit)
	t := r.t
	if err := r.applyStep(s, protection.Protected); err != nil {
		return err
	}
	if was, is, cut := t.firstUserCut(r.t); cut && r.warning == "" {
		r.warning = fmt.Sprintf("the first user message does not fit the budget: its middle is left out, %d of %d tokens stay; use a larger window", r.serverTokens(is), r.serverTokens(was))
	}
	return nil
}

// firstUserCut returns the tokens of the first user message in c and in next, and whether
// they differ.
func (c *conversation) firstUserCut(next conversation) (was, is int, cut bool) {
	i := slices.IndexFunc(c.policy.Protections(c.messages), func(h protection.Protection) bool { return h&protection.First != 0 })
	if i < 0 {
		return 0, 0, false
	}
	k := slices.IndexFunc(next.messages, func(m chat.Message) bool { return m.ID == c.messages[i].ID })
	if k < 0 || next.sizes[k] == c.sizes[i] {
		return 0, 0, false
	}
	return c.sizes[i], next.sizes[k], true
}

const allProtections = protection.Protected | protection.First | protection.Session | protection.Open | protection.Unread | protection.Latest | protection.Correction

// redactStep returns s with its texts about models redacted: a server's error may quote
// its input.
func (s levelStep) redactStep(redact func(string) string) levelStep {
	s.why = redact(s.why)
	for i := range s.attempts {
		s.attempts[i].Reason = redact(s.attempts[i].Reason)
	}
	return s
}

// applyStep applies the edits of a step to the planned conversation. It skips a step
// that would not shrink it.
func (r *round) applyStep(s levelStep, mask protection.Protection) error {
	if len(s.edits) == 0 {
		return nil
	}
	s = s.redactStep(r.cfg.redactText)
	holds := r.view.Protections
	edits, err := edit.Separate(r.t.messages, s.edits, r.view.Separator(s.level, s.edits...), r.before.messages)
	if err != nil {
		return fmt.Errorf("%s: %w", s.level, err)
	}
	rules := edit.Rules{
		Locked: func(i int) bool { return holds[i]&mask != 0 },
		Moved:  func(i int) bool { return s.front != nil && s.front[i] },
		NoUser: s.noUser,
	}
	after, err := edit.Apply(r.t.messages, edits, rules)
	if err != nil {
		return fmt.Errorf("%s: %w", s.level, err)
	}
	next := r.t.withMessages(&r.cfg.counters, after)
	if !s.grows && next.totalTokens() >= r.t.totalTokens() {
		return nil
	}
	s.before, s.edits, s.from, s.to, s.ended = r.t, edits, r.currentTokens(), r.serverTokens(next.totalTokens()), r.cfg.Now()
	for _, e := range edits {
		put := 0
		for _, m := range e.New {
			put += r.cfg.countMessage(m)
		}
		s.after = append(s.after, put)
		for _, m := range replacedMessages(r.t.messages[e.Start:e.End], e.New) {
			if _, known := r.was[m.ID]; !known {
				r.was[m.ID] = m
			}
		}
	}
	if s.summary != nil && s.summary.Message != nil {
		r.summaryNumber++
	}
	r.steps = append(r.steps, s)
	r.setConversation(next)
	return nil
}

// belowMinGain reports whether a gain is below the minimum for a round within the
// budget.
func (r *round) belowMinGain(gain int) bool { return r.serverTokens(gain) < r.minGain }

// outages are those of the two models of a session, and of its archive.
type outages struct{ ranking, summary, archive cooldown.Outage }

// modelSkipReason returns why the round does not call a model that has an outage, "" if
// it does. A manual compaction calls it again.
func (r *round) modelSkipReason(o cooldown.Outage, name string) string {
	left := o.MessagesLeft(r.added)
	if left == 0 || r.cause == byHand {
		return ""
	}
	return fmt.Sprintf("%s failed when it was last asked: it is asked again after %d more messages", cmp.Or(name, "the model"), left)
}

// replacedMessages returns the messages of run that are not unchanged in put.
func replacedMessages(run, put []chat.Message) []chat.Message {
	stays := make(map[string]chat.Message, len(put))
	for _, m := range put {
		stays[m.ID] = m
	}
	var out []chat.Message
	for _, m := range run {
		if p, ok := stays[m.ID]; !ok || !edit.Same(m, p) {
			out = append(out, m)
		}
	}
	return out
}
