// Package cooldown separates compactions: a gate that counts messages.
package cooldown

// A Gate is the minimum distance between compactions, in messages.
type Gate struct {
	Messages int // after a compaction at message n, n+1 … n+Messages are skipped
}

// Default returns the gate of the contract: two messages are skipped.
func Default() Gate { return Gate{Messages: 2} }

// A State is the state of a conversation for the cooldown: the zero State has never
// compacted.
type State struct {
	Fired bool
	Since int // messages added since the last compaction
}

// Added returns s after one more message.
func (s State) Added() State {
	s.Since++
	return s
}

// Start returns the state after a compaction; since is the number of messages that were
// added during its planning.
func (g Gate) Start(since int) State { return State{Fired: true, Since: since} }

// Open reports whether a conversation in state s may compact.
func (g Gate) Open(s State) bool { return !s.Fired || s.Since > g.Messages }

// Left returns how many more messages are skipped.
func (g Gate) Left(s State) int {
	if g.Open(s) {
		return 0
	}
	return g.Messages - s.Since
}
