// Package gitleaks redacts by the rules of gitleaks, more than two hundred kinds of
// credentials. It is slow, about half a megabyte a second, and a large dependency,
// so it is optional. Recent texts are not read again.
package gitleaks

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/zricethezav/gitleaks/v8/detect"

	"github.com/tiercompact/tiercompact/redact"
)

// maxRemembered limits the texts in the cache of a function of New.
const maxRemembered = 4096

// New returns a function that puts [redact.Mark] in place of the secrets that
// gitleaks finds with its default rules. It belongs in [redact.Options.Extra],
// after the built-in rules, and is safe for concurrent use; calls wait for each
// other.
func New() (func(string) string, error) {
	d, err := detect.NewDetectorDefaultConfig()
	if err != nil {
		return nil, fmt.Errorf("load rules of gitleaks: %w; leave them out, the built-in rules stay", err)
	}
	d.IgnoreGitleaksAllow = true // a text must not be able to disable the rules
	c := &cache{detect: func(s string) []string { return findSecrets(d, s) }}
	return c.redactCached, nil
}

// findSecrets returns the secrets that d finds in s, longer ones first.
func findSecrets(d *detect.Detector, s string) []string {
	var all []string
	for _, f := range d.DetectString(s) {
		if f.Secret != "" && !strings.Contains(redact.Mark, f.Secret) {
			all = append(all, f.Secret)
		}
	}
	slices.SortFunc(all, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	return slices.Compact(all)
}

// A cache stores the secrets found in texts, by their hash. It drops the older half
// at a time: it has two generations of texts.
type cache struct {
	detect func(string) []string

	mu         sync.Mutex // guards the fields below, and the detector
	young, old map[[sha256.Size]byte][]string
}

func (c *cache) redactCached(s string) string {
	for _, secret := range c.foundSecrets(s) {
		s = replace(s, secret)
	}
	return s
}

// replace puts a mark in place of each secret in s. A short one stays inside longer
// names.
func replace(s, secret string) string {
	const certain = 20 // bytes
	var b strings.Builder
	for rest := s; ; {
		i := strings.Index(rest, secret)
		if i < 0 {
			return b.String() + rest
		}
		end := i + len(secret)
		if len(secret) < certain && (i > 0 && isWord(rest[i-1]) && isWord(secret[0]) || end < len(rest) && isWord(rest[end]) && isWord(secret[len(secret)-1])) {
			b.WriteString(rest[:end])
		} else {
			b.WriteString(rest[:i] + redact.Mark)
		}
		rest = rest[end:]
	}
}

func isWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

func (c *cache) foundSecrets(s string) []string {
	key := sha256.Sum256([]byte(s))
	c.mu.Lock()
	defer c.mu.Unlock()
	all, ok := c.young[key]
	if ok {
		return all
	}
	if all, ok = c.old[key]; !ok {
		all = c.detect(s)
	}
	if c.young == nil || len(c.young) >= maxRemembered/2 {
		c.old, c.young = c.young, make(map[[sha256.Size]byte][]string)
	}
	c.young[key] = all
	return all
}
