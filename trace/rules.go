package trace

import (
	"slices"
	"strings"
)

// levelNames are the levels in events.
func levelNames() []string {
	return []string{"none", "soft", "hard", "emergency", "layers", "fit"}
}

// fallbacks are the replacements of a failed summary; "" if there is none.
func fallbacks() []string {
	return []string{"", "retry-half", "brief", "extractive", "pruning-only"}
}

// checkValues has the rules for the values of a payload, after their types were
// checked.
func (c *checker) checkValues(p Payload) {
	for name, value := range Properties(p) {
		n, counts := value.(int)
		least := 0
		if name == "first_changed" {
			least = -1
		}
		c.addProblem(counts && n < least, "%s must be at least %d, is %d", name, least, n)
		share, measures := value.(float64)
		c.addProblem(measures && share < 0, "%s must be at least 0, is %v", name, value)
	}
	switch p := p.(type) {
	case TriggerDecision:
		c.decision(p)
	case LevelApplied:
		c.checkOneOf("level", p.Level, levelNames())
		c.addProblem(p.Freed != p.Before-p.After, "freed is %d, before - after is %d", p.Freed, p.Before-p.After)
	case SummaryCreated:
		c.checkOneOf("fallback", p.Fallback, fallbacks())
		c.checkNotEmpty("strategy", p.Strategy)
	case Archival:
		c.checkNotEmpty("session_id", p.SessionID)
		c.addProblem(p.Step < 1, "step must be at least 1, is %d", p.Step)
		c.checkArchival(p)
	case Error:
		c.checkNotEmpty("error_type", p.ErrorType)
		c.checkNotEmpty("message", p.Message)
		c.checkOneOf("fallback", p.Fallback, append(fallbacks(), "lexical"))
	case Warning:
		c.checkOneOf("severity", p.Severity, []string{Low, Medium, High})
		c.checkNotEmpty("message", p.Message)
	}
}

func (c *checker) decision(p TriggerDecision) {
	c.checkOneOf("level", p.Level, levelNames())
	c.checkNotEmpty("reason", p.Reason)
	c.addProblem(p.Triggered && p.Kept == nil, "no kept")
	c.addProblem(p.Triggered && p.PrunedCount == nil, "no pruned_count")
	c.addProblem(!p.Triggered && p.Kept != nil, "kept, and nothing was triggered")
	c.addProblem(!p.Triggered && p.PrunedCount != nil, "pruned_count, and nothing was triggered")
	t := p.Policy.Thresholds
	c.addProblem(t.Soft > t.Hard || t.Hard > t.Emergency, "thresholds %v do not rise", t)
}

// checkArchival requires a place for an archived step.
func (c *checker) checkArchival(p Archival) {
	c.checkNotEmpty("storage_adapter", p.StorageAdapter)
	switch p.StorageAdapter {
	case "s3":
		c.checkNotEmpty("S3_key", p.S3Key)
	case "dir":
		c.checkNotEmpty("file_path", p.FilePath)
	}
}

func (c *checker) checkNotEmpty(name, value string) { c.addProblem(value == "", "no %s", name) }

func (c *checker) checkOneOf(name, value string, allowed []string) {
	c.addProblem(!slices.Contains(allowed, value), "%s must be one of %s, is %q", name, strings.Join(allowed, ", "), value)
}
