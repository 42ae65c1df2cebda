package tiercompact

import (
	"strings"
	"time"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/edit"
	"github.com/tiercompact/tiercompact/internal/protection"
	"github.com/tiercompact/tiercompact/levels"
	"github.com/tiercompact/tiercompact/trace"
)

func (s *Session) addWarning(report *Report, text string) {
	if text == "" {
		return
	}
	report.Warnings = append(report.Warnings, text)
	message, remedy, _ := strings.Cut(text, "; ")
	s.emitWarning("medium", message, remedy)
}

func (s *Session) emitEstimate(u Usage) {
	s.emitEvent(trace.TokenEstimate{
		Model: s.cfg.Model, TEst: u.Tokens, MaxTokens: u.Window, UsagePct: u.Share,
		Breakdown: trace.Breakdown{System: u.System, Developer: u.Developer, ToolsSchema: u.Tools, Messages: u.Messages},
	})
}

// tellFaults tells what callbacks have failed by since they were told last: the
// check has gone on with what stands in for them.
func (s *Session) tellFaults(report *Report) {
	for _, err := range s.cfg.faults.Take() {
		text := s.cfg.redactText(err.Error())
		report.Warnings = append(report.Warnings, text)
		s.emitEvent(trace.Error{ErrorType: "callback", Message: text})
	}
}

// emitFailure traces a check whose round was not made, and what it failed by:
// plan, archive or record.
func (s *Session) emitFailure(report Report, r *round, kind string, err error) {
	report.Reason = kind + " failed"
	s.emitDecision(report, r)
	s.emitError(kind, err)
}

func (s *Session) emitError(kind string, err error) {
	s.emitEvent(trace.Error{ErrorType: kind, Message: err.Error()})
}

// emitDecision traces a check. r is the round that was planned, nil for none.
func (s *Session) emitDecision(report Report, r *round) {
	s.mu.Lock()
	t, buffer := s.cfg.Thresholds, s.cfg.budget.Buffer
	s.mu.Unlock()
	d := trace.TriggerDecision{
		Triggered: report.Compacted(), Reason: r.decisionReason(&report), Level: string(report.Picked),
		Policy: trace.Policy{
			TriggerPct: s.cfg.TriggerPct, HardCapBuffer: buffer, Strategy: string(s.cfg.Strategy),
			Thresholds: trace.Thresholds{Soft: t.Soft, Hard: t.Hard, Emergency: t.Emergency},
		},
	}
	now := s.cfg.Now()
	if r == nil {
		s.emitSpan(now, now, d)
		return
	}
	d.Note = r.note
	if d.Triggered {
		pruned := max(0, len(r.before.messages)-len(r.t.messages)) // markers may be more than what they stand for
		d.Kept, d.PrunedCount = r.keptCounts(), &pruned
	}
	s.emitSpan(r.began, now, d)
}

func (r *round) keptCounts() *trace.Kept {
	stands := make(map[string]bool, len(r.t.messages))
	k := new(trace.Kept)
	for i, m := range r.t.messages {
		stands[m.ID] = true
		if r.view.Protections[i]&protection.Pinned != 0 {
			k.Pinned++
		}
	}
	k.RecentTurns, k.ToolPairs = protection.Kept(r.before.messages, func(m chat.Message) bool { return stands[m.ID] })
	return k
}

// emitRound traces a round that was made.
func (s *Session) emitRound(report Report, r *round, number int) {
	s.emitDecision(report, r)
	for i, st := range r.steps {
		if s.cfg.Trace == nil {
			return
		}
		if st.grows {
			continue // it is a part of the level before
		}
		rest := r.steps[i+1:]
		if len(rest) > 0 && rest[0].grows {
			st.to, rest = rest[0].to, rest[1:]
		}
		applied := trace.LevelApplied{
			Level: string(st.level), Before: st.from, After: st.to, Freed: st.from - st.to, Engine: st.engine, Why: st.why,
			FirstChanged: edit.FirstChanged(st.before.messages, r.t.messages),
		}
		if len(rest) == 0 { // the server reads again once a round, however many levels it has
			applied.PrefillTokens = report.Prefill
		}
		s.emitSpan(st.began, st.ended, applied)
		kind := "ranking"
		if st.summary != nil {
			kind = "summary"
		}
		for _, a := range st.attempts {
			s.emitEvent(trace.Error{ErrorType: kind, Message: a.Engine + ": " + a.Reason, Fallback: a.Then})
		}
		if st.summary != nil {
			s.emitSummary(st, st.summary)
		}
	}
	s.emitEvent(trace.PrunedMessages{Layers: r.layerTotals()})
	adapter, where := archive.Where(s.cfg.Archive, s.id, number)
	put := trace.Archival{SessionID: s.id, Step: number, StorageAdapter: adapter}
	if adapter == "s3" {
		put.S3Key = where
	} else {
		put.FilePath = where
	}
	s.emitEvent(put)
}

func (s *Session) emitSummary(st levelStep, sum *levels.Summary) {
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

func (r *round) layerTotals() trace.Layers {
	var l trace.Layers
	for i, m := range r.t.messages {
		layer := &l.Recent
		switch {
		case m.IsSummary():
			layer = &l.Summary
		case r.view.Protections[i]&protection.Pinned != 0:
			layer = &l.Pinned
		}
		layer.Messages++
		layer.Tokens += r.t.sizes[i]
	}
	return l
}

func (s *Session) emitEvent(p trace.Payload) {
	if s.cfg.Trace == nil {
		return
	}
	now := s.cfg.Now()
	s.cfg.Trace.Emit(trace.New(s.id, now, now, p))
}

func (s *Session) emitWarning(severity, message, remedy string) {
	s.emitEvent(trace.Warning{Severity: severity, Message: message, Remedy: remedy})
}
