package trace

import (
	"encoding/json"
	"errors"
	"reflect"
)

// Tokens are counted tokens; shares of the window are 0 to 1 (over 1 if the
// conversation is larger than the window).
type (
	// A TokenEstimate is made at every check.
	TokenEstimate struct {
		Model     string    `json:"model"`
		TEst      int       `json:"t_est"`      // tokens in the conversation
		MaxTokens int       `json:"max_tokens"` // the window
		UsagePct  float64   `json:"usage_pct"`  // TEst / MaxTokens
		Breakdown Breakdown `json:"breakdown"`
	}

	// A Breakdown divides the tokens of a conversation by their kind.
	Breakdown struct {
		System      int `json:"system"`
		Developer   int `json:"developer"`
		ToolsSchema int `json:"tools_schema"`
		Messages    int `json:"messages"`
	}

	// A TriggerDecision is made at every check, whether it compacts or not.
	TriggerDecision struct {
		Triggered   bool   `json:"triggered"`
		Reason      string `json:"reason"` // why, or why not
		Level       string `json:"level"`  // chosen level; "none" below every threshold
		Policy      Policy `json:"policy"`
		Kept        *Kept  `json:"kept,omitempty"`         // only if triggered
		PrunedCount *int   `json:"pruned_count,omitempty"` // messages; only if triggered
		Note        string `json:"note,omitempty"`         // of a manual compaction
	}

	// A Policy is the basis of a decision.
	Policy struct {
		TriggerPct    float64    `json:"trigger_pct"`
		HardCapBuffer int        `json:"hard_cap_buffer"`
		Strategy      string     `json:"strategy"`
		Thresholds    Thresholds `json:"thresholds"`
	}

	// Thresholds are the usages of the window from which levels are due.
	Thresholds struct {
		Soft      float64 `json:"soft"`
		Hard      float64 `json:"hard"`
		Emergency float64 `json:"emergency"`
	}

	// Kept counts the parts that a round keeps.
	Kept struct {
		Pinned      int `json:"pinned"`
		RecentTurns int `json:"recent_turns"`
		ToolPairs   int `json:"tool_pairs"`
	}

	// A LevelApplied is one level's part in a round.
	LevelApplied struct {
		Level         string `json:"level"`
		Before        int    `json:"before"` // tokens
		After         int    `json:"after"`
		Freed         int    `json:"freed"`
		FirstChanged  int    `json:"first_changed"`    // message; -1 if none
		PrefillTokens int    `json:"prefill_tokens"`   // that the server must read again; set for the last level of a round
		Engine        string `json:"engine,omitempty"` // engine that ranked or summarised
		Why           string `json:"why,omitempty"`    // that engine was a fallback
	}

	// A PrunedMessages gives the size of the conversation's layers after a round.
	PrunedMessages struct {
		Layers Layers `json:"layers"`
	}

	// Layers are the parts of a compacted conversation, in their order.
	Layers struct {
		Pinned  Layer `json:"pinned"`
		Summary Layer `json:"summary"`
		Recent  Layer `json:"recent"`
	}

	// A Layer is the size of one part.
	Layer struct {
		Messages int `json:"messages"`
		Tokens   int `json:"tokens"`
	}

	// A SummaryCreated reports a session summary; its span covers the summarizer's
	// work.
	SummaryCreated struct {
		Strategy         string          `json:"strategy"`
		InputMessages    int             `json:"input_messages"`
		SummaryTokens    int             `json:"summary_tokens"`
		CompressionRatio float64         `json:"compression_ratio"` // tokens of the summary / of what it replaces
		Removed          int             `json:"removed_lines"`     // lines that verification removed
		Fallback         string          `json:"fallback,omitempty"`
		Payload          json.RawMessage `json:"payload"` // the summary
	}

	// An Archival reports where a round was archived.
	Archival struct {
		SessionID      string `json:"session_id"`
		Step           int    `json:"step"`
		StorageAdapter string `json:"storage_adapter"` // memory, dir, s3, or the name of a custom store
		FilePath       string `json:"file_path,omitempty"`
		S3Key          string `json:"S3_key,omitempty"`
	}

	// An Error reports what went wrong and what was done instead.
	Error struct {
		ErrorType string `json:"error_type"`
		Message   string `json:"message"`
		Fallback  string `json:"fallback"` // retry-half, brief, extractive, pruning-only; "" if there is none
	}

	// A Warning asks the user to change something.
	Warning struct {
		Severity string `json:"severity"` // Low, Medium or High
		Message  string `json:"message"`
		Remedy   string `json:"remedy"`
	}
)

// The severities of a warning.
const (
	Low    = "low"
	Medium = "medium"
	High   = "high"
)

// The names of the events.
func (TokenEstimate) Event() string   { return "compact.token_estimate" }
func (TriggerDecision) Event() string { return "compact.trigger_decision" }
func (LevelApplied) Event() string    { return "compact.level_applied" }
func (PrunedMessages) Event() string  { return "compact.pruned_messages" }
func (SummaryCreated) Event() string  { return "compact.summary_created" }
func (Archival) Event() string        { return "compact.archival" }
func (Error) Event() string           { return "compact.error" }
func (Warning) Event() string         { return "compact.warning" }

// payloadKinds returns an empty payload of each kind.
func payloadKinds() []Payload {
	return []Payload{
		TokenEstimate{}, TriggerDecision{}, LevelApplied{}, PrunedMessages{}, SummaryCreated{}, Archival{}, Error{}, Warning{},
	}
}

// payloadType returns the type of the payload of the event called name, nil for an
// unknown one.
func payloadType(name string) reflect.Type {
	for _, p := range payloadKinds() {
		if p.Event() == name {
			return reflect.TypeOf(p)
		}
	}
	return nil
}

// isKnownPayload reports whether p is of a type of this package.
func isKnownPayload(p Payload) bool {
	return p != nil && payloadType(p.Event()) == reflect.TypeOf(p)
}

// decodePayload returns the payload of the event called name.
func decodePayload(name string, data []byte) (Payload, error) {
	t := payloadType(name)
	if t == nil {
		return nil, errors.New("unknown kind of event")
	}
	p := reflect.New(t)
	err := json.Unmarshal(data, p.Interface())
	return p.Elem().Interface().(Payload), err
}
