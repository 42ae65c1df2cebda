package engine

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// A MachineState is the load of this machine before any model is tried.
type MachineState struct {
	Cores int     `json:"cores"`
	Load  float64 `json:"load"`           // of the last minute; 0: unknown
	Busy  string  `json:"busy,omitempty"` // set if the machine is too busy for models, with a remedy after a semicolon
}

// machine reads the load of this machine, if the system has it in a file.
func machine() MachineState {
	m := MachineState{Cores: runtime.NumCPU()}
	if b, err := os.ReadFile("/proc/loadavg"); err == nil {
		fmt.Sscan(string(b), &m.Load) // otherwise it stays 0
	}
	m.Busy = busy(m.Load, m.Cores)
	return m
}

// busyLoad is the load of each core above which models are delayed.
const busyLoad = 1.5

func busy(load float64, cores int) string {
	if load < busyLoad*float64(cores) {
		return ""
	}
	return fmt.Sprintf("this machine is busy: a load of %.1f on %d cores, so its models are slow; stop other programs that use its cores, or have models take fewer cores: --num-thread %d", load, cores, max(1, cores/2))
}

// A speed is that of a model, in tokens a second; 0: unknown.
type speed struct{ reads, writes float64 }

// perSecond returns a speed, 0 if it is unknown.
func perSecond(tokens int, spent time.Duration) float64 {
	if tokens <= 0 || spent <= 0 {
		return 0
	}
	return float64(tokens) / spent.Seconds()
}

// maxSummary is the maximum number of tokens that a model writes for a summary, and
// readShare the share of its window that it reads before.
const (
	maxSummary = 1024
	readShare  = 0.75
)

// slow reports that a summary of a whole window takes longer than its deadline, with a
// remedy after a semicolon; "" if it does not, or if the speed is unknown.
func (s speed) slow(name string, window int, most time.Duration) string {
	if s.reads == 0 || s.writes == 0 || window == 0 || most <= 0 {
		return ""
	}
	takes := readShare*float64(window)/s.reads + float64(min(maxSummary, window/8))/s.writes
	if takes <= most.Seconds() {
		return ""
	}
	return fmt.Sprintf("%s is slow here: it reads %s and writes %s tokens a second, so a summary of its window of %d tokens takes %s, of %s that it has; use a smaller model, or --summary-deadline %s, or --num-thread with as many cores as are free",
		name, few(s.reads), few(s.writes), window, about(takes), most, about(2*takes))
}

// few formats a speed with its significant digits.
func few(n float64) string {
	if n < 10 {
		return strings.TrimSuffix(fmt.Sprintf("%.1f", n), ".0")
	}
	return fmt.Sprintf("%.0f", n)
}

// about returns a number of seconds in whole minutes, in the form of flags.
func about(seconds float64) string { return fmt.Sprintf("%.0fm", seconds/60+0.5) }
