// Package clip shortens texts.
package clip

import "unicode/utf8"

// Bytes returns the beginning of s, at most size bytes of whole characters.
func Bytes(s string, size int) string {
	if len(s) <= size {
		return s
	}
	for size > 0 && !utf8.RuneStart(s[size]) {
		size--
	}
	return s[:size]
}
