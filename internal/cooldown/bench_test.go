package cooldown_test

import (
	"fmt"
	"testing"

	"github.com/tiercompact/tiercompact/internal/cooldown"
)

// BenchmarkGate checks the gate once a message, and starts it whenever it is open.
func BenchmarkGate(b *testing.B) {
	for _, n := range []int{100, 1000, 10000} {
		b.Run(fmt.Sprint("messages=", n), func(b *testing.B) {
			for b.Loop() {
				gate, state := cooldown.Default(), cooldown.State{}
				for range n {
					if state = state.Added(); gate.Open(state) {
						state = gate.Start(0)
					}
				}
			}
		})
	}
}
