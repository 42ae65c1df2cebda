package files

import (
	"container/heap"
	"math"
	"slices"
	"strings"
)

const (
	minNameLine  = 8   // bytes
	maxNameLine  = 240 // bytes
	minLineWords = 3   // of a line that says something about its names
	linesOfName  = 4   // newest lines of a name that are compared
	maxLinePaths = 3   // a line with more paths is a list of them
	maxListNames = 4   // a line of a summary or an outline with more names is a list
	pathBefore   = 16  // bytes of a line that are shown before a path in it
	pathAfter    = 24  // and after it
)

// A nameLine is a line that says something about names.
type nameLine struct {
	text    string
	names   []int32  // in Names.found
	order   int      // from the newest line
	gain    float64  // for its tokens, at most
	entry   entry    // of a line of a listing
	listing *listing // that it can be a part of; nil: none
}

// length returns the bytes that the line takes, of a shared line its part.
func (l *nameLine) length() int {
	if l.listing == nil {
		return len(l.text) + lineCost
	}
	return len(l.entry.base) + 1 + (len(l.listing.head)+lineCost)/l.listing.members
}

// Lines returns lines of the removed messages, in at most maxTokens, for names that
// remain nowhere in their place: on a line that says something about them. Each line
// has a name that no other line has; those with the most wanted names for their length
// come first. A line that a later edit replaced is left out, and a path in a long line is
// shown with the words beside it. The lines are in the order of the conversation.
func (n *Names) Lines(maxTokens int, count func(string) int) []string {
	queue := n.candidateLines()
	worth, done := make([]float64, len(n.found)), make([]bool, len(n.found))
	for k := range n.found {
		worth[k] = n.found[k].useLikelihood(n.messages)
	}
	gain := func(l *nameLine) float64 {
		sum := 0.0
		for _, k := range l.names {
			if !done[k] {
				sum += worth[k]
			}
		}
		return sum / float64(l.length())
	}
	for _, l := range queue {
		l.gain = gain(l)
	}
	heap.Init(&queue)
	var taken []*nameLine
	for len(queue) > 0 && maxTokens >= minLineTokens {
		l := queue[0]
		if now := gain(l); now != l.gain && now > 0 {
			l.gain = now
			heap.Fix(&queue, 0)
			continue
		} else if now > 0 {
			if size := l.added(count); size <= maxTokens {
				maxTokens -= size
				taken = l.take(taken, size)
				for _, k := range l.names {
					done[k] = true
				}
			}
		}
		heap.Pop(&queue)
	}
	slices.SortFunc(taken, func(a, b *nameLine) int { return b.order - a.order })
	out := make([]string, len(taken))
	for i, l := range taken {
		out[i] = l.text
		if l.listing != nil && len(l.listing.taken) > 1 {
			out[i] = l.listing.text()
			for _, of := range l.listing.taken {
				for _, k := range of.names {
					n.present[k] = true
				}
			}
		}
	}
	return out
}

// added returns the tokens that l adds to the lines that are taken.
func (l *nameLine) added(count func(string) int) int {
	if l.listing == nil || len(l.listing.taken) == 0 {
		return count(l.text) + 1
	}
	return max(0, count(l.listing.text(l))+1-l.listing.size)
}

// take adds l, of so many tokens, to the lines that are taken: of a listing the first.
func (l *nameLine) take(lines []*nameLine, size int) []*nameLine {
	if l.listing != nil {
		l.listing.size += size
		if l.listing.taken = append(l.listing.taken, l); len(l.listing.taken) > 1 {
			return lines
		}
	}
	return append(lines, l)
}

const (
	lineCost      = 4 // bytes, about: the line feed
	minLineTokens = 4
)

