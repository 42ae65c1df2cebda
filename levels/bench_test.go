package levels_test

import (
	"fmt"
	"testing"

	"github.com/tiercompact/tiercompact/levels"
)

// BenchmarkSelect picks a level once a message, by a usage that rises.
func BenchmarkSelect(b *testing.B) {
	for _, n := range []int{100, 1000, 10000} {
		b.Run(fmt.Sprint("messages=", n), func(b *testing.B) {
			t := levels.Thresholds{levels.SoftName: 0.6, levels.HardName: 0.75, levels.Emergency: 0.9}
			for b.Loop() {
				for i := range n {
					t.Select(float64(i) / float64(n))
				}
			}
		})
	}
}
