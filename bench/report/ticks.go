package report

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
)

// steps marks an axis at multiples of 1, 2 or 5 times a power of ten.
type steps struct{}

const mostSteps = 7

// Ticks implements [plot.Ticker].
func (steps) Ticks(least, most float64) (ticks []plot.Tick) {
	step := stepOf(most - least)
	for k := math.Ceil(least / step); k*step <= most+step/1e6 && len(ticks) <= mostSteps+1; k++ {
		ticks = append(ticks, plot.Tick{Value: k * step, Label: number(k * step)})
	}
	return ticks
}

// stepOf returns the step that marks a length.
func stepOf(length float64) float64 {
	if !(length > 0) || math.IsInf(length, 0) {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(length))-1)
	for _, of := range []float64{1, 2, 5, 10, 20} {
		if length/(of*power) <= mostSteps {
			return of * power
		}
	}
	return 50 * power
}

// decades marks an axis of decimal logarithms at powers of ten, and without a
// name in between. An axis with less than two of them has 2 and 5 times them too.
type decades struct{}

// Ticks implements [plot.Ticker].
func (decades) Ticks(least, most float64) (ticks []plot.Tick) {
	few := math.Floor(most)-math.Ceil(least) < 1
	for e := math.Floor(least); e <= most; e++ {
		for of := 1.0; of < 10; of++ {
			label := ""
			if of == 1 || few && (of == 2 || of == 5) {
				label = strconv.FormatFloat(of*math.Pow(10, e), 'f', max(0, -int(e)), 64)
			}
			if v := e + math.Log10(of); v >= least && v <= most {
				ticks = append(ticks, plot.Tick{Value: v, Label: label})
			}
		}
	}
	return ticks
}
