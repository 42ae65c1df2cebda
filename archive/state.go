package archive

import (
	"errors"
	"fmt"
	"slices"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/edit"
)

// A State is the state of a session.
type State struct {
	Meta     Meta
	Messages chat.Transcript
	Rounds   []AppliedRound // in effect, oldest first
	// Since counts the messages added since the newest round or undo; -1 if there
	// was none. It is the position in the cooldown.
	Since int
	// Waiting are the levels without a gain since then, in the order in which that
	// was found.
	Waiting []Wait
	// Number is the highest number of a round, in effect or not. The archive may
	// have one more, if the process ended before that round was applied.
	Number int
	// Added counts all messages ever added.
	Added int
	// IDs are those of all messages ever added, in order, including those that are
	// no longer in the conversation.
	IDs []string
	// Steps are the numbers of all rounds in the file, in effect or not, in order.
	Steps []int
	// Work is the newest record of the work; zero if there is none, or if messages were
	// cut since.
	Work Work
	// Torn is the length in bytes of an unfinished last record, which is omitted.
	Torn int
}

// An AppliedRound is a round that is in effect.
type AppliedRound struct {
	Round
	// Inverse undoes the round, on the conversation after this round with all later
	// ones undone
	Inverse [][]edit.Edit
	after   int // messages when it was made
}

// A Wait is a level without a gain, or with too little.
type Wait struct {
	Level, Reason string
	Seen          int // messages of the conversation when that was found
}

// apply makes the change of a record, of any kind but a message.
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
	case x.State != nil:
		s.restoreState(*x.State)
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
	return Round{x.Number, x.Level, x.Reason, edits, x.Time, x.Work}, err
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
	if r.Work.Text != "" {
		s.Work = r.Work
	}
	s.Steps = append(s.Steps, r.Number)
	s.Rounds = append(s.Rounds[:len(s.Rounds):len(s.Rounds)], AppliedRound{r, inverse, len(after)})
	return nil
}

// restoreState restores the state of a session from a rewritten file.
func (s *State) restoreState(x stateMade) {
	s.Since, s.Number, s.Added, s.Waiting = max(x.Since, -1), max(s.Number, x.Number), max(len(s.Messages), x.Added), nil
	s.IDs, s.Steps, s.Work = x.IDs, x.Steps, x.Work
	for _, w := range x.Waiting {
		s.addWait(Wait(w))
	}
}

// addWait records that a level waits from now on.
func (s *State) addWait(w Wait) {
	if w.Seen <= 0 || w.Seen > len(s.Messages) {
		w.Seen = len(s.Messages) // files of earlier versions do not have it
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

// cutMessages keeps n messages. A round on more messages can then no longer be
// undone, nor those before it.
func (s *State) cutMessages(n int) error {
	if n < 0 || n > len(s.Messages) {
		return fmt.Errorf("cut to %d of %d messages", n, len(s.Messages))
	}
	s.Messages, s.Waiting, s.Work = s.Messages[:n:n], nil, Work{}
	for i := len(s.Rounds) - 1; i >= 0; i-- {
		if s.Rounds[i].after > n {
			s.Rounds = s.Rounds[i+1:]
			break
		}
	}
	return nil
}

// setMessage replaces message at by m.
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
