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

// A Written identifies a reading later. Formats differ in what they store: names of
// results, thinking, roles, empty messages, the number of parts. So a written
// conversation is identified by reading it back, never by the original.
type Written struct {
	Format string   `json:"format"` // that the file is in
	Sums   []string `json:"sums"`   // of each message that the reader gets
	// Clean has, if redaction changes a message, its sum without secrets, because
	// an earlier undo may have restored it so. Else "". Nil if it changes none.
	Clean []string `json:"clean,omitempty"`
}

// NewWritten returns the identities of readings, each conversation once. clean are
// the same without secrets, nil if there are none.
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

// messageSums returns a hash of each message: half of edit.Sum, because each step
// has many of them. It is the same if a program has rewritten the file with other
// white space or another order of keys in the arguments of a call.
func messageSums(t chat.Transcript) []string {
	sums := make([]string, len(t))
	for i, m := range t {
		m.Parts = slices.Clone(m.Parts)
		for j := range m.Parts {
			p := &m.Parts[j]
			p.Args = canonicalJSON(p.Args)
			if p.Text == p.Raw { // an opaque block is known only in its original form
				p.Text = canonicalJSON(p.Text)
			}
		}
		sums[i] = edit.Sum(chat.Transcript{m})[:16]
	}
	return sums
}

// canonicalJSON returns one text for all forms of a JSON value, with numbers
// unchanged. It returns other text unchanged.
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

// changedSums returns the sums in clean that differ from sums, "" for the others.
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

// commonStart returns how many messages at the front of a conversation with these
// sums are equal to those of w.
func (w Written) commonStart(sums []string) int {
	for i, sum := range w.Sums {
		if i == len(sums) || sum != sums[i] && (i >= len(w.Clean) || w.Clean[i] != sums[i]) {
			return i
		}
	}
	return len(w.Sums)
}

// findWritten returns which of written is the beginning of a conversation with
// these sums.
func findWritten(written []Written, sums []string) (Written, bool) {
	for _, w := range written {
		if len(w.Sums) > 0 && w.commonStart(sums) == len(w.Sums) {
			return w, true
		}
	}
	return Written{}, false
}
