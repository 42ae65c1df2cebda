package redact

import (
	"fmt"
	"regexp"
	"strings"
)

// A Pattern is a rule of the user. What it replaces is the group named "value",
// or the first group where none has that name, or, without groups, the match.
type Pattern struct {
	Name   string // for messages; may be empty
	Regexp string // in Go's syntax; must not match the empty string
}

// compile returns what redacts by the pattern, which is number i of the options.
func (p Pattern) compile(i int) (step, error) {
	label := fmt.Sprintf("pattern %d", i)
	if p.Name != "" {
		label = fmt.Sprintf("pattern %d (%s)", i, p.Name)
	}
	if p.Regexp == "" {
		return nil, fmt.Errorf("compile %s: no regular expression; give one, or leave the pattern out", label)
	}
	re, err := regexp.Compile(p.Regexp)
	if err != nil {
		return nil, fmt.Errorf("compile %s: %w; write it in Go's syntax (RE2: no look-around, no back-references)", label, err)
	}
	if re.MatchString("") {
		return nil, fmt.Errorf("compile %s: %q matches the empty string, and so everywhere; make it want at least one character", label, p.Regexp)
	}
	group := max(0, re.SubexpIndex("value"))
	if group == 0 && re.NumSubexp() > 0 {
		group = 1
	}
	return func(s string, seen func(string)) string {
		e := editor{text: s, seen: seen}
		free := 0
		for _, m := range re.FindAllStringSubmatchIndex(s, -1) {
			x := span{m[2*group], m[2*group+1]}
			if x.from < 0 || x.from == x.to {
				continue
			}
			if x = widened(s, x); x.from >= free {
				e.mark(x)
				free = x.to
			}
		}
		return e.result()
	}, nil
}

// widened returns x with the whole of a mark that it has a part of. Where that
// mark is all there is of it, the mark is left alone by whoever replaces.
func widened(s string, x span) span {
	n := len(Mark) - 1
	low := max(0, x.from-n)
	if i := strings.LastIndex(s[low:min(len(s), x.from+n)], Mark); i >= 0 && low+i < x.from && low+i+len(Mark) > x.from {
		x.from = low + i
	}
	low = max(0, x.to-n)
	if i := strings.Index(s[low:min(len(s), x.to+n)], Mark); i >= 0 && low+i < x.to && low+i+len(Mark) > x.to {
		x.to = low + i + len(Mark)
	}
	return x
}
