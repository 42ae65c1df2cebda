// Package protection decides what a compaction must not change, and what it keeps
// because it is recent: protection, the three layers, the keep-recent policy, and
// how a session summary and a marker are written and recognised.
package protection

import (
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

// A Protection says why a message must not be changed. Protections combine.
type Protection uint8

// The reasons.
const (
	Protected  Protection = 1 << iota // by role, mark or matcher; belongs to the Pinned layer
	First                             // the first user message that a person typed
	Session                           // the session summary: only a new summary replaces it
	Open                              // a call whose results are still arriving, with those that have arrived
	Unread                            // a tool result or file that no assistant message follows
	Latest                            // the latest user message, see LatestUser
	Correction                        // it corrects a protected or pinned message, which would be wrong without it
)

// Pinned are the protections of the Pinned layer.
const Pinned = Protected | First

// A Policy decides which messages are protected. The zero Policy protects marked
// messages, and pins the first user message.
type Policy struct {
	Roles      []chat.Role             // every message of these roles
	Match      func(chat.Message) bool // nil matches nothing
	NoPinFirst bool                    // do not pin the first user message
}

// Protections returns the protections of each message of t. A session summary is
// recognised before any rule on roles.
func (p Policy) Protections(t chat.Transcript) []Protection {
	h := make([]Protection, len(t))
	pinned := p.NoPinFirst
	for i, m := range t {
		switch {
		case m.IsSummary():
			h[i] |= Session
		case p.Protects(m):
			h[i] |= Protected
		}
		if !pinned && m.Typed() && !m.IsSummary() {
			h[i] |= First
			pinned = true
		}
	}
	for i := chat.Open(t); i < len(t); i++ {
		h[i] |= Open
	}
	for i := len(t) - 1; i >= 0 && !isOwnAnswer(t[i]); i-- {
		if t[i].Role == chat.Tool || t[i].Role == chat.User && t[i].Machine {
			h[i] |= Unread
		}
	}
	if i := LatestUser(t); i >= 0 {
		h[i] |= Latest
	}
	p.protectCorrections(t, h)
	return h
}

// Limits of protected corrections, in bytes: each is short, and the newest count.
const (
	correctionBytes  = 800
	correctionsBytes = 2400
)

// protectCorrections protects the corrections of messages that stay for another
// reason, and the corrections of those.
func (p Policy) protectCorrections(t chat.Transcript, h []Protection) {
	var held []int
	for i, of := range Corrections(t) {
		if of >= 0 && h[of]&(Pinned|Correction) != 0 && h[i]&Pinned == 0 && len(t[i].Text()) <= correctionBytes {
			h[i] |= Correction
			held = append(held, i)
		}
	}
	room := correctionsBytes
	for k := len(held) - 1; k >= 0; k-- {
		if room -= len(t[held[k]].Text()); room < 0 {
			h[held[k]] &^= Correction
		}
	}
}

// isOwnAnswer reports whether the assistant itself wrote m: a message that a round
// inserted does not show what the model has read.
func isOwnAnswer(m chat.Message) bool {
	return m.Role == chat.Assistant && m.State != chat.Marked && !m.IsSummary()
}

// LatestUser returns the index of the latest user message that a person typed or,
// if there is none, of the latest with content; or -1.
func LatestUser(t chat.Transcript) int {
	if i := chat.Newest(t, chat.Message.Typed); i >= 0 {
		return i
	}
	return chat.Newest(t, func(m chat.Message) bool {
		return m.Role == chat.User && m.State != chat.Marked && m.Says()
	})
}

// Protects reports whether m is protected by role, mark or matcher.
func (p Policy) Protects(m chat.Message) bool {
	if m.State == chat.Marked || m.IsSummary() {
		return false
	}
	return m.Protected || slices.Contains(p.Roles, m.Role) || p.Match != nil && p.Match(m)
}

// Reserved reports whether m has an id of the form of summaries and markers, but is
// neither.
func Reserved(m chat.Message) bool {
	return strings.HasPrefix(m.ID, summaryID) && !m.IsSummary() || strings.HasPrefix(m.ID, markerID) && m.State != chat.Marked
}

// Recent returns which messages of t the keep-recent policy keeps: of the last
// turns the user messages and the assistant's texts, and the last pairs groups
// of calls with their results. A turn is a user message and the assistant's
// text up to the next user message; parallel calls are one pair.
func Recent(t chat.Transcript, turns, pairs int) []bool {
	keep := make([]bool, len(t))
	groups, _ := chat.Groups(t)
	for i := len(groups) - 1; i >= 0 && pairs > 0; i-- {
		if t[groups[i][0]].HasCalls() {
			for _, m := range groups[i] {
				keep[m] = true
			}
			pairs--
		}
	}
	for i := len(t) - 1; i >= 0 && turns > 0; i-- {
		m := t[i]
		if m.Role == chat.User && m.State != chat.Marked || m.Role == chat.Assistant && !m.HasCalls() && !m.IsSummary() {
			keep[i] = true
		}
		if m.Role == chat.User && m.State != chat.Marked {
			turns--
		}
	}
	return keep
}

// Kept returns how many of the newest turns of t, and how many of the newest groups
// of calls with their results, are complete: those before the newest incomplete one
// do not count. Of a turn, its user message and the assistant's texts count, as in
// [Recent].
func Kept(t chat.Transcript, unchanged func(chat.Message) bool) (turns, pairs int) {
	groups, _ := chat.Groups(t)
	for i := len(groups) - 1; i >= 0; i-- {
		if !t[groups[i][0]].HasCalls() {
			continue
		}
		if slices.ContainsFunc(groups[i], func(m int) bool { return !unchanged(t[m]) }) {
			break
		}
		pairs++
	}
	for i := len(t) - 1; i >= 0; i-- {
		m := t[i]
		user := m.Role == chat.User && m.State != chat.Marked
		if !user && (m.Role != chat.Assistant || m.HasCalls() || m.IsSummary() || m.State == chat.Marked) {
			continue
		}
		if !unchanged(m) {
			break
		}
		if user {
			turns++
		}
	}
	return turns, pairs
}

// Reduced returns a keep-recent policy reduced by k steps, 0 to turns+pairs-2:
// turns and pairs are reduced by one in alternation, turns first, down to 1 and 1.
func Reduced(turns, pairs, k int) (int, int) {
	t := min(k-min(k/2, pairs-1), turns-1) // if one is exhausted, the other is reduced
	return turns - t, pairs - min(k-t, pairs-1)
}

// The heads by which summaries and markers are recognised, and the beginnings of
// their ids.
const (
	summaryHead   = "<COMPACT-SUMMARY v"
	summarySystem = "[Compressed Message Summary]"
	markerHead    = "[marker "
	summaryID     = "summary-"
	markerID      = "marker-"
)
