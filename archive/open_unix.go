//go:build !windows

package archive

import "syscall"

// noFollow opens no link, and does not wait for the other end of a pipe.
const noFollow = syscall.O_NOFOLLOW | syscall.O_NONBLOCK
