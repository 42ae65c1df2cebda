package bench

import (
	"fmt"

	"github.com/tiercompact/tiercompact/chat"
)

// Baselines returns the baselines with one seed.
func Baselines() []Way { return baselines(42) }

// Add cuts a session, compacts the messages before each cut with way, and adds the
// retention. A session of fewer than 40 messages adds nothing.
func (k *Kept) Add(session chat.Transcript, way Way, count func(string) int) error {
	for _, c := range cuttings(session, nil, count) {
		left, err := way.Make(c.before, count)
		if err != nil {
			return fmt.Errorf("%s, cut at %d: %w", way.Name, len(c.before), err)
		}
		k.addCut(c, left, count)
	}
	return nil
}
