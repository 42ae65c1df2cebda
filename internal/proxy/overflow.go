package proxy

import (
	"context"
	"regexp"
	"strconv"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/levels"
)

// The windows that servers name in their errors for a request that does not fit:
// llama.cpp (n_ctx), OpenAI and vLLM (maximum context length, maximum model length),
// LM Studio, Anthropic.
var windowsNamed = []*regexp.Regexp{
	regexp.MustCompile(`"n_ctx"\s*:\s*(\d+)`),
	regexp.MustCompile(`(?i)max(?:imum)? (?:context|model) length (?:is|of) (\d+)`),
	regexp.MustCompile(`(?i)context length of (?:only )?(\d+)`),
	regexp.MustCompile(`(?i)context limit: \d+ \+ \d+ > (\d+)`),
	regexp.MustCompile(`(?i)> (\d+) maximum`),
	regexp.MustCompile(`(?i)(?:context size|context window|n_ctx)[^0-9]{1,20}(\d+)`),
	regexp.MustCompile(`(?i)context length[^0-9]{1,12}(\d+)`),
}

// windowNamed returns the window that an error names, 0 for none.
func windowNamed(text string) int {
	for _, r := range windowsNamed {
		if m := r.FindStringSubmatch(text); m != nil {
			if n, err := strconv.Atoi(m[1]); err == nil && n >= minWindow && n <= 1<<30 {
				return n
			}
		}
	}
	return 0
}

// enoughFreed is the share of a refused request that is sent again at most, if the
// upstream does not name its window.
const enoughFreed = 0.85

// harder compacts a request that the upstream refused: to the window that its error
// names, or else by the next level, and the next, until enough is freed. It returns nil
// if nothing gets smaller.
func (e *engine) harder(ctx context.Context, r *request, p *plan, refused string) ([]byte, error) {
	before := p.report.Usage.Tokens
	most := int(enoughFreed * float64(before))
	n := windowNamed(refused)
	if n > 0 && n < p.history.Window {
		p.history.Window, most = n, min(most, n)
		p.place.tip.Window = n
		_ = e.cfg.State.Touch(ctx, p.place.tip) // at worst the next request is refused once more
	}
	var t chat.Transcript
	strongest := strongestOf(p.report)
	for _, name := range levels.Names() {
		l := levels.Name(name)
		if !levels.Stronger(l, strongest) && l != levels.Emergency {
			continue
		}
		p.history.Level = l
		now, err := e.round(ctx, p)
		if now == nil || err != nil && !isBudget(err) {
			return nil, err
		}
		if t = now; p.report.Usage.Tokens <= most {
			break
		}
	}
	if p.report.Usage.Tokens >= before {
		return nil, nil
	}
	e.noteSample(*p, false)
	return r.doc.encode(t)
}

// strongestOf returns the strongest level of a round.
func strongestOf(report tiercompact.Report) levels.Name {
	strongest := levels.None
	for _, a := range report.Applied {
		if levels.Stronger(a.Level, strongest) {
			strongest = a.Level
		}
	}
	return strongest
}
