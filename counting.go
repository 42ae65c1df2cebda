package tiercompact

import (
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/guard"
)

// counters count texts, messages and tool schemas, for one thing that is counted:
// a message, or a round.
type counters struct {
	counting     *guard.Counter // by which Config.Count is called; nil without it
	countText    func(string) int
	countMessage func(chat.Message) int
	countTools   func([]byte) int
}

// newCounters returns those of one thing. It needs no lock.
func (cfg *settings) newCounters() *counters {
	if cfg.Count == nil {
		return &cfg.counters
	}
	return cfg.countersBy(guard.NewCounter(cfg.guards.count, cfg.Count, cfg.builtIn, cfg.faults))
}

func (cfg *settings) countersBy(c *guard.Counter) *counters {
	return &counters{
		counting: c, countText: c.Text, countMessage: cfg.builtIn.With(c.Text).Message,
		countTools: func(raw []byte) int {
			if len(raw) == 0 {
				return 0
			}
			return c.Text(string(raw))
		},
	}
}

// counted returns cfg for a round. Its caller holds the lock.
func (cfg *settings) counted() *settings {
	own := *cfg
	own.counters = *cfg.newCounters()
	return &own
}

// count has f count by what it is given; where a call of Count does not return,
// again by what is built in. f may change nothing.
func count[T any](cfg *settings, f func(*counters) T) T {
	own := cfg.newCounters()
	made, err := guard.Watch(own.counting, func() (T, error) { return f(own), nil })
	if err != nil {
		cfg.faults.Add(err)
		return f(cfg.countersBy(guard.BuiltIn(cfg.builtIn)))
	}
	return made
}

// measured measures messages, by a Count that may hang or panic.
func (cfg *settings) measured(messages []chat.Message) []measuredMessage {
	return count(cfg, func(own *counters) []measuredMessage {
		entries := make([]measuredMessage, len(messages))
		for i, m := range messages {
			entries[i] = own.measure(m)
		}
		return entries
	})
}

// toolTokens returns the tokens of tool schemas.
func (cfg *settings) toolTokens(raw []byte) int {
	return count(cfg, func(own *counters) int { return own.countTools(raw) })
}
