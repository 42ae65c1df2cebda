package tiercompact

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/edit"
	"github.com/tiercompact/tiercompact/levels"
	"github.com/tiercompact/tiercompact/memory"
	"github.com/tiercompact/tiercompact/trace"
)

// carryOut has the round planned that a check decided on, archives it, and puts
// its outcome in the conversation's place.
func (s *Session) carryOut(ctx context.Context, d decision) (Report, error) {
	began := s.cfg.Now()
	report := Report{Picked: d.picked, Reason: d.reason, Before: d.usage.Tokens, After: d.usage.Tokens, Usage: d.usage, FirstChanged: -1}
	s.tellWarning(&report, d.warning)
	s.tellEstimate(d.usage)
	if d.reason != "" {
		s.tellDecision(report, nil, "")
		return report, nil
	}
	defer s.idle()
	r := s.newRound(d.t)
	if err := r.run(ctx, d); err != nil {
		s.tellError(err, "")
		return report, err
	}
	forced := d.over || d.summary
	err := s.finish(ctx, r, &report, forced)
	report.Took = s.cfg.Now().Sub(began)
	return report, err
}

// Plan returns what the next check would do with the conversation as it stands,
// and why, and changes nothing. A model that the level needs is asked.
func (s *Session) Plan(ctx context.Context) (Report, error) {
	s.mu.Lock()
	if len(s.t.messages) == 0 {
		s.mu.Unlock()
		return Report{Picked: levels.None, Reason: BelowThreshold, FirstChanged: -1}, nil
	}
	warned := s.warned
	d := s.decide()
	s.warned = warned
	if d.reason == "" {
		s.busy = false
	}
	s.mu.Unlock()
	report := Report{Picked: d.picked, Reason: d.reason, Before: d.usage.Tokens, After: d.usage.Tokens, Usage: d.usage, FirstChanged: -1}
	if d.reason != "" {
		return report, nil
	}
	r := s.newRound(d.t)
	if err := r.run(ctx, d); err != nil {
		return report, err
	}
	if report.Reason = r.worthless(d.over || d.summary); report.Reason == "" {
		r.report(&report, 0)
	}
	if !r.fits() {
		return report, r.budgetError()
	}
	return report, nil
}

func (s *Session) newRound(t conversation) *round {
	s.mu.Lock()
	defer s.mu.Unlock()
	cfg := s.cfg
	const many = 1 << 20
	ratio := float64(s.cal.Void().Tokens(many, 0)) / many
	return newRound(&cfg, t, ratio, s.summary)
}

// idle ends the session's one round.
func (s *Session) idle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy = false
}

// finish archives a planned round and swaps it in, or puts its level off where
// it has too little to offer. It fills the report.
func (s *Session) finish(ctx context.Context, r *round, report *Report, forced bool) error {
	if report.Reason = r.worthless(forced); report.Reason != "" {
		s.mu.Lock()
		s.putOff(report.Picked, report.Reason, &r.before)
		s.mu.Unlock()
		s.tellDecision(*report, r, "")
		return s.overBudget(r)
	}
	number, err := s.archive(ctx, r, report)
	if err != nil {
		s.tellError(err, "")
		if s.cfg.ArchiveOptional {
			report.Reason = NothingToDo
			report.Warnings = append(report.Warnings, err.Error())
			return nil
		}
		return err
	}
	if err := s.swap(r, number); err != nil {
		s.tellError(err, "")
		return err
	}
	r.report(report, number)
	s.tellWarning(report, r.warning)
	s.mu.Lock()
	report.Usage = s.usage()
	s.mu.Unlock()
	s.tellRound(*report, r, number)
	return s.overBudget(r)
}

// worthless returns why the round is not worth making, "" where it is.
func (r *round) worthless(forced bool) string {
	switch {
	case len(r.steps) == 0:
		return NothingToDo
	case !forced && r.tooLittle(r.before.total()-r.t.total()):
		return ByMinGain
	}
	return ""
}

// overBudget returns the error of a conversation that is as small as it can be
// made, and still too large.
func (s *Session) overBudget(r *round) error {
	if r.fits() {
		return nil
	}
	err := r.budgetError()
	s.tellError(err, "")
	return err
}

func (r *round) budgetError() *BudgetError {
	e := &BudgetError{Budget: r.cfg.budget.Limit(), Tokens: r.size(), Floor: r.size(), Tools: r.tokens(r.t.tools)}
	for i, m := range r.t.messages {
		n := r.tokens(r.t.sizes[i])
		switch h := r.view.Holds[i]; {
		case m.Role == chat.System || m.Role == chat.Developer:
			e.System += n
		case h&memory.Latest != 0:
			e.Last += n
		case h&memory.Pinned != 0:
			e.Pinned += n
		default:
			e.Stubbed += n
		}
	}
	return e
}

