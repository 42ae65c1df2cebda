package page

import (
	"time"

	"github.com/tiercompact/tiercompact/internal/screen"
	"github.com/tiercompact/tiercompact/levels"
)

// ago returns how long ago something was, in its largest unit.
func ago(d time.Duration) string {
	switch {
	case d < 2*time.Second:
		return "now"
	case d < 2*time.Minute:
		return screen.Plural(int(d/time.Second), "second") + " ago"
	case d < 2*time.Hour:
		return screen.Plural(int(d/time.Minute), "minute") + " ago"
	case d < 48*time.Hour:
		return screen.Plural(int(d/time.Hour), "hour") + " ago"
	}
	return screen.Plural(int(d/(24*time.Hour)), "day") + " ago"
}

func roundsIn(samples []Sample) (n int) {
	for _, s := range samples {
		if s.Level != "" {
			n++
		}
	}
	return n
}

// A bar is the used share of a window, from 0 to 100, with the thresholds.
type bar struct {
	Used   float64
	Class  string
	Limits []limit
}

func newBar(s Sample) bar {
	b := bar{Used: rounded(min(100, 100*s.Share())), Class: "low"}
	for _, l := range levels.All() {
		at := s.Thresholds[l.Name]
		if at <= 0 {
			continue
		}
		b.Limits = append(b.Limits, limit{Class: string(l.Name), Y: rounded(100 * at)})
		if s.Share() >= at {
			b.Class = string(l.Name)
		}
	}
	return b
}
