package trace

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Names returns the names of all kinds of event.
func Names() []string {
	return []string{
		TokenEstimate{}.Event(), TriggerDecision{}.Event(), LevelApplied{}.Event(), PrunedMessages{}.Event(),
		SummaryCreated{}.Event(), Archival{}.Event(), Error{}.Event(), Warning{}.Event(),
	}
}

// Required returns the properties that the data of an event called name must
// have, those of inner objects with a dot. It returns nil for an unknown name.
func Required(name string) []string {
	switch name {
	case TokenEstimate{}.Event():
		return []string{"model", "t_est", "max_tokens", "usage_pct",
			"breakdown.system", "breakdown.developer", "breakdown.tools_schema", "breakdown.messages"}
	case TriggerDecision{}.Event():
		return []string{"triggered", "reason", "level",
			"policy.trigger_pct", "policy.hard_cap_buffer", "policy.strategy", "policy.thresholds"}
	case LevelApplied{}.Event():
		return []string{"level", "before", "after", "freed", "first_changed", "prefill_tokens"}
	case PrunedMessages{}.Event():
		return []string{"layers"}
	case SummaryCreated{}.Event():
		return []string{"strategy", "input_messages", "summary_tokens", "compression_ratio", "payload"}
	case Archival{}.Event():
		return []string{"session_id", "step", "storage_adapter"}
	case Error{}.Event():
		return []string{"error_type", "message", "fallback"}
	case Warning{}.Event():
		return []string{"severity", "message", "remedy"}
	}
	return nil
}

// Check returns what is missing or wrong in e, all of it.
func Check(e Event) error {
	b, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return CheckJSON(b)
}

// CheckJSON returns what is missing or wrong in an encoded event.
func CheckJSON(line []byte) error {
	var e encoded
	if err := json.Unmarshal(line, &e); err != nil {
		return fmt.Errorf("decode event: %w", err)
	}
	var data map[string]any
	if err := json.Unmarshal(e.Data, &data); err != nil {
		return fmt.Errorf("decode event %s: data: %w", e.Name, err)
	}
	var errs []error
	wrong := func(is bool, problem string) {
		if is {
			errs = append(errs, fmt.Errorf("event %s: %s", e.Name, problem))
		}
	}
	wrong(e.V != Version, fmt.Sprintf("format version %d, want %d", e.V, Version))
	wrong(Required(e.Name) == nil, "unknown name")
	wrong(e.Session == "", "no session")
	wrong(e.Start.IsZero(), "no start")
	wrong(e.End.Before(e.Start), "ends before it starts")
	wrong(e.Status != OK && e.Status != Failed, fmt.Sprintf("status %q", e.Status))
	wrong((e.Name == Error{}.Event()) != (e.Status == Failed), fmt.Sprintf("status %q does not fit", e.Status))
	for _, path := range required(e.Name, data) {
		wrong(!has(data, path), "no "+path)
	}
	return errors.Join(errs...)
}

// required returns what the data of this event must have, given what it says.
func required(name string, data map[string]any) []string {
	paths := Required(name)
	switch {
	case name == TriggerDecision{}.Event() && data["triggered"] == true:
		paths = append(paths, "kept.pinned", "kept.recent_turns", "kept.tool_pairs", "pruned_count")
	case name == Archival{}.Event() && data["storage_adapter"] == "s3":
		paths = append(paths, "S3_key")
	case name == Archival{}.Event() && data["storage_adapter"] != "memory":
		paths = append(paths, "file_path")
	}
	return paths
}

func has(data map[string]any, path string) bool {
	key, rest, inner := strings.Cut(path, ".")
	value, there := data[key]
	if !inner {
		return there && value != nil
	}
	object, _ := value.(map[string]any)
	return has(object, rest)
}
