package edit

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"

	"github.com/tiercompact/tiercompact/chat"
)

// A Round is one applied compaction: one list of edits for each level that ran,
// each for the outcome of the one before. A client that sends its whole
// conversation with every request gets the same rounds each time, so that the
// server's prompt cache stays valid.
type Round struct {
	Seen  int      // number of messages of the original conversation
	Sum   string   // of those messages
	Steps [][]Edit // in order
}

// Replay repeats rounds on the original conversation. If the original has changed
// under a round, that round and those after it are dropped; fit are the rounds that
// were applied.
func Replay(original chat.Transcript, rounds []Round) (t chat.Transcript, fit []Round) {
	seen := 0
	for i, r := range rounds {
		if r.Seen > len(original) || r.Seen < seen || r.Sum != Sum(original[:r.Seen]) {
			return append(t, original[seen:]...), rounds[:i]
		}
		next := append(t[:len(t):len(t)], original[seen:r.Seen]...)
		for _, edits := range r.Steps {
			var err error
			if next, err = assemble(next, Sorted(edits)); err != nil {
				return append(t, original[seen:]...), rounds[:i]
			}
		}
		t, seen = next, r.Seen
	}
	return append(t[:len(t):len(t)], original[seen:]...), rounds
}

// Sum returns a hash of the content of t: roles, parts and pairing, not ids of
// messages, which a client need not send. A summary has the same hash as a block
// and as its text on the wire, and so has an opaque part.
func Sum(t chat.Transcript) string {
	h := sha256.New()
	for _, m := range t {
		fmt.Fprintf(h, "%s %d\n", m.Role, len(m.Parts))
		for _, p := range m.Parts {
			kind := p.Kind
			if kind == chat.Summary || kind == chat.Opaque {
				kind = chat.Text
			}
			fmt.Fprintf(h, "%s %d %d %d %d\n", kind, len(p.Text), len(p.ID), len(p.Name), len(p.Args))
			for _, s := range []string{p.Text, p.ID, p.Name, p.Args} {
				io.WriteString(h, s)
			}
			if p.Image != nil {
				fmt.Fprintf(h, "%s %d %s", p.Image.MediaType, len(p.Image.Data), p.Image.Data+p.Image.URL)
			}
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
