package tokens

import (
	"fmt"
	"math"
)

const (
	minRatio    = 0.7 // bounds of a plausible ratio between encodings of one text
	maxRatio    = 1.6
	ratioMemory = 4096 // weight of the former ratio, in estimated tokens

	minShare    = 0.60 // of the estimate; a count below it was truncated
	halfSlack   = 16   // tolerance in tokens around the half window to which servers cut
	fullShare   = 0.98 // of the window; from this count on, the window is full
	excessRatio = 1.3  // estimate over count; from this value on, a full window was truncated

	possibleRatio = 4    // of a count to the estimate: no encoding has more tokens than bytes
	possibleFrame = 4096 // tokens that a template, or tools unknown here, may add
)

// A Calibration corrects estimates by the prompt tokens that a server reports.
// It is a value; the zero value corrects nothing.
type Calibration struct {
	Ratio  float64 `json:"ratio,omitempty"`  // real tokens for each estimated one, 0.7 to 1.6; 0 means no sample yet, and counts as 1
	Weight int     `json:"weight,omitempty"` // estimated tokens from which the ratio was learnt, at most 4096
	Anchor int     `json:"anchor,omitempty"` // last exact count; 0 means none
	Base   int     `json:"base,omitempty"`   // the estimate of the prompt with the count Anchor
}

// A Sample is the result of a reported count.
type Sample struct {
	Taken     bool
	Truncated bool   // not used: the server seems to have cut the prompt silently
	Reason    string // why it was not used

	// ToolsLeftOut reports that the server counted no tools: the model's template
	// does not support them, and it cannot call any.
	ToolsLeftOut bool
}

// Observe returns c after a server reported promptTokens for a prompt of estimate
// tokens, counted without calibration, in a window of window tokens (0 means
// unknown). A sample that is not used changes nothing; an impossible count for the
// prompt is not used. The ratio is learnt from the tokens added since the anchor:
// the beginning that a template adds to each conversation is in the anchor, and
// does not affect the ratio. Tokens have equal weight, however many messages
// contain them.
func (c Calibration) Observe(estimate, promptTokens, window int) (Calibration, Sample) {
	switch {
	case promptTokens <= 0:
		return c, Sample{Reason: "the server reported no count"}
	case estimate <= 0:
		return c, Sample{Reason: "nothing was estimated"}
	}
	if most := possible(estimate, window); promptTokens > most {
		return c, Sample{Reason: fmt.Sprintf("%d tokens counted, %d estimated: a prompt of that text has at most %d", promptTokens, estimate, most)}
	}
	expected := scaleTokens(estimate, c.currentRatio())
	if reason := truncated(expected, promptTokens, window); reason != "" {
		return c, Sample{Truncated: true, Reason: reason}
	}
	if window > 0 && expected > window && promptTokens <= window {
		// If a server drops a message or two, the count looks like a slightly lower
		// ratio.
		return c, Sample{Reason: fmt.Sprintf("%d tokens counted, %d expected in a window of %d: the prompt may have been cut", promptTokens, expected, window)}
	}
	return c.learnCount(estimate, promptTokens), Sample{Taken: true}
}

// ToolsLeftOut reports whether a count of promptTokens means that the server's
// template ignores tools: too few tokens for estimate, of which the tools have the
// given number, and enough for the rest. If a server cut the prompt, its count is
// too low for the rest as well.
func (c Calibration) ToolsLeftOut(estimate, tools, promptTokens int) bool {
	rest := scaleTokens(estimate-tools, c.currentRatio())
	return tools > 0 && promptTokens > 0 && float64(promptTokens) < minRatio*float64(scaleTokens(estimate, c.currentRatio())) && float64(promptTokens) >= minShare*float64(rest)
}

// possible returns the maximum count of a server for a prompt of estimate tokens.
// It counts no more than its window, which can be larger than the known one only if
// the estimate is, too.
func possible(estimate, window int) int {
	estimate = min(estimate, math.MaxInt/8)
	most := possibleRatio*estimate + possibleFrame
	if window > 0 {
		most = min(most, max(window, 2*estimate))
	}
	return most
}

func (c Calibration) learnCount(estimate, count int) Calibration {
	added, counted := estimate-c.Base, count-c.Anchor
	if c.Anchor <= 0 || added <= 0 || counted <= 0 {
		added, counted = estimate, count // another conversation, or another beginning
	}
	seen := clampRatio(float64(counted) / float64(added))
	known, fresh := float64(min(ratioMemory, max(0, c.Weight))), float64(added)
	// The conversions keep the compiler from fusing the operations, which would
	// round differently on some machines.
	return Calibration{
		Ratio:  clampRatio((float64(known*c.currentRatio()) + float64(fresh*seen)) / (known + fresh)),
		Weight: min(ratioMemory, max(0, c.Weight)+added),
		Anchor: count,
		Base:   estimate,
	}
}

// currentRatio returns the ratio in effect.
func (c Calibration) currentRatio() float64 {
	if c.Ratio > 0 && !math.IsInf(c.Ratio, 0) {
		return clampRatio(c.Ratio)
	}
	return 1
}

// truncated returns why count looks like that of a prompt that the server cut, or
// "". estimate includes all that was learnt: a model that counts a third less does
// not fill its window with a prompt that it read whole. Ollama cuts to the window,
// newer versions to half of it and two.
func truncated(estimate, count, window int) string {
	e, n, w := float64(estimate), float64(count), float64(window)
	if window > 0 && e >= excessRatio*n {
		if math.Abs(n-(w/2+2)) <= halfSlack {
			return fmt.Sprintf("%d tokens counted, %d estimated: the prompt seems to be cut to half of the window of %d", count, estimate, window)
		}
		if n >= fullShare*w {
			return fmt.Sprintf("%d tokens counted, %d estimated: the prompt seems to be cut to the window of %d", count, estimate, window)
		}
	}
	if n < minShare*e {
		return fmt.Sprintf("%d tokens counted, %d estimated: the prompt seems to be cut", count, estimate)
	}
	return ""
}

// Tokens returns the tokens of a prompt with the estimate estimateTotal,
// estimateAtAnchor of which were in the prompt of the last used sample: that
// sample's count, plus the rest by the ratio. Without an anchor, all is by the
// ratio.
func (c Calibration) Tokens(estimateTotal, estimateAtAnchor int) int {
	if c.Anchor <= 0 {
		return scaleTokens(estimateTotal, c.currentRatio())
	}
	return max(0, c.Anchor+scaleTokens(estimateTotal-estimateAtAnchor, c.currentRatio()))
}

// WithoutAnchor returns c without its anchor, for a conversation that no longer begins with
// the prompt of the anchor. The ratio stays.
func (c Calibration) WithoutAnchor() Calibration {
	c.Anchor, c.Base = 0, 0
	return c
}

func scaleTokens(n int, ratio float64) int { return int(math.Ceil(float64(n) * ratio)) }

func clampRatio(r float64) float64 { return max(minRatio, min(maxRatio, r)) }
