package cooldown

// An Outage is what a session knows of a model or an archive that failed: while
// it lasts, rounds do without the model, and none is made without the archive.
// It is counted in messages, so that the same conversation has the same rounds at
// any speed of replay. The zero Outage is none.
type Outage struct {
	failures int // calls in a row that failed or passed their deadline
	at       int // messages ever added when the last one did
}

// How many messages an outage lasts: as long as the cooldown after the first
// failure, twice as long after each further one.
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

// MessagesLeft returns how many more messages the model is left out. A history that has
// become shorter since, as a client may send it, ends the outage.
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
