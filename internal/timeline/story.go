package timeline

import (
	"math"
	"strings"
	"unicode"

	"github.com/tiercompact/tiercompact/internal/screen"
	"github.com/tiercompact/tiercompact/trace"
)

// A timelineData is the data in the events of a session, check by check.
type timelineData struct {
	session string
	checks  []check // at least one
}

// A check is what one check found, and what came of it.
type check struct {
	window  int
	used    float64 // share of the window, before
	due     string  // the level; "" if there was none
	skipped bool    // a level was due, and nothing was done
	limits  limits
	steps   []step // of its round, in order

	decided, summary, archived bool
	warnings, errors           int
}

// limits are shares of the window; 0 is unknown.
type limits struct{ soft, hard, emergency, budget float64 }

// A step is one level's part in a round, in tokens.
type step struct {
	level    string
	from, to int
}

func (s step) stepFreed() int { return s.from - s.to }

// usageAfter returns the share of the window that is used after the check.
func (k check) usageAfter() float64 {
	if len(k.steps) == 0 {
		return k.used
	}
	return percentOf(k.steps[len(k.steps)-1].to, k.window)
}

// roundFreed returns the tokens that the round of a check freed.
func (k check) roundFreed() int {
	if len(k.steps) == 0 {
		return 0
	}
	return k.steps[0].from - k.steps[len(k.steps)-1].to
}

// belowThreshold is the reason of a check that had nothing to do; a preflight
// names its level with it.
const belowThreshold = "below threshold"

// mostUsed is the share above which a check is drawn at the upper end.
const mostUsed = 3

func percentOf(tokens, window int) float64 {
	return clampToPlot(float64(tokens) / float64(max(1, window)))
}

// clampToPlot returns x limited to the range that can be drawn.
func clampToPlot(x float64) float64 {
	if math.IsNaN(x) {
		return 0
	}
	return min(max(0, x), mostUsed)
}

func readTimeline(events []trace.Event) (timelineData, error) {
	var s timelineData
	session, early := "", 0
	for i, e := range events {
		if i > 0 && e.Session != session {
			return s, ErrMixed
		}
		session = e.Session
		switch p := e.Data.(type) {
		case trace.TokenEstimate:
			s.checks = append(s.checks, check{window: p.MaxTokens, used: percentOf(p.TEst, p.MaxTokens), warnings: early})
			early = 0
			continue
		case trace.Warning: // what a check warns of first, it says before it counts
			if n := len(s.checks); n == 0 || s.checks[n-1].decided {
				early++
				continue
			}
		}
		if len(s.checks) > 0 {
			s.checks[len(s.checks)-1].addEvent(e.Data)
		}
	}
	if len(s.checks) == 0 {
		return s, ErrNoChecks
	}
	s.checks[len(s.checks)-1].warnings += early
	s.session = printableName(session)
	return s, nil
}

// addEvent notes what one event says of the check before it.
func (k *check) addEvent(p trace.Payload) {
	switch p := p.(type) {
	case trace.TriggerDecision:
		t := p.Policy.Thresholds
		k.decided = true
		k.limits = limits{clampToPlot(t.Soft), clampToPlot(t.Hard), clampToPlot(t.Emergency), percentOf(k.window-p.Policy.HardCapBuffer, k.window)}
		if p.Level != "none" {
			k.due = p.Level
		}
		k.skipped = !p.Triggered && k.due != "" && p.Reason != belowThreshold
	case trace.LevelApplied:
		k.steps = append(k.steps, step{p.Level, p.Before, p.After})
	case trace.SummaryCreated:
		k.summary = true
	case trace.Archival:
		k.archived = true
	case trace.Warning:
		k.warnings++
	case trace.Error:
		k.errors++
	}
}

// printableName returns a name that can be drawn in a picture.
func printableName(name string) string {
	const longest = 48
	return screen.Clip(strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, strings.ToValidUTF8(name, "?")), longest)
}
