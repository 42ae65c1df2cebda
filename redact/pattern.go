package redact

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
)

// A Pattern is a custom rule. It replaces the group named "value", or the first
// group if none has that name, or, without groups, the match.
type Pattern struct {
	Name   string `json:"name"`   // for error messages; may be empty
	Regexp string `json:"regexp"` // in Go's syntax; must not match the empty string
}

// The maximum number of patterns. One without a fixed text, such as \d{16}, is
// applied to every text; others only to texts that contain theirs.
const (
	maxPatterns   = 10_000
	maxWithout    = 100
	minOfWords    = 3  // minimum bytes of a fixed text
	maxOfWords    = 16 // bytes of it that are searched
	maxBranches   = 64 // of a pattern with alternatives
	worthFiltered = 8  // number of patterns from which on fixed texts are searched first
)

// A rule is a compiled pattern.
type rule struct {
	re    *regexp.Regexp
	group int
	words []string // in lower case; each match contains one of them; empty: every text is searched
}

func (p Pattern) compilePattern(i int) (rule, error) {
	label := fmt.Sprintf("pattern %d", i)
	if p.Name != "" {
		label = fmt.Sprintf("pattern %d (%s)", i, p.Name)
	}
	if p.Regexp == "" {
		return rule{}, fmt.Errorf("compile %s: no regular expression; give one, or leave the pattern out", label)
	}
	re, err := regexp.Compile(p.Regexp)
	if err != nil {
		return rule{}, fmt.Errorf("compile %s: %w; write it in Go's syntax (RE2: no look-around, no back-references)", label, err)
	}
	if re.MatchString("") {
		return rule{}, fmt.Errorf("compile %s: %q matches the empty string, and so everywhere; make it want at least one character", label, p.Regexp)
	}
	group := max(0, re.SubexpIndex("value"))
	if group == 0 && re.NumSubexp() > 0 {
		group = 1
	}
	return rule{re, group, wordsOf(p.Regexp)}, nil
}

// A ruleSet applies many patterns, one after the other.
type ruleSet struct {
	rules []rule
	words *automaton // of all words; nil if there are few rules
	of    [][]int    // the rules of a word, by its number
}

func newRuleSet(patterns []Pattern) (*ruleSet, error) {
	if len(patterns) > maxPatterns {
		return nil, fmt.Errorf("there are %d patterns, and at most %d can be used; join some with |", len(patterns), maxPatterns)
	}
	s := &ruleSet{rules: make([]rule, len(patterns))}
	without := 0
	for i, p := range patterns {
		var err error
		if s.rules[i], err = p.compilePattern(i); err != nil {
			return nil, err
		}
		if s.rules[i].words == nil {
			without++
		}
	}
	if without > maxWithout {
		return nil, fmt.Errorf("%d patterns have no text of at least %d characters that they look for, and at most %d may have none; write such text into them, or join some with |", without, minOfWords, maxWithout)
	}
	if len(patterns) >= worthFiltered {
		s.index()
	}
	return s, nil
}

// index builds the automaton that finds the rules for a text.
func (s *ruleSet) index() {
	number := make(map[string]int)
	var anchors []anchor
	for i, r := range s.rules {
		for _, w := range r.words {
			n, ok := number[w]
			if !ok {
				n = len(s.of)
				number[w] = n
				s.of = append(s.of, nil)
				anchors = append(anchors, anchor{word: w, grade: grade(n)})
			}
			s.of[n] = append(s.of[n], i)
		}
	}
	s.words = newAutomaton(anchors)
}

// redact is a [redactPass].
func (s *ruleSet) redact(text string, seen func(string)) string {
	if s.words == nil {
		for _, r := range s.rules {
			text = r.redact(text, seen)
		}
		return text
	}
	wanted := s.wanted(text)
	for i, r := range s.rules {
		if r.words == nil || wanted[i] {
			text = r.redact(text, seen)
		}
	}
	return text
}

// wanted returns the rules with a word in text.
func (s *ruleSet) wanted(text string) map[int]bool {
	wanted := make(map[int]bool)
	met := make([]bool, len(s.of))
	a := s.words
	var row uint32
	for i := range len(text) {
		if row = a.next[row+uint32(a.class[text[i]])]; row < a.accept {
			continue
		}
		for _, x := range a.ends[int(row-a.accept)/a.width] {
			if n := int(x.grade); !met[n] {
				met[n] = true
				for _, r := range s.of[n] {
					wanted[r] = true
				}
			}
		}
	}
	return wanted
}

