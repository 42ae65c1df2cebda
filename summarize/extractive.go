package summarize

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
)

// Extractive is the built-in summarizer: it fills the sections of each strategy
// with sentences of the messages, without any model.
type Extractive struct{}

// defaultTokens is the limit if a request sets none.
const defaultTokens = 1024

// Summarize implements [Summarizer]. The text has at most r.MaxTokens tokens less
// those of r.Facts, but at least half of r.MaxTokens; without a limit, 1,024. It
// passes [Verify] unchanged. If the messages contain nothing of note, the text says
// so. Its time is linear in the messages.
func (Extractive) Summarize(ctx context.Context, r Request) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", fmt.Errorf("extract summary: %w", err)
	}
	strategy, err := ParseStrategy(string(r.Strategy))
	if err != nil {
		return "", fmt.Errorf("extract summary: %w", err)
	}
	limit := r.MaxTokens
	if limit <= 0 {
		limit = defaultTokens
	}
	limit = max(limit/2, limit-r.countTokens(r.Facts))
	e := extraction{itemList: itemsOf(r, strategy), told: factLines(r.Facts), facts: r.Facts}
	e.removeInvented(r.Messages)
	text := e.writeSections(strategy, r, limit)
	if ctx.Err() != nil {
		return "", fmt.Errorf("extract summary: %w", ctx.Err())
	}
	if text, _ = Verify(text, r); text != "" {
		return text, nil
	}
	if r.Facts != "" && (strategy == TaskState || strategy == CodeDelta) {
		if r.countTokens(opening) > limit {
			return shortOpening, nil
		}
		return opening, nil // of the facts
	}
	return nothingFound, nil
}

// itemsOf returns the items from which a summary is written: those of the record, if
// there is one, without what stays beside the summary. A decision log is a log: it
// grows by the steps of the messages.
func itemsOf(r Request, s Strategy) *itemList {
	if r.Work == nil || s == DecisionLog {
		return collectItems(r.Messages, "")
	}
	n := r.Work.snapshot()
	if r.Stays != nil {
		n.removeStaying(r.Stays)
	}
	return n
}

// carried returns what a summary repeats of the former one: nothing of a summary that
// was written from the record, because the record knows how each thing is now.
func carried(r Request, s Strategy) string {
	previous, _, _ := Split(r.Previous)
	rest, sections := withoutOpening(previous)
	if r.Work != nil && s != DecisionLog && (sections || strings.HasPrefix(previous, briefOpening)) {
		return ""
	}
	return rest
}

const nothingFound = "These messages contain no request, decision or action."

// An extract is the source of one summary.
type extraction struct {
	*itemList
	told  map[string]bool // lines of the facts section
	facts string          // the facts section
}

// factLines returns the lines of a facts section, with whole paths.
func factLines(facts string) map[string]bool {
	lines, folder := make(map[string]bool), ""
	for l := range strings.SplitSeq(facts, "\n") {
		for _, k := range factKinds() {
			if in, ok := k.readHeading(l); ok {
				folder = in
			}
		}
		if item, ok := strings.CutPrefix(l, "- "); ok {
			lines["- "+inFolder(folder, item)] = true
		}
	}
	return lines
}

func (e extraction) writeSections(s Strategy, r Request, limit int) string {
	var sections []section
	switch s {
	case DecisionLog:
		sections = e.decisionLog()
	case CodeDelta:
		sections = e.codeDelta()
	case Brief:
		sections = e.briefSections()
	default:
		sections = e.taskState()
	}
	head := ""
	if s == TaskState || s == CodeDelta || s == "" {
		head = opening + "\n"
	}
	sections = withCarried(sections, carried(r, s))
	text := fillSections(sections, limit-r.countTokens(head), r.countTokens)
	if text == "" {
		return ""
	}
	return head + text
}

// withCarried adds the lines of a former summary to their old sections, and the
// rest to a section of their own at the beginning.
func withCarried(sections []section, previous string) []section {
	if strings.TrimSpace(previous) == "" {
		return sections
	}
	var titles []string
	for _, s := range sections {
		titles = append(titles, s.title)
	}
	old := formerLines(previous, titles)
	seen := make(map[string]bool)
	for i := range sections {
		for _, l := range sections[i].lines {
			seen[l.text] = true
		}
		lines := appendUnseen(sections[i].lines, old[sections[i].title], seen)
		if n := len(sections[i].lines); i == 0 && len(lines) > n {
			lines = slices.Concat(lines[n:n+1], lines[:n], lines[n+1:]) // the task in its first wording
		}
		sections[i].lines = lines
	}
	if rest := appendUnseen(nil, old[earlierTitle], seen); len(rest) > 0 {
		title := earlierTitle
		if len(sections) > 0 && sections[0].title == "" {
			title = ""
		}
		sections = append([]section{{title: title, share: 0.25, lines: rest, old: true}}, sections...)
	}
	return sections
}

func appendUnseen(lines, more []sectionLine, seen map[string]bool) []sectionLine {
	for _, l := range more {
		if !seen[l.text] {
			seen[l.text] = true
			lines = append(lines, l)
		}
	}
	return lines
}

// rankedItems returns the items of a kind that satisfy keep, the best first: by
// weight and recency.
func (e extraction) rankedItems(k itemKind, keep func(*summaryItem) bool) []*summaryItem {
	found := slices.DeleteFunc(e.itemsOfKind(k), func(n *summaryItem) bool { return n.weight < 0 || keep != nil && !keep(n) })
	slices.SortStableFunc(found, func(a, b *summaryItem) int {
		return cmp.Compare(e.itemRank(b), e.itemRank(a))
	})
	return found
}

func (e extraction) itemRank(n *summaryItem) float64 {
	return n.weight + 2*e.itemRecency(n) + 0.2*float64(min(n.times, 4))
}

// notInFacts reports whether the facts section lacks n.
func (e extraction) notInFacts(n *summaryItem) bool {
	return !e.told["- "+n.factLine()] && !e.told["- "+n.text] && !e.told["- "+n.requestText()] && !e.told["- "+joinOutcome(n.text, n.end)] && (n.kind != decision || !strings.Contains(e.facts, n.text))
}

// listLines writes items as list items.
func listLines(notes []*summaryItem, write func(*summaryItem) string) []sectionLine {
	var lines []sectionLine
	for _, n := range notes {
		lines = append(lines, sectionLine{"- " + write(n), n.last})
	}
	return lines
}
