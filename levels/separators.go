package levels

import (
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/edit"
	"github.com/tiercompact/tiercompact/internal/protection"
)

// maxAnswer is the maximum number of tokens of a text that quotes an answer which a
// round removes.
const maxAnswer = 80

// Separator makes the messages that separate two of one role after the edits of a level:
// under fit they are as small as a bare record.
func (v View) Separator(level Name, edits ...edit.Edit) edit.Marker {
	s := separators{max: maxAnswer, count: v.Count}
	s.summarized = slices.ContainsFunc(edits, func(e edit.Edit) bool {
		return slices.ContainsFunc(e.New, func(m chat.Message) bool { return m.Role == chat.System && m.IsSummary() })
	})
	if level == FitName {
		s.max = 0
	} else if i := protection.LatestUser(v.Messages); level == LayerName {
		if s.covered = true; i >= 0 {
			s.latest = v.Messages[i].ID
		}
	}
	return s.newMarks
}

// separators make the messages between two of one role, for templates that
// require roles to alternate. A model imitates earlier assistant messages, and takes
// the text before a request as the newest answer. After a request that stays, the
// marker therefore quotes the last short text of the assistant's answer to that very
// request. If later requests were removed too, a record of the gap and the newest
// answer follow. Without such answers the marker is a bracketed record. Users are not
// imitated: their marker is a record unless the quotation is shorter.
type separators struct {
	max     int // tokens of an answer's text; one that is not longer than the record always fits
	count   func(text string) int
	covered bool   // a summary after the requests covers the gaps between them
	latest  string // except the gap before this message

	summarized bool // by a system message, which separates nothing: what it replaces is not quoted
}

// newMarks returns the messages of alternating roles, the first and the last of role,
// that separate m from the one before gap.
func (s separators) newMarks(role chat.Role, m chat.Message, gap edit.Gap) []edit.Mark {
	var marks []edit.Mark
	switch {
	case role == chat.User:
		marks = s.quotedRequest(m, gap)
	case !s.summarized:
		marks = s.quotedAnswers(m, gap)
	}
	if marks == nil {
		marks = []edit.Mark{separatorAt(role, m, protection.SeparatorText(role), -1)}
	}
	return marks
}

func separatorAt(role chat.Role, m chat.Message, text string, at int) edit.Mark {
	return edit.Mark{At: at, Message: protection.NewSeparator(role, m, text)}
}

// quotedAnswers returns marks that quote removed answers, nil if there are none with
// room: the answer to the request before gap and, if later requests are removed, a
// record and the newest answer.
func (s separators) quotedAnswers(m chat.Message, gap edit.Gap) []edit.Mark {
	first, later := ownAnswer(gap), laterRequest(gap)
	if first < 0 {
		return nil
	}
	most := max(s.max, s.count(protection.SeparatorText(chat.Assistant)))
	text := protection.Excerpt(gap.Messages[first].Text(), most, s.count)
	if text == "" {
		return nil
	}
	marks := []edit.Mark{separatorAt(chat.Assistant, m, text, first)}
	if later < 0 || s.covered && m.ID != s.latest {
		return marks
	}
	newest := newestAnswer(gap)
	if newest < later || s.max == 0 {
		return nil
	}
	if text = protection.Excerpt(gap.Messages[newest].Text(), most, s.count); text == "" {
		return nil
	}
	return append(marks, separatorAt(chat.User, m, protection.SeparatorText(chat.User), later), separatorAt(chat.Assistant, m, text, newest))
}

// quotedRequest returns a mark that quotes the last removed request, if it is no longer
// than a record.
func (s separators) quotedRequest(m chat.Message, gap edit.Gap) []edit.Mark {
	for i := len(gap.Messages) - 1; i >= 0; i-- {
		r := gap.Messages[i]
		if !gap.Gone[i] || !r.Typed() {
			continue
		}
		text := strings.TrimSpace(r.Text())
		if s.count(text) > s.count(protection.SeparatorText(chat.User)) || hasImage(r) {
			return nil
		}
		return []edit.Mark{separatorAt(chat.User, m, text, i)}
	}
	return nil
}

func hasImage(m chat.Message) bool {
	for _, p := range m.Parts {
		if p.Kind == chat.Image {
			return true
		}
	}
	return false
}

// ownAnswer returns the index of the last removed answer to the request before gap, or
// -1. A text that announces a call, a summary and a record are not answers.
func ownAnswer(gap edit.Gap) int {
	found, worked := -1, false
	for i, m := range gap.Messages {
		switch {
		case gap.Gone[i] && protection.IsAnswer(m):
			found, worked = i, true
		case m.Role == chat.Assistant:
			worked = true
		case isRequest(m) && (worked || m.State == chat.Marked):
			return found
		}
	}
	return found
}

// laterRequest returns the index of the first removed request that follows the turn of
// the request before gap, or -1: requests before the assistant's first message belong
// to that turn.
func laterRequest(gap edit.Gap) int {
	worked := false
	for i, m := range gap.Messages {
		if isRequest(m) && (worked || m.State == chat.Marked) {
			return i
		}
		worked = worked || m.Role == chat.Assistant
	}
	return -1
}

// newestAnswer returns the index of the last removed answer in gap, or -1.
func newestAnswer(gap edit.Gap) int {
	for i, m := range slices.Backward(gap.Messages) {
		if gap.Gone[i] && protection.IsAnswer(m) {
			return i
		}
	}
	return -1
}

// isRequest reports whether m begins a turn: a person's message, or a marker in place of
// several.
func isRequest(m chat.Message) bool {
	return m.Typed() || m.Role == chat.User && m.State == chat.Marked
}
