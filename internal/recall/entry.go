package recall

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
)

// An Entry is what a recall id stands for, with every message as it was before any
// compaction, if the archive has it so.
type Entry struct {
	ID       string
	Text     string // removed text that is less than a message
	Messages []Message
	// Missing are ids of further text that cannot be read.
	Missing []string
}

// A Message is a removed message.
type Message struct {
	Number int // in the session, from 1; 0 if that is unknown
	chat.Message
	Title  string
	Failed bool
}

// maxExpanded is the number of ids that are followed from an entry.
const maxExpanded = 500

// Expand returns the entry with the text that its outlines, markers and summaries stand
// for, in place of them. recall returns the entry of another id; numbers may be nil.
func Expand(ctx context.Context, e archive.Entry, recall func(ctx context.Context, id string) (archive.Entry, error), numbers func(id string) int) (Entry, error) {
	x := expander{recall: recall, entries: map[string]archive.Entry{e.ID: e}, originals: make(map[string]chat.Message), seen: make(map[string]bool), out: Entry{ID: e.ID, Text: e.Text}}
	if err := x.read(ctx, e); err != nil {
		return Entry{}, err
	}
	x.expand(e, map[string]bool{e.ID: true})
	var t archive.Step
	for _, m := range x.out.Messages {
		t.Removed = append(t.Removed, archive.Entry{Messages: []chat.Message{m.Message}})
	}
	calls := callsOf(t)
	for i := range x.out.Messages {
		m := &x.out.Messages[i]
		if numbers != nil {
			m.Number = numbers(m.ID)
		}
		c, failed := calledBy(m.Message, calls)
		h := Hit{Message: m.Number, Role: m.Role, Tool: c.tool, Args: c.args, File: c.file, Failed: failed, Parts: 1}
		m.Title, m.Failed = h.title(), failed
	}
	if numbers != nil {
		slices.SortStableFunc(x.out.Messages, func(a, b Message) int {
			if a.Number == 0 || b.Number == 0 {
				return 0
			}
			return a.Number - b.Number
		})
	}
	return x.out, nil
}

type expander struct {
	recall    func(ctx context.Context, id string) (archive.Entry, error)
	entries   map[string]archive.Entry
	originals map[string]chat.Message // by id
	seen      map[string]bool         // ids of messages in out
	out       Entry
}

// read reads the entries below e, and those below them.
func (x *expander) read(ctx context.Context, e archive.Entry) error {
	todo := []archive.Entry{e}
	for len(todo) > 0 {
		e, todo = todo[0], todo[1:]
		for _, m := range e.Messages {
			if _, there := x.originals[m.ID]; m.State == chat.Active && !there {
				x.originals[m.ID] = m
			}
		}
		for _, id := range e.Below {
			if _, there := x.entries[id]; there || len(x.entries) >= maxExpanded {
				continue
			}
			below, err := x.recall(ctx, id)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				x.out.Missing = append(x.out.Missing, id)
				continue
			}
			x.entries[id] = below
			todo = append(todo, below)
		}
	}
	return nil
}

// expand appends the messages of e. path holds the ids of the entries that e is
// nested in.
func (x *expander) expand(e archive.Entry, path map[string]bool) {
	for _, m := range e.Messages {
		original, there := x.originals[m.ID]
		inner, stands := x.entries[m.Recall]
		switch {
		case there && m.State != chat.Active:
			x.append(original)
		case m.State != chat.Active && stands && !path[m.Recall]:
			path[m.Recall] = true
			x.expand(inner, path)
			delete(path, m.Recall)
		case m.State == chat.Marked:
		default:
			x.append(m)
		}
	}
	for _, id := range e.Below { // what no message of it shows
		if inner, there := x.entries[id]; there && !path[id] {
			path[id] = true
			x.expand(inner, path)
		}
	}
}

func (x *expander) append(m chat.Message) {
	key := m.ID
	if key == "" {
		key = textOf(m)
	}
	if !x.seen[key] {
		x.seen[key] = true
		x.out.Messages = append(x.out.Messages, Message{Message: m})
	}
}

// Text returns the whole text, message by message.
func (e Entry) FullText() string {
	var b strings.Builder
	if e.Text != "" {
		fmt.Fprintln(&b, e.Text)
	}
	for _, m := range e.Messages {
		fmt.Fprintf(&b, "== %s\n%s\n", m.Title, textOf(m.Message))
	}
	return b.String()
}

// Print returns the text within the query's tokens: all of it if it fits, else a table of
// the messages. more says how to get the others.
func (e Entry) Print(q Query) (text, more string) {
	if whole := e.FullText(); q.fits(whole) {
		return whole, ""
	}
	if len(e.Messages) == 0 {
		return q.clip(e.Text), "it is longer"
	}
	if len(e.Messages) == 1 {
		return q.clip(e.FullText()), "it is longer"
	}
	return e.table(q)
}

func (q Query) fits(text string) bool {
	return len(text) <= 40*q.limit() && q.count(text) <= q.limit()
}

