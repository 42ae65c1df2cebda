package report

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
)

// decades marks a logarithmic axis at powers of ten, without names between them. An
// axis with fewer than two of them also has 2 and 5 times them.
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
