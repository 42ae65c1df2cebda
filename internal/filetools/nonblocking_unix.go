//go:build unix

package filetools

import "syscall"

// nonblocking keeps the opening of a pipe from waiting for its other end.
const nonblocking = syscall.O_NONBLOCK