// clip returns as much of a text as fits.
func (q Query) clip(text string) string {
	low, high := 0, min(len(text), 40*q.limit())
	for low < high {
		middle := (low + high + 1) / 2
		if q.count(clipped(text, middle)) <= q.limit() {
			low = middle
		} else {
			high = middle - 1
		}
	}
	return clipped(text, low)
}

// PrintMessage returns message n, within the query's tokens unless full. Of a message that
// is longer, it returns whole lines from the beginning; more says how many there are.
func (e Entry) PrintMessage(n int, q Query, full bool) (text, more string, err error) {
	for i, m := range e.Messages {
		if m.Number == n || m.Number == 0 && i+1 == n {
			text := fmt.Sprintf("== %s\n%s\n", m.Title, textOf(m.Message))
			if full || q.fits(text) {
				return text, "", nil
			}
			text, more := q.clipLines(text)
			return text, more, nil
		}
	}
	return "", "", fmt.Errorf("recall %s has no message %d; it has %s", e.ID, n, e.numbers())
}

// clipLines returns as many whole lines of a text as fit, at least a part of the second:
// the first is a heading.
func (q Query) clipLines(text string) (clip, more string) {
	clip = q.clip(text)
	all := strings.Count(text, "\n") - 1
	if at := strings.LastIndexByte(strings.TrimSuffix(clip, "…"), '\n'); strings.Count(clip[:at+1], "\n") > 1 {
		clip = clip[:at+1]
		return clip, fmt.Sprintf("lines 1-%d of %d", strings.Count(clip, "\n")-1, all)
	}
	return clip, "the beginning of a long line"
}

// numbers lists the numbers of the messages.
func (e Entry) numbers() string {
	var parts []string
	for i := 0; i < len(e.Messages); {
		k := i
		for k+1 < len(e.Messages) && e.Messages[k+1].Number == e.Messages[k].Number+1 {
			k++
		}
		part := fmt.Sprint(e.Messages[i].Number)
		if k > i {
			part = fmt.Sprintf("%d-%d", e.Messages[i].Number, e.Messages[k].Number)
		}
		if parts = append(parts, part); len(parts) > 8 {
			return strings.Join(parts, ", ") + "..."
		}
		i = k + 1
	}
	return strings.Join(parts, ", ")
}

// table returns a row for each message that fits: what people said first, then the
// assistant's texts, calls, and results.
func (e Entry) table(q Query) (text, more string) {
	rows, rank := make([]string, len(e.Messages)), make([]int, len(e.Messages))
	order := make([]int, len(e.Messages))
	for i, m := range e.Messages {
		order[i] = i
		rows[i] = m.row(i)
		switch {
		case m.Typed():
			rank[i] = 0
		case m.Role == chat.Assistant && strings.TrimSpace(m.Text()) != "":
			rank[i] = 1
		case m.Failed:
			rank[i] = 1
		case m.Role == chat.Tool:
			rank[i] = 3
		default:
			rank[i] = 2
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return rank[a] - rank[b] })
	head := fmt.Sprintf("recall %s stands for %d messages:\n", e.ID, len(e.Messages))
	left := q.limit() - q.count(head) - 12
	shown := make(map[int]bool)
	for _, i := range order {
		if n := q.count(rows[i]) + 1; n <= left {
			left -= n
			shown[i] = true
		}
	}
	var b strings.Builder
	b.WriteString(head)
	for i, row := range rows {
		if shown[i] {
			b.WriteString(row)
		}
	}
	if n := len(rows) - len(shown); n > 0 {
		more = fmt.Sprintf("%d more messages", n)
	}
	return b.String(), more
}

func (m Message) row(i int) string {
	n := m.Number
	if n == 0 {
		n = i + 1
	}
	what := strings.TrimPrefix(m.Title, fmt.Sprintf("message %d, ", m.Number))
	said := clipped(oneLine(m.Text()), 60)
	if said != "" {
		said = ": " + said
	}
	return fmt.Sprintf("%4d %s%s\n", n, what, said)
}

// Entry returns what an id of a session stands for. The error wraps archive.ErrNotFound
// if there is none.
func (s *IndexedStore) Entry(ctx context.Context, session, id string) (Entry, error) {
	e, err := s.Recall(ctx, session, id)
	if err != nil {
		return Entry{}, err
	}
	return s.Expand(ctx, session, e, func(ctx context.Context, id string) (archive.Entry, error) { return s.Recall(ctx, session, id) })
}

// Expand is the function [Expand] with the numbers of the session's messages.
func (s *IndexedStore) Expand(ctx context.Context, session string, e archive.Entry, recall func(ctx context.Context, id string) (archive.Entry, error)) (Entry, error) {
	x := s.index(session)
	if err := x.refresh(ctx, s.Store); err != nil && !errors.Is(err, archive.ErrDamaged) {
		return Entry{}, err
	}
	x.mu.Lock()
	numbers := x.knownSteps().numbers
	x.mu.Unlock()
	return Expand(ctx, e, recall, func(id string) int { return int(numbers[hashOfID(id)]) })
}