func (r rule) redact(s string, seen func(string)) string {
	e := markEditor{text: s, seen: seen}
	free := 0
	for _, m := range r.re.FindAllStringSubmatchIndex(s, -1) {
		x := span{m[2*r.group], m[2*r.group+1]}
		if x.from < 0 || x.from == x.to {
			continue
		}
		if x = widenToMark(s, x); x.from >= free {
			e.markSpan(x)
			free = x.to
		}
	}
	return e.resultText()
}

// wordsOf returns texts, in lower case, one of which is in every match of a
// pattern; nil if there are none. A mark of another rule counts as none of them.
func wordsOf(pattern string) []string {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil
	}
	words := required(re.Simplify())
	for i, w := range words {
		if len(w) < minOfWords || strings.ContainsAny(w, "<>") || strings.Contains(strings.ToLower(Mark), w) {
			return nil
		}
		words[i] = w[:min(len(w), maxOfWords)]
	}
	return words
}

// required is wordsOf for a part of a pattern. Of the parts that must all match it
// uses the one whose shortest word is the longest.
func required(re *syntax.Regexp) []string {
	switch re.Op {
	case syntax.OpLiteral:
		return literals(re)
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return required(re.Sub[0])
		}
	case syntax.OpConcat:
		var best []string
		for _, sub := range re.Sub {
			if words := required(sub); shortest(words) > shortest(best) {
				best = words
			}
		}
		return best
	case syntax.OpAlternate:
		var all []string
		for _, sub := range re.Sub {
			words := required(sub)
			if words == nil || len(all)+len(words) > maxBranches {
				return nil
			}
			all = append(all, words...)
		}
		return all
	}
	return nil
}

// literals returns the longest run of ASCII in a literal. If case is ignored, k and
// s also match other letters.
func literals(re *syntax.Regexp) []string {
	folds := re.Flags&syntax.FoldCase != 0
	runs := strings.FieldsFunc(string(re.Rune), func(r rune) bool {
		return r >= 0x80 || folds && strings.ContainsRune("kKsS", r)
	})
	if len(runs) == 0 {
		return nil
	}
	longest := slices.MaxFunc(runs, func(a, b string) int { return len(a) - len(b) })
	return []string{strings.ToLower(longest)}
}

func shortest(words []string) int {
	if len(words) == 0 {
		return 0
	}
	return len(slices.MinFunc(words, func(a, b string) int { return len(a) - len(b) }))
}

// Share returns how much of ordinary text patterns take out, from 0 to 1: of
// prose, code, logs and JSON without a secret. It says whether somebody wrote
// them to have nothing left.
func Share(patterns ...Pattern) (float64, error) {
	s, err := newRuleSet(patterns)
	if err != nil {
		return 0, err
	}
	all, left := 0, 0
	for _, text := range ordinaryTexts {
		all += signsIn(text)
		left += signsIn(strings.ReplaceAll(s.redact(text, nil), Mark, ""))
	}
	return 1 - float64(left)/float64(all), nil
}

// signsIn counts letters and digits.
func signsIn(text string) (n int) {
	for i := range len(text) {
		if alnum[text[i]] || text[i] >= 0x80 {
			n++
		}
	}
	return n
}

// ordinaryTexts contain no secret.
var ordinaryTexts = []string{
	"Please fix the migration of the orders table, and run the tests again before you commit.",
	"The parser failed on line 41 because a brace was missing; I have added it and the build is green.",
	"func (s *Store) Open(ctx context.Context, name string) (*File, error) {\n\treturn s.open(ctx, name, 0o600)\n}",
	"def total(items):\n    return sum(item.price * item.count for item in items)",
	`{"path":"src/shop/cart.ts","content":"export const limit = 25;","lines":[1,2,3]}`,
	"2025-03-04T05:06:07Z INFO server: listening on 127.0.0.1:8080\n--- FAIL: TestCart (0.02s)\n    cart_test.go:17: got 3, want 4",
	"$ git status\nOn branch main\nnothing to commit, working tree clean\n",
}

// widenToMark extends x to the whole mark that it overlaps. If x is only that mark,
// the caller leaves it unchanged.
func widenToMark(s string, x span) span {
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
