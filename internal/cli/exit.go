package cli

import (
	"errors"
	"fmt"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/wire"
)

// The exit codes, which are part of the interface: scripts tell failures apart
// by them.
const (
	exitFailed  = 1
	exitUsage   = 2
	exitBudget  = 3
	exitInvalid = 4
)

// A usageError says that the command was called in a wrong way.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usageErrorf(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// errInvalid is what makes a transcript with faults exit 4.
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
