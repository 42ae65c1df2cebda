package proxy

import (
	"context"
	"errors"
	"time"

	"github.com/tiercompact/tiercompact/internal/edit"
)

// A Tip is the newest known request of a conversation.
type Tip struct {
	ID        string    `json:"id"` // of the session in the archive
	Space     string    `json:"space,omitempty"`
	Parent    string    `json:"parent,omitempty"` // the conversation that it began as
	Chain     []Link    `json:"chain"`
	Answered  int       `json:"answered,omitempty"` // links up to the newest answer
	Signature Link      `json:"signature"`          // of system prompt and tools
	Window    int       `json:"window,omitempty"`   // that the server's error named; 0: none
	Used      time.Time `json:"used"`
}

// A Link identifies the first messages of a conversation, without system prompt.
type Link = edit.Digest

// ErrConflict says that another process has stored rounds since they were read.
var ErrConflict = errors.New("the conversation has changed meanwhile")

// A State holds what a proxy knows of conversations. It is safe for concurrent use.
type State interface {
	// Find returns the conversation in a space whose newest request has the longest
	// common beginning with chain, and the number of common links: 0 if there is none.
	// Of several, one that ends there is preferred, then the one used last.
	Find(ctx context.Context, space string, chain []Link) (tip Tip, common int, err error)
	// Has reports whether there is a conversation with an id.
	Has(ctx context.Context, id string) (bool, error)
	// List returns all conversations, those used last first.
	List(ctx context.Context) ([]Tip, error)
	// Touch stores a conversation's newest request. Later calls of Find see it; it
	// may be written to disk later.
	Touch(ctx context.Context, tip Tip) error
	// Rounds returns the stored rounds of a conversation and their version, 0 if there
	// are none.
	Rounds(ctx context.Context, id string) (data []byte, version uint64, err error)
	// SetRounds stores rounds in place of those with a version, durably, or returns
	// ErrConflict.
	SetRounds(ctx context.Context, id string, data []byte, version uint64) error
	// Lease waits until no other holds the lease of a conversation. It ends with
	// release, or if its holder dies.
	Lease(ctx context.Context, id string) (release func(), err error)
}

// Nearest returns the conversation of tips, which are of one space, whose newest request
// has the longest common beginning with chain, as [State.Find] does.
func Nearest(tips []Tip, chain []Link) (best Tip, common int) {
	for _, tip := range tips {
		n := commonLinks(tip.Chain, chain)
		ends, bestEnds := len(tip.Chain) == n, len(best.Chain) == common
		switch {
		case n == 0 || n < common:
		case n > common, ends && !bestEnds, ends == bestEnds && (tip.Used.After(best.Used) || tip.Used.Equal(best.Used) && tip.ID < best.ID):
			best, common = tip, n
		}
	}
	return best, common
}
