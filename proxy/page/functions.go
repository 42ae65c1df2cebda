package page

import (
	"html/template"
	"time"

	"github.com/tiercompact/tiercompact/internal/screen"
	"github.com/tiercompact/tiercompact/levels"
)

// functions are those that the templates call.
func (p *Page) functions() template.FuncMap {
	return template.FuncMap{
		"grouped": screen.Grouped,
		"percent": screen.Percent,
		"plural":  screen.Plural,
		"address": address,
		"clip":    clipText,
		"ago":     func(t time.Time) string { return ago(p.o.Now().Sub(t)) },
		"stamp":   func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"clock":   func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") },
		"newest":  newest,
		"bar":     newBar,
		"rounds":  func(s Session) int { return roundsIn(s.Samples) },
		"prefix":  func() string { return Prefix },
	}
}

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

// newest returns the newest sample, nil if there is none.
func newest(s Session) *Sample {
	if len(s.Samples) == 0 {
		return nil
	}
	return &s.Samples[len(s.Samples)-1]
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

func newBar(s *Sample) bar {
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
