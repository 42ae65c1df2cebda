package bench

import (
	"github.com/tiercompact/tiercompact/internal/bench/corpus"
	"github.com/tiercompact/tiercompact/levels"
)

// A Report is the result of [Run]. Two runs with the same options and sessions
// differ only in Cost and Growth: see [Report.WithoutCost].
type Report struct {
	Set      Set       `json:"set"`
	Rows     []Row     `json:"rows"`               // levels alone, then replays by preset, level and window, then baselines
	AtSize   []AtSize  `json:"at_size"`            // one for each baseline that removes something; empty without steady or baselines
	Left     []Left    `json:"left,omitempty"`     // one for each preset, if a share was requested
	Sections []Section `json:"sections,omitempty"` // if they were requested
	Growth   []Growth  `json:"growth,omitempty"`   // shortest first; only times and memory
}

// Set describes the measured sessions and the options.
type Set struct {
	Name       string   `json:"name"`              // "made-up sessions, seed 42", or the given name
	Command    []string `json:"command,omitempty"` // words of the command of this measurement
	Sessions   int      `json:"sessions"`          // all of them
	Short      []string `json:"short,omitempty"`   // names of those of under 40 messages: only their planted facts count
	Messages   int      `json:"messages"`
	Tokens     int      `json:"tokens"`
	Facts      int      `json:"facts"`      // planted
	Ranking    string   `json:"ranking"`    // engine for ranking: lexical, or a model
	Summarizer string   `json:"summarizer"` // engine for summaries: extractive, or a model
	Seed       uint64   `json:"seed"`       // of the corpus, and of random baselines
	Quick      bool     `json:"quick,omitempty"`
	Cuts       []int    `json:"cuts,omitempty"` // in percent of the messages, if they were given
}

// A Kind says how the way of a row is used.
type Kind string

// The kinds of row. Alone is one level, once, on a conversation that fits its
// window; Replay adds a conversation message by message in a window of a share of
// its tokens; Baseline is their reference.
const (
	Alone    Kind = "alone"
	Replay   Kind = "replay"
	Baseline Kind = "baseline"
)

// Auto is the level of a row in which usage chooses the level.
const Auto = "auto"

// A Row is the effect of one way on all sessions.
type Row struct {
	Name   string  `json:"name"` // "steady auto 0.50", "default soft", "newest 0.30": unique in a report
	Kind   Kind    `json:"kind"`
	Preset string  `json:"preset,omitempty"` // "" for baselines
	Level  string  `json:"level,omitempty"`  // Auto or a level; "" for baselines
	Window float64 `json:"window,omitempty"` // of a replay: the window as a share of the tokens

	Left        float64     `json:"left"`        // share of the tokens, at all cuts of both measures
	Freed       FreedTokens `json:"freed"`       // by compacting whole sessions
	Identifiers Figure      `json:"identifiers"` // needed after the cut
	Placed      Figure      `json:"placed"`      // identifiers on a line that says about them what the conversation said
	Edits       Figure      `json:"edits"`       // that are possible without another read
	Facts       Figure      `json:"facts"`       // planted; Size is Freed's
	ByKind      []Facts     `json:"facts_by_kind,omitempty"`
	Truth       Truth       `json:"truth"`   // of the lines that summaries and outlines show of files
	Orphans     int         `json:"orphans"` // calls and results that lost their partner, at all cuts and ends

	Prefill *Prefilled `json:"prefill,omitempty"` // nil for a way that is measured once
	Cost    *Cost      `json:"cost,omitempty"`
}

// A Figure is a retained share and its size. Of 0 means that there was nothing to
// keep: the share then means nothing.
type Figure struct {
	Kept  int     `json:"kept"`
	Of    int     `json:"of"`
	Share float64 `json:"share"` // Kept / Of
	Size  float64 `json:"size"`  // tokens left, as a share of those before, at the measured cuts
}

// Facts is a Figure of the planted facts of one kind.
type Facts struct {
	Kind  corpus.Kind `json:"kind"`
	Kept  int         `json:"kept"`
	Of    int         `json:"of"`
	Share float64     `json:"share"`
}

