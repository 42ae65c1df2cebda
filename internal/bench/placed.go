package bench

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

var (
	pathLike = regexp.MustCompile(`/|\.(?:ts|js|json|md|cjs|go|py|rs|tsx|cs|java|c|h|cpp|yaml|yml|toml)$`)
	nonWords = regexp.MustCompile(`[^\pL\pN_]+`)
)

const (
	linesBefore   = 200 // lines of a name that are compared
	longestPlaced = 60  // different words of a line in which a name is in its place
)

// A placing is a line that has a name.
type placing struct {
	words map[string]bool
	paths int
}

// Placed returns how many of need are in their place in after: on a line with at
// least half of the words, three or more, of a line that had the name in before. A
// path also counts on a line with at most two others, and a name that only short
// lines had before counts anywhere.
func Placed(need map[string]bool, before, after chat.Transcript) int {
	was, now := placings(need, before), placings(need, after)
	n := 0
	for name := range need {
		if isPlaced(name, was[name], now[name]) {
			n++
		}
	}
	return n
}

func isPlaced(name string, was, now []placing) bool {
	var long []placing
	for _, w := range was {
		if len(w.words) >= 3 && len(long) < linesBefore {
			long = append(long, w)
		}
	}
	if len(long) == 0 {
		return len(now) > 0
	}
	path := pathLike.MatchString(name)
	for _, line := range now {
		if path && line.paths <= 3 {
			return true
		}
		if len(line.words) > longestPlaced {
			continue
		}
		for _, w := range long {
			if shared(line.words, w.words)*2 >= len(w.words) {
				return true
			}
		}
	}
	return false
}

func shared(a, b map[string]bool) int {
	n := 0
	for w := range b {
		if a[w] {
			n++
		}
	}
	return n
}

// placings returns the lines of t that have names of need.
func placings(need map[string]bool, t chat.Transcript) map[string][]placing {
	out := make(map[string][]placing)
	for _, m := range t {
		for line := range strings.SplitSeq(decodedText(m), "\n") {
			names := make(map[string]bool)
			for _, name := range identifier().FindAllString(line, -1) {
				names[name] = true
			}
			var p placing
			for name := range names {
				if pathLike.MatchString(name) {
					p.paths++
				}
			}
			for name := range names {
				if !need[name] {
					continue
				}
				if p.words == nil {
					p.words = wordSet(line)
				}
				out[name] = append(out[name], p)
			}
		}
	}
	return out
}

func wordSet(line string) map[string]bool {
	set := make(map[string]bool)
	for w := range strings.FieldsSeq(strings.ToLower(nonWords.ReplaceAllString(line, " "))) {
		set[w] = true
	}
	return set
}

// decodedText is TextOf with the strings of arguments decoded, so that an escape is no
// part of a name.
func decodedText(m chat.Message) string {
	return textWith(m, func(text string) []string {
		var args any
		if json.Unmarshal([]byte(text), &args) != nil {
			args = text
		}
		return appendStrings(nil, args)
	})
}

// appendStrings adds the strings of a JSON value, and the keys, in their order.
func appendStrings(texts []string, value any) []string {
	switch v := value.(type) {
	case string:
		texts = append(texts, v)
	case []any:
		for _, x := range v {
			texts = appendStrings(texts, x)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			texts = appendStrings(append(texts, key), v[key])
		}
	}
	return texts
}
