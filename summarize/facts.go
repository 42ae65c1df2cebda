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
		{detail, "Details:", 0.9},
		{changed, "Files changed:", 1.2},
		{read, "Files read:", 0.1},
		{command, "Commands and how they ended:", 0.5},
		{todo, "Open todos:", 1.1},
		{done, "Done todos:", 0.4},
		{failure, "Last errors:", 1.1},
		{picture, "Images:", 1.1},
	}
}

// A fact is a line of the facts section with its weight.
type fact struct {
	kind  itemKind
	line  string
	short string // if the line is too long
	whole string // of a request: with all its words
	end   string // of a request: its outcome, which line and whole end with
	order int    // position among its kind
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
	n := collectItems(messages, previous)
	n.removeInvented(messages)
	return n.fitFacts(maxTokens, tokenCounter(count))
}

// fitFacts returns the facts that fit, as a facts section.
func (n *itemList) fitFacts(maxTokens int, count func(string) int) string {
	if maxTokens <= 0 {
		return ""
	}
	facts := n.listFacts()
	slices.SortStableFunc(facts, func(a, b *fact) int { return cmp.Compare(b.score, a.score) })
	kept, used := facts[:0], 0
	for _, f := range facts {
		if size := max(0, count(f.whole)) + 1; f.whole != "" && size <= (maxTokens-used)/4 {
			f.line = f.whole
		}
		f.size = min(max(0, count(f.line)), maxTokens) + 1
		if used+f.size > maxTokens && f.short != "" {
			f.line = f.short
			f.size = min(max(0, count(f.line)), maxTokens) + 1
		}
		if used+f.size > maxTokens {
			if f.size < maxTokens/8 {
				break // full; the rest weighs less
			}
			continue
		}
		used += f.size
		kept = append(kept, f)
	}
	kept = withoutToldDecisions(kept)
	for {
		text := renderFacts(kept)
		if len(kept) == 0 {
			return "" // even if the empty text is more than maxTokens
		}
		over := count(text) - maxTokens
		if over <= 0 {
			return wholeRequests(kept, text, maxTokens, count)
		}
		for over > 0 && len(kept) > 0 { // the headings
			last := kept[len(kept)-1]
			over -= last.size
			if last.short == "" || last.line == last.short {
				kept = kept[:len(kept)-1]
				continue
			}
			last.line = last.short
			last.size = min(max(0, count(last.line)), maxTokens) + 1
			over += last.size
		}
	}
}

// wholeRequests returns text, the rendered facts, with the requests of finished turns in
// full as far as there is room for them; facts are in the order of their scores.
func wholeRequests(facts []*fact, text string, maxTokens int, count func(string) int) string {
	spare := maxTokens - count(text)
	for _, f := range facts {
		if f.whole == "" || f.whole == f.line {
			continue
		}
		if more := max(0, count(f.whole)) + 1 - f.size; more <= spare {
			spare -= more
			f.line = f.whole
		}
	}
	if whole := renderFacts(facts); count(whole) <= maxTokens {
		return whole
	}
	return text
}

// withoutToldDecisions drops decisions that a request says, and outcomes of requests
// that a decision says.
func withoutToldDecisions(facts []*fact) []*fact {
	var asked, decided strings.Builder
	for _, f := range facts {
		switch f.kind {
		case request:
			asked.WriteString(cmp.Or(f.short, f.line) + "\n")
		case decision:
			decided.WriteString(f.line + "\n")
		}
	}
	for _, f := range facts {
		if f.end != "" && strings.Contains(decided.String(), strings.TrimSuffix(f.end, "…")) {
			f.line, f.whole = strings.TrimSuffix(f.line, arrow+f.end), strings.TrimSuffix(f.whole, arrow+f.end)
		}
	}
	said := asked.String()
	return slices.DeleteFunc(facts, func(f *fact) bool { return f.kind == decision && strings.Contains(said, f.line[2:]) })
}

