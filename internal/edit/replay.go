package edit

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"

	"github.com/tiercompact/tiercompact/chat"
)

// A Round is one compaction as it was made: one list of edits for each level
// that had its turn, each made on what the one before left. A client that
// sends its whole conversation with every request gets the same rounds made
// again each time, so that what the server has cached stays valid.
type Round struct {
	Seen  int      // messages of the original conversation it had seen
	Sum   string   // of those messages
	Steps [][]Edit // in order
}

// Replay makes rounds again, on the original conversation. Where the original
// is no longer the one that a round had seen, that round and those after it are
// forgotten; fit are the rounds that were made.
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

// Sum returns a hash of what t says: roles, parts and pairing, not ids of
// messages, which a client need not send. A summary's part is the same as a
// block and as the text that it is on the wire, and so is an opaque part.
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
