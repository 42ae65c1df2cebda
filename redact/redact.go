// Package redact replaces secrets in text: keys, passwords, tokens, private keys,
// credentials in URLs and headers; and, unless disabled, e-mail addresses and phone
// numbers. Only the value is replaced, its name stays: api_key=abc becomes
// api_key=<REDACTED>. The rules are made for text that leaves a session: source
// code, logs, shell output and prose. A literal after "password", "api_key",
// "token", "secret", "pass" or "private_key" and a colon or an equals sign is
// always replaced; code in its place, as a variable, a call or a type, stays. All
// other rules replace only text that looks like a secret, so that hashes, ids and
// code stay readable. Time is linear in the length of the text. One pass of an
// automaton finds words that are next to secrets, or begin them; each has a rule
// that examines its surroundings.
package redact

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Mark replaces a secret.
const Mark = "<REDACTED>"

// Options are rules in addition to the built-in ones.
type Options struct {
	Patterns []Pattern             // of the user, applied after the built-in rules
	KeepPII  bool                  // e-mail addresses and phone numbers stay
	Extra    []func(string) string // applied last, in this order
}

// A Redactor replaces secrets in texts. It is safe for concurrent use.
type Redactor struct {
	steps []redactPass
	pii   bool // e-mail addresses and phone numbers are replaced, too
	extra []func(string) string
	seen  func(value string) // receives each replaced secret; may be nil
}

// A redactPass puts marks in place of the secrets of one sort in s, and calls seen
// with each, if that is not nil.
type redactPass func(s string, seen func(string)) string

// New returns a redactor. An error names the invalid pattern, and the problem.
func New(o Options) (*Redactor, error) {
	r := &Redactor{steps: []redactPass{builtinRules().markSecrets}}
	if len(o.Patterns) > 0 {
		s, err := newRuleSet(o.Patterns)
		if err != nil {
			return nil, err
		}
		r.steps = append(r.steps, s.redact)
	}
	r.pii = !o.KeepPII
	r.extra = slices.Clone(o.Extra)
	return r, nil
}

// Default returns a redactor with only the built-in rules.
func Default() *Redactor {
	return &Redactor{steps: []redactPass{builtinRules().markSecrets}, pii: true}
}

// builtinRules returns the automaton of the built-in rules, which is built once.
var builtinRules = sync.OnceValue(func() *automaton { return newAutomaton(ruleAnchors()) })