// archive puts the round into the archive, before anything changes.
func (s *Session) archive(ctx context.Context, r *round, report *Report) (int, error) {
	s.mu.Lock()
	next := s.steps + 1
	s.mu.Unlock()
	a := archive.Step{
		Session: s.id, Number: next, Before: r.before.messages, Removed: r.removed(),
		Edits: r.edits(), Reason: cmpReason(report), Level: string(report.Picked), Note: r.note, Time: s.cfg.Now(),
	}
	for _, st := range r.steps {
		if st.summary != nil {
			a.Summary = json.RawMessage(st.summary.Payload)
		}
	}
	number, err := put(ctx, s.cfg.Archive, a)
	if err != nil {
		return 0, fmt.Errorf("archive round %d: %w", number, err)
	}
	s.mu.Lock()
	s.steps = number // taken, whatever follows
	s.mu.Unlock()
	return number, nil
}

// put archives a under its number, or the next one where the archive knows the
// session from elsewhere: an earlier process, or a write that failed late.
func put(ctx context.Context, store archive.Store, a archive.Step) (number int, err error) {
	const tries = 100 // each means that somebody else took the number
	for range tries {
		if err = store.Put(ctx, a); !errors.Is(err, archive.ErrExists) {
			break
		}
		infos, listErr := store.Steps(ctx, a.Session)
		if listErr != nil {
			return a.Number, errors.Join(err, listErr)
		}
		a.Number = max(a.Number+1, archive.Next(infos))
	}
	return a.Number, err
}

func cmpReason(r *Report) string {
	if r.Reason != "" {
		return r.Reason
	}
	return "usage"
}

// edits returns the round as it can be made again on a history that is sent
// anew.
func (r *round) edits() edit.Round {
	out := edit.Round{Seen: len(r.before.messages), Sum: edit.Sum(r.before.messages)}
	for _, st := range r.steps {
		out.Steps = append(out.Steps, st.edits)
	}
	return out
}

// removed returns what each recall id of the round stands for.
func (r *round) removed() []archive.Entry {
	var out []archive.Entry
	at := make(map[string]int)
	for _, st := range r.steps {
		for _, e := range st.edits {
			gone := replaced(st.before.messages[e.Start:e.End], e.New)
			id := recallID(e)
			if len(gone) == 0 || id == "" {
				continue
			}
			k, seen := at[id]
			if !seen {
				k, at[id] = len(out), len(out)
				out = append(out, archive.Entry{ID: id})
			}
			for _, m := range gone {
				out[k].Messages = append(out[k].Messages, m)
				if m.Recall != "" && m.Recall != id {
					out[k].Below = append(out[k].Below, m.Recall)
				}
			}
		}
	}
	return out
}

func recallID(e edit.Edit) string {
	if e.Recall != "" {
		return e.Recall
	}
	for _, m := range e.New {
		if m.Recall != "" {
			return m.Recall
		}
	}
	return ""
}

