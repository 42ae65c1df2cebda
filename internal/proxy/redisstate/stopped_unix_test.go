//go:build unix

package redisstate_test

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"time"

	"github.com/tiercompact/tiercompact/internal/proxy"
	"github.com/tiercompact/tiercompact/internal/proxy/redisstate"
)

// TestALeaseIsRefusedInTime asks a server that does not answer in time: the error says
// so, and the next caller is served.
func TestALeaseIsRefusedInTime(t *testing.T) {
	s := startServer(t)
	state := s.open(t, redisstate.Options{})
	if err := state.Touch(t.Context(), proxy.Tip{ID: "a", Used: time.Now()}); err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer stop()
	_, leaseErr := state.Lease(ctx, "a")
	_, _, findErr := state.Find(ctx, "", links("ab"))
	if err := s.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(leaseErr, context.DeadlineExceeded) || !errors.Is(findErr, context.DeadlineExceeded) {
		t.Errorf("lease: %v; find: %v", leaseErr, findErr)
	}
	if ok, err := state.Has(t.Context(), "a"); !ok || err != nil {
		t.Errorf("the next caller: %v, %v", ok, err)
	}
}
