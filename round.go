package tiercompact

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/edit"
	"github.com/tiercompact/tiercompact/internal/protection"
	"github.com/tiercompact/tiercompact/levels"
)

// A round is one compaction while it is planned: levels have their turn, each
// on what the one before left. It changes nothing outside itself.
type round struct {
	cfg     *settings
	ratio   float64                 // tokens for the server / tokens counted here
	before  conversation            // as it was
	t       conversation            // as it stands
	view    levels.View             // of t
	was     map[string]chat.Message // by id: what was rewritten, as it was
	steps   []levelStep
	number  int                      // of the next session summary
	step    int                      // number that the archive will have for it
	given   func(recall string) bool // reports the recall ids of earlier rounds
	note    string                   // of a manual compaction
	noModel string                   // why no model is asked; "" where one may be
	unsure  string                   // why none is asked because of the archive
	models  outages
	added   int // messages ever added to the conversation
	kept    Kept
	warning string
	sum     string          // of before; "" until it is asked for
	gone    []archive.Entry // what its recall ids stand for, once it is archived
	// unlisted are ids of earlier rounds that the conversation had no room to show,
	// and of this one's, once it is archived.
	unlisted []string
	began    time.Time
	cause    string // why it is made
	little   bool   // a summary was not asked for: it would free too little
}

// A levelStep is one application of edits.
type levelStep struct {
	level            levels.Name
	before           conversation
	edits            []edit.Edit
	front            []bool // messages that may move to the front; nil for none
	from, to         int    // tokens
	after            []int  // tokens that each edit puts in
	engine, fallback string
	why              string // it was this engine
	attempts         []Attempt
	removed          int // lines of the summary
	summary          *levels.Summary
	grows            bool // it is made although it takes tokens
	noUser           bool // no user message has to stay
	began, ended     time.Time
}

func newRound(cfg *settings, t conversation, ratio float64, summaries, steps int) *round {
	r := &round{cfg: cfg, ratio: ratio, before: t, was: make(map[string]chat.Message), number: summaries + 1, step: steps + 1, given: t.recalls.has, began: cfg.Now()}
	r.setConversation(t)
	return r
}

func (r *round) setConversation(t conversation) {
	r.t = t
	r.view = t.levelView(r.cfg, r.was)
	r.view.Step, r.view.Taken = r.step, r.given
}

// serverTokens returns what a count made here is for the server.
func (r *round) serverTokens(counted int) int { return int(math.Ceil(float64(counted) * r.ratio)) }

// localTokens is the reverse: the most that may be counted here for so many tokens.
func (r *round) localTokens(tokens int) int { return int(float64(tokens) / r.ratio) }

func (r *round) currentTokens() int { return r.serverTokens(r.t.totalTokens()) }
func (r *round) localLimit() int    { return r.localTokens(r.cfg.budget.Limit()) }
func (r *round) fitsBudget() bool   { return r.t.totalTokens() <= r.localLimit() }

// belowSoft reports whether usage is below the soft threshold.
func (r *round) belowSoft() bool {
	return float64(r.currentTokens())/float64(r.cfg.Window) < r.cfg.Thresholds.Lowest()
}

// planRound has the levels take their turn: the picked one (under cascade soft
// first), then emergency and fit as long as the budget is exceeded.
func (r *round) planRound(ctx context.Context, d decision) error {
	r.noModel = r.hopelessReason()
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

// refillsFiles reports whether a round fills the conversation up again with what the
// work is at, whatever its level: outlines grow, and emergency takes parts of
// files from the whole ones. Only rounds that are rare may; with the other
// presets a summary alone holds parts.
func (r *round) refillsFiles() bool { return r.cfg.Fill > 0 && r.cfg.Preset == Steady }

// mildestFirst reports whether the mildest level is tried before a stronger one. A
// summary that holds parts of files takes them from the whole files.
func (r *round) mildestFirst(picked levels.Name, d decision) bool {
	return r.cfg.Escalation == Cascade && r.cfg.Level == "" && !d.summary &&
		levels.Stronger(picked, levels.All()[0].Name) && (picked != levels.Emergency || !r.refillsFiles())
}

// hopelessReason returns why no model is to be asked: the floor is over the budget, or
// what comes of it may not be kept.
func (r *round) hopelessReason() string {
	if r.unsure != "" {
		return r.unsure
	}
	if levels.Floor(r.view, r.localLimit()) <= r.localLimit() {
		return ""
	}
	return "what cannot leave the conversation is over the budget: no model can help"
}

// planLevel plans the steps of a level, each on what the one before left.
func (r *round) planLevel(ctx context.Context, name levels.Name, d decision) error {
	for _, plan := range levels.Find(name).Steps {
		began, v := r.cfg.Now(), r.view
		v.Settings = r.levelSettings(d)
		p, err := plan(ctx, v)
		if err != nil {
			return err
		}
		if p.RankingCall.Made {
			r.models.ranking = r.models.ranking.afterCall(p.RankingCall.Failed, r.added)
		}
		if p.SummaryCall.Made {
			r.models.summary = r.models.summary.afterCall(p.SummaryCall.Failed, r.added)
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

// truncateToBudget is the last resort where the budget is still exceeded.
func (r *round) truncateToBudget() error {
	if r.fitsBudget() {
		return nil
	}
	return r.fitWithin(r.localLimit())
}

func (r *round) fitWithin(limit int) error {
	s := levelStep{level: levels.TruncateName, began: r.cfg.Now()}
	s.edits = levels.Truncate(r.view, limit)
	return r.applyStep(s, protection.Protected)
}

const allProtections = protection.Protected | protection.First | protection.Session | protection.Open | protection.Unread | protection.Latest | protection.Correction

// redactStep returns s with what it says of models as it may be shown: a server may
// quote in an error what it was sent.
func (s levelStep) redactStep(redact func(string) string) levelStep {
	s.why = redact(s.why)
	for i := range s.attempts {
		s.attempts[i].Reason = redact(s.attempts[i].Reason)
	}
	return s
}

// applyStep makes the edits of a step on the conversation as it stands. A step that
// would not shrink it is not made.
func (r *round) applyStep(s levelStep, mask protection.Protection) error {
	if len(s.edits) == 0 {
		return nil
	}
	s = s.redactStep(r.cfg.redactText)
	holds := r.view.Protections
	edits, err := edit.Separate(r.t.messages, s.edits, r.view.Separator(s.level))
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
		r.number++
	}
	r.steps = append(r.steps, s)
	r.setConversation(next)
	return nil
}

// belowMinGain reports whether a gain is below the least that a round within the
// budget must free.
func (r *round) belowMinGain(gain int) bool {
	return float64(r.serverTokens(gain)) < r.cfg.MinGain*float64(r.cfg.Window)
}
