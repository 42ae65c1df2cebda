package summarize

import (
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

// removeInvented removes values that only the assistant's prose gives a name, if the
// user or a tool gave that name another value: a port that the assistant made up is
// not beside the one that the user set.
func (n *itemList) removeInvented(messages []chat.Message) {
	named := make(map[string][]*summaryItem) // values by their name
	for _, x := range n.list {
		if name, _, ok := strings.Cut(x.text, " "); ok && x.kind == detail {
			named[name] = append(named[name], x)
		}
	}
	var stated, of map[string]bool
	for _, values := range named {
		if len(values) < 2 {
			continue
		}
		if stated == nil {
			stated, of = statedWords(messages, wordsOfValues(named)), idsOf(messages)
		}
		isStated := func(x *summaryItem) bool {
			return x.first < 0 || x.id != "" && !of[x.id] || allStated(stated, x.text)
		}
		if !slices.ContainsFunc(values, isStated) {
			continue
		}
		n.list = slices.DeleteFunc(n.list, func(x *summaryItem) bool {
			invented := slices.Contains(values, x) && !isStated(x)
			if invented {
				delete(n.at, itemKey{x.kind, x.key})
			}
			return invented
		})
	}
}

func idsOf(messages []chat.Message) map[string]bool {
	ids := make(map[string]bool, len(messages))
	for _, m := range messages {
		ids[m.ID] = true
	}
	return ids
}

// wordsOfValues returns the words of values whose name has several.
func wordsOfValues(named map[string][]*summaryItem) map[string]bool {
	words := make(map[string]bool)
	for _, values := range named {
		for _, x := range values {
			if len(values) < 2 {
				break
			}
			_, value, _ := strings.Cut(x.text, " ")
			for w := range wordTokens(value) {
				words[w.text] = true
			}
		}
	}
	return words
}

// statedWords returns the words of wanted in everything but the assistant's prose: its
// calls are not prose, because it acted on their values.
func statedWords(messages []chat.Message, wanted map[string]bool) map[string]bool {
	words := make(map[string]bool)
	var begins [256]bool // first bytes of the wanted words
	for w := range wanted {
		begins[w[0]] = true
	}
	for _, m := range messages {
		for _, p := range m.Parts {
			if m.Role == chat.Assistant && p.Kind != chat.Call && p.Kind != chat.Result {
				continue
			}
			for _, text := range [2]string{p.Text, p.Args} {
				for start, end := nextWord(text, 0); start < len(text); start, end = nextWord(text, end) {
					if w := text[start:end]; begins[w[0]] && wanted[w] {
						words[w] = true
					}
				}
			}
		}
	}
	return words
}

// allStated reports whether all words of a named value were stated, except its name.
func allStated(stated map[string]bool, text string) bool {
	_, value, _ := strings.Cut(text, " ")
	for w := range wordTokens(value) {
		if !stated[w.text] {
			return false
		}
	}
	return true
}