// replaced returns the messages of run that do not stand unchanged in put.
func replaced(run, put []chat.Message) []chat.Message {
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

// swap puts the round's outcome in the place of what it was planned for. The
// messages that arrived meanwhile follow it.
func (s *Session) swap(r *round, number int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	made := archive.Round{Number: number, Level: string(r.steps[len(r.steps)-1].level), Edits: r.edits(), Time: s.cfg.Now()}
	if err := s.record(func(f Recorder) error { return f.Round(made) }); err != nil {
		return err
	}
	n := len(r.before.messages)
	arrived := len(s.t.messages) - n
	s.t = r.t.followed(&s.t, n)
	s.gate = s.cfg.gate.Start(arrived)
	s.cal, s.anchor = s.cal.Void(), 0
	s.summary = r.number - 1
	s.rounds = append(s.rounds, done{number, r.before, len(r.t.messages), true})
	clear(s.wait)
	return nil
}

// report fills in what the round did.
func (r *round) report(report *Report, number int) {
	report.Reason, report.Step, report.Kept = "", number, r.kept
	report.After = r.size()
	for _, st := range r.steps {
		if n := len(report.Applied); n > 0 && report.Applied[n-1].Level == st.level {
			report.Applied[n-1].After = st.to
			report.Applied[n-1].Took += st.ended.Sub(st.began)
		} else {
			report.Applied = append(report.Applied, Applied{st.level, st.from, st.to, st.engine, st.fallback, st.ended.Sub(st.began)})
		}
		report.Edits = append(report.Edits, st.reported(r.cfg)...)
	}
	report.FirstChanged = edit.FirstChanged(r.before.messages, r.t.messages)
	if report.FirstChanged >= 0 {
		for _, n := range r.t.sizes[report.FirstChanged:] {
			report.Prefill += n
		}
		report.Prefill = r.tokens(report.Prefill)
	}
}

func (st *step) reported(cfg *settings) []Edit {
	out := make([]Edit, 0, len(st.edits))
	for _, e := range st.edits {
		x := Edit{Level: st.level, Start: e.Start, End: e.End, New: e.New, Put: len(e.New), Why: e.Why, Recall: recallID(e)}
		for i := e.Start; i < e.End; i++ {
			x.IDs = append(x.IDs, st.before.messages[i].ID)
			x.Before += st.before.sizes[i]
		}
		for _, m := range e.New {
			x.After += cfg.countMessage(m)
		}
		out = append(out, x)
	}
	return out
}

func (s *Session) tellWarning(report *Report, text string) {
	if text == "" {
		return
	}
	report.Warnings = append(report.Warnings, text)
	message, remedy, _ := strings.Cut(text, "; ")
	s.warn("medium", message, remedy)
}

func (s *Session) tellEstimate(u Usage) {
	s.emit(trace.TokenEstimate{
		Model: s.cfg.Model, TEst: u.Tokens, MaxTokens: u.Window, UsagePct: u.Share,
		Breakdown: trace.Breakdown{System: u.System, Developer: u.Developer, ToolsSchema: u.Tools, Messages: u.Messages},
	})
}

func (s *Session) tellError(err error, fallback string) {
	kind := "compaction"
	if _, ok := err.(*BudgetError); ok {
		kind = "insufficient_budget"
	}
	s.emit(trace.Error{ErrorType: kind, Message: err.Error(), Fallback: fallback})
}

// tellDecision traces a check. r is the round that was planned, nil for none.
func (s *Session) tellDecision(report Report, r *round, note string) {
	s.mu.Lock()
	t, buffer := s.cfg.Thresholds, s.cfg.budget.Buffer
	s.mu.Unlock()
	d := trace.TriggerDecision{
		Triggered: report.Compacted(), Reason: cmpReason(&report), Level: string(report.Picked), Note: note,
		Policy: trace.Policy{
			TriggerPct: s.cfg.TriggerPct, HardCapBuffer: buffer, Strategy: string(s.cfg.Strategy),
			Thresholds: trace.Thresholds{Soft: t.Soft, Hard: t.Hard, Emergency: t.Emergency},
		},
	}
	if d.Triggered {
		pruned := len(r.before.messages) - len(r.t.messages)
		d.Kept, d.PrunedCount = r.keptCounts(), &pruned
	}
	s.emit(d)
}

func (r *round) keptCounts() *trace.Kept {
	k := &trace.Kept{RecentTurns: r.kept.Turns, ToolPairs: r.kept.Pairs}
	for _, h := range r.view.Holds {
		if h&memory.Pinned != 0 {
			k.Pinned++
		}
	}
	return k
}

// tellRound traces a round that was made.
func (s *Session) tellRound(report Report, r *round, number int) {
	s.tellDecision(report, r, r.note)
	for _, st := range r.steps {
		if s.cfg.Trace == nil {
			return
		}
		first := edit.FirstChanged(st.before.messages, r.t.messages)
		s.emitSpan(st.began, st.ended, trace.LevelApplied{
			Level: string(st.level), Before: st.from, After: st.to, Freed: st.from - st.to, FirstChanged: first, PrefillTokens: report.Prefill,
		})
		if sum := st.summary; sum != nil {
			for _, a := range sum.Attempts {
				s.emit(trace.Error{ErrorType: "summary", Message: a.Engine + ": " + a.Reason, Fallback: a.Then})
			}
			s.tellSummary(st, sum)
		}
	}
	s.emit(trace.PrunedMessages{Layers: r.layersNow()})
	adapter, where := archive.Where(s.cfg.Archive, s.id, number)
	s.emit(trace.Archival{SessionID: s.id, Step: number, StorageAdapter: adapter, FilePath: where})
}

func (s *Session) tellSummary(st step, sum *levels.Summary) {
	if sum.Message == nil {
		return
	}
	s.emitSpan(st.began, st.ended, trace.SummaryCreated{
		Strategy: string(s.cfg.Strategy), InputMessages: sum.InputMessages, SummaryTokens: sum.Tokens,
		CompressionRatio: float64(sum.Tokens) / float64(max(1, sum.InputTokens)), Removed: sum.Removed,
		Fallback: sum.Fallback, Payload: sum.Payload,
	})
}

func (s *Session) emitSpan(began, ended time.Time, p trace.Payload) {
	s.cfg.Trace.Emit(trace.New(s.id, began, ended, p))
}

func (r *round) layersNow() trace.Layers {
	var l trace.Layers
	for i, m := range r.t.messages {
		layer := &l.Recent
		switch {
		case m.IsSummary():
			layer = &l.Summary
		case r.view.Holds[i]&memory.Pinned != 0:
			layer = &l.Pinned
		}
		layer.Messages++
		layer.Tokens += r.t.sizes[i]
	}
	return l
}