// FreedTokens are tokens before and after, and the levels that freed them.
type FreedTokens struct {
	Before int         `json:"before"` // tokens of all messages
	After  int         `json:"after"`  // of the final conversation
	Tokens int         `json:"tokens"` // Before - After
	Share  float64     `json:"share"`  // Tokens / Before
	Levels []LevelPart `json:"levels,omitempty"`
	Soft   SoftPart    `json:"soft"`
}

// A LevelPart is the number of tokens that one level freed. Later rounds of a
// session free text that earlier ones inserted, so the parts may add up to more
// than the whole.
type LevelPart struct {
	Level string  `json:"level"` // one of those that free tokens, fit included
	Times int     `json:"times"`
	Freed int     `json:"freed"` // tokens
	Share float64 `json:"share"` // of all that levels freed
}

// SoftPart is the number of tokens that soft freed, by their kind.
type SoftPart struct {
	Files   int `json:"stale_files"`
	Again   int `json:"superseded_or_repeated"`
	Outputs int `json:"tool_outputs"`
}

// Prefilled is what a server with a prompt cache must read again over whole
// sessions, one request before each assistant message.
type Prefilled struct {
	Tokens  int     `json:"tokens"`
	Without int     `json:"without"` // the same without compaction
	Ratio   float64 `json:"ratio"`   // Tokens / Without
	Rounds  float64 `json:"rounds"`  // compactions a session
	Window  float64 `json:"window"`  // the window as a share of a session's tokens
}

// Cost is the part that differs from run to run.
type Cost struct {
	Session   string  `json:"session"` // that was measured, alone on the machine
	Messages  int     `json:"messages"`
	Millis    float64 `json:"ms"`         // of the whole session
	PeakBytes uint64  `json:"peak_bytes"` // of the heap, above what it held before
}

// AtSize compares a preset with a baseline at the baseline's own size: the share
// that the preset keeps there, between two of its windows. A difference above 0
// means that the preset is better. Nil if the preset was not measured at that size,
// or if there was nothing to keep.
type AtSize struct {
	Baseline    string    `json:"baseline"`
	Preset      string    `json:"preset"`
	Identifiers *Compared `json:"identifiers,omitempty"`
	Placed      *Compared `json:"placed,omitempty"`
	Edits       *Compared `json:"edits,omitempty"`
}

// Compared is a share that a baseline keeps, and the preset's share at the same
// size.
type Compared struct {
	Size       float64 `json:"size"`
	Baseline   float64 `json:"baseline"`
	Preset     float64 `json:"preset"`
	Difference float64 `json:"difference"` // Preset - Baseline
}

// Left is auto of a preset in the one window that leaves a share of the tokens.
type Left struct {
	Preset string  `json:"preset"`
	Target float64 `json:"target"` // the requested share
	Window float64 `json:"window"` // the found window
	Size   float64 `json:"size"`   // the share left in it, over all cuts of both measures
	Row    Row     `json:"row"`
}

// Growth is the costs at a length; all but the first two are times and memory.
type Growth struct {
	Messages  int     `json:"messages"`
	Tokens    int     `json:"tokens"`
	AddMicros float64 `json:"add_us"` // one AddMessage, on average, compaction included
	// LevelMillis is the time of one round of each level over all messages, which
	// are counted and scanned first, without a model.
	LevelMillis map[levels.Name]float64 `json:"level_ms"`
	Bytes       uint64                  `json:"bytes"` // of the heap that a session of this length holds
}

// WithoutCost returns r without the values that differ from run to run.
func (r Report) WithoutCost() Report {
	rows := make([]Row, len(r.Rows))
	for i, row := range r.Rows {
		row.Cost = nil
		rows[i] = row
	}
	r.Rows, r.Growth = rows, nil
	left := make([]Left, len(r.Left))
	for i, l := range r.Left {
		l.Row.Cost = nil
		left[i] = l
	}
	if r.Left != nil {
		r.Left = left
	}
	return r
}
