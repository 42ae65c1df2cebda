package edit

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tiercompact/tiercompact/chat"
)

// checkInvariants reports the first invariant of docs/INVARIANTS.md that after
// breaks; before is the transcript that was edited.
func checkInvariants(before, after chat.Transcript, rules Rules) error {
	at, err := idPositions(before)
	if err != nil {
		return fmt.Errorf("transcript: %w", err)
	}
	if _, err := idPositions(after); err != nil {
		return fmt.Errorf("edited transcript: %w", err)
	}
	for _, check := range []func() error{
		func() error { return checkLocked(before, after, rules.Locked) },
		func() error { return checkOrder(after, at, rules.Moved) },
		func() error { return checkMessages(before, after, at) },
		func() error { return checkPairs(before, after) },
		func() error { return checkUsers(before, after, rules.NoUser) },
		func() error { return checkAlternation(before, after) },
		func() error { return checkSize(before, after, rules.Size) },
	} {
		if err := check(); err != nil {
			return fmt.Errorf("edited transcript: %w", err)
		}
	}
	return nil
}

func idPositions(t chat.Transcript) (map[string]int, error) {
	at := make(map[string]int, len(t))
	for i, m := range t {
		if j, twice := at[m.ID]; twice {
			return nil, fmt.Errorf("messages %d and %d have one id, %q", j, i, m.ID)
		}
		at[m.ID] = i
	}
	return at, nil
}

func checkLocked(before, after chat.Transcript, locked func(int) bool) error {
	if locked == nil {
		return nil
	}
	now, err := idPositions(after)
	if err != nil {
		return err
	}
	for i, m := range before {
		if !locked(i) {
			continue
		}
		switch k, present := now[m.ID]; {
		case !present:
			return fmt.Errorf("protected message %d (%s) is gone", i, m.ID)
		case !Same(m, after[k]):
			return fmt.Errorf("protected message %d (%s) is changed", i, m.ID)
		}
	}
	return nil
}

// checkOrder checks that the messages of before are in after in their order: those
// that may move, and the others.
func checkOrder(after chat.Transcript, at map[string]int, moved func(int) bool) error {
	last := map[bool]int{true: -1, false: -1}
	for _, m := range after {
		i, old := at[m.ID]
		if !old {
			continue
		}
		class := moved != nil && moved(i)
		if i < last[class] {
			return fmt.Errorf("message %d (%s) comes after message %d", i, m.ID, last[class])
		}
		last[class] = i
	}
	return nil
}

// checkMessages checks that no message was emptied, that changed text is UTF-8,
// that changed arguments are JSON if they were before, and that thinking is
// unchanged.
func checkMessages(before, after chat.Transcript, at map[string]int) error {
	for _, m := range after {
		i, old := at[m.ID]
		if old && Same(before[i], m) {
			continue
		}
		if err := checkParts(m); err != nil {
			return fmt.Errorf("message %s: %w", m.ID, err)
		}
		if old {
			if err := checkChanged(before[i], m); err != nil {
				return fmt.Errorf("message %d (%s): %w", i, m.ID, err)
			}
		}
	}
	return nil
}

func checkParts(m chat.Message) error {
	if len(m.Parts) == 0 {
		return errors.New("empty")
	}
	for _, p := range m.Parts {
		if !utf8.ValidString(p.Text) || !utf8.ValidString(p.Args) {
			return errors.New("text is not valid UTF-8")
		}
		if (p.Kind == chat.Text || p.Kind == chat.Summary) && strings.TrimSpace(p.Text) == "" && len(m.Parts) == 1 {
			return errors.New("empty text")
		}
	}
	return nil
}

func checkChanged(old, m chat.Message) error {
	if old.Role != m.Role {
		return errors.New("role changed")
	}
	if old.HasOpaque() {
		return errors.New("it was rewritten, but contains a part that must not be")
	}
	if len(old.Parts) != len(m.Parts) {
		return fmt.Errorf("%d parts were %d", len(m.Parts), len(old.Parts))
	}
	for i, p := range m.Parts {
		q := old.Parts[i]
		if p.Kind != q.Kind || p.ID != q.ID || p.Name != q.Name {
			return fmt.Errorf("part %d became another", i)
		}
		if p.Kind == chat.Thinking && p != q {
			return errors.New("thinking changed")
		}
		if p.Args != q.Args && json.Valid([]byte(q.Args)) && !json.Valid([]byte(p.Args)) {
			return fmt.Errorf("arguments of call %s are no JSON", p.ID)
		}
	}
	return nil
}

// A pairFault is a call without result or a result without call, by the messages
// and the id.
type pairFault struct {
	message, call string
	kind          chat.Kind
}

// countFaults counts the faults of t, and all its results without a call: a message
// with results of both kinds is not among the faults.
func countFaults(t chat.Transcript) (out map[pairFault]int, orphans int) {
	p := chat.PairUp(t)
	out = make(map[pairFault]int)
	for i, m := range t {
		if p.Unanswered[i] > 0 {
			out[pairFault{m.ID, "", chat.Call}] = p.Unanswered[i]
			orphans += p.Unanswered[i]
		}
		for k, part := range m.Parts {
			switch part.Kind {
			case chat.Call, chat.ServerCall:
				orphans--
			case chat.Result, chat.ServerResult:
				orphans++
				if p.Orphan(i, k, part.Kind) {
					out[pairFault{m.ID, part.ID, part.Kind}]++
				}
			}
		}
	}
	return out, orphans
}

// checkPairs checks that no call lost its result and no result its call, and that
// the calls waiting for a result at the end are still there.
func checkPairs(before, after chat.Transcript) error {
	was, orphansWere := countFaults(before)
	is, orphans := countFaults(after)
	var made []string
	for f, n := range is {
		if n > was[f] {
			made = append(made, fmt.Sprintf("message %s: %s without its partner", f.message, f.kind))
		}
	}
	if len(made) > 0 {
		return errors.New(slices.Min(made))
	}
	if orphans > orphansWere {
		return fmt.Errorf("%d results without their partner were %d", orphans, orphansWere)
	}
	now, err := idPositions(after)
	if err != nil {
		return err
	}
	for _, m := range before[chat.Open(before):] {
		if _, present := now[m.ID]; !present {
			return fmt.Errorf("message %s of the open group is gone", m.ID)
		}
	}
	return nil
}

func checkUsers(before, after chat.Transcript, noUser bool) error {
	if noUser {
		return nil
	}
	if i := chat.Newest(before, chat.Message.Typed); i >= 0 {
		id := before[i].ID
		if chat.Newest(after, func(m chat.Message) bool { return m.ID == id }) < 0 {
			return fmt.Errorf("latest user message %d (%s) is gone", i, id)
		}
	}
	if chat.Newest(before, isUserMessage) >= 0 && chat.Newest(after, isUserMessage) < 0 {
		return errors.New("no user message is left")
	}
	return nil
}

func isUserMessage(m chat.Message) bool {
	return m.Role == chat.User && m.State != chat.Marked && m.Says()
}

func checkSize(before, after chat.Transcript, size func(chat.Message) int) error {
	if size == nil {
		return nil
	}
	was, is := totalSize(before, size), totalSize(after, size)
	if is > was {
		return fmt.Errorf("%d tokens were %d", is, was)
	}
	return nil
}

func totalSize(t chat.Transcript, size func(chat.Message) int) (sum int) {
	for _, m := range t {
		sum += size(m)
	}
	return sum
}
