package screen

import (
	"testing"

	"github.com/tiercompact/tiercompact/levels"
)

func TestBarIsAsWideAsItIsAskedFor(t *testing.T) {
	at := levels.Thresholds{levels.SoftName: 0.6, levels.HardName: 0.75, levels.Emergency: 0.9}
	for _, s := range []Screen{{}, {ASCII: true}} {
		for width := 1; width < 50; width++ {
			for share := -0.1; share < 1.5; share += 0.013 {
				if n := len([]rune(s.Bar(width, at, share+0.2, share))); n != width {
					t.Fatalf("the bar of %v is %d wide, not %d", share, n, width)
				}
			}
			if n := len([]rune(Scale(width, at))); n != width {
				t.Fatalf("the scale is %d wide, not %d", n, width)
			}
		}
	}
}

func TestScaleKeepsTheThresholdsApart(t *testing.T) {
	for _, test := range []struct {
		width int
		at    levels.Thresholds
		want  string
	}{
		{22, levels.Thresholds{levels.SoftName: 0.6, levels.HardName: 0.75, levels.Emergency: 0.9}, "             60 75 90 "},
		{24, levels.Thresholds{levels.SoftName: 0.7, levels.HardName: 0.8, levels.Emergency: 0.9}, "                70 80 90"},
		{24, levels.Thresholds{levels.SoftName: 0.7, levels.HardName: 0.71, levels.Emergency: 0.9}, "                70   90 "},
		{10, levels.Thresholds{levels.SoftName: 0.5, levels.HardName: 0.9, levels.Emergency: 1}, "     50   "},
	} {
		if got := Scale(test.width, test.at); got != test.want {
			t.Errorf("%d columns, %v:\n%q, want\n%q", test.width, test.at, got, test.want)
		}
	}
}
