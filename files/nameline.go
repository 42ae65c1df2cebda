package files

import (
	"container/heap"
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

const (
	shortestNameLine = 12  // bytes
	longestNameLine  = 240 // bytes
	linesOfName      = 3   // newest lines of a name that are compared
)

// A nameLine is a line that says something about names.
type nameLine struct {
	text   string
	names  []int // in the list of wanted names
	tokens int
	order  int     // from the newest line
	gain   float64 // for its tokens, at most
}

// LinesOf returns lines of messages that hold names, the most wanted first in names,
// in at most maxTokens: each line for names that no other line has. A line that a later edit
// replaced is left out. The lines are in the order of the conversation.
func LinesOf(messages []chat.Message, names []string, maxTokens int, count func(string) int) []string {
	if maxTokens <= 0 || len(names) == 0 {
		return nil
	}
	queue := linesWithNames(messages, names)
	done := make([]bool, len(names))
	gain := func(l *nameLine) float64 {
		sum := 0.0
		for _, n := range l.names {
			if !done[n] {
				sum += 1 - float64(n)/float64(2*len(names))
			}
		}
		return sum / float64(l.tokens)
	}
	for _, l := range queue {
		l.tokens = count(l.text) + 1
		l.gain = gain(l)
	}
	heap.Init(&queue)
	var taken []*nameLine
	for len(queue) > 0 {
		l := queue[0]
		if now := gain(l); now != l.gain && now > 0 {
			l.gain = now
			heap.Fix(&queue, 0)
			continue
		} else if now > 0 && l.tokens <= maxTokens {
			maxTokens -= l.tokens
			taken = append(taken, l)
			for _, n := range l.names {
				done[n] = true
			}
		}
		heap.Pop(&queue)
	}
	slices.SortFunc(taken, func(a, b *nameLine) int { return b.order - a.order })
	out := make([]string, len(taken))
	for i, l := range taken {
		out[i] = l.text
	}
	return out
}

// linesWithNames returns the newest lines of each name.
func linesWithNames(messages []chat.Message, names []string) nameLineQueue {
	wanted, seen := make(map[string]int, len(names)), make([]int, len(names))
	for i, n := range names {
		wanted[n] = i
	}
	var out nameLineQueue
	known, replaced := make(map[string]bool), make(map[string]bool)
	addLine := func(text string) {
		line := strings.TrimSpace(text)
		if len(line) < shortestNameLine || len(line) > longestNameLine || known[line] || replaced[line] ||
			strings.HasPrefix(line, "#") || strings.HasPrefix(line, "[") || len(strings.Fields(line)) < 2 {
			return
		}
		known[line] = true
		l := &nameLine{text: line, order: len(out)}
		eachIdent(line, func(start, end int) {
			n, ok := wanted[listedName(line, start, end)]
			if ok && seen[n] < linesOfName && !slices.Contains(l.names, n) {
				seen[n]++
				l.names = append(l.names, n)
			}
		})
		if len(l.names) > 0 {
			out = append(out, l)
		}
	}
	for i := len(messages) - 1; i >= 0; i-- {
		for k := len(messages[i].Parts) - 1; k >= 0; k-- {
			p := messages[i].Parts[k]
			eachText(p, func(key, text string) {
				if !isReplacedText(key) {
					for line := range strings.SplitSeq(text, "\n") {
						addLine(line)
					}
				}
			})
			eachText(p, func(key, text string) {
				if isReplacedText(key) {
					for line := range strings.SplitSeq(text, "\n") {
						if line = strings.TrimSpace(line); !known[line] {
							replaced[line] = true
						}
					}
				}
			})
		}
	}
	return out
}

// isReplacedText reports whether the argument with a key is the old text of an edit.
func isReplacedText(key string) bool {
	key = strings.ToLower(key[strings.LastIndexByte(key, '.')+1:])
	return key == "old_string" || key == "oldtext" || key == "old_str" || key == "oldstring"
}

// A nameLineQueue is a heap of lines: first the most gain, then the newest.
type nameLineQueue []*nameLine

func (q nameLineQueue) Len() int { return len(q) }
func (q nameLineQueue) Less(i, k int) bool {
	return q[i].gain > q[k].gain || q[i].gain == q[k].gain && q[i].order < q[k].order
}
func (q nameLineQueue) Swap(i, k int) { q[i], q[k] = q[k], q[i] }
func (q *nameLineQueue) Push(x any)   { *q = append(*q, x.(*nameLine)) }
func (q *nameLineQueue) Pop() any {
	last := len(*q) - 1
	l := (*q)[last]
	*q = (*q)[:last]
	return l
}
