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

// An Outage records the failures of a model or an archive: while it lasts, rounds do not
// call the model, and no round is made without the archive. It is counted in messages,
// so that the same conversation has the same rounds at any speed of replay. The zero
// Outage means no failure.
type Outage struct {
	failures int // calls in a row that failed or passed their deadline
	at       int // number of messages ever added at the last one
}

// The duration of an outage in messages: that of the cooldown after the first failure,
// twice as many after each further one.
const (
	firstOutage = 3
	maxOutage   = 48
)

// AfterCall returns the outage after a call at a number of messages.
func (o Outage) AfterCall(failed bool, added int) Outage {
	if !failed {
		return Outage{}
	}
	return Outage{failures: o.failures + 1, at: added}
}

// MessagesLeft returns the number of further messages without the model. If a client's
// history has become shorter since, the outage ends.
func (o Outage) MessagesLeft(added int) int {
	if o.failures == 0 || added < o.at {
		return 0
	}
	lasts := firstOutage
	for range o.failures - 1 {
		lasts = min(2*lasts, maxOutage)
	}
	return max(0, o.at+lasts-added)
}
