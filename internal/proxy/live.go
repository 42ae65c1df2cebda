package proxy

import (
	"slices"
	"sync"

	"github.com/tiercompact/tiercompact"
)

// liveRounds are the rounds of a conversation in memory, with the counts of its
// messages.
type liveRounds struct {
	rounds  tiercompact.Rounds
	version uint64       // of the stored ones
	bytes   int          // of the stored ones
	model   *openedModel // whose compactor has more of the conversation in memory; nil: none
	weight  int          // in a cache
}

// A liveCache keeps the rounds of the conversations that were used last, so that a
// request neither reads them nor counts its messages again. The zero value is empty.
type liveCache struct {
	mu     sync.Mutex
	rounds map[string]liveRounds // by id
	ids    []string              // of rounds, used last at the end
	weight int                   // of all
}

const (
	maxLive      = 256      // conversations
	maxLiveBytes = 64 << 20 // of their rounds and counts, about
	countedBytes = 256      // a message in counts, and in the archive's index
)

func (c *liveCache) lookup(id string) (liveRounds, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l, ok := c.rounds[id]
	return l, ok
}

// keep keeps rounds, and lets go of those used least recently.
func (c *liveCache) keep(id string, l liveRounds) {
	for _, gone := range c.put(id, l) {
		gone.rounds.model.forget(gone.id)
	}
}

// A forgottenID is a conversation that a cache has let go of.
type forgottenID struct {
	id     string
	rounds liveRounds
}

// put is keep, and returns what it let go of.
func (c *liveCache) put(id string, l liveRounds) (gone []forgottenID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rounds == nil {
		c.rounds = make(map[string]liveRounds)
	}
	if was, ok := c.rounds[id]; ok {
		if l.version < was.version {
			l = was
		}
		if l.model == nil {
			l.model = was.model
		} else if was.model != nil && was.model != l.model {
			gone = append(gone, forgottenID{id, was})
		}
		c.drop(id)
	}
	l.weight = l.bytes + countedBytes*l.rounds.Counted()
	c.rounds[id] = l
	c.ids = append(c.ids, id)
	c.weight += l.weight
	for len(c.ids) > maxLive || c.weight > maxLiveBytes && len(c.ids) > 1 {
		oldest := c.ids[0]
		gone = append(gone, forgottenID{oldest, c.rounds[oldest]})
		c.drop(oldest)
	}
	return gone
}

func (c *liveCache) drop(id string) {
	c.weight -= c.rounds[id].weight
	delete(c.rounds, id)
	if i := slices.Index(c.ids, id); i >= 0 {
		c.ids = slices.Delete(c.ids, i, i+1)
	}
}
