package tokens

import (
	"fmt"
	"math"
)

const (
	minRatio    = 0.7 // bounds of a plausible ratio between encodings of one text
	maxRatio    = 1.6
	ratioMemory = 4096 // estimated tokens that weigh in the ratio beside what is new

	minShare    = 0.60 // of the estimate; a count below it was truncated
	halfSlack   = 16   // tokens around the half window that servers cut to
	fullShare   = 0.98 // of the window; a count from there on fills it
	excessRatio = 1.3  // estimate over count, from which a full window was truncated

	mostRatio = 4    // of a count to the estimate: no encoding has more tokens than bytes
	mostFrame = 4096 // tokens that a template, or tools that are not counted here, may add
)

// A Calibration corrects estimates by the prompt tokens that a server reports.
// It is a value; the zero value corrects nothing.
type Calibration struct {
	Ratio  float64 `json:"ratio,omitempty"`  // real tokens for each estimated one, 0.7 to 1.6; 0 means none seen, which counts as 1
	Weight int     `json:"weight,omitempty"` // estimated tokens that the ratio was learnt from, at most 4096
	Anchor int     `json:"anchor,omitempty"` // last exact count; 0 means none
	Base   int     `json:"base,omitempty"`   // what was estimated where Anchor was counted
}

// A Sample says what became of a reported count.
type Sample struct {
	Taken     bool
	Truncated bool   // not taken: the server seems to have cut the prompt silently
	Reason    string // why it was not taken

	// ToolsLeftOut says that the server counted no tools: the model's template
	// has no place for them, and it cannot call any.
	ToolsLeftOut bool
}

// Observe returns c after a server reported promptTokens for a prompt of
// estimate tokens, as counted without calibration, in a window of window
// tokens (0 means unknown). A sample that is not taken changes nothing; a count
// that no prompt of that text can have is none.
//
// The ratio is learnt from what was added since the anchor: what a template
// puts before each conversation is in the anchor, and no part of it. Tokens
// weigh alike, however many messages they come in.
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
		// A server that drops a message or two leaves a count that looks like
		// a ratio a little lower.
		return c, Sample{Reason: fmt.Sprintf("%d tokens counted, %d expected in a window of %d: the prompt may have been cut", promptTokens, expected, window)}
	}
	return c.learnCount(estimate, promptTokens), Sample{Taken: true}
}

// ToolsLeftOut reports whether a count of promptTokens is that of a prompt in
// which the server's template has no place for tools: too few tokens for
// estimate, tools of which are those of the tools, and enough for the rest. What
// a server counts for a prompt that it cut is too few for the rest as well.
func (c Calibration) ToolsLeftOut(estimate, tools, promptTokens int) bool {
	rest := scaleTokens(estimate-tools, c.currentRatio())
	return tools > 0 && promptTokens > 0 && float64(promptTokens) < minRatio*float64(scaleTokens(estimate, c.currentRatio())) && float64(promptTokens) >= minShare*float64(rest)
}

// possible returns the most tokens that a server can count for a prompt of
// estimate tokens. It counts no more than its window, which may be larger than
// is known here only if the estimate is, too.
func possible(estimate, window int) int {
	estimate = min(estimate, math.MaxInt/8)
	most := mostRatio*estimate + mostFrame
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
	// The conversions keep the compiler from fusing, which would round
	// otherwise on some machines.
	return Calibration{
		Ratio:  clampRatio((float64(known*c.currentRatio()) + float64(fresh*seen)) / (known + fresh)),
		Weight: min(ratioMemory, max(0, c.Weight)+added),
		Anchor: count,
		Base:   estimate,
	}
}

// currentRatio returns the ratio that holds.
func (c Calibration) currentRatio() float64 {
	if c.Ratio > 0 && !math.IsInf(c.Ratio, 0) {
		return clampRatio(c.Ratio)
	}
	return 1
}

// truncated returns why count looks like that of a prompt that the server cut,
// or "". estimate is by all that was learnt: a model that counts a third less
// fills no window with what it reads whole. Ollama cuts to the window, newer versions to half of it and two.
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

// Tokens returns the tokens of a prompt that is estimated at estimateTotal,
// estimateAtAnchor of which stood in the prompt of the last taken sample: that
// sample's count, and the rest by the ratio. Without an anchor it is all by
// the ratio.
func (c Calibration) Tokens(estimateTotal, estimateAtAnchor int) int {
	if c.Anchor <= 0 {
		return scaleTokens(estimateTotal, c.currentRatio())
	}
	return max(0, c.Anchor+scaleTokens(estimateTotal-estimateAtAnchor, c.currentRatio()))
}

// Void returns c without its anchor: the prompt that it was counted for is no
// longer the beginning of the conversation. The ratio stays.
func (c Calibration) Void() Calibration {
	c.Anchor, c.Base = 0, 0
	return c
}

func scaleTokens(n int, ratio float64) int { return int(math.Ceil(float64(n) * ratio)) }

func clampRatio(r float64) float64 { return max(minRatio, min(maxRatio, r)) }
