package edit

import (
	"fmt"

	"github.com/tiercompact/tiercompact/chat"
)

// Speaks reports whether m counts for a strict chat template that requires user and
// assistant to alternate: tool flow (calls and results) and system messages do not
// count.
func Speaks(m chat.Message) bool {
	return m.Role == chat.User || m.Role == chat.Assistant && !m.Waits()
}

// previousSpeakers returns, for each message that counts, the one before it.
func previousSpeakers(t chat.Transcript) map[string]string {
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

// eachRepeatedRole calls yield for each message of after that follows another of
// its own role, last, if the two were not adjacent in before.
func eachRepeatedRole(before map[string]string, after chat.Transcript, yield func(last, i int)) {
	last := -1
	for i, m := range after {
		if !Speaks(m) {
			continue
		}
		if last >= 0 && after[last].Role == m.Role {
			if was, old := before[m.ID]; !old || was != after[last].ID {
				yield(last, i)
			}
		}
		last = i
	}
}

func checkAlternation(before, after chat.Transcript) (err error) {
	eachRepeatedRole(previousSpeakers(before), after, func(_, i int) {
		if err == nil {
			err = fmt.Errorf("message %d (%s): two %s messages meet that did not meet before", i, after[i].ID, after[i].Role)
		}
	})
	if i, role := changedSpeaker(before, after); err == nil && i >= 0 {
		err = fmt.Errorf("message %d (%s) speaks last, but the %s did before", i, after[i].ID, role)
	}
	return err
}

// changedSpeaker returns the last message of after that counts, and the role of the
// last one in before, if they differ: the next added message would then meet one of
// its own role. Otherwise it returns -1.
func changedSpeaker(before, after chat.Transcript) (i int, role chat.Role) {
	was, is := chat.Newest(before, Speaks), chat.Newest(after, Speaks)
	if was < 0 || is < 0 || before[was].Role == after[is].Role {
		return -1, ""
	}
	return is, before[was].Role
}

// A Marker returns the message of a role that separates two others; m is the second
// of them. left are the runs of messages that edits remove between the two, in
// order: the marker may quote one of them.
type Marker func(role chat.Role, m chat.Message, left [][]chat.Message) chat.Message

// Separate returns edits with a marker wherever two user messages, or two assistant
// texts, would become adjacent. It is directly before the second of the two, or
// before the calls whose results the second contains. If the last role would
// change, a marker follows the last message, because of the next added one.
func Separate(t chat.Transcript, edits []Edit, marker Marker) ([]Edit, error) {
	edits = Sorted(edits)
	after, err := assemble(t, edits)
	if err != nil {
		return nil, err
	}
	s := newSeparation(t, edits, after, marker)
	var groups [][]int
	var of []int
	eachRepeatedRole(previousSpeakers(t), after, func(last, i int) {
		at := i
		if after[i].HasOpaque() { // a server's call and its result stay adjacent
			if groups == nil {
				groups, of = chat.Groups(after)
			}
			at = groups[of[i]][0]
		}
		s.putMarker(s.places[at], otherRole(after[i].Role), after[i], s.removedBetween(after[last], after[i]))
	})
	if i, role := changedSpeaker(t, after); i >= 0 {
		behind := s.places[i]
		behind.index++
		s.putMarker(behind, role, after[i], s.removedBetween(after[i], chat.Message{}))
	}
	return s.editsWithMarkers(), nil
}

func otherRole(r chat.Role) chat.Role {
	if r == chat.User {
		return chat.Assistant
	}
	return chat.User
}

// A separation inserts markers into edits.
type separation struct {
	before  chat.Transcript
	at      map[string]int  // index in before
	stays   map[string]bool // ids of the remaining messages
	planned []Edit
	places  []editPlace
	marker  Marker
	used    map[string]bool              // ids, also of removed messages, because an id names one message
	inside  map[int]map[int]chat.Message // edit → index in its New → markers before it
	apart   []Edit                       // markers between messages that stay
}

func newSeparation(t chat.Transcript, edits []Edit, after chat.Transcript, marker Marker) *separation {
	s := &separation{before: t, planned: edits, places: messageOrigins(t, edits), marker: marker, inside: make(map[int]map[int]chat.Message)}
	s.at, s.stays = make(map[string]int, len(t)), make(map[string]bool, len(after))
	for i, m := range t {
		s.at[m.ID] = i
	}
	for _, m := range after {
		s.stays[m.ID] = true
	}
	s.used = make(map[string]bool, len(t)+len(after))
	for _, all := range []chat.Transcript{t, after} {
		for _, m := range all {
			s.used[m.ID] = true
		}
	}
	return s
}

// removedBetween returns the runs of messages that are removed between two that
// stay, in order; none if one of the two is new. The zero message means the end.
func (s *separation) removedBetween(from, to chat.Message) (runs [][]chat.Message) {
	first, known := s.at[from.ID]
	end, stays := s.at[to.ID]
	if to.ID == "" {
		end, stays = len(s.before), true
	}
	if !known || !stays {
		return nil
	}
	for i := first + 1; i < end; i++ {
		start := i
		for i < end && !s.stays[s.before[i].ID] {
			i++
		}
		if i > start {
			runs = append(runs, s.before[start:i:i])
		}
	}
	return runs
}

func (s *separation) putMarker(at editPlace, role chat.Role, m chat.Message, left [][]chat.Message) {
	mark := s.marker(role, m, left)
	for s.used[mark.ID] {
		mark.ID += "+"
	}
	s.used[mark.ID] = true
	if at.edit < 0 {
		s.apart = append(s.apart, Edit{Start: at.index, End: at.index, New: []chat.Message{mark}, Why: "parts two messages of one role"})
		return
	}
	if s.inside[at.edit] == nil {
		s.inside[at.edit] = make(map[int]chat.Message)
	}
	s.inside[at.edit][at.index] = mark
}

func (s *separation) editsWithMarkers() []Edit {
	for i, before := range s.inside {
		s.planned[i].New = interleaved(s.planned[i].New, before)
	}
	return Sorted(append(s.planned, s.apart...))
}

// interleaved returns messages with before[i] inserted before each i, and
// before[len(messages)] after the last.
func interleaved(messages []chat.Message, before map[int]chat.Message) []chat.Message {
	out := make([]chat.Message, 0, len(messages)+len(before))
	for i, m := range messages {
		if b, any := before[i]; any {
			out = append(out, b)
		}
		out = append(out, m)
	}
	if last, any := before[len(messages)]; any {
		out = append(out, last)
	}
	return out
}

// An editPlace is the origin of a message in an edited transcript: New[index] of an
// edit, or message index of the original if edit is -1.
type editPlace struct{ edit, index int }

func messageOrigins(t chat.Transcript, edits []Edit) []editPlace {
	var out []editPlace
	next := 0
	kept := func(end int) {
		for ; next < end; next++ {
			out = append(out, editPlace{-1, next})
		}
	}
	for i, e := range edits {
		kept(e.Start)
		for k := range e.New {
			out = append(out, editPlace{i, k})
		}
		next = e.End
	}
	kept(len(t))
	return out
}
