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
	names   []int32 // in Names.found
	inside  []int32 // of a line of a listing: names that are the ends of its path
	order   int     // from the newest line
	gain    float64 // for its tokens, at most
	base    string  // of a line of a listing: the name of the file
	listing *listing
	taken   bool
}

// Lines returns lines of the removed messages, in at most maxTokens, for names that
// remain nowhere in their place: on a line that says something about them. Each line
// has a name that no other line has; those with the most wanted names for their length
// come first. A line that a later edit replaced is left out, and a path in a long line is
// shown with the words beside it. Lines of a listing that do not fit share one. The lines
// are in the order of the conversation.
func (n *Names) Lines(maxTokens int, count func(string) int) []string {
	p := linePicker{Names: n, left: maxTokens, count: count, shown: make([]bool, len(n.found)), listed: make([]bool, len(n.found))}
	p.worth = make([]float64, len(n.found))
	for k := range n.found {
		p.worth[k] = n.found[k].useLikelihood(n.messages)
	}
	lines := n.candidateLines()
	listings := lines.joinListings()
	p.pickLines(slices.Clone(lines))
	taken := slices.DeleteFunc(lines, func(l *nameLine) bool { return !l.taken })
	for _, g := range listings {
		if l := p.sharedLine(g); l != nil {
			taken = append(taken, l)
		}
	}
	taken = slices.DeleteFunc(taken, func(l *nameLine) bool { return !l.taken })
	slices.SortStableFunc(taken, func(a, b *nameLine) int { return b.order - a.order })
	out := make([]string, len(taken))
	for i, l := range taken {
		out[i] = l.text
	}
	return out
}

// A linePicker picks lines of names for a number of tokens.
type linePicker struct {
	*Names
	left   int // tokens
	count  func(string) int
	worth  []float64 // of each name
	shown  []bool    // names on a line that is taken
	listed []bool    // ends of the paths on lines of listings that are taken
}

// gain returns the worth of the names that l adds, for its length. The line of a listing
// adds no path that a longer one on another such line ends with.
func (p *linePicker) gain(l *nameLine) float64 {
	sum := 0.0
	for _, k := range l.names {
		if !p.shown[k] && !(l.listing != nil && p.listed[k]) {
			sum += p.worth[k]
		}
	}
	for _, k := range l.inside {
		if !p.shown[k] && !p.listed[k] {
			sum += p.worth[k]
		}
	}
	return sum / float64(len(l.text)+lineCost)
}

// pickLines takes lines of a queue.
func (p *linePicker) pickLines(queue nameLineQueue) {
	for _, l := range queue {
		l.gain = p.gain(l)
	}
	heap.Init(&queue)
	for len(queue) > 0 && p.left >= minLineTokens {
		l := queue[0]
		if now := p.gain(l); now != l.gain && now > 0 {
			l.gain = now
			heap.Fix(&queue, 0)
			continue
		} else if now > 0 {
			if size := p.count(l.text) + 1; size <= p.left {
				p.left -= size
				p.take(l)
			}
		}
		heap.Pop(&queue)
	}
}

func (p *linePicker) take(l *nameLine) {
	l.taken = true
	for _, k := range l.names {
		p.shown[k] = true
	}
	for _, k := range l.inside {
		p.listed[k] = true
	}
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
			if head, base, ok := entryOf(l.text, l.dir); ok {
				of.listing, of.base = &listing{head: head}, base
				n.eachPathInside(head+base, func(k int32) {
					if !n.inPlace[k] && !n.hidden[k] && !slices.Contains(names, k) {
						of.inside = append(of.inside, k)
					}
				})
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
