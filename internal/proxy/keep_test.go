package proxy

import (
	"fmt"
	"testing"
)

func TestKeptRoundsAreThoseUsedLast(t *testing.T) {
	var c liveCache
	for i := range maxLive {
		c.keep(fmt.Sprint(i), liveRounds{version: 1})
	}
	c.keep("0", liveRounds{version: 2})
	c.keep("another", liveRounds{version: 1})
	for id, want := range map[string]bool{"0": true, "1": false, "2": true, "another": true} {
		if _, ok := c.lookup(id); ok != want {
			t.Errorf("%s is kept: %v, want %v", id, ok, want)
		}
	}
	if len(c.rounds) != maxLive || len(c.ids) != maxLive {
		t.Errorf("%d rounds, %d ids, want %d of each", len(c.rounds), len(c.ids), maxLive)
	}
}

func TestKeptRoundsHaveALimitInBytes(t *testing.T) {
	var c liveCache
	for i := range 3 * maxLive {
		c.keep(fmt.Sprint(i%5), liveRounds{version: uint64(i), bytes: maxLiveBytes / 3})
		sum := 0
		for _, l := range c.rounds {
			sum += l.bytes
		}
		if sum > maxLiveBytes || c.weight != sum || len(c.ids) != len(c.rounds) {
			t.Fatalf("%d bytes in %d rounds, %d ids; the cache says %d", sum, len(c.rounds), len(c.ids), c.weight)
		}
	}
	c.keep("large", liveRounds{bytes: 2 * maxLiveBytes})
	if _, ok := c.lookup("large"); !ok || len(c.rounds) != 1 {
		t.Errorf("the newest is not kept: %d rounds", len(c.rounds))
	}
}
