package engine

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// A MachineState says how busy this machine is, before any model is tried.
type MachineState struct {
	Cores int     `json:"cores"`
	Load  float64 `json:"load"`           // of the last minute; 0: it cannot be read here
	Busy  string  `json:"busy,omitempty"` // that it is too busy for models, and after a semicolon what to do; "": it is not
}

// machine reads the load of this machine, where the system tells it in a file.
func machine() MachineState {
	m := MachineState{Cores: runtime.NumCPU()}
	if b, err := os.ReadFile("/proc/loadavg"); err == nil {
		fmt.Sscan(string(b), &m.Load) // else it stays 0
	}
	m.Busy = busy(m.Load, m.Cores)
	return m
}

// busyLoad is the load of each core from which models have to wait for it.
const busyLoad = 1.5

func busy(load float64, cores int) string {
	if load < busyLoad*float64(cores) {
		return ""
	}
	return fmt.Sprintf("this machine is busy: a load of %.1f on %d cores, so its models are slow; end what else computes on it, or have models take fewer cores: --num-thread %d", load, cores, max(1, cores/2))
}

// A speed is that of a model, in tokens a second; 0: not known.
type speed struct{ reads, writes float64 }

// perSecond returns a speed, 0 for one that cannot be told.
func perSecond(tokens int, spent time.Duration) float64 {
	if tokens <= 0 || spent <= 0 {
		return 0
	}
	return float64(tokens) / spent.Seconds()
}

// mostSummary is how many tokens a model writes at most for a summary, and
// readShare the share of its window that it reads before.
const (
	mostSummary = 1024
	readShare   = 0.75
)

// slow says that a summary of a whole window takes longer than it may, and
// after a semicolon what to do; "" where it does not, or where that is not known.
func (s speed) slow(name string, window int, most time.Duration) string {
	if s.reads == 0 || s.writes == 0 || window == 0 || most <= 0 {
		return ""
	}
	takes := readShare*float64(window)/s.reads + float64(min(mostSummary, window/8))/s.writes
	if takes <= most.Seconds() {
		return ""
	}
	return fmt.Sprintf("%s is slow here: it reads %s and writes %s tokens a second, so a summary of its window of %d tokens takes %s, of %s that it has; use a smaller model, or --summary-deadline %s, or --num-thread with as many cores as are free",
		name, few(s.reads), few(s.writes), window, about(takes), most, about(2*takes))
}

// few returns a speed with as many digits as matter.
func few(n float64) string {
	if n < 10 {
		return strings.TrimSuffix(fmt.Sprintf("%.1f", n), ".0")
	}
	return fmt.Sprintf("%.0f", n)
}

// about returns so many seconds in whole minutes, as flags take them.
func about(seconds float64) string { return fmt.Sprintf("%.0fm", seconds/60+0.5) }
