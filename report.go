package tiercompact

import (
	"time"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/edit"
	"github.com/tiercompact/tiercompact/levels"
)

// Usage is what a conversation's tokens are spent on. System, Developer, Tools
// and Messages are counted here; Tokens is what they are for the server, after
// calibration.
type Usage struct {
	System    int     `json:"system"`
	Developer int     `json:"developer"`
	Tools     int     `json:"tools_schema"`
	Messages  int     `json:"messages"`
	Tokens    int     `json:"tokens"`
	Window    int     `json:"window"`
	Budget    int     `json:"budget"`
	Share     float64 `json:"usage"` // Tokens / Window
}

// Why a check did not compact.
const (
	BelowThreshold = "below threshold"
	InCooldown     = "cooldown"
	ByRole         = "role"
	ByMinGain      = "min_gain"
	Busy           = "busy"
	NothingToDo    = "nothing to do"
	SwitchedOff    = "off" // trigger manual, or automatic compaction turned off
)

// Why a round was made, as the archive and the trace have it.
const (
	byUsage          = "usage"
	byMessages       = "message_threshold"
	byContext        = "context_threshold"
	byHand           = "by hand"
	forNextMessage   = "room for the next message"
	overBudget       = "over the budget"
	overBudgetAnyway = "over the budget, in the cooldown"
)

// A Report says what a check did, or why it did nothing.
type Report struct {
	Message string      `json:"message,omitempty"` // id of the message that was added
	Picked  levels.Name `json:"picked"`
	Applied []Applied   `json:"applied,omitempty"` // in order; empty where nothing was changed
	Reason  string      `json:"reason,omitempty"`  // why nothing was changed; "" where something was
	Before  int         `json:"before"`            // tokens
	After   int         `json:"after"`
	Usage   Usage       `json:"usage"`          // after
	Step    int         `json:"step,omitempty"` // number of the round in the archive
	// FirstChanged is the first message that is not what it was, -1 for none;
	// Prefill are the tokens from there on, which the server must read again.
	FirstChanged int           `json:"first_changed"`
	Prefill      int           `json:"prefill"`
	Edits        []Edit        `json:"edits,omitempty"`
	Kept         Kept          `json:"kept"` // what a preflight or manual compaction kept; zero elsewhere
	Warnings     []string      `json:"warnings,omitempty"`
	Took         time.Duration `json:"took_ns"`
}

// Compacted reports whether the check changed the conversation.
func (r Report) Compacted() bool { return len(r.Applied) > 0 }

// Freed returns the tokens that the round freed.
func (r Report) Freed() int { return r.Before - r.After }

// Applied is a level's part in a round.
type Applied struct {
	Level    levels.Name   `json:"level"`
	Before   int           `json:"before"` // tokens
	After    int           `json:"after"`
	Engine   string        `json:"engine,omitempty"`   // what ranked or summarised
	Why      string        `json:"why,omitempty"`      // why it was that one
	Fallback string        `json:"fallback,omitempty"` // what was done instead of what was asked for
	Attempts []Attempt     `json:"attempts,omitempty"` // what failed before, in order
	Removed  int           `json:"removed,omitempty"`  // lines of a summary that its source did not bear out
	Took     time.Duration `json:"took_ns"`
}

// An Attempt is a ranking or a summary that was not to be had, or not accepted.
type Attempt struct {
	Engine string `json:"engine"`
	Reason string `json:"reason"`
	Then   string `json:"then"` // what was done instead
}

// Kept is a keep-recent policy as it was applied.
type Kept struct {
	Turns int `json:"keep_recent_turns,omitempty"`
	Pairs int `json:"keep_tool_io_pairs,omitempty"`
}

// An Edit is one change of a round, by the positions in the conversation that
// its level was given.
type Edit struct {
	Level  levels.Name    `json:"level"`
	Start  int            `json:"start"`
	End    int            `json:"end"`           // half open
	IDs    []string       `json:"ids,omitempty"` // of the messages replaced
	New    []chat.Message `json:"-"`
	Put    int            `json:"new"` // messages put in their place
	Why    string         `json:"why"`
	Recall string         `json:"recall,omitempty"`
	Before int            `json:"before"` // tokens
	After  int            `json:"after"`
}

// fillReport fills in what the round did.
func (r *round) fillReport(report *Report, number int) {
	report.Reason, report.Step, report.Kept = "", number, r.kept
	report.After = r.currentTokens()
	for _, st := range r.steps {
		if n := len(report.Applied); n > 0 && report.Applied[n-1].Level == st.level {
			report.Applied[n-1].After = st.to
			report.Applied[n-1].Took += st.ended.Sub(st.began)
		} else {
			report.Applied = append(report.Applied, st.appliedLevel())
		}
		report.Edits = append(report.Edits, st.reportedEdits(r.cfg)...)
	}
	report.FirstChanged = edit.FirstChanged(r.before.messages, r.t.messages)
	if report.FirstChanged >= 0 {
		for _, n := range r.t.sizes[report.FirstChanged:] {
			report.Prefill += n
		}
		report.Prefill = r.serverTokens(report.Prefill)
	}
}

func (st *levelStep) appliedLevel() Applied {
	return Applied{
		Level: st.level, Before: st.from, After: st.to, Engine: st.engine, Why: st.why, Fallback: st.fallback,
		Attempts: st.attempts, Removed: st.removed, Took: st.ended.Sub(st.began),
	}
}

func (st *levelStep) reportedEdits(cfg *settings) []Edit {
	out := make([]Edit, 0, len(st.edits))
	for k, e := range st.edits {
		x := Edit{Level: st.level, Start: e.Start, End: e.End, New: e.New, Put: len(e.New), Why: cfg.redactText(e.Why), Recall: recallID(e)}
		for i := e.Start; i < e.End; i++ {
			x.IDs = append(x.IDs, st.before.messages[i].ID)
			x.Before += st.before.sizes[i]
		}
		x.After = st.after[k]
		out = append(out, x)
	}
	return out
}
