package bench

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/tiercompact/tiercompact/chat"
)

// identifier matches identifiers for the measures: paths, snake_case and camelCase
// names, hashes, tickets, names of text files.
var identifier = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:[\pL\pN_.-]+/)+[\pL\pN_.-]+` +
		`|[A-Za-z]+_[A-Za-z_0-9]{2,}` +
		`|[a-z]+[A-Z][\pL\pN_]+` +
		`|\b[0-9a-f]{7,40}\b` +
		`|\b[A-Z]{2,}-[\pL\pN_]+\b` +
		`|\b[\pL\pN_]+\.(?:ts|js|json|md|cjs|go|py|rs|tsx|cs|java|c|h|cpp|yaml|yml|toml)\b`)
})

const minIdentifier = 4 // characters

// addIdentifiers adds the identifiers of a text to a set.
func addIdentifiers(set map[string]bool, text string) {
	for _, id := range identifier().FindAllString(text, -1) {
		if len(id) >= minIdentifier {
			set[id] = true
		}
	}
}

func identifiersOf(t chat.Transcript) map[string]bool {
	set := make(map[string]bool)
	for _, m := range t {
		addIdentifiers(set, decodedText(m))
	}
	return set
}

// TextOf returns the text of a message for the measures: its texts, and the names
// and arguments of its calls, joined by line feeds.
func TextOf(m chat.Message) string {
	return textWith(m, func(args string) []string { return []string{args} })
}

// textWith is TextOf with the texts that argsTexts takes from arguments.
func textWith(m chat.Message, argsTexts func(args string) []string) string {
	texts := []string{m.Text()}
	for _, p := range m.Parts {
		if p.Kind == chat.Call {
			texts = append(append(texts, p.Name), argsTexts(p.Args)...)
		}
	}
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), "\n")
}

// frame is the number of tokens of a message beside its text.
const frame = 4

// Size returns the tokens of t as the measures count them.
func Size(t chat.Transcript, count func(string) int) int {
	sum := 0
	for _, m := range t {
		sum += count(TextOf(m)) + frame
	}
	return sum
}

// SafeCut returns the last index at or before at where t can be cut without an open
// call.
func SafeCut(t chat.Transcript, at int) int {
	for at > 0 && at < len(t) && t[at].Role == chat.Tool {
		at--
	}
	return at
}

// recent is the number of messages before a cut that do not count because they are
// too near.
const recent = 5

func newestMessages(t chat.Transcript) chat.Transcript { return t[max(0, len(t)-recent):] }

// Needed returns the identifiers that the assistant uses in after and that occur in
// before, but neither in its last five messages nor in its first.
func Needed(before, after chat.Transcript) map[string]bool {
	used := make(map[string]bool)
	for _, m := range after {
		if m.Role == chat.Assistant {
			addIdentifiers(used, decodedText(m))
		}
	}
	had, near := identifiersOf(before), identifiersOf(newestMessages(before))
	if len(before) > 0 {
		addIdentifiers(near, decodedText(before[0]))
	}
	for id := range used {
		if !had[id] || near[id] {
			delete(used, id)
		}
	}
	return used
}

// Present returns how many of need occur in t.
func Present(need map[string]bool, t chat.Transcript) int { return countPresent(need, nil, t) }

// countPresent is Present for the known identifiers of t, stand; nil if they are
// unknown.
func countPresent(need, stand map[string]bool, t chat.Transcript) int {
	n := 0
	var rest []string // may occur inside a longer one
	for id := range need {
		if stand[id] {
			n++
		} else {
			rest = append(rest, id)
		}
	}
	text := newFinder(t, len(rest))
	for _, id := range rest {
		if text.containsText(id) {
			n++
		}
	}
	return n
}

// An Anchor is the old text of an edit, by its lines of at least 12 characters.
type Anchor []string

const minLine = 12 // minimum characters of a line that identifies a place

// Anchors returns the edits of after that are possible from before without another
// read: their lines are all in before, not all of them in its last five messages,
// and their file is neither read nor edited in between.
func Anchors(before, after chat.Transcript) (out []Anchor) {
	eachAnchor(before, after, func(_ int, _ string, a Anchor) { out = append(out, a) })
	return out
}

// eachAnchor calls do with each of [Anchors], the index of its message in after, and its
// path.
func eachAnchor(before, after chat.Transcript, do func(at int, path string, a Anchor)) {
	stand, near, seen := trimmedLines(before), trimmedLines(newestMessages(before)), make(map[string]bool)
	for i, m := range after {
		for _, p := range m.Parts {
			if p.Kind != chat.Call {
				continue
			}
			c, name := editOfCall(p), strings.ToLower(p.Name)
			if name == "read" || name == "view" || name == "cat" {
				seen[c.path] = true
			}
			for _, old := range c.old {
				a := anchorOf(old)
				if len(a) > 0 && !seen[c.path] && a.foundInLines(stand) && !a.foundInLines(near) {
					do(i, c.path, a)
				}
			}
			if c.edits || name == "write" {
				seen[c.path] = true
			}
		}
	}
}

// A call is a tool call for the measure of edits.
type call struct {
	path  string
	old   []string // texts that it removes
	edits bool
}

func editOfCall(p chat.Part) (c call) {
	args := stringsOf(p.Args)
	c.path = args["file_path"]
	if c.path == "" {
		c.path = args["path"]
	}
	if old, ok := args["old_string"]; ok {
		c.old, c.edits = []string{old}, true
		return c
	}
	var many struct {
		Edits []struct {
			Old string `json:"old_string"`
		} `json:"edits"`
	}
	if json.Unmarshal([]byte(p.Args), &many) == nil {
		for _, e := range many.Edits {
			c.old, c.edits = append(c.old, e.Old), true
		}
	}
	return c
}

// stringsOf returns the members of a JSON object that are strings.
func stringsOf(args string) map[string]string {
	var all map[string]any
	if json.Unmarshal([]byte(args), &all) != nil {
		return nil
	}
	out := make(map[string]string)
	for k, v := range all {
		if s, ok := v.(string); ok {
			out[k] = s
		}
	}
	return out
}

func anchorOf(text string) (a Anchor) {
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimSpace(line); len([]rune(line)) >= minLine {
			a = append(a, line)
		}
	}
	return a
}

func (a Anchor) foundInLines(lines map[string]bool) bool {
	for _, line := range a {
		if !lines[line] {
			return false
		}
	}
	return true
}

// trimmedLines returns the lines of t, without the space around them.
func trimmedLines(t chat.Transcript) map[string]bool {
	lines := make(map[string]bool)
	add := func(text string) {
		for line := range strings.SplitSeq(text, "\n") {
			lines[strings.TrimSpace(line)] = true
		}
	}
	for _, m := range t {
		add(TextOf(m))
		for _, p := range m.Parts {
			if p.Kind == chat.Call {
				for _, text := range stringsOf(p.Args) {
					add(text)
				}
			}
		}
	}
	return lines
}

// Holding returns how many of anchors have all their lines in t.
func Holding(anchors []Anchor, t chat.Transcript) int {
	lines, n := trimmedLines(t), 0
	for _, a := range anchors {
		if a.foundInLines(lines) {
			n++
		}
	}
	return n
}

// Orphans returns the calls without a result before the next message that is not a
// result, and the results that answer no open call.
func Orphans(t chat.Transcript) (calls, results int) {
	open := make(map[string]int)
	waiting := 0
	for _, m := range t {
		if m.Role != chat.Tool {
			calls += waiting
			clear(open)
			waiting = 0
		}
		for _, p := range m.Parts {
			switch {
			case p.Kind == chat.Call:
				open[p.ID]++
				waiting++
			case p.Kind == chat.Result && open[p.ID] > 0:
				open[p.ID]--
				waiting--
			case p.Kind == chat.Result:
				results++
			}
		}
	}
	return calls + waiting, results
}
