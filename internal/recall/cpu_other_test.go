//go:build !unix

package recall_test

import "time"

var started = time.Now()

// cpuTime returns the time of the process so far, CPU time or not.
func cpuTime() time.Duration { return time.Since(started) }