// addFormerFacts adds the facts of a former summary, before those of any message.
func (w *messageScanner) addFormerFacts(previous string) {
	if _, facts, _ := Split(previous); facts != "" {
		previous = facts
	}
	var now *factKind
	folder, kinds := "", factKinds()
	lines := strings.Split(previous, "\n")
	for i, line := range lines {
		heading := slices.IndexFunc(kinds, func(k factKind) bool {
			in, ok := k.readHeading(strings.TrimSpace(line))
			if ok {
				folder = in
			}
			return ok
		})
		if heading >= 0 {
			now = &kinds[heading]
			continue
		}
		item, ok := strings.CutPrefix(line, "- ")
		if !ok || now == nil {
			continue
		}
		w.addFormerFact(now.kind, inFolder(folder, item), i-len(lines))
	}
}

// inFolder returns a line about a file with its whole path.
func inFolder(folder, item string) string {
	if strings.HasPrefix(item, "/") {
		return item
	}
	return folder + item
}

// addFormerFact adds one line of a former facts section, with a negative index.
func (w *messageScanner) addFormerFact(k itemKind, item string, at int) {
	key, end := item, ""
	x := summaryItem{kind: k, text: item, last: at, weight: 1}
	switch k {
	case todo, done:
		w.tasks = append(w.tasks, todoEntry{text: item, done: k == done})
		w.planAt = at
		return
	case changed, command, request:
		key, end, _ = strings.Cut(item, arrow)
		x.text, x.end = key, end
		if k == command && end == runsOnLine {
			w.running = &action{kind: runs, object: key}
		}
		x.failed = k == command && strings.HasPrefix(end, "failed")
	case rule:
		key, end, _ = strings.Cut(item, laterMark)
		x.text, x.end, x.passing = key, end, isForNow(paddedLower(key))
	case failure:
		var ending string
		key, ending, _ = strings.Cut(item, arrow)
		x.open, x.ran = failureOf(key, outcome{tests: testsOfEnding(ending), line: ending}, ""), commandItemKey(key)
		key = callKey(key)
	case decision:
		x.weight, x.passing = firmWeight, isFinding(paddedLower(item))
	}
	x.key = itemKeyText(k, key)
	if k == failure {
		x.key = key
	}
	switch n := w.putItem(x); k {
	case failure:
		w.addFailure(n)
	case decision:
		w.followDecision(n)
	case rule:
		w.mergeRule(n)
	}
}

// testsOfEnding returns the names of tests in the outcome of a command in a former
// summary.
func testsOfEnding(ending string) (tests []string) {
	names, ok := strings.CutPrefix(ending, "failed: ")
	if !ok {
		return nil
	}
	for name := range strings.SplitSeq(names, ", ") {
		word, _, more := strings.Cut(name, ": ")
		if strings.Contains(word, " ") || !containsAny(word, "Test", "test", "::", "spec") {
			return tests
		}
		if tests = append(tests, strings.TrimSuffix(word, ":")); more {
			return tests
		}
	}
	return tests
}

// arrow separates an action from its outcome.
const arrow = " → "

// laterMark separates a rule from what the user said of it later.
const laterMark = " — changed later: "

// listFacts returns all facts with their scores.
func (n *itemList) listFacts() []*fact {
	var facts []*fact
	errors := n.listedErrors()
	for _, k := range factKinds() {
		for i, x := range n.itemsOfKind(k.kind) {
			said := k.kind == command && errors[x]
			if x.weight < 0 || x.weight == 0 && k.kind == command || said || k.kind == read && n.at[itemKey{changed, x.key}] != nil || k.kind == decision && !n.isFirmDecision(x) {
				continue // fixed, listed among the errors, or not firm
			}
			if k.kind == request && n.asked != nil && x != n.asked && x.end == "" && n.isRule(x) {
				continue // it is only that
			}
			f := &fact{kind: k.kind, line: "- " + x.factLine(), order: i}
			if k.kind == request {
				f.short, f.whole, f.end = "- "+x.requestText(), "- "+joinOutcome(x.text, x.end), x.end
				if !x.brief {
					f.line = f.whole
				}
			}
			f.score = k.weight + n.itemRecency(x) + 0.15*float64(min(x.times, 4)-1) + n.itemWeight(x, i)
			facts = append(facts, f)
		}
	}
	return facts
}

// listedErrors returns the commands whose last run is listed among the errors.
func (n *itemList) listedErrors() map[*summaryItem]bool {
	listed := make(map[*summaryItem]bool)
	for _, x := range n.list {
		if x.kind == failure && x.weight >= 0 {
			if ran := n.at[itemKey{command, x.ran}]; ran != nil && ran.failed {
				listed[ran] = true
			}
		}
	}
	return listed
}

