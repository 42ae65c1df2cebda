package chart

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
)

// Steps marks an axis at multiples of 1, 2 or 5 times a power of ten.
type Steps struct{}

const mostSteps = 7

// Ticks implements [plot.Ticker].
func (Steps) Ticks(least, most float64) (ticks []plot.Tick) {
	step := StepOf(most - least)
	for k := math.Ceil(least / step); k*step <= most+step/1e6 && len(ticks) <= mostSteps+1; k++ {
		ticks = append(ticks, plot.Tick{Value: k * step, Label: Number(k * step)})
	}
	return ticks
}

// StepOf returns the step that marks a length.
func StepOf(length float64) float64 {
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

// Number returns a number with as few digits as possible, at most four after the
// point.
func Number(x float64) string {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(x, 'f', 4, 64), 64)
	if err != nil {
		return ""
	}
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}
