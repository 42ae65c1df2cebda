package summarize

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

// A factKind is a part of the facts section: its kind of item, its heading, and the
// weight of its lines beside those of other parts.
type factKind struct {
	kind   itemKind
	title  string
	weight float64
}

// factKinds returns the parts of the facts section in order. The headings are read
// back from former summaries.
func factKinds() []factKind {
	return []factKind{
		{request, "Asked by the user:", 0.9},
		{rule, "Rules:", 2.2},
		{decision, "Decided:", 0.3},
		{detail, "Details:", 1},
		{changed, "Files changed:", 1.2},
		{read, "Files read:", 0.1},
		{command, "Commands and how they ended:", 0.5},
		{failure, "Last errors:", 1.1},
		{todo, "Open todos:", 1.1},
		{picture, "Images:", 0.6},
	}
}

// A fact is a line of the facts section with its weight.
type fact struct {
	kind  itemKind
	line  string
	order int // position among its kind
	score float64
	size  int
}

// FactsOf returns the facts that the messages state clearly, without a model:
// requests, rules (must, never, always, don't), decisions, values, files changed
// and read, commands and their outcomes, current errors, open todos. previous is
// the facts section of the former summary; its lines are carried over. If not
// everything fits into maxTokens, the oldest and least often mentioned facts go
// first; rules and requests go last. The result has at most maxTokens tokens,
// counted by count, and is empty if nothing fits, whatever count returns for the
// empty text. Its time is linear in the messages.
func FactsOf(messages []chat.Message, previous string, maxTokens int, count func(string) int) string {
	if maxTokens <= 0 {
		return ""
	}
	count = tokenCounter(count)
	n := collectItems(messages)
	n.addFormerFacts(previous)
	n.removeInvented(messages)
	facts := n.listFacts()
	slices.SortStableFunc(facts, func(a, b *fact) int { return cmp.Compare(b.score, a.score) })
	kept, used := facts[:0], 0
	for _, f := range facts {
		f.size = min(max(0, count(f.line)), maxTokens) + 1
		if used+f.size > maxTokens {
			if f.size < maxTokens/8 {
				break // full; the rest weighs less
			}
			continue
		}
		used += f.size
		kept = append(kept, f)
	}
	for {
		text := renderFacts(kept)
		if len(kept) == 0 {
			return "" // even if the empty text is more than maxTokens
		}
		over := count(text) - maxTokens
		if over <= 0 {
			return text
		}
		for over > 0 && len(kept) > 0 { // the headings
			over -= kept[len(kept)-1].size
			kept = kept[:len(kept)-1]
		}
	}
}

// addFormerFacts adds the facts of a former summary, as older than all others.
func (n *itemList) addFormerFacts(previous string) {
	if _, facts, _ := Split(previous); facts != "" {
		previous = facts
	}
	var now *factKind
	kinds := factKinds()
	lines := strings.Split(previous, "\n")
	for i, line := range lines {
		if at := slices.IndexFunc(kinds, func(k factKind) bool { return k.title == strings.TrimSpace(line) }); at >= 0 {
			now = &kinds[at]
			continue
		}
		item, ok := strings.CutPrefix(line, "- ")
		if !ok || now == nil {
			continue
		}
		n.addFormerFact(now.kind, item, i-len(lines))
	}
}

// addFormerFact adds one line of a former facts section, with a negative index.
func (n *itemList) addFormerFact(k itemKind, item string, at int) {
	key, end := item, ""
	switch k {
	case changed, command, request:
		key, end, _ = strings.Cut(item, arrow)
	case failure:
		key, _, _ = strings.Cut(item, arrow)
		key = callKey(key)
		if old := n.at[itemKey{command, key}]; old != nil && !old.failed {
			return // it has succeeded since
		}
		if n.green > 0 && strings.Contains(key, "test") {
			return // superseded by another test run
		}
	}
	if old := n.at[itemKey{k, itemKeyText(k, key)}]; old != nil {
		old.first, old.times = at, old.times+1
		return
	}
	weight := 1.0
	switch {
	case k == command && onlyExplores(key):
		weight = 0
	case k == decision:
		weight = firmWeight
	}
	text := key
	if k == failure {
		text = item
	}
	n.putItem(summaryItem{kind: k, text: text, key: itemKeyText(k, key), last: at, weight: weight, end: end})
}

// arrow separates an action from its outcome.
const arrow = " → "

// listFacts returns all facts with their scores.
func (n *itemList) listFacts() []*fact {
	var facts []*fact
	errors := make(map[string]bool)
	for _, x := range n.itemsOfKind(failure) {
		errors[x.text] = x.weight >= 0
	}
	for _, k := range factKinds() {
		for i, x := range n.itemsOfKind(k.kind) {
			said := k.kind == command && errors[x.factLine()]
			if x.weight < 0 || said || k.kind == decision && !n.isFirmDecision(x) {
				continue // fixed, listed among the errors, or not firm
			}
			f := &fact{kind: k.kind, line: "- " + x.factLine(), order: i}
			f.score = k.weight + n.itemRecency(x) + 0.15*float64(min(x.times, 4)-1) + n.itemWeight(x, i)
			facts = append(facts, f)
		}
	}
	return facts
}

// isFirmDecision reports whether a decision is firm and neither a rule nor a todo.
func (n *itemList) isFirmDecision(x *summaryItem) bool {
	return x.weight >= firmWeight && n.at[itemKey{rule, x.key}] == nil && n.at[itemKey{todo, x.key}] == nil
}

// itemWeight returns the weight of an item among its kind.
func (n *itemList) itemWeight(x *summaryItem, i int) float64 {
	switch {
	case x.kind == request && i == 0:
		return 1.2 // it states the task
	case x.kind == request:
		return x.weight - 1
	case x.kind == rule:
		return 1.5 * (x.weight - 1)
	case x.kind == decision:
		return 0.05 * (min(x.weight, 2*firmWeight) - firmWeight)
	case x.kind == command || x.kind == failure || x.kind == todo:
		return x.weight - 1
	}
	return 0
}

// itemRecency returns 0 for the first mention, 1 for the last; items carried from a
// former summary share the lower third.
func (n *itemList) itemRecency(x *summaryItem) float64 {
	if x.last < 0 {
		return 0.3 / float64(-x.last)
	}
	return 0.3 + 0.7*float64(x.last+1)/float64(max(1, n.span))
}

// factLine returns the line of an item in the facts section.
func (x *summaryItem) factLine() string {
	switch x.kind {
	case changed:
		if len(x.names) > 0 && !strings.Contains(x.names[0], " ") {
			return x.text + arrow + strings.Join(x.names, ", ")
		}
		if len(x.names) == 0 && x.last < 0 && x.end != "" {
			return x.text + arrow + x.end
		}
	case command:
		if x.end != "" {
			return x.text + arrow + x.end
		}
	case request:
		if x.last < 0 && x.end != "" {
			return x.text + arrow + x.end
		}
	}
	return x.text
}

// renderFacts writes facts under their headings, each part in order of mention.
func renderFacts(facts []*fact) string {
	var b strings.Builder
	for _, k := range factKinds() {
		var part []*fact
		for _, f := range facts {
			if f.kind == k.kind {
				part = append(part, f)
			}
		}
		slices.SortFunc(part, func(a, b *fact) int { return cmp.Compare(a.order, b.order) })
		for i, f := range part {
			if i == 0 {
				b.WriteString(k.title + "\n")
			}
			b.WriteString(f.line + "\n")
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}
