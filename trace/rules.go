package trace

import (
	"slices"
	"strings"
)

// levelNames are the levels that events speak of.
func levelNames() []string {
	return []string{"none", "soft", "hard", "emergency", "layers", "fit"}
}

// fallbacks are what stands in for a summary that failed; "" where nothing does.
func fallbacks() []string {
	return []string{"", "retry-half", "brief", "extractive", "pruning-only"}
}

// values has what the values of a payload must be, once their types are right.
func (c *checker) values(p Payload) {
	for name, value := range Properties(p) {
		n, counts := value.(int)
		least := 0
		if name == "first_changed" {
			least = -1
		}
		c.wrong(counts && n < least, "%s must be at least %d, is %d", name, least, n)
		share, measures := value.(float64)
		c.wrong(measures && share < 0, "%s must be at least 0, is %v", name, value)
	}
	switch p := p.(type) {
	case TriggerDecision:
		c.decision(p)
	case LevelApplied:
		c.oneOf("level", p.Level, levelNames())
		c.wrong(p.Freed != p.Before-p.After, "freed is %d, before - after is %d", p.Freed, p.Before-p.After)
	case SummaryCreated:
		c.oneOf("fallback", p.Fallback, fallbacks())
		c.set("strategy", p.Strategy)
	case Archival:
		c.set("session_id", p.SessionID)
		c.wrong(p.Step < 1, "step must be at least 1, is %d", p.Step)
		c.place(p)
	case Error:
		c.set("error_type", p.ErrorType)
		c.set("message", p.Message)
		c.oneOf("fallback", p.Fallback, append(fallbacks(), "lexical"))
	case Warning:
		c.oneOf("severity", p.Severity, []string{Low, Medium, High})
		c.set("message", p.Message)
	}
}

func (c *checker) decision(p TriggerDecision) {
	c.oneOf("level", p.Level, levelNames())
	c.set("reason", p.Reason)
	c.wrong(p.Triggered && p.Kept == nil, "no kept")
	c.wrong(p.Triggered && p.PrunedCount == nil, "no pruned_count")
	c.wrong(!p.Triggered && p.Kept != nil, "kept, and nothing was triggered")
	c.wrong(!p.Triggered && p.PrunedCount != nil, "pruned_count, and nothing was triggered")
	t := p.Policy.Thresholds
	c.wrong(t.Soft > t.Hard || t.Hard > t.Emergency, "thresholds %v do not rise", t)
}

// place has an archived step say where it is.
func (c *checker) place(p Archival) {
	c.set("storage_adapter", p.StorageAdapter)
	switch p.StorageAdapter {
	case "s3":
		c.set("S3_key", p.S3Key)
	case "dir":
		c.set("file_path", p.FilePath)
	}
}

func (c *checker) set(name, value string) { c.wrong(value == "", "no %s", name) }

func (c *checker) oneOf(name, value string, allowed []string) {
	c.wrong(!slices.Contains(allowed, value), "%s must be one of %s, is %q", name, strings.Join(allowed, ", "), value)
}
