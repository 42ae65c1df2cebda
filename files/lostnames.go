package files

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

// Names are the names of removed messages, and where they remain.
type Names struct {
	messages int       // removed
	found    []mention // from the newest message to the oldest
	at       map[string]int32
	present  []bool // for each of found: it remains somewhere
	inPlace  []bool // it remains on a line that says something about it
	hidden   []bool // it is not to be shown
	unlisted []bool // it is not to be in a list: each request has it in its tools
	lines    []namedLine
	placed   []int32 // names of all lines
}

// A namedLine is a line of a removed message: its names are placed[first:end].
type namedLine struct {
	text       string
	first, end int32
	dir        string // the directory that ls listed; "" for other lines
}

// NamesOf returns the names that removed messages have. Those of kept messages remain.
// Both are in the order of the conversation.
func NamesOf(removed, kept []chat.Message) *Names {
	n := &Names{messages: len(removed), at: make(map[string]int32)}
	s := nameScan{Names: n, known: make(map[string]bool), replaced: make(map[string]bool), parameters: newParameters(), results: make(map[string][2]int)}
	for i := len(removed) - 1; i >= 0; i-- {
		s.scanMessage(removed[i], i)
	}
	n.present, n.inPlace, n.hidden, n.unlisted = make([]bool, len(n.found)), make([]bool, len(n.found)), make([]bool, len(n.found)), make([]bool, len(n.found))
	for _, m := range kept {
		for _, p := range m.Parts {
			names, texts := textsOf(p)
			s.parameters.add(names, texts)
			for _, l := range texts {
				n.markText(l.value, m.State == chat.Active)
			}
		}
	}
	s.parameters.eachWord(func(word string) {
		if k, ok := n.at[word]; ok {
			n.unlisted[k] = true
		}
	})
	return n
}

// MarkShown notes the names of a text that remains. verbatim reports whether its lines
// are those of messages; a line of other text with many names is a list.
func (n *Names) MarkShown(text string, verbatim bool) { n.markText(text, verbatim) }

// Hide removes names from all that is shown.
func (n *Names) Hide(names map[string]bool) {
	for name := range names {
		if k, ok := n.at[name]; ok {
			n.hidden[k] = true
		}
	}
}

func (n *Names) markText(text string, verbatim bool) {
	var found []int32
	for line := range strings.SplitSeq(text, "\n") {
		found = found[:0]
		names, paths := 0, 0
		eachListedName(line, false, func(name string) {
			names++
			if isPathName(name) {
				paths++
			}
			if k, ok := n.at[name]; ok {
				n.present[k] = true
				found = append(found, k)
			}
		})
		if len(found) == 0 || !verbatim && names > maxListNames || !saysMore(line) {
			continue
		}
		for _, k := range found {
			n.inPlace[k] = n.inPlace[k] || paths <= maxLinePaths || !isPathName(n.found[k].id)
		}
	}
}

// List returns the names that remain nowhere, the most wanted first, as many as fit
// into maxTokens if they are joined by blanks. Wanted are names that the assistant
// itself used, that many messages have, that were used lately, and short ones.
func (n *Names) List(maxTokens int, count func(string) int) []string {
	var lost []mention
	for k, m := range n.found {
		if !n.present[k] && !n.hidden[k] && !n.unlisted[k] && isListable(m.id) {
			lost = append(lost, m)
		}
	}
	for i := range lost {
		lost[i].worth = lost[i].reuseLikelihood(n.messages)
	}
	slices.SortStableFunc(lost, func(a, b mention) int { return cmp.Compare(b.worth, a.worth) })
	out := make([]string, len(lost))
	for i, m := range lost {
		out[i] = m.id
	}
	return identifiersWithin(out, maxTokens, count)
}

// A nameScan reads removed messages, the newest first.
type nameScan struct {
	*Names
	known      map[string]bool // lines
	replaced   map[string]bool // lines that a newer edit replaced
	parameters parameters
	results    map[string][2]int // lines of the results whose calls are not read yet, by id
}

func (s *nameScan) scanMessage(m chat.Message, i int) {
	of := lineSource{message: i, said: m.Role == chat.Assistant, verbatim: m.State == chat.Active}
	for k := len(m.Parts) - 1; k >= 0; k-- {
		names, texts := textsOf(m.Parts[k])
		s.parameters.add(names, texts)
		replaces, first := false, len(s.lines)
		of.prose = m.Parts[k].Kind != chat.Call && m.Parts[k].Kind != chat.ServerCall
		for _, l := range texts {
			old := isReplacedText(l.key)
			replaces = replaces || old
			of.current = !old
			for line := range strings.SplitSeq(l.value, "\n") {
				s.scanLine(strings.TrimSpace(line), of)
			}
		}
		slices.Reverse(s.lines[first:])
		s.linkListing(m.Parts[k], first)
		for _, l := range texts {
			if replaces && isReplacedText(l.key) {
				for line := range strings.SplitSeq(l.value, "\n") {
					s.replaced[strings.TrimSpace(line)] = true
				}
			}
		}
	}
}

// linkListing notes which directory the lines of a result list, if its call says so. The
// lines of p begin at first.
func (s *nameScan) linkListing(p chat.Part, first int) {
	switch p.Kind {
	case chat.Result:
		s.results[p.ID] = [2]int{first, len(s.lines)}
	case chat.Call:
		lines, ok := s.results[p.ID]
		if delete(s.results, p.ID); !ok || lines[0] == lines[1] {
			return
		}
		if dir := listedDirectory(p); dir != "" {
			for i := range s.lines[lines[0]:lines[1]] {
				s.lines[lines[0]+i].dir = dir
			}
		}
	}
}

// A lineSource is what a line is a part of.
type lineSource struct {
	message  int
	said     bool // by the assistant
	prose    bool // not an argument of a call
	current  bool // no edit replaces it
	verbatim bool // no round has changed its message
}

// scanLine notes the names of a line, and the line if it can be shown.
func (s *nameScan) scanLine(line string, of lineSource) {
	first := int32(len(s.placed))
	eachListedName(line, of.prose, func(name string) {
		if len(name) > longestName {
			return
		}
		k, seen := s.at[name]
		if !seen {
			k = int32(len(s.found))
			s.at[name] = k
			s.found = append(s.found, mention{id: name, last: of.message, newest: of.message})
		}
		s.found[k].addMention(of.message, of.said)
		if !slices.Contains(s.placed[first:], k) {
			s.placed = append(s.placed, k)
		}
	})
	if int32(len(s.placed)) == first {
		return
	}
	list := !of.verbatim && (len(s.placed)-int(first) > maxListNames || IsLedgerLine(line) || strings.HasPrefix(line, markerNames))
	if !of.current || list || !showableLine(line) || s.known[line] || s.replaced[line] {
		s.placed = s.placed[:first]
		return
	}
	s.known[line] = true
	s.lines = append(s.lines, namedLine{text: line, first: first, end: int32(len(s.placed))})
}

// markerNames begins the line of a marker that lists names.
const markerNames = "names: "

// showableLine reports whether a line can be shown apart from its message. One that
// begins as a heading or a marker could be read as a part of the summary.
func showableLine(line string) bool {
	return len(line) >= minNameLine && line[0] != '#' && line[0] != '[' && saysMore(line)
}
