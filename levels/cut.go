package levels

import (
	"slices"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/files"
	"github.com/tiercompact/tiercompact/internal/edit"
	"github.com/tiercompact/tiercompact/internal/protection"
)

// A Cut selects the messages that a summary replaces, before the summary is written.
type Cut struct {
	Gone  []bool // messages that the summary replaces, the old summary included
	Front []bool // messages that move before the summary, in their order; nil moves none
}

// Empty reports whether there is nothing to summarise.
func (c Cut) Empty(t chat.Transcript) bool {
	for i, gone := range c.Gone {
		if gone && !t[i].IsSummary() && t[i].State != chat.Marked {
			return false
		}
	}
	return true
}

// EmergencyCut is the cut of the emergency level: only protected messages and the
// newest keep messages stay.
//
// With keep 0, after a complete turn, all unprotected messages are removed, the
// first user message included; the latest user message stays unless the summary
// is a system message. In an open turn the latest user message and all after it
// stay.
func EmergencyCut(v View, keep int, summary chat.Role) Cut {
	groups, _ := chat.Groups(v.Messages)
	mask := ^protection.Session
	if keep == 0 {
		mask &^= protection.First | protection.Correction
		switch last := len(v.Messages) - 1; {
		case last >= 0 && v.Messages[last].Role == chat.Assistant && !v.Messages[last].Waits():
			if summary == chat.System {
				mask &^= protection.Latest
			}
		default:
			if latest := protection.LatestUser(v.Messages); latest >= 0 {
				keep = len(v.Messages) - latest
			}
		}
	}
	return Cut{Gone: v.goneMessages(newestTail(v, keep), mask, groups)}
}

// LayersCut is the cut of a preflight and of a manual compaction: Pinned messages
// move to the front, then comes the summary, then what the keep-recent policy keeps.
func LayersCut(v View, turns, pairs int) Cut {
	groups, _ := chat.Groups(v.Messages)
	c := Cut{Gone: v.goneMessages(protection.Recent(v.Messages, turns, pairs), ^protection.Session, groups), Front: make([]bool, len(v.Messages))}
	latest := protection.LatestUser(v.Messages)
	for _, members := range groups { // a group moves as a whole or not at all
		pinned, last := false, members[len(members)-1]
		for _, i := range members {
			pinned = pinned || v.Protections[i]&protection.Pinned != 0
		}
		if pinned && (latest < 0 || last < latest) && v.Protections[last]&protection.Open == 0 {
			markMembers(c.Front, members)
		}
	}
	for i := 0; i < len(c.Front) && (c.Front[i] || v.Protections[i]&protection.First != 0); i++ {
		c.Front[i] = true // it is there already
	}
	return c
}

// goneMessages returns the messages that neither keep nor a protection in mask
// keeps, by whole groups, without those that a remaining stub refers to. The old
// session summary is replaced too, and so is a marker beside a removed message.
func (v View) goneMessages(keep []bool, mask protection.Protection, groups [][]int) []bool {
	gone := make([]bool, len(v.Messages))
	found, stays, of := false, make([]bool, len(groups)), make([]int, len(v.Messages))
	for g, members := range groups {
		for _, i := range members {
			of[i] = g
			stays[g] = stays[g] || keep[i] && !v.Messages[i].IsSummary() || v.Protections[i]&mask != 0
		}
	}
	v.withReferents(stays, of)
	for g, members := range groups {
		if !stays[g] {
			markMembers(gone, members)
			found = true
		}
	}
	if found {
		absorbMarkers(v, gone)
	}
	return gone
}

// Summarised returns the messages that a summary of c must cover, without the old
// summary and markers, and the old summary's content.
func (c Cut) Summarised(v View) (messages []chat.Message, previous string) {
	for i, m := range v.Messages {
		switch {
		case !c.Gone[i] || m.State == chat.Marked && !protection.IsAnswer(m):
		case m.IsSummary():
			_, previous = protection.SummaryContent(m)
		default:
			messages = append(messages, m)
		}
	}
	messages = v.beforeRound(messages)
	for i, m := range messages {
		messages[i] = files.WithoutLedgers(m)
	}
	return messages, previous
}

// original returns c on the conversation before the newest earlier rounds: the names of
// a summary are those of what was said, not of what earlier summaries left of it. Messages
// that c keeps have their present form. If there is no such conversation, it returns v
// and c.
func (c Cut) original(v View) (View, Cut) {
	if v.Original == nil {
		return v, c
	}
	stays := make(map[string]int)
	for i, m := range v.Messages {
		if !c.Gone[i] {
			stays[m.ID] = i
		}
	}
	o := v.Original()
	o.Messages, o.Facts = slices.Clone(o.Messages), slices.Clone(o.Facts)
	gone := make([]bool, len(o.Messages))
	for i, m := range o.Messages {
		k, kept := stays[m.ID]
		if gone[i] = !kept; kept {
			o.Messages[i], o.Facts[i] = v.Messages[k], v.Facts[k]
		}
	}
	return o, Cut{Gone: gone}
}

// Tokens returns the number of tokens that c removes.
func (c Cut) Tokens(sizes []int) (sum int) {
	for i, gone := range c.Gone {
		if gone {
			sum += sizes[i]
		}
	}
	return sum
}

// SummaryEdits proposes the edits of c: the summary replaces the first summarised
// message, or follows the messages that move to the front. Without a summary
// (pruning only) the messages are dropped. The summary has the recall id of c.
func SummaryEdits(v View, c Cut, summary *chat.Message, why string) []edit.Edit {
	recall := c.Recall(v)
	if c.Front != nil {
		return []edit.Edit{frontSummaryEdit(v, c, summary, recall, why)}
	}
	var edits []edit.Edit
	eachRun(c.Gone, func(start, end int) {
		e := edit.Edit{Start: start, End: end, Recall: recall, Why: why + ": " + protection.Counted(end-start)}
		if summary != nil {
			e.New, summary = []chat.Message{*summary}, nil
		}
		edits = append(edits, e)
	})
	return edits
}

// Recall returns the recall id of the messages that c removes.
func (c Cut) Recall(v View) string { return v.recallOf(pickMessages(v.Messages, c.Gone, true)) }

// frontSummaryEdit is the one edit that reorders messages: it spans from the first
// message outside of the front to the last one that is removed or moved.
func frontSummaryEdit(v View, c Cut, summary *chat.Message, recall, why string) edit.Edit {
	e := edit.Edit{Start: len(v.Messages), Recall: recall}
	var kept []chat.Message
	gone := 0
	for i := range v.Messages {
		if !c.Front[i] {
			e.Start = min(e.Start, i)
		}
		if c.Gone[i] || c.Front[i] {
			e.End = i + 1
		}
	}
	for i := e.Start; i < e.End; i++ {
		switch {
		case c.Front[i]:
			e.New = append(e.New, v.Messages[i])
		case c.Gone[i]:
			gone++
		default:
			kept = append(kept, v.Messages[i])
		}
	}
	if summary != nil {
		e.New = append(e.New, *summary)
	}
	e.New = append(e.New, kept...)
	e.Why = why + ": " + protection.Counted(gone) + ", protected ones moved to the front"
	return e
}

// Names returns the names that c would remove from the whole conversation, at most
// limit tokens of them, and lines that hold other ones, at most lineLimit tokens of
// them. Names in the summary are left out: in said, its text, and in its excerpts of files.
func (c Cut) Names(v View, said, excerpts string, limit, lineLimit int) (names, lines []string) {
	return v.lostNamesAndLines(v.lostMessages(c.Gone), pickMessages(v.Messages, c.Gone, false), said, excerpts, limit, lineLimit)
}
