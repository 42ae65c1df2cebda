package tiercompact

import (
	"fmt"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/edit"
	"github.com/tiercompact/tiercompact/levels"
)

// A decision is what a check found: whether a round begins, and with what.
type decision struct {
	picked  levels.Name
	reason  string // why no round begins; "" where one does
	cause   string // why one does
	summary bool   // straight to the summary: a message or context threshold
	over    bool   // the conversation does not fit the budget
	usage   Usage
	warning string
	t       conversation // as it is planned for
}

// decideRound is the check. Its caller holds the lock. Where it says that a round
// begins, the session is busy until idle is called.
func (s *Session) decideRound() decision {
	d := decision{usage: s.currentUsage(), picked: levels.None}
	d.over = d.usage.Tokens > d.usage.Budget
	d.warning = s.fixedWarning()
	if s.cfg.NoAuto || s.cfg.Trigger == Manual {
		d.reason = SwitchedOff
		return d
	}
	d.picked, d.cause = s.pickLevel(d.usage)
	d.summary = d.cause != byUsage
	open := s.cfg.gate.Open(s.gate)
	if d.over && d.cause == byUsage {
		d.cause = overBudget
	}
	switch {
	case d.picked == levels.None && !d.over:
		d.reason = BelowThreshold
	case s.busy:
		d.reason = Busy
	case !s.roleAllows(d.over):
		d.reason = ByRole
		if d.over {
			d.warning = "the conversation is over the budget; run Preflight before the model is called, or it is dealt with after the assistant's next message"
		}
	case !d.over && !open:
		d.reason = InCooldown
	case !d.over && s.levelWaits(d.picked, d.summary):
		d.reason = s.wait[d.picked].reason
	default:
		if !open {
			d.cause = overBudgetAnyway
		}
		d.t = s.t.snapshot()
		s.busy = true
	}
	return d
}

// pickLevel returns the level that is due and why; a message or context threshold
// leads straight to the summary.
func (s *Session) pickLevel(u Usage) (picked levels.Name, cause string) {
	if n := s.cfg.Policy.MessageThreshold; n > 0 && s.t.unsummarised >= n {
		return levels.Emergency, byMessages
	}
	if c := s.cfg.Policy.ContextThreshold; c > 0 && u.Share >= c {
		return levels.Emergency, byContext
	}
	share := u.Share
	if fixed := s.t.fixed + s.t.tools; 2*fixed > s.cfg.Window && fixed < s.cfg.Window {
		share = float64(u.Tokens-fixed) / float64(s.cfg.Window-fixed)
	}
	picked = s.cfg.Thresholds.Select(share)
	if picked != levels.None && s.cfg.Level != "" {
		picked = s.cfg.Level
	}
	return picked, byUsage
}

// fixedWarning returns the warning that the fixed part is over half of the
// window, once.
func (s *Session) fixedWarning() string {
	fixed := s.t.fixed + s.t.tools
	if s.warned || 2*fixed <= s.cfg.Window {
		return ""
	}
	s.warned = true
	return fmt.Sprintf("protected messages, tools and summary take %d of %d tokens, over half of the window: the thresholds apply to the rest; protect less, or use a larger window", fixed, s.cfg.Window)
}

// roleAllows reports whether the newest message may start a round.
func (s *Session) roleAllows(over bool) bool {
	if s.cfg.Trigger != AssistantOnly {
		return true
	}
	if len(s.t.messages) == 0 {
		return false
	}
	m := s.t.messages[len(s.t.messages)-1]
	return m.Role == chat.Assistant && !m.HasCalls() || over && m.Role == chat.Tool
}

// leastGain is the share of the window that must come or go stale before a
// level that had nothing to offer is asked again.
const leastGain = 0.02

// levelWaits reports whether a level had too little to offer and too little was added
// or went stale since. For a message or context threshold (summary) the least
// gain does not count: only a summary that changed nothing waits.
func (s *Session) levelWaits(level levels.Name, summary bool) bool {
	w, waiting := s.wait[level]
	if !waiting || summary && w.reason != NothingToDo {
		return false
	}
	least := max(s.cfg.MinGain, leastGain)
	if summary {
		least = leastGain
	}
	need := int(least * float64(s.cfg.Window))
	return s.t.messageTokens()-w.added < need && s.t.staleTokens()-w.staled < need
}

// deferLevel has the level of a round that changed nothing wait. No cooldown
// starts: only a compaction starts one, and a stronger level does not wait. Its
// caller holds the lock.
func (s *Session) deferLevel(level levels.Name, reason string, planned *conversation) {
	if level == levels.LayerName {
		return // it is never due by itself
	}
	s.wait[level] = waitingSince(planned, reason)
	none := archive.Round{Level: string(level), Reason: reason, Edits: edit.Round{Seen: len(planned.messages)}, Time: s.cfg.Now()}
	_ = s.recordDone(func(f Recorder) error { return f.Round(none) }) // if it fails, it is written before the next record
}

func waitingSince(planned *conversation, reason string) levelWait {
	return levelWait{added: planned.messageTokens(), staled: planned.staleTokens(), reason: reason}
}
