package edit

import (
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/tiercompact/tiercompact/chat"
)

// storedRewrite is the JSON form of a [Rewrite].
type storedRewrite struct {
	Was   []storedKnown `json:"was"`
	After []storedLeft  `json:"after"`
}

type storedKnown struct {
	Sum  string    `json:"sum"`
	Role chat.Role `json:"role"`
	Kept bool      `json:"kept,omitempty"`
}

type storedLeft struct {
	Was   int           `json:"was"` // -1: none
	Made  *chat.Message `json:"made,omitempty"`
	Moved bool          `json:"moved,omitempty"`
}

// MarshalJSON returns r without the objects that its messages were read from:
// [Reapply] takes those from the messages that are sent again.
func (r Rewrite) MarshalJSON() ([]byte, error) {
	s := storedRewrite{Was: make([]storedKnown, len(r.was)), After: make([]storedLeft, len(r.after))}
	for i, w := range r.was {
		s.Was[i] = storedKnown{hex.EncodeToString(w.sum[:]), w.role, w.kept}
	}
	for i, p := range r.after {
		s.After[i] = storedLeft{p.was, p.made, p.moved}
	}
	return json.Marshal(s)
}

// UnmarshalJSON is the reverse. It refuses a record whose indices do not fit.
func (r *Rewrite) UnmarshalJSON(data []byte) error {
	var s storedRewrite
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	out := Rewrite{was: make([]knownMessage, len(s.Was)), after: make([]leftMessage, len(s.After))}
	for i, w := range s.Was {
		sum, err := hex.DecodeString(w.Sum)
		if err != nil || len(sum) != len(Digest{}) {
			return fmt.Errorf("was[%d].sum is no digest: %q", i, w.Sum)
		}
		out.was[i] = knownMessage{Digest(sum), w.Role, w.Kept}
	}
	for i, p := range s.After {
		if p.Was < -1 || p.Was >= len(s.Was) || p.Made == nil && (p.Was < 0 || !s.Was[p.Was].Kept) {
			return fmt.Errorf("after[%d].was is %d, of %d messages", i, p.Was, len(s.Was))
		}
		out.after[i] = leftMessage{was: p.Was, made: p.Made, moved: p.Moved}
		if p.Made != nil {
			out.after[i].sum = MessageDigest(*p.Made)
		}
	}
	*r = out
	return nil
}
