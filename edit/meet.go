package edit

import (
	"fmt"

	"github.com/tiercompact/tiercompact/chat"
)

// Speaks reports whether a strict chat template counts m where it demands that
// user and assistant alternate: tool flow (calls and results) and system
// messages do not count.
func Speaks(m chat.Message) bool {
	return m.Role == chat.User || m.Role == chat.Assistant && !m.HasCalls()
}

// neighbours returns, for each message that speaks, the one that spoke before it.
func neighbours(t chat.Transcript) map[string]string {
	before := make(map[string]string)
	last := ""
	for _, m := range t {
		if Speaks(m) {
			before[m.ID] = last
			last = m.ID
		}
	}
	return before
}

// meetings calls yield for each message of after that speaks behind another of
// its own role, where the two did not meet in before.
func meetings(before map[string]string, after chat.Transcript, yield func(i int)) {
	last := -1
	for i, m := range after {
		if !Speaks(m) {
			continue
		}
		if last >= 0 && after[last].Role == m.Role {
			if was, old := before[m.ID]; !old || was != after[last].ID {
				yield(i)
			}
		}
		last = i
	}
}

func checkMeetings(before, after chat.Transcript) (err error) {
	meetings(neighbours(before), after, func(i int) {
		if err == nil {
			err = fmt.Errorf("message %d (%s): two %s messages meet that did not meet before", i, after[i].ID, after[i].Role)
		}
	})
	return err
}

// Separate returns edits with a marker added wherever two user messages, or
// two assistant texts, would meet that did not meet in t. The marker has the
// other role and stands directly before the second of the two.
func Separate(t chat.Transcript, edits []Edit, marker func(role chat.Role, before chat.Message) chat.Message) ([]Edit, error) {
	edits = Sorted(edits)
	after, err := assemble(t, edits)
	if err != nil {
		return nil, err
	}
	places := origins(t, edits)
	put := make(map[int]map[int]chat.Message)        // edit → place in its New → what is put before
	used := make(map[string]bool, len(t)+len(after)) // an id that went stands for what went
	for _, all := range []chat.Transcript{t, after} {
		for _, m := range all {
			used[m.ID] = true
		}
	}
	meetings(neighbours(t), after, func(i int) {
		role := chat.User
		if after[i].Role == chat.User {
			role = chat.Assistant
		}
		m := marker(role, after[i])
		for used[m.ID] {
			m.ID += "+"
		}
		used[m.ID] = true
		p := places[i]
		if p.edit < 0 {
			edits = append(edits, Edit{Start: p.index, End: p.index, New: []chat.Message{m}, Why: "parts two messages of one role"})
			return
		}
		if put[p.edit] == nil {
			put[p.edit] = make(map[int]chat.Message)
		}
		put[p.edit][p.index] = m
	})
	for i, before := range put {
		edits[i].New = interleaved(edits[i].New, before)
	}
	return Sorted(edits), nil
}

// interleaved returns messages with before[i] put in front of each i.
func interleaved(messages []chat.Message, before map[int]chat.Message) []chat.Message {
	out := make([]chat.Message, 0, len(messages)+len(before))
	for i, m := range messages {
		if b, any := before[i]; any {
			out = append(out, b)
		}
		out = append(out, m)
	}
	return out
}

// A place says where a message of an edited transcript comes from: New[index]
// of an edit, or message index of the original where edit is -1.
type place struct{ edit, index int }

func origins(t chat.Transcript, edits []Edit) []place {
	var out []place
	next := 0
	kept := func(end int) {
		for ; next < end; next++ {
			out = append(out, place{-1, next})
		}
	}
	for i, e := range edits {
		kept(e.Start)
		for k := range e.New {
			out = append(out, place{i, k})
		}
		next = e.End
	}
	kept(len(t))
	return out
}
