package bench

import (
	"index/suffixarray"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

// A finder finds texts in a conversation.
type finder struct {
	text  string
	index *suffixarray.Index // nil searches the text
}

// worthIndex is the number of searches that makes an index worthwhile: the time of
// one must then not grow with the conversation.
const worthIndex = 200

// newFinder returns a finder for about the given number of searches.
func newFinder(t chat.Transcript, searches int) finder {
	texts := make([]string, len(t))
	for i, m := range t {
		texts[i] = decodedText(m)
	}
	f := finder{text: strings.Join(texts, "\n")}
	if searches >= worthIndex {
		f.index = suffixarray.New([]byte(f.text))
	}
	return f
}

func (f finder) containsText(text string) bool {
	if f.index == nil {
		return strings.Contains(f.text, text)
	}
	return len(f.index.Lookup([]byte(text), 1)) > 0
}
