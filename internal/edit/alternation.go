package edit

import (
	"github.com/tiercompact/tiercompact/chat"
)

// Speaks reports whether m counts for a strict chat template that requires user and
// assistant to alternate: tool flow (calls and results) and system messages do not
// count.
func Speaks(m chat.Message) bool {
	return m.Role == chat.User || m.Role == chat.Assistant && !m.Waits()
}

// A Gap is the part of a conversation between two messages that a marker separates.
type Gap struct {
	Messages []chat.Message
	Gone     []bool // those that edits remove
}

// A Mark is a message that separates two others. If it replaces a removed message of
// the gap, At is the index of that message, and the mark has its place; otherwise At
// is negative.
type Mark struct {
	Message chat.Message
	At      int
}

// A Marker returns the messages of alternating roles that separate two others: the
// first and the last have the role. m is the second of the two. For an empty gap the
// marker returns one message without a place.
type Marker func(role chat.Role, m chat.Message, gap Gap) []Mark

// Separate returns edits with markers wherever two user messages, or two assistant
// texts, would become adjacent. A marker in place of a removed message is where that
// message was. Any other marker is directly before the second of the two, or before
// the calls whose results the second contains. If the last role would change, a marker
// follows the last message, because of the next added one. No marker gets an id of
// earlier forms of the conversation, from which t was made.
func Separate(t chat.Transcript, edits []Edit, marker Marker, earlier ...chat.Transcript) ([]Edit, error) {
	edits = Sorted(edits)
	after, err := assemble(t, edits)
	if err != nil {
		return nil, err
	}
	repeated := repeatedRoles(t, after)
	speaker, role := changedSpeaker(t, after)
	s := newSeparation(t, edits, after, marker)
	for _, was := range earlier {
		s.useIDs(was)
	}
	for _, r := range repeated {
		i := r.second
		at := i
		if after[i].HasOpaque() { // a server's call and its result stay adjacent
			at = s.groupStart(i)
		}
		s.separate(separationAt{r.first, at, at}, otherRole(after[i].Role), after[i])
	}
	if speaker >= 0 {
		s.separate(separationAt{speaker, len(after), speaker + 1}, role, after[speaker]) // calls that follow wait for their results
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
	before, after chat.Transcript
	at            map[string]int  // index in before
	stays         map[string]bool // ids of the remaining messages
	planned       []Edit
	places        []editPlace
	marker        Marker
	groups        [][]int // of after, once they are needed
	groupOf       []int
	lowestFrom    []int                          // for each of after the lowest index in before from there on, once it is needed
	used          map[string]bool                // ids, also of removed messages, because an id names one message
	inside        map[int]map[int][]chat.Message // edit → index in its New → markers before it
	apart         []Edit                         // markers between messages that stay
}

func newSeparation(t chat.Transcript, edits []Edit, after chat.Transcript, marker Marker) *separation {
	s := &separation{
		before: t, after: after, planned: edits, marker: marker,
		places: messageOrigins(t, edits), inside: make(map[int]map[int][]chat.Message),
	}
	s.at, s.stays = make(map[string]int, len(t)), make(map[string]bool, len(after))
	for i, m := range t {
		s.at[m.ID] = i
	}
	for _, m := range after {
		s.stays[m.ID] = true
	}
	s.used = make(map[string]bool, len(t)+len(after))
	s.useIDs(t)
	s.useIDs(after)
	return s
}

func (s *separation) useIDs(t chat.Transcript) {
	for _, m := range t {
		s.used[m.ID] = true
	}
}

// A separationAt is where messages last and end of after are separated: end is
// len(after) after the last one. A marker without a place is before message bare.
type separationAt struct{ last, end, bare int }

// separate inserts markers of a role; m names them.
func (s *separation) separate(at separationAt, role chat.Role, m chat.Message) {
	first, gap := s.removedBetween(at.last, at.end)
	marks := s.marker(role, m, gap)
	places := make([]int, len(marks))
	for k, mark := range marks {
		places[k] = at.bare
		if mark.At < 0 {
			continue
		}
		if places[k] = s.placeOf(first+mark.At, at.last, at.end); places[k] < 0 { // inside a group
			marks, places = s.marker(role, m, Gap{}), []int{at.bare}
			break
		}
	}
	for k, mark := range marks {
		s.putMarker(places[k], mark.Message)
	}
}

// removedBetween returns the messages between two of after that stay, and the index of
// the first of them; none if one of the two is new.
func (s *separation) removedBetween(last, end int) (first int, gap Gap) {
	first, known := s.at[s.after[last].ID]
	stop := len(s.before)
	if end < len(s.after) {
		at, stays := s.at[s.after[end].ID]
		known, stop = known && stays, at
	}
	if first++; !known || first >= stop {
		return 0, gap
	}
	gap.Messages = s.before[first:stop:stop]
	gap.Gone = make([]bool, len(gap.Messages))
	for k, m := range gap.Messages {
		gap.Gone[k] = !s.stays[m.ID]
	}
	return first, gap
}

// placeOf returns the position in after, behind last and at most end, for what replaces
// removed message i: behind the messages that preceded it. It returns -1 if that is
// inside a group, or before messages that preceded it: behind protected messages that
// moved to the front.
func (s *separation) placeOf(i, last, end int) int {
	at := end
	for ; at-1 > last; at-- {
		if k, known := s.at[s.after[at-1].ID]; known && k < i {
			break
		}
	}
	if at < len(s.after) && s.lowest(at) < i {
		return -1
	}
	for k := last + 1; k < at; k++ {
		if members := s.groupMembers(k); members[len(members)-1] >= at {
			return -1
		}
	}
	return at
}

// lowest returns the lowest index in before of the messages of after from i on.
func (s *separation) lowest(i int) int {
	if s.lowestFrom == nil {
		s.lowestFrom = make([]int, len(s.after))
		low := len(s.before)
		for k := len(s.after) - 1; k >= 0; k-- {
			if at, known := s.at[s.after[k].ID]; known {
				low = min(low, at)
			}
			s.lowestFrom[k] = low
		}
	}
	return s.lowestFrom[i]
}

// groupMembers returns the messages of the group of message i of after.
func (s *separation) groupMembers(i int) []int {
	if s.groups == nil {
		s.groups, s.groupOf = chat.Groups(s.after)
	}
	return s.groups[s.groupOf[i]]
}

// groupStart returns the first message of the group of message i of after.
func (s *separation) groupStart(i int) int { return s.groupMembers(i)[0] }

// putMarker inserts a marker before message i of after, or at its end.
func (s *separation) putMarker(i int, mark chat.Message) {
	var at editPlace
	if i < len(s.places) {
		at = s.places[i]
	} else {
		at = s.places[i-1]
		at.index++
	}
	for s.used[mark.ID] {
		mark.ID += "+"
	}
	s.used[mark.ID] = true
	if at.edit < 0 {
		s.apart = append(s.apart, Edit{Start: at.index, End: at.index, New: []chat.Message{mark}, Why: "separates two messages of one role"})
		return
	}
	if s.inside[at.edit] == nil {
		s.inside[at.edit] = make(map[int][]chat.Message)
	}
	s.inside[at.edit][at.index] = append(s.inside[at.edit][at.index], mark)
}

func (s *separation) editsWithMarkers() []Edit {
	for i, before := range s.inside {
		s.planned[i].New = interleaved(s.planned[i].New, before)
	}
	return Sorted(append(s.planned, s.apart...))
}

// interleaved returns messages with before[i] inserted before each i, and
// before[len(messages)] after the last.
func interleaved(messages []chat.Message, before map[int][]chat.Message) []chat.Message {
	out := make([]chat.Message, 0, len(messages)+len(before))
	for i, m := range messages {
		out = append(append(out, before[i]...), m)
	}
	return append(out, before[len(messages)]...)
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
