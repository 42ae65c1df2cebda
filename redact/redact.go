// Package redact takes secrets out of text: keys, passwords, tokens, private
// keys, credentials in URLs and headers. Only the value goes, what names it
// stays: api_key=abc becomes api_key=<REDACTED>.
//
// The rules are made for text on its way out of a session, which is source
// code, logs, shell output and prose. What follows "password" or "api_key" and
// a colon or an equals sign always goes; all other rules take only what looks
// like a secret, so that hashes, ids and code stay readable. Time is linear in
// the length of the text.
//
// One pass of an automaton finds words that stand next to secrets, or begin
// them; each has a rule that looks around the word.
package redact

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Mark stands where a secret was.
const Mark = "<REDACTED>"

// Options say what a Redactor takes beyond the built-in rules.
type Options struct {
	Patterns []Pattern             // of the user, after the built-in rules
	PII      bool                  // e-mail addresses and phone numbers too
	Extra    []func(string) string // made of the text at last, in this order
}

// A Redactor takes secrets out of texts. It may be used by many goroutines.
type Redactor struct {
	steps []step
	extra []func(string) string
	seen  func(value string) // is told what was taken out; nil: nobody is
}

// A step calls yield with the secrets of one sort in s, in order and without
// overlaps.
type step func(s string, yield func(span))

// New returns a redactor. An error names the pattern that cannot be used, and
// says why.
func New(o Options) (*Redactor, error) {
	r := Default()
	for i, p := range o.Patterns {
		s, err := p.compile(i)
		if err != nil {
			return nil, err
		}
		r.steps = append(r.steps, s)
	}
	if o.PII {
		r.steps = append(r.steps, personal)
	}
	r.extra = slices.Clone(o.Extra)
	return r, nil
}

// Default returns a redactor with the built-in rules alone.
func Default() *Redactor {
	return &Redactor{steps: []step{builtin().spans}}
}

// builtin returns the automaton of the built-in rules, which is made once.
var builtin = sync.OnceValue(func() *automaton { return newAutomaton(rules()) })

func rules() []anchor {
	var all []anchor
	for _, x := range []struct {
		find  func(s string, from, to int) span
		words []string
	}{
		{privateKey, []string{strings.ToLower(begin)}},
		{jwt, []string{"eyj"}},
		{scheme, []string{"bearer ", "authorization: token "}},
		{basic, []string{"basic "}},
		{auth, []string{"auth"}},
		{userinfo, []string{"://"}},
		{account, []string{" -u", " -u ", " --user ", " --user="}},
		{passed, []string{"mysql", "mysqldump", "sshpass"}},
		{parameter, []string{"?key=", "&key=", "?sig=", "&sig=", "?signature=", "&signature=", "-signature=", "?code=", "&code=", "?auth=", "&auth=", "?pass=", "&pass="}},
	} {
		for _, w := range x.words {
			all = append(all, anchor{word: w, find: x.find})
		}
	}
	for _, t := range tokens {
		all = append(all, anchor{word: strings.ToLower(t.prefix), find: t.find})
	}
	for _, w := range slices.Sorted(maps.Keys(names)) {
		all = append(all, anchor{w, name{names[w]}.find, names[w]})
	}
	return all
}

// String returns s with [Mark] in place of every secret. What comes out of it
// goes through it unchanged, and valid JSON stays valid JSON. Where nothing is
// found, s itself is returned.
func (r *Redactor) String(s string) string {
	out := r.text(s)
	if out != s && strings.IndexByte("{[\"", at(strings.TrimLeft(s, " \t\r\n"), 0)) >= 0 && json.Valid([]byte(s)) {
		return walk(r.String, r.seen, s)
	}
	return out
}

// text redacts s as a text.
func (r *Redactor) text(s string) string {
	for _, step := range r.steps {
		s = replace(s, step, r.seen)
	}
	for _, f := range r.extra {
		s = f(s)
	}
	return s
}

// replace puts a mark in place of what find finds, and tells seen of it.
func replace(s string, find step, seen func(string)) string {
	var b strings.Builder
	done := 0
	find(s, func(x span) {
		if s[x.from:x.to] == Mark {
			return
		}
		if seen != nil {
			seen(s[x.from:x.to])
		}
		if b.Len() == 0 {
			b.Grow(len(s))
		}
		b.WriteString(s[done:x.from])
		b.WriteString(Mark)
		done = x.to
	})
	if done == 0 {
		return s
	}
	b.WriteString(s[done:])
	return b.String()
}
