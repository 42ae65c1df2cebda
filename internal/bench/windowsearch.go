package bench

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/tiercompact/tiercompact"
)

const (
	leftNear  = 0.003 // tolerance of the requested share
	leftTries = 8     // maximum number of tried windows
)

// findWindows finds, for each preset, the window in which auto leaves the requested
// share.
func (r *runner) findWindows(ctx context.Context, rows []Row) (out []Left, err error) {
	if r.Left == 0 {
		return nil, nil
	}
	for _, preset := range r.Presets {
		l, err := r.findWindow(ctx, preset, rows)
		if err != nil {
			return nil, err
		}
		out = append(out, l)
	}
	return out, nil
}

// A point is a window, and the share left in it: both as shares of the tokens.
type point struct{ window, left float64 }

// findWindow tries windows between those with too low and too high a share.
func (r *runner) findWindow(ctx context.Context, preset tiercompact.Preset, rows []Row) (Left, error) {
	known := []point{{0, 0}, {2, 1}}
	for _, row := range rows {
		if row.Kind == Replay && row.Preset == string(preset) && row.Level == Auto {
			known = append(known, point{row.Window, row.Left})
		}
	}
	best := Left{Preset: string(preset), Target: r.Left, Size: math.Inf(1)}
	for try := range leftTries {
		window := interpolateWindow(known, r.Left, try)
		row, err := r.measureWays(ctx, []*way{r.replayed(preset, Auto, window)})
		if err != nil {
			return best, err
		}
		size := row[0].Left
		if size == 0 {
			return best, fmt.Errorf("bench: nothing is needed after the cuts of these sessions: leave out left, or give longer sessions")
		}
		if math.Abs(size-r.Left) < math.Abs(best.Size-r.Left) {
			best.Window, best.Size, best.Row = window, size, row[0]
		}
		if math.Abs(size-r.Left) <= leftNear {
			break
		}
		known = append(known, point{window, size})
	}
	best.Row.Name = fmt.Sprintf("%s auto %.3f", preset, best.Window)
	return best, nil
}

// interpolateWindow returns the next window to try: on the line between the nearest
// points on both sides, and every other time in the middle, which converges if that
// line does not.
func interpolateWindow(known []point, target float64, try int) float64 {
	slices.SortStableFunc(known, func(a, b point) int { return cmp.Compare(a.window, b.window) })
	i := slices.IndexFunc(known, func(p point) bool { return p.left >= target })
	if i <= 0 {
		i = len(known) - 1
	}
	low, high := known[i-1], known[i]
	part := 0.5
	if try%2 == 0 && high.left > low.left {
		part = min(0.95, max(0.05, (target-low.left)/(high.left-low.left)))
	}
	return math.Round(1e4*(low.window+part*(high.window-low.window))) / 1e4
}
