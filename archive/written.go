package archive

import (
	"encoding/json"
	"io"
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/edit"
)

// A Reading is a conversation as a reader of a file gets it.
type Reading struct {
	Format   string // that the file is in
	Messages chat.Transcript
}

// A Written is what a reading is known by later. Formats differ in what they
// hold: names of results, thinking, roles, empty messages, the number of parts.
// So a conversation that was written is known by what is read again, never by
// what was written.
type Written struct {
	Format string   `json:"format"` // that the file is in
	Sums   []string `json:"sums"`   // of each message that the reader gets
	// Clean has, where redaction changes a message, its sum without secrets: an
	// earlier undo may have brought it back so. Else "". Nil where it changes none.
	Clean []string `json:"clean,omitempty"`
}

// NewWritten returns what readings are known by, each conversation once. clean
// are the same without secrets, nil where there are none.
func NewWritten(readings, clean []Reading) []Written {
	var all []Written
	for i, r := range readings {
		w := Written{Format: r.Format, Sums: messageSums(r.Messages)}
		if i < len(clean) {
			w.Clean = changedSums(w.Sums, messageSums(clean[i].Messages))
		}
		same := func(v Written) bool { return slices.Equal(w.Sums, v.Sums) && slices.Equal(w.Clean, v.Clean) }
		if len(w.Sums) > 0 && !slices.ContainsFunc(all, same) {
			all = append(all, w)
		}
	}
	return all
}

// messageSums returns a hash of each message: the half of edit.Sum, as each step has
// many of them. It is the same if a program has written the file anew, with
// other white space or another order of keys in the arguments of a call.
func messageSums(t chat.Transcript) []string {
	sums := make([]string, len(t))
	for i, m := range t {
		m.Parts = slices.Clone(m.Parts)
		for j := range m.Parts {
			p := &m.Parts[j]
			p.Args = canonicalJSON(p.Args)
			if p.Text == p.Raw { // a block that is only known as it was read
				p.Text = canonicalJSON(p.Text)
			}
		}
		sums[i] = edit.Sum(chat.Transcript{m})[:16]
	}
	return sums
}

// canonicalJSON returns one text for all that are the same JSON value, numbers as
// they are written. What is not JSON it returns as it is.
func canonicalJSON(text string) string {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil || d.Decode(new(any)) != io.EOF {
		return text
	}
	same, err := json.Marshal(v)
	if err != nil {
		return text
	}
	return string(same)
}

// changedSums returns those of clean that are not as in sums, "" for the others.
func changedSums(sums, clean []string) []string {
	if len(clean) != len(sums) || slices.Equal(clean, sums) {
		return nil
	}
	changed := slices.Clone(clean)
	for i, sum := range sums {
		if clean[i] == sum {
			changed[i] = ""
		}
	}
	return changed
}

// commonStart returns how many messages at the front of a conversation with these sums
// are those of w.
func (w Written) commonStart(sums []string) int {
	for i, sum := range w.Sums {
		if i == len(sums) || sum != sums[i] && (i >= len(w.Clean) || w.Clean[i] != sums[i]) {
			return i
		}
	}
	return len(w.Sums)
}

// findWritten returns which of written a conversation with these sums begins with.
func findWritten(written []Written, sums []string) (Written, bool) {
	for _, w := range written {
		if len(w.Sums) > 0 && w.commonStart(sums) == len(w.Sums) {
			return w, true
		}
	}
	return Written{}, false
}
