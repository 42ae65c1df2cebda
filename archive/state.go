package archive

import (
	"errors"
	"fmt"
	"slices"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/edit"
)

// A State is how a session stands.
type State struct {
	Meta     Meta
	Messages chat.Transcript
	Rounds   []Standing // in effect, oldest first
	// Since counts the messages added since the newest round or undo; -1 where
	// there was none. It is the place in the cooldown.
	Since int
	// Waiting are the levels that had nothing to offer since then, in the order
	// in which that was found.
	Waiting []Wait
	// Number is the highest number of a round, standing or not. The archive
	// may hold one more, whose round the process did not live to make.
	Number int
	// Added counts all messages ever added.
	Added int
	// IDs are those of all messages ever added, in order, also of those that are
	// no longer in the conversation.
	IDs []string
	// Steps are the numbers of all rounds that the file tells of, standing or not,
	// in order.
	Steps []int
	// Torn is the length in bytes of a last record that was not written to
	// its end and is left out.
	Torn int
}

// A Standing is a round that is in effect.
type Standing struct {
	Round
	// Inverse takes the round back, made on the conversation as it stands
	// behind this round and all later ones taken back.
	Inverse [][]edit.Edit
	after   int // messages when it was made
}

// A Wait is a level that had nothing to offer, or too little.
type Wait struct {
	Level, Reason string
	Seen          int // messages of the conversation when that was found
}

// apply makes the change that a record tells of, of any kind but a message.
func (s *State) apply(x sessionLine) error {
	switch {
	case x.Meta != nil:
		s.Meta = *x.Meta
		return nil
	case x.Round != nil:
		r, err := x.Round.round()
		if err != nil {
			return err
		}
		return s.addRound(r)
	case x.Undo != nil:
		return s.undoRound()
	case x.Cut != nil:
		return s.cutMessages(*x.Cut)
	case x.Set != nil:
		var alone sourceSharing
		m, err := alone.decodeMessage(x.Set.Message)
		if err != nil {
			return err
		}
		return s.setMessage(x.Set.At, m)
	case x.Stand != nil:
		s.stand(*x.Stand)
		return nil
	}
	return errors.New("a record of an unknown kind")
}

func (s *State) add(m chat.Message, loaded bool) {
	s.Messages = append(s.Messages, m)
	s.IDs = append(s.IDs, m.ID)
	s.Added++
	if s.Since >= 0 && !loaded {
		s.Since++
	}
}

func (x roundMade) round() (Round, error) {
	edits, err := x.Edits.editRound()
	return Round{x.Number, x.Level, x.Reason, edits, x.Time}, err
}

func (s *State) addRound(r Round) error {
	if r.Number == 0 {
		s.addWait(Wait{r.Level, r.Reason, r.Edits.Seen})
		return nil
	}
	after, inverse, err := applyRound(s.Messages, r.Edits.Steps)
	if err != nil {
		return fmt.Errorf("round %d: %w", r.Number, err)
	}
	s.Since, s.Number, s.Waiting = 0, max(s.Number, r.Number), nil
	s.Messages = after
	s.Steps = append(s.Steps, r.Number)
	s.Rounds = append(s.Rounds[:len(s.Rounds):len(s.Rounds)], Standing{r, inverse, len(after)})
	return nil
}

// stand takes over what a file that was written anew says of its session.
func (s *State) stand(x standMade) {
	s.Since, s.Number, s.Added, s.Waiting = max(x.Since, -1), max(s.Number, x.Number), max(len(s.Messages), x.Added), nil
	s.IDs, s.Steps = x.IDs, x.Steps
	for _, w := range x.Waiting {
		s.addWait(Wait(w))
	}
}

// addWait notes a level that waits from now on.
func (s *State) addWait(w Wait) {
	if w.Seen <= 0 || w.Seen > len(s.Messages) {
		w.Seen = len(s.Messages) // files of earlier versions do not say
	}
	s.Waiting = slices.DeleteFunc(slices.Clone(s.Waiting), func(old Wait) bool { return old.Level == w.Level })
	s.Waiting = append(s.Waiting, w)
}

func (s *State) undoRound() error {
	if len(s.Rounds) == 0 {
		return errors.New("undo without a round")
	}
	newest := s.Rounds[len(s.Rounds)-1]
	before, _, err := applyRound(s.Messages, newest.Inverse)
	if err != nil {
		return fmt.Errorf("undo of round %d: %w", newest.Number, err)
	}
	s.Messages, s.Rounds, s.Since, s.Waiting = edit.KeepProtection(before, s.Messages), s.Rounds[:len(s.Rounds)-1], 0, nil
	return nil
}

// cutMessages keeps n messages. A round that was made on more cannot be taken back
// then, nor those before it.
func (s *State) cutMessages(n int) error {
	if n < 0 || n > len(s.Messages) {
		return fmt.Errorf("cut to %d of %d messages", n, len(s.Messages))
	}
	s.Messages, s.Waiting = s.Messages[:n:n], nil
	for i := len(s.Rounds) - 1; i >= 0; i-- {
		if s.Rounds[i].after > n {
			s.Rounds = s.Rounds[i+1:]
			break
		}
	}
	return nil
}

// setMessage puts m in the place of message at.
func (s *State) setMessage(at int, m chat.Message) error {
	if err := s.settable(at); err != nil {
		return err
	}
	s.Messages[at] = m
	return nil
}

func (s *State) settable(at int) error {
	if at < 0 || at >= len(s.Messages) {
		return fmt.Errorf("change of message %d of %d", at, len(s.Messages))
	}
	return nil
}
