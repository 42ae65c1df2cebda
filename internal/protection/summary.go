package protection

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

// NewSummary returns the message of a session's n-th summary. It is an assistant
// message or, with the role System, a system message. Its last line shows the
// recall id, unless that is empty. It has no invisible characters.
func NewSummary(n int, role chat.Role, content, recall string) chat.Message {
	content = chat.Visible(content)
	text := fmt.Sprintf("%s%d>\n%s", summaryHead, n, content)
	if role == chat.System {
		text = fmt.Sprintf("%s v%d\n%s", summarySystem, n, content)
	} else {
		role = chat.Assistant
	}
	if recall != "" {
		text += summaryRecall + recall + "]"
	}
	return chat.Message{
		ID: fmt.Sprintf("%s%d", summaryID, n), Role: role, State: chat.Summarized, Recall: recall,
		Parts: []chat.Part{{Kind: chat.Summary, Text: text}},
	}
}

// maxSummaries is far above the number of summaries in a session.
const maxSummaries = 1 << 30

// SummaryContent returns the number and the content of a summary.
func SummaryContent(m chat.Message) (n int, content string) {
	head, content, _ := strings.Cut(withoutRecall(m.Text()), "\n")
	head = strings.TrimPrefix(strings.TrimPrefix(head, summaryHead), summarySystem+" v")
	number, rest, _ := strings.Cut(head, ">")
	if n, _ = strconv.Atoi(strings.TrimSpace(number)); n < 0 || n > maxSummaries {
		n = 0 // not a number that this program wrote
	}
	if rest = strings.TrimSpace(rest); rest != "" {
		content = rest + "\n" + content
	}
	return n, content
}

// summaryRecall is before the recall id in the last line of a summary.
const summaryRecall = "\n[" + recallWord

// withoutRecall returns the text of a summary without the line of its recall id.
func withoutRecall(text string) string {
	at := strings.LastIndex(text, summaryRecall)
	if at < 0 {
		return text
	}
	id, rest, closed := strings.Cut(text[at+len(summaryRecall):], "]")
	if !closed || len(id) != recallLen || !isHexDigits(id) || strings.TrimSpace(rest) != "" {
		return text
	}
	return text[:at]
}

// NewMarker returns the message that replaces dropped messages: their number, their
// recall id, and the names that would be lost with them.
func NewMarker(role chat.Role, dropped int, recall string, names []string) chat.Message {
	return chat.Message{
		ID: markerID + recall, Role: role, State: chat.Marked, Recall: recall,
		Parts: []chat.Part{{Kind: chat.Text, Text: MarkerText(dropped, recall, names)}},
	}
}

// NewAnswer returns the message that replaces the answer m by a part of its text.
func NewAnswer(text string, m chat.Message) chat.Message {
	return chat.Message{
		ID: markerID + m.ID, Role: chat.Assistant, State: chat.Marked,
		Parts: []chat.Part{{Kind: chat.Text, Text: text}},
	}
}

// MarkerText is the text of a marker.
func MarkerText(dropped int, recall string, names []string) string {
	text := fmt.Sprintf("%s%s left out; recall %s]", markerHead, Counted(dropped), recall)
	if len(names) > 0 {
		text += namesHead + chat.Visible(strings.Join(names, " "))
	}
	return text
}

// CutMarker returns text without the marker at its end, the number of messages in
// the marker, and its names.
func CutMarker(text string) (rest string, count int, names []string) {
	at := strings.LastIndex(text, "\n"+markerHead)
	if at < 0 {
		return text, 0, nil
	}
	head, list, _ := strings.Cut(text[at+1:], namesHead)
	var id string
	if n, _ := fmt.Sscanf(head, markerHead+"%d", &count); n != 1 || strings.Contains(head+list, "\n") {
		return text, 0, nil
	}
	if _, id, _ = strings.Cut(head, "left out; "+recallWord); len(id) != recallLen+1 || !isHexDigits(id[:recallLen]) {
		return text, 0, nil
	}
	return text[:at], count, strings.Fields(list)
}

// Counted returns a number of messages: "1 message", "2 messages".
func Counted(n int) string {
	if n == 1 {
		return "1 message"
	}
	return fmt.Sprintf("%d messages", n)
}

const namesHead = "\nnames: "

// IsNamesLine reports whether a line holds the names of a marker.
func IsNamesLine(line string) bool { return strings.HasPrefix(line, namesHead[1:]) }

// RecallIDs returns the recall ids in the text that compaction has written into m,
// none if it has not.
func RecallIDs(m chat.Message) []string {
	if m.State == chat.Active {
		return nil
	}
	var ids []string
	for _, p := range m.Parts {
		for _, text := range []string{p.Text, p.Args} {
			for {
				_, rest, found := strings.Cut(text, recallWord)
				if !found {
					break
				}
				if len(rest) >= recallLen && isHexDigits(rest[:recallLen]) {
					ids = append(ids, rest[:recallLen])
				}
				text = rest
			}
		}
	}
	return ids
}

// WithRecall returns m with its first recall id replaced.
func WithRecall(m chat.Message, id string) chat.Message {
	shown := RecallIDs(m)
	if len(shown) == 0 {
		return m
	}
	parts := slices.Clone(m.Parts)
	for i := range parts {
		for _, text := range []*string{&parts[i].Text, &parts[i].Args} {
			if put := strings.Replace(*text, recallWord+shown[0], recallWord+id, 1); put != *text {
				*text, parts[i].Raw = put, ""
				m = m.With(m.State, parts...)
				m.Recall = id
				return m
			}
		}
	}
	return m
}

const (
	recallWord = "recall "
	recallLen  = 8 // digits of an id
)

func isHexDigits(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
