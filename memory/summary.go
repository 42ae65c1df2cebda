package memory

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

// NewSummary returns the message of a session's n-th summary. It is the
// assistant's, or with the role System a system message. It says no more than
// what a reader sees.
func NewSummary(n int, role chat.Role, content, recall string) chat.Message {
	content = chat.Visible(content)
	text := fmt.Sprintf("%s%d>\n%s", summaryHead, n, content)
	if role == chat.System {
		text = fmt.Sprintf("%s v%d\n%s", summarySystem, n, content)
	} else {
		role = chat.Assistant
	}
	return chat.Message{
		ID: fmt.Sprintf("%s%d", summaryID, n), Role: role, State: chat.Summarized, Recall: recall,
		Parts: []chat.Part{{Kind: chat.Summary, Text: text}},
	}
}

// mostSummaries is far more than a session can have.
const mostSummaries = 1 << 30

// SummaryContent returns the number and the content of a summary.
func SummaryContent(m chat.Message) (n int, content string) {
	head, content, _ := strings.Cut(m.Text(), "\n")
	head = strings.TrimPrefix(strings.TrimPrefix(head, summaryHead), summarySystem+" v")
	number, rest, _ := strings.Cut(head, ">")
	if n, _ = strconv.Atoi(strings.TrimSpace(number)); n < 0 || n > mostSummaries {
		n = 0 // not a number of ours
	}
	if rest = strings.TrimSpace(rest); rest != "" {
		content = rest + "\n" + content
	}
	return n, content
}

// NewSeparator returns a short message that parts two messages of one role. It
// has the other role, and stands before m.
func NewSeparator(role chat.Role, m chat.Message) chat.Message {
	text := markerHead + "the reply that stood here was left out]"
	if role == chat.User {
		text = markerHead + "go on]"
	}
	return chat.Message{
		ID: markerID + m.ID, Role: role, State: chat.Marked,
		Parts: []chat.Part{{Kind: chat.Text, Text: text}},
	}
}

// NewMarker returns the message that stands for dropped messages: how many,
// their recall id, and the names that would be lost with them.
func NewMarker(role chat.Role, dropped int, recall string, names []string) chat.Message {
	return chat.Message{
		ID: markerID + recall, Role: role, State: chat.Marked, Recall: recall,
		Parts: []chat.Part{{Kind: chat.Text, Text: MarkerText(dropped, recall, names)}},
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

// Counted says how many messages: "1 message", "2 messages".
func Counted(n int) string {
	if n == 1 {
		return "1 message"
	}
	return fmt.Sprintf("%d messages", n)
}

const namesHead = "\nnames: "

// MarkerNames returns the names that a marker carries.
func MarkerNames(m chat.Message) []string {
	_, names, found := strings.Cut(m.Text(), namesHead)
	if !found {
		return nil
	}
	return strings.Fields(names)
}

// RecallIDs returns the recall ids that stand in what compaction has written
// into m. What was not rewritten has none.
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
				if len(rest) >= recallLen && isHex(rest[:recallLen]) {
					ids = append(ids, rest[:recallLen])
				}
				text = rest
			}
		}
	}
	return ids
}

const (
	recallWord = "recall "
	recallLen  = 8 // digits of an id
)

func isHex(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