func ruleAnchors() []anchor {
	var all []anchor
	for _, x := range []struct {
		find  func(s string, from, to int) span
		words []string
	}{
		{privateKey, []string{strings.ToLower(pemBegin)}},
		{keyTail, []string{"-----end "}},
		{encodedKey, []string{"ls0tls1crudjti"}},
		{puttyKey, []string{"private-lines: "}},
		{postgres, []string{":5432:", ":5433:", ":5434:", ":5435:", ":5436:", ":5437:", ":5438:", ":5439:", ":15432:", ":25432:", ":54320:", ":54321:", ":54322:", ":55432:", ":6432:", ":6543:", ":25060:", ":26257:", ":*:"}},
		{cookies, []string{"cookie:", "cookie\":", "cookie\\\":", "cookie':", "--cookie ", "--cookie=", " -b '", ` -b "`}},
		{loginPair, loginPhrases},
		{administrators, []string{"admin:", "admin/", "admin / ", "root:", "root/", "root / ", "administrator:", "administrator / "}},
		{numberCode, codeNames},
		{typedPassword, typingCalls},
		{sentPassword, []string{"send "}},
		{mailPassword, []string{"auth plain "}},
		{cachePassword, []string{"auth "}},
		{protocolPassword, []string{"pass "}},
		{vendor, vendors},
		{general, generals},
		{jsonWebToken, []string{"eyj"}},
		{schemeToken, []string{"bearer ", "authorization: token "}},
		{basicPassword, []string{"basic ", "basic\t"}},
		{authValue, []string{"auth"}},
		{userinfo, []string{"://"}},
		{accountPassword, []string{" -u", "\t-u", " -u ", " -u=", "\t-u=", " --user ", " --user=", "\t--user=", " --proxy-user ", " --proxy-user=", " --auth ", " --auth="}},
		{shortFlag, []string{`"-p"`, `'-p'`}},
		{shortOption, []string{" -p "}},
		{pipedPassword, []string{"echo ", "printf "}},
		{herePassword, []string{"<<<"}},
		{sharePassword, []string{"net use ", "net user "}},
		{urlParameter, []string{"?key=", "&key=", "?sig=", "&sig=", "?signature=", "&signature=", "-signature=", "?code=", "&code=", "?auth=", "&auth=", "?pass=", "&pass="}},
	} {
		for _, w := range x.words {
			all = append(all, anchor{word: w, find: x.find})
		}
	}
	for _, p := range passwordArguments {
		for _, w := range p.programs {
			all = append(all, anchor{word: w, find: p.findArgument})
		}
	}
	for _, p := range passwordCalls {
		for _, w := range p.names {
			all = append(all, anchor{word: w, find: p.findArgument})
		}
	}
	for _, f := range sqlForms {
		all = append(all, anchor{word: f.words, find: f.find})
	}
	for _, t := range knownTokens {
		all = append(all, anchor{word: strings.ToLower(t.prefix), find: t.findToken})
	}
	for _, m := range middles {
		all = append(all, anchor{word: strings.ToLower(m.mark), find: m.find})
	}
	for _, w := range slices.Sorted(maps.Keys(secretNames)) {
		all = append(all, anchor{w, nameFinder{secretNames[w], ofPassword(w)}.findValue, secretNames[w]})
	}
	return all
}

// String returns s with [Mark] in place of every secret. What comes out of it goes
// through it unchanged, and valid JSON stays valid JSON, as of [JSON]. If nothing
// is found, s itself is returned. Names in JSON stay, whatever is in them: a call
// keeps its arguments.
func (r *Redactor) String(s string) string {
	if isJSONText(s) {
		return redactValidJSON(r.String, r.seen, s)
	}
	out := s
	for range maxPasses {
		before := out
		out = r.pass(out)
		if out == before {
			return out
		}
		if isJSONText(out) { // now that a mark is in it
			return redactValidJSON(r.String, r.seen, out)
		}
	}
	return out
}

// maxPasses limits the passes over a text. The second nearly always finds nothing:
// after a mark, quotes, lines and mail addresses may end elsewhere.
const maxPasses = 8

// pass applies each rule to s once.
func (r *Redactor) pass(s string) string {
	for _, step := range r.steps {
		s = step(s, r.seen)
	}
	if r.pii {
		s = redactPersonal(s)
	}
	for _, f := range r.extra {
		s = f(s)
	}
	return s
}

// isJSONText reports whether s is an object, a list or a string of JSON.
func isJSONText(s string) bool {
	start := skipBytes(s, 0, &space)
	return start < len(s) && strings.IndexByte("{[\"", s[start]) >= 0 && json.Valid([]byte(s))
}

// A markEditor puts marks into a text, from its beginning to its end.
type markEditor struct {
	text string
	seen func(string) // receives each replaced text; may be nil
	out  strings.Builder
	done int  // number of bytes of text that are in out
	head bool // the name of a password may be the head of a column
}

// markSpan replaces x, which begins after the last replacement.
func (e *markEditor) markSpan(x span) {
	if e.text[x.from:x.to] == Mark {
		return
	}
	if e.seen != nil {
		e.seen(e.text[x.from:x.to])
	}
	if e.done == 0 {
		e.out.Grow(len(e.text))
	}
	e.out.WriteString(e.text[e.done:x.from])
	e.out.WriteString(Mark)
	e.done = x.to
}

// resultText returns the text with its marks.
func (e *markEditor) resultText() string {
	if e.done == 0 {
		return e.text
	}
	e.out.WriteString(e.text[e.done:])
	return e.out.String()
}
