package summarize

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
)

// Extractive is the built-in summarizer: it fills the sections of each
// strategy with what the messages themselves say, without any model.
type Extractive struct{}

// defaultTokens is the limit where a request sets none.
const defaultTokens = 1024

// Summarize implements [Summarizer]. The text has at most r.MaxTokens tokens
// less those of r.Facts, but at least half of r.MaxTokens to itself; where no
// limit is set, 1,024. It passes [Verify] unchanged. Messages in which there
// is nothing to say give a text that says so. Its time is linear in the
// messages.
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
	limit = max(limit/2, limit-r.count(r.Facts))
	e := extract{notes: notesOf(r.Messages), told: linesOf(r.Facts)}
	text := e.write(strategy, r, limit)
	if ctx.Err() != nil {
		return "", fmt.Errorf("extract summary: %w", ctx.Err())
	}
	if text, _ = Verify(text, r); text != "" {
		return text, nil
	}
	return nothing, nil
}

const nothing = "No request, decision or action stands in these messages."

// An extract is what one summary is written from.
type extract struct {
	*notes
	told map[string]bool // lines of the facts section
}

// linesOf returns the lines of a facts section.
func linesOf(facts string) map[string]bool {
	lines := make(map[string]bool)
	for l := range strings.SplitSeq(facts, "\n") {
		lines[l] = true
	}
	return lines
}

func (e extract) write(s Strategy, r Request, limit int) string {
	var sections []section
	switch s {
	case DecisionLog:
		sections = e.decisionLog()
	case CodeDelta:
		sections = e.codeDelta()
	case Brief:
		sections = e.brief()
	default:
		sections = e.taskState(r)
	}
	previous, _, _ := Split(r.Previous)
	return fill(withCarried(sections, previous), limit, r.count)
}

// withCarried adds the lines of a former summary to the sections they stood
// in, and the rest to one of their own at the beginning.
func withCarried(sections []section, previous string) []section {
	if strings.TrimSpace(previous) == "" {
		return sections
	}
	var titles []string
	for _, s := range sections {
		titles = append(titles, s.title)
	}
	old := carried(previous, titles)
	seen := make(map[string]bool)
	for i := range sections {
		for _, l := range sections[i].lines {
			seen[l.text] = true
		}
		lines := appendUnseen(sections[i].lines, old[sections[i].title], seen)
		if n := len(sections[i].lines); i == 0 && len(lines) > n {
			lines = slices.Concat(lines[n:n+1], lines[:n], lines[n+1:]) // the task, as it was first said
		}
		sections[i].lines = lines
	}
	if rest := appendUnseen(nil, old[earlier], seen); len(rest) > 0 {
		title := earlier
		if len(sections) > 0 && sections[0].title == "" {
			title = ""
		}
		sections = append([]section{{title: title, share: 0.25, lines: rest, old: true}}, sections...)
	}
	return sections
}

func appendUnseen(lines, more []line, seen map[string]bool) []line {
	for _, l := range more {
		if !seen[l.text] {
			seen[l.text] = true
			lines = append(lines, l)
		}
	}
	return lines
}

// ranked returns the notes of a kind that satisfy keep, the best first: by
// weight and recency.
func (e extract) ranked(k kind, keep func(*note) bool) []*note {
	found := slices.DeleteFunc(e.of(k), func(n *note) bool { return n.weight < 0 || keep != nil && !keep(n) })
	slices.SortStableFunc(found, func(a, b *note) int {
		return cmp.Compare(e.rank(b), e.rank(a))
	})
	return found
}

func (e extract) rank(n *note) float64 {
	return n.weight + 2*e.recency(n) + 0.2*float64(min(n.times, 4))
}

// untold reports whether the facts section does not say n already.
func (e extract) untold(n *note) bool { return !e.told["- "+n.factLine()] }

// asLines writes notes as list items, with short ids as their source.
func asLines(notes []*note, write func(*note) string) []line {
	var lines []line
	for _, n := range notes {
		lines = append(lines, line{"- " + write(n) + sourceMark(n.id), n.last})
	}
	return lines
}

// longestMark is up to which length an id is shown beside each line.
const longestMark = 6

func sourceMark(id string) string {
	if id == "" || len(id) > longestMark || strings.ContainsAny(id, " \n\"`") {
		return ""
	}
	return " (" + id + ")"
}
