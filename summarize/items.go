package summarize

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

// An itemKind says what an item is about.
type itemKind uint8

const (
	request itemKind = iota
	rule
	detail
	changed
	read
	command
	failure
	todo
	picture
	decision
	report
	done // an entry of a plan with open ones
)

// A summaryItem is one fact worth keeping, as one line.
type summaryItem struct {
	kind     itemKind
	text     string
	key      string // two items of a kind with one key are the same
	id       string // of the message with its last mention
	first    int    // index of the message with its first mention; negative if in a former summary
	last     int    // and of the one with its last mention
	times    int
	weight   float64      // in relation to others of its kind
	end      string       // request: the answer; command: its outcome; changed: the purpose
	names    []string     // changed, read: the declarations
	failed   bool         // command: it failed
	guessed  bool         // command: that it failed, by words of its output alone
	ran      string       // failure: the item of its command
	passing  bool         // decision, rule: until it is acted on, until its turn ends
	brief    bool         // request: its turn is over
	corrects bool         // request: it takes back or changes what was said before
	open     *openFailure // failure of a command: what is not settled
}

// An itemList collects the items of messages.
type itemList struct {
	list     []*summaryItem
	at       map[itemKey]*summaryItem
	steps    []*step
	span     int            // messages
	begin    int            // index of the last request
	answered bool           // the last request
	asked    *summaryItem   // the last request
	failures []*summaryItem // that no later run has settled
}

// An itemKey identifies an item.
type itemKey struct {
	kind itemKind
	key  string
}

// itemKeyText returns the key of an item that has no other: paths, commands and
// values differ by case, sentences do not.
func itemKeyText(k itemKind, text string) string {
	switch k {
	case command:
		return commandItemKey(text)
	case changed, read, detail:
		return text
	}
	return strings.ToLower(text)
}

// A step is a text of the assistant and its calls until the next text.
type step struct {
	id      string
	at      int
	text    string
	why     string
	inputs  []string
	outputs []string
	weight  float64
}

// Lengths of the lines kept, in bytes.
const (
	requestLen  = 1000 // a request that is kept whole while there is room
	shortLen    = 280  // a request where there is little
	remarkLen   = 600  // what is read for assent and correction
	sentenceLen = 260
	answerLen   = 200
	doneLen     = 120 // a request whose turn is over, where there is little room
)

// collectItems collects the items of messages in one pass, after those of a former
// facts section.
func collectItems(messages []chat.Message, former string) *itemList {
	w := newScanner(former)
	for _, m := range messages {
		w.add(m)
	}
	return w.finish()
}

// putItem adds an item, or counts it if it exists already.
func (n *itemList) putItem(add summaryItem) *summaryItem {
	if add.text == "" {
		return &summaryItem{}
	}
	if add.key == "" {
		add.key = itemKeyText(add.kind, add.text)
	}
	k := itemKey{add.kind, add.key}
	old := n.at[k]
	if old == nil {
		add.times, add.first = 1, add.last
		n.at[k] = &add
		n.list = append(n.list, &add)
		return &add
	}
	old.times++
	old.last, old.id = add.last, add.id
	return old
}

// renameItem gives an item another text, and so another key, unless an item has it.
func (n *itemList) renameItem(x *summaryItem, text string) {
	key := itemKey{x.kind, itemKeyText(x.kind, text)}
	if n.at[key] != nil {
		return
	}
	delete(n.at, itemKey{x.kind, x.key})
	x.text, x.key = text, key.key
	n.at[key] = x
}

// itemsOfKind returns the items of a kind, in order of first mention.
func (n *itemList) itemsOfKind(k itemKind) []*summaryItem {
	var found []*summaryItem
	for _, x := range n.list {
		if x.kind == k {
			found = append(found, x)
		}
	}
	slices.SortStableFunc(found, func(a, b *summaryItem) int { return cmp.Compare(a.first, b.first) })
	return found
}
