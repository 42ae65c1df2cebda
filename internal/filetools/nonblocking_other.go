//go:build !unix

package filetools

const nonblocking = 0
