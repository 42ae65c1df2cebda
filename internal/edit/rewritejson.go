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
	Sum  Digest    `json:"sum"`
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
		s.Was[i] = storedKnown{w.sum, w.role, w.kept}
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
		out.was[i] = knownMessage{w.Sum, w.Role, w.Kept}
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

// MarshalText returns d as hexadecimal digits.
func (d Digest) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, d[:]), nil }

// UnmarshalText is the reverse.
func (d *Digest) UnmarshalText(text []byte) error {
	sum, err := hex.DecodeString(string(text))
	if err != nil || len(sum) != len(d) {
		return fmt.Errorf("%q is not a digest", text)
	}
	*d = Digest(sum)
	return nil
}