// isRule reports whether a rule says the same as x.
func (n *itemList) isRule(x *summaryItem) bool {
	same := n.at[itemKey{rule, x.key}]
	return same != nil && same.weight >= 0
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
	case x.kind == request && x.corrects:
		return 1.5
	case x.kind == request:
		return x.weight - 1
	case x.kind == rule:
		return 1.5 * (x.weight - 1)
	case x.kind == decision && x.weight >= userWeight:
		return 0.8
	case x.kind == decision:
		return 0.05 * (x.weight - firmWeight)
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
		if names := declared(x.names); len(names) > 0 {
			return x.text + arrow + strings.Join(names, ", ")
		}
		if len(x.names) == 0 && x.last < 0 && x.end != "" {
			return x.text + arrow + x.end
		}
	case command:
		if x.end != "" {
			return x.text + arrow + x.end
		}
	case request:
		return joinOutcome(x.requestText(), x.end)
	case rule:
		if x.end != "" {
			return x.text + laterMark + x.end
		}
	}
	return x.text
}

// requestText returns the beginning of a request, less of it if its turn is over.
func (x *summaryItem) requestText() string {
	most := shortLen
	if x.brief {
		most = doneLen
	}
	if len(x.text) > most+len("…") {
		return clipLine(x.text, most)
	}
	return x.text
}

// joinOutcome returns an action with its outcome, if there is one.
func joinOutcome(what, end string) string {
	if end == "" {
		return what
	}
	return what + arrow + end
}

// declared returns the names among what represents the changes of a file: the rest is
// lines of code.
func declared(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return strings.ContainsFunc(name, func(r rune) bool { return !isWordRune(r) })
	})
}

// renderFacts writes facts under their headings, each part in order of mention. The
// folder that the files of a part share is in its heading.
func renderFacts(facts []*fact) string {
	var b strings.Builder
	for _, k := range factKinds() {
		var part []*fact
		for _, f := range facts {
			if f.kind == k.kind {
				part = append(part, f)
			}
		}
		if len(part) == 0 {
			continue
		}
		slices.SortFunc(part, func(a, b *fact) int { return cmp.Compare(a.order, b.order) })
		folder := ""
		if k.kind == changed || k.kind == read {
			folder = sharedFolder(part)
		}
		b.WriteString(k.headingFor(folder) + "\n")
		for _, f := range part {
			b.WriteString("- " + strings.TrimPrefix(f.line[2:], folder) + "\n")
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// headingFor returns the heading of a part whose files are in folder.
func (k factKind) headingFor(folder string) string {
	if folder == "" {
		return k.title
	}
	return strings.TrimSuffix(k.title, ":") + " in " + folder + ":"
}

// readHeading reports whether line is the heading of k, and the folder in it.
func (k factKind) readHeading(line string) (folder string, ok bool) {
	if line == k.title {
		return "", true
	}
	folder, ok = strings.CutPrefix(line, strings.TrimSuffix(k.title, ":")+" in ")
	return strings.TrimSuffix(folder, ":"), ok && (k.kind == changed || k.kind == read) && strings.HasSuffix(folder, "/:")
}

// Limits from which files share the folder in their heading.
const minFolderFiles, minFolderBytes = 3, 16

// sharedFolder returns the deepest folder of most files in part, "" if it is too short
// to be worth a heading. All others must have absolute paths, so that they are not
// read as in it.
func sharedFolder(part []*fact) string {
	within := make(map[string]int)
	best := ""
	for _, f := range part {
		path, _, _ := strings.Cut(f.line[2:], arrow)
		if !strings.HasPrefix(path, "/") {
			return ""
		}
		for at := strings.LastIndexByte(path, '/'); at >= minFolderBytes; at = strings.LastIndexByte(path[:at], '/') {
			folder := path[:at+1]
			if within[folder]++; within[folder] == max(minFolderFiles, (3*len(part)+3)/4) && len(folder) > len(best) {
				best = folder
			}
		}
	}
	if strings.Contains(best, ": ") {
		return ""
	}
	return best
}
