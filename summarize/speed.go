package summarize

import (
	"context"
	"fmt"
	"time"

	"github.com/tiercompact/tiercompact/internal/model"
)

// A speed is how fast a model has read and written, from its newest calls. The zero
// speed is unknown.
type speed struct{ read, written timedTokens }

// timedTokens are tokens and the seconds that they took; a sample counts half as much
// as the next.
type timedTokens struct{ tokens, seconds float64 }

func (t timedTokens) add(tokens int, took time.Duration) timedTokens {
	if tokens <= 0 || took <= 0 {
		return t
	}
	return timedTokens{t.tokens/2 + float64(tokens), t.seconds/2 + took.Seconds()}
}

// perSecond returns the tokens of a second; 0: unknown.
func (t timedTokens) perSecond() float64 {
	if t.seconds == 0 {
		return 0
	}
	return t.tokens / t.seconds
}

// usableShare is the share of a deadline that is planned for: speeds vary.
const usableShare = 0.8

// boundByDeadline limits the answer and the requests so that each call, and all of
// them together, end within their deadlines, as far as the model's speed is known.
// If none can, the error says so.
func (w *summaryRun) boundByDeadline(ctx context.Context) error {
	reads, writes := w.speed.read.perSecond(), w.speed.written.perSecond()
	all, call := time.Duration(0), w.r.Deadline
	if deadline, ok := ctx.Deadline(); ok {
		all = time.Until(deadline)
		call = min(all, max(0, call))
		if w.r.Deadline <= 0 {
			call = all
		}
	}
	if reads == 0 || writes == 0 || call <= 0 {
		return nil
	}
	usable := usableShare * call.Seconds()
	w.limit = min(w.limit, int(usable/2*writes*overMaxShare/(overMaxShare+1)))
	room := 0
	if w.limit >= minLimit {
		readable := (usable - float64(predictedTokens(w.limit))/writes) * reads
		room = int(readable/w.ratio) - w.promptTokens()
		w.pace.request = within(max(room, 1), w.pace.request)
	}
	if room < minRoom {
		w.model.forgiveSpeed()
		return fmt.Errorf("%w: it reads %.0f and writes %.1f tokens a second, so no summary ends within %s", model.ErrSlow, reads, writes, call.Round(time.Second))
	}
	if all > 0 {
		w.pace.input = within(w.inputWithin(all, room, reads, writes), w.pace.input)
	}
	return nil
}

// forgiveSpeed takes the model for a third faster than it was: after some summaries
// that were not tried, one is, because the machine may have been busy.
func (m *Model) forgiveSpeed() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.speed.read.seconds *= 0.75
	m.speed.written.seconds *= 0.75
}

// inputWithin returns the tokens of messages that can be read within a time in
// requests of at most room tokens of messages, before the last one.
func (w *summaryRun) inputWithin(all time.Duration, room int, reads, writes float64) int {
	room = min(room, w.dataRoom(w.limit))
	one := float64(room+w.promptTokens())*w.ratio/reads + float64(predictedTokens(maxPartOf(w.window)))/writes
	calls := usableShare*all.Seconds()/one - 1
	return max(room, int(calls*float64(room)))
}

// noteSpeed learns from an answer to a prompt. What the prompt has in common with the
// one before may be in the server's cache, and took no time.
func (m *Model) noteSpeed(a model.Answer, prompt string, waited, writing time.Duration) speed {
	m.mu.Lock()
	defer m.mu.Unlock()
	fresh := len(prompt) - commonPrefix(prompt, m.prompt)
	m.prompt = prompt
	read := int(float64(a.PromptTokens) * float64(fresh) / float64(max(1, len(prompt))))
	if a.PromptTime > 0 {
		waited = a.PromptTime
	}
	if a.Time > 0 {
		writing = a.Time
	}
	m.speed.read = m.speed.read.add(read, waited)
	m.speed.written = m.speed.written.add(a.Tokens, writing)
	return m.speed
}

func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
