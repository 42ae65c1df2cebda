package recall

import (
	"context"
	"errors"
	"regexp"
	"slices"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
)

// A Dropped message is one that a round removed.
type Dropped struct {
	ID       string    `json:"id"`      // recall id
	Message  int       `json:"message"` // its number in the session
	Role     chat.Role `json:"role"`
	Title    string    `json:"title"`
	Text     string    `json:"text"` // its beginning, on one line; of a decision the sentence
	Decision bool      `json:"decision,omitempty"`
}

// decides finds a sentence that decides something.
var decides = regexp.MustCompile(`(?i)[^.!?\n]*\b(decision:|decided|we(?:'ll| will) (?:use|keep|go with)|let's (?:use|keep|go with)|instead of|rather than|must (?:not|never)|never |always )[^.!?\n]*[.!?]?`)

// Dropped returns the messages that step number of a session removed and that the
// conversation before it had whole: decisions first, then what people said, then the
// others, each in their order.
func (s *IndexedStore) Dropped(ctx context.Context, session string, number int) ([]Dropped, error) {
	var step archive.Step
	err := archive.Removals(ctx, s.Store, session, number-1, func(found archive.Step, err error) error {
		if found.Number == number {
			step = found
		}
		return errors.Join(err, errEnough)
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, err
	}
	x := s.index(session)
	if err := x.refresh(ctx, s.Store); err != nil {
		return nil, err
	}
	x.mu.Lock()
	numbers := x.knownSteps().numbers
	x.mu.Unlock()
	calls := callsOf(step)
	var out []Dropped
	rank := make(map[int]int)
	for _, e := range step.Removed {
		for _, m := range e.Messages {
			if m.State != chat.Active {
				continue
			}
			c, failed := calledBy(m, calls)
			h := Hit{Message: int(numbers[hashOfID(m.ID)]), Role: m.Role, Tool: c.tool, Args: c.args, File: c.file, Failed: failed, Parts: 1}
			d := Dropped{ID: e.ID, Message: h.Message, Role: m.Role, Title: h.title(), Text: clipped(oneLine(m.Text()), 120)}
			at := 2
			if m.Role == chat.User && !m.Machine {
				at = 1
			}
			if said := decides.FindString(m.Text()); said != "" && m.Role != chat.Tool && !m.Machine {
				d.Decision, d.Text, at = true, clipped(oneLine(said), 160), 0
			}
			rank[d.Message] = at
			out = append(out, d)
		}
	}
	slices.SortStableFunc(out, func(a, b Dropped) int {
		if r := rank[a.Message] - rank[b.Message]; r != 0 {
			return r
		}
		return a.Message - b.Message
	})
	return out, nil
}

var errEnough = errors.New("enough")
