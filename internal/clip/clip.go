// Package clip shortens texts.
package clip

import (
	"strings"
	"unicode/utf8"
)

// redacted is what replaces a secret. It is never cut in two: half of it would look
// like a part of the text.
const redacted = "<REDACTED>"

// Bytes returns the beginning of s, at most size bytes of whole characters and whole
// marks of redaction.
func Bytes(s string, size int) string {
	if len(s) <= size {
		return s
	}
	size = max(0, size)
	if begin := torn(s, size); begin >= 0 {
		return s[:begin]
	}
	for size > 0 && !utf8.RuneStart(s[size]) {
		size--
	}
	return s[:size]
}

// From returns the end of s from about byte at: it begins with a whole character, and
// after a mark of redaction that at is in.
func From(s string, at int) string {
	at = max(0, at)
	if at >= len(s) {
		return ""
	}
	if begin := torn(s, at); begin >= 0 {
		return s[begin+len(redacted):]
	}
	for at < len(s) && !utf8.RuneStart(s[at]) {
		at++
	}
	return s[at:]
}

// torn returns the start of the mark that a cut at byte at would divide, or -1.
func torn(s string, at int) int {
	from := max(0, at-len(redacted)+1)
	if i := strings.Index(s[from:min(len(s), at+len(redacted)-1)], redacted); i >= 0 && from+i < at {
		return from + i
	}
	return -1
}
