package engine

import (
	"strings"
	"testing"
	"time"
)

func TestABusyMachineIsTold(t *testing.T) {
	for _, c := range []struct {
		load  float64
		cores int
		want  string // "": nothing
	}{
		{0, 2, ""},
		{2.9, 2, ""},
		{10.3, 2, "a load of 10.3 on 2 cores"},
		{10.3, 8, ""},
		{1.5, 1, "--num-thread 1"},
		{24, 16, "--num-thread 8"},
	} {
		got := busy(c.load, c.cores)
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) || got != "" && !strings.Contains(got, "; ") {
			t.Errorf("load %v on %d cores: %q, want %q", c.load, c.cores, got, c.want)
		}
	}
}

func TestASummarizerThatIsTooSlowIsTold(t *testing.T) {
	for _, c := range []struct {
		name   string
		speed  speed
		window int
		most   time.Duration
		want   string // "": nothing
	}{
		{"not told by the server", speed{0, 50}, 8192, time.Second, ""},
		{"no deadline", speed{1, 1}, 8192, 0, ""},
		{"window not known", speed{1, 1}, 0, time.Second, ""},
		{"fast", speed{2000, 60}, 8192, 2 * time.Minute, ""},
		{"a 3B model on two cores", speed{16, 4.8}, 8192, 2 * time.Minute, "reads 16 and writes 4.8 tokens a second, so a summary of its window of 8192 tokens takes 10m, of 2m0s"},
		{"small window", speed{16, 4.8}, 1024, 2 * time.Minute, ""},
		{"writes slowly alone", speed{2000, 2}, 8192, 2 * time.Minute, "--summary-deadline 18m"},
	} {
		if got := c.speed.slow("m", c.window, c.most); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
