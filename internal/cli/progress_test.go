package cli

import (
	"slices"
	"testing"
	"time"
)

func TestProgressWithoutATerminalWritesALineNowAndThen(t *testing.T) {
	at := time.Unix(0, 0)
	var lines []string
	p := &progress{plain: func(text string) { lines = append(lines, text) }, now: func() time.Time { return at }, next: at.Add(plainPause)}
	for done := range int64(101) {
		p.showShare("measuring", done, 100)
		at = at.Add(3 * time.Second)
	}
	p.clearLine()
	if want := []string{"measuring: 20 %", "measuring: 40 %", "measuring: 60 %", "measuring: 80 %", "measuring: 100 %"}; !slices.Equal(lines, want) {
		t.Errorf("%q, want %q", lines, want)
	}
	new(progress).showShare("reading", 1, 2) // neither a terminal nor lines: nothing
}
