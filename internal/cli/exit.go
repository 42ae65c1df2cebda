package cli

import (
	"errors"
	"fmt"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/wire"
)

// The exit codes are part of the interface: scripts use them to distinguish failures.
const (
	exitFailed  = 1
	exitUsage   = 2
	exitBudget  = 3
	exitInvalid = 4
)

// A usageError reports a wrong use of the command.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usageErrorf(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// errInvalid makes a faulty transcript exit 4.
var errInvalid = errors.New("invalid transcript")

func exitCode(err error) int {
	var usage usageError
	var broken *wire.Error
	switch {
	case err == nil:
		return 0
	case errors.As(err, &usage), errors.Is(err, wire.ErrSeveralChats), errors.Is(err, wire.ErrNoChat):
		return exitUsage
	case errors.Is(err, tiercompact.ErrInsufficientBudget):
		return exitBudget
	case errors.As(err, &broken), errors.Is(err, errInvalid):
		return exitInvalid
	}
	return exitFailed
}
