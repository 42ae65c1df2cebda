package tiercompact

import (
	"cmp"
	"fmt"
)

// An outage is what a session knows of a model or an archive that failed: while
// it lasts, rounds do without the model, and none is made without the archive. It is counted in messages, so that the same
// conversation has the same rounds at whatever speed it is replayed. The zero
// outage is none.
type outage struct {
	failures int // calls in a row that failed or passed their deadline
	at       int // messages ever added when the last one did
}

// How many messages an outage lasts: as long as the cooldown after the first
// failure, twice as long after each further one.
const (
	firstOutage = 3
	mostOutage  = 48
)

// afterCall returns the outage after a call at a number of messages.
func (o outage) afterCall(failed bool, added int) outage {
	if !failed {
		return outage{}
	}
	return outage{failures: o.failures + 1, at: added}
}

// messagesLeft returns how many more messages the model is left out. A history that has
// become shorter since, as a client may send it, ends the outage.
func (o outage) messagesLeft(added int) int {
	if o.failures == 0 || added < o.at {
		return 0
	}
	lasts := firstOutage
	for range o.failures - 1 {
		lasts = min(2*lasts, mostOutage)
	}
	return max(0, o.at+lasts-added)
}

// outages are those of the two models of a session, and of its archive.
type outages struct{ ranking, summary, archive outage }

// modelSkipReason returns why the round does without a model that has an outage, ""
// if it does not. A compaction by hand asks again.
func (r *round) modelSkipReason(o outage, name string) string {
	left := o.messagesLeft(r.added)
	if left == 0 || r.cause == byHand {
		return ""
	}
	return fmt.Sprintf("%s failed when it was last asked: it is asked again after %d more messages", cmp.Or(name, "the model"), left)
}
