package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/tiercompact/tiercompact/levels"
)

// A chart is the usage of a window over the requests of a conversation. Requests have
// the same distance: hours without one would hide the others.
type chart struct {
	Width, Height            float64
	Left, Right, Top, Bottom float64 // edges of the panel
	Usage                    string  // points of the line
	Limits                   []limit
	Drops                    []drop
	Grid                     []gridLine
	Ticks                    []tick
	Newest                   string // what a reader of the screen hears
}

// A limit is a share of the window at which something is due.
type limit struct {
	Name, Class string
	Y, LabelY   float64
}

// A drop is what a round freed.
type drop struct {
	X, From, To float64
	Class, Says string
}

type gridLine struct {
	Y    float64
	Text string
}

type tick struct {
	X    float64
	Text string
	End  bool
}

// newChart returns nil if there is nothing to draw.
func newChart(samples []Sample) *chart {
	if len(samples) == 0 {
		return nil
	}
	c := &chart{Width: 720, Height: 270, Left: 46, Right: 600, Top: 14, Bottom: 232}
	top := 1.0
	for _, s := range samples {
		top = max(top, share(s.Before, s.Window), s.Share())
	}
	top = math.Ceil(top*5) / 5
	y := func(share float64) float64 { return rounded(c.Bottom - share/top*(c.Bottom-c.Top)) }
	x := func(i int) float64 {
		return rounded(c.Left + (float64(i)+0.5)/float64(len(samples))*(c.Right-c.Left))
	}
	step := 0.2
	if top > 2 {
		step = math.Ceil(top/5*5) / 5
	}
	for at := 0.0; at <= top+1e-9; at += step {
		c.Grid = append(c.Grid, gridLine{y(at), fmt.Sprintf("%.0f %%", 100*at)})
	}
	var line strings.Builder
	for i, s := range samples {
		before, after := share(s.Before, s.Window), s.Share()
		fmt.Fprintf(&line, "%g,%g %g,%g ", x(i), y(before), x(i), y(after))
		if s.Level != "" && s.After < s.Before {
			c.Drops = append(c.Drops, drop{x(i), y(before), y(after), s.Level, fmt.Sprintf("%s: %s freed %d tokens", s.Time.UTC().Format(time.TimeOnly), s.Level, s.Before-s.After)})
		}
	}
	c.Usage = strings.TrimSpace(line.String())
	c.addLimits(samples[len(samples)-1], y)
	c.addTicks(samples, x)
	last := samples[len(samples)-1]
	c.Newest = fmt.Sprintf("%d requests; the newest uses %.0f percent of a window of %d tokens; %d compactions", len(samples), 100*last.Share(), last.Window, len(c.Drops))
	return c
}

// addLimits adds the thresholds of the levels and the budget, their names apart.
func (c *chart) addLimits(s Sample, y func(float64) float64) {
	const apart = 15
	for _, l := range levels.All() {
		if at := s.Thresholds[l.Name]; at > 0 {
			c.Limits = append(c.Limits, limit{Name: fmt.Sprintf("%s %.0f %%", l.Name, 100*at), Class: string(l.Name), Y: y(at)})
		}
	}
	if s.Budget > 0 {
		at := share(s.Budget, s.Window)
		c.Limits = append(c.Limits, limit{Name: fmt.Sprintf("budget %.0f %%", 100*at), Class: "budget", Y: y(at)})
	}
	slices.SortStableFunc(c.Limits, func(a, b limit) int { return cmp.Compare(b.Y, a.Y) })
	for i := range c.Limits { // from the lowest up
		c.Limits[i].LabelY = rounded(c.Limits[i].Y + 4)
		if i > 0 {
			c.Limits[i].LabelY = min(c.Limits[i].LabelY, c.Limits[i-1].LabelY-apart)
		}
	}
}

// addTicks adds the times of the first request, the middle one and the last.
func (c *chart) addTicks(samples []Sample, x func(int) float64) {
	last := len(samples) - 1
	form := time.TimeOnly
	if samples[last].Time.Sub(samples[0].Time) > 20*time.Hour {
		form = "2 Jan 15:04"
	}
	at := []int{0}
	if last >= 4 {
		at = append(at, last/2)
	}
	if last > 0 {
		at = append(at, last)
	}
	for _, i := range at {
		c.Ticks = append(c.Ticks, tick{x(i), samples[i].Time.UTC().Format(form), i == last && last > 0})
	}
}

func rounded(v float64) float64 { return math.Round(v*10) / 10 }
