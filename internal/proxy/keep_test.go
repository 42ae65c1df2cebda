package proxy

import (
	"fmt"
	"testing"
)

func TestKeptRoundsAreThoseUsedLast(t *testing.T) {
	e := newEngine(Config{})
	for i := range maxLive {
		e.keep(fmt.Sprint(i), liveRounds{version: 1})
	}
	e.keep("0", liveRounds{version: 2})
	e.keep("another", liveRounds{version: 1})
	for id, want := range map[string]bool{"0": true, "1": false, "2": true, "another": true} {
		if e.live[id] != nil != want {
			t.Errorf("%s is kept: %v, want %v", id, !want, want)
		}
	}
	if len(e.live) != maxLive || len(e.ids) != maxLive {
		t.Errorf("%d rounds, %d ids, want %d of each", len(e.live), len(e.ids), maxLive)
	}
}
