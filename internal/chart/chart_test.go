package chart_test

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/tiercompact/tiercompact/internal/chart"
)

func TestStepsMarkAnAxisAtRoundNumbers(t *testing.T) {
	for _, test := range []struct {
		least, most float64
		want        string
	}{
		{0, 1, "0 0.2 0.4 0.6 0.8 1"},
		{0, 70, "0 10 20 30 40 50 60 70"},
		{0, 140, "0 20 40 60 80 100 120 140"},
		{-3, 3, "-3 -2 -1 0 1 2 3"},
		{5, 5, "5"},
		{0, math.Inf(1), "0 1 2 3 4 5 6 7 8"},
	} {
		var got []string
		for _, tick := range (chart.Steps{}).Ticks(test.least, test.most) {
			got = append(got, tick.Label)
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("from %v to %v: %v, want %s", test.least, test.most, got, test.want)
		}
	}
}

func TestNumbersHaveAsFewDigitsAsSayThem(t *testing.T) {
	for x, want := range map[float64]string{0: "0", 1.50: "1.5", 0.123456: "0.1235", -2: "-2", 1e6: "1000000"} {
		if got := chart.Number(x); got != want {
			t.Errorf("%v is %s, want %s", x, got, want)
		}
	}
}

func TestADrawingAloneHasItsSheetOnce(t *testing.T) {
	svg, err := chart.SVG(vg.Inch, vg.Inch, func(c draw.Canvas) { chart.Nothing(c, "<nothing> & none") })
	if err != nil {
		t.Fatal(err)
	}
	alone := chart.Alone(svg)
	if bytes.Contains(svg, []byte("<style>")) || bytes.Count(alone, []byte(chart.Sheet())) != 1 {
		t.Error("the sheet is not in the file alone, or twice")
	}
	if !bytes.Contains(alone, []byte(`class="f-dim"`)) || bytes.Contains(alone, []byte("<nothing>")) {
		t.Errorf("no class, or a text that is not escaped: %s", alone)
	}
}

func TestEveryLevelHasAColourOfItsOwn(t *testing.T) {
	seen := make(map[any]string)
	for _, level := range []string{"soft", "hard", "emergency", "layers", "fit"} {
		paint := chart.Paint(chart.LevelHue(level))
		if other, taken := seen[paint]; taken {
			t.Errorf("%s looks like %s", level, other)
		}
		seen[paint] = level
	}
}