// candidateLines returns the lines of names that are not in their place, the newest
// first, and each path in a long line with what is beside it.
func (n *Names) candidateLines() (queue nameLineQueue) {
	seen := make([]uint8, len(n.found))
	for order := range n.lines {
		l := &n.lines[order]
		names := n.wantedOf(l, seen)
		if len(names) == 0 {
			continue
		}
		if len(l.text) <= maxNameLine {
			of := &nameLine{text: l.text, names: names, order: order}
			if e, ok := entryOf(l.text, l.dir); ok {
				of.entry = e
			}
			queue = append(queue, of)
		}
		if len(l.text) > 2*(pathBefore+pathAfter) {
			for _, k := range names {
				if id := n.found[k].id; isPathName(id) {
					queue = append(queue, &nameLine{text: partAround(l.text, id), names: []int32{k}, order: order})
				}
			}
		}
	}
	queue.joinListings()
	return queue
}

// wantedOf returns the names of a line that are not in their place, without those that
// enough newer lines have.
func (n *Names) wantedOf(l *namedLine, seen []uint8) (names []int32) {
	paths := 0
	for _, k := range n.placed[l.first:l.end] {
		if isPathName(n.found[k].id) {
			paths++
		}
	}
	for _, k := range n.placed[l.first:l.end] {
		if n.inPlace[k] || n.hidden[k] || seen[k] >= linesOfName || paths > maxLinePaths && isPathName(n.found[k].id) {
			continue
		}
		seen[k]++
		names = append(names, k)
	}
	return names
}

// partAround returns the part of a line around a name in it.
func partAround(line, name string) string {
	at := strings.Index(line, name)
	if at < 0 {
		return line
	}
	from, to := max(0, at-pathBefore), min(len(line), at+len(name)+pathAfter)
	head, tail := line[from:at], line[at+len(name):to]
	if i := strings.IndexByte(head, ' '); from > 0 {
		head = "…" + head[i+1:]
		if i < 0 {
			head = "…"
		}
	}
	if i := strings.LastIndexByte(tail, ' '); to < len(line) {
		tail = tail[:max(0, i)] + "…"
	}
	return head + name + tail
}

// isPathName reports whether a name is that of a file.
func isPathName(name string) bool {
	if strings.IndexByte(name, '/') >= 0 {
		return true
	}
	dot := strings.LastIndexByte(name, '.')
	return dot > 0 && isFileExtension(name[dot+1:])
}

// saysMore reports whether a line has the words of more than a bare name.
func saysMore(line string) bool {
	words, inside := 0, false
	for i := 0; i < len(line); i++ {
		now := byteClass[line[i]]&(word|wide) != 0
		if now && !inside {
			if words++; words >= minLineWords {
				return true
			}
		}
		inside = now
	}
	return false
}

// isReplacedText reports whether the argument with a key is the old text of an edit.
func isReplacedText(key string) bool {
	key = strings.ToLower(key[strings.LastIndexByte(key, '.')+1:])
	return key == "old_string" || key == "oldtext" || key == "old_str" || key == "oldstring"
}

// useLikelihood returns how likely an identifier of one of n messages is to be used
// again, in no unit. A line pays for its own length, so those of its names do not count.
func (m *mention) useLikelihood(n int) float64 {
	w := float64(m.newest+1)/float64(max(1, n)) + 0.3*float64(min(m.times, 5))
	if m.said {
		w++
	}
	return w
}

// reuseLikelihood returns that likelihood in relation to the cost of the identifier
// in a list.
func (m *mention) reuseLikelihood(n int) float64 {
	return m.useLikelihood(n) / math.Sqrt(float64(len(m.id)+6))
}

// A nameLineQueue is a heap of lines: first the most gain, then the newest.
type nameLineQueue []*nameLine

func (q nameLineQueue) Len() int { return len(q) }
func (q nameLineQueue) Less(i, k int) bool {
	if q[i].gain != q[k].gain {
		return q[i].gain > q[k].gain
	}
	return q[i].order < q[k].order || q[i].order == q[k].order && q[i].text < q[k].text
}
func (q nameLineQueue) Swap(i, k int) { q[i], q[k] = q[k], q[i] }
func (q *nameLineQueue) Push(x any)   { *q = append(*q, x.(*nameLine)) }
func (q *nameLineQueue) Pop() any {
	last := len(*q) - 1
	l := (*q)[last]
	*q = (*q)[:last]
	return l
}
