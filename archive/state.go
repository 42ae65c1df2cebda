package archive

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/edit"
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

// ReadSession returns how the session in the file path stands, without opening
// it for writing and without its lock.
func ReadSession(path string) (State, error) {
	s, _, err := readSession(path)
	if err != nil {
		return State{}, fmt.Errorf("read session %s: %w", path, err)
	}
	return s, nil
}

// A reader makes a State out of the records of a session file.
type reader struct {
	state   State
	shared  sharing
	end     int64 // behind the last whole record, without a missing line feed
	unended bool  // the last record is whole but for its line feed
}

func readSession(path string) (State, *reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return State{}, nil, err
	}
	defer f.Close()
	r := &reader{state: State{Since: -1}}
	b := bufio.NewReaderSize(f, 1<<16)
	for n := 1; ; n++ {
		line, err := readLine(b)
		if err != nil && err != io.EOF {
			return State{}, nil, fmt.Errorf("line %d: %w", n, err)
		}
		last := err == io.EOF
		if last && len(line) == 0 {
			break
		}
		if err := r.line(n, line, last); err != nil {
			return State{}, nil, fmt.Errorf("line %d: %w", n, err)
		}
		if last {
			break
		}
	}
	if r.state.Meta.Session == "" {
		return State{}, nil, fmt.Errorf("%w: it does not begin with the session's record", ErrDamaged)
	}
	return r.state, r, nil
}

// line takes line n in. One without its line feed may be torn.
func (r *reader) line(n int, line []byte, last bool) error {
	var x sessionLine
	err := decodeLine(line, &x)
	if err != nil && last && errors.Is(err, ErrDamaged) {
		r.state.Torn = len(line)
		return nil
	}
	if err != nil {
		return err
	}
	if (n == 1) != (x.Meta != nil) {
		return fmt.Errorf("%w: the session's record is the first, and no other", ErrDamaged)
	}
	if err := r.apply(x); err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	r.end += int64(len(line))
	if r.unended = last; !last {
		r.end++
	}
	return nil
}

func (r *reader) apply(x sessionLine) error {
	s := &r.state
	switch {
	case x.Meta != nil:
		s.Meta = *x.Meta
		return nil
	case x.Message != nil:
		return r.add(*x.Message, x.Loaded)
	case x.Round != nil:
		return s.round(*x.Round)
	case x.Undo != nil:
		return s.undo()
	case x.Cut != nil:
		return s.cut(*x.Cut)
	case x.Set != nil:
		return s.set(*x.Set)
	}
	return errors.New("a record of an unknown kind")
}

func (r *reader) add(x message, loaded bool) error {
	m, err := r.shared.decode(x)
	if err != nil {
		return err
	}
	s := &r.state
	s.Messages = append(s.Messages, m)
	s.IDs = append(s.IDs, m.ID)
	s.Added++
	if s.Since >= 0 && !loaded {
		s.Since++
	}
	return nil
}

func (s *State) round(x roundMade) error {
	edits, err := x.Edits.round()
	if err != nil {
		return err
	}
	if x.Number == 0 {
		s.wait(Wait{x.Level, x.Reason, edits.Seen})
		return nil
	}
	s.Since, s.Number, s.Waiting = 0, max(s.Number, x.Number), nil
	after, inverse, err := applyRound(s.Messages, edits.Steps)
	if err != nil {
		return fmt.Errorf("round %d: %w", x.Number, err)
	}
	s.Messages = after
	s.Steps = append(s.Steps, x.Number)
	s.Rounds = append(s.Rounds, Standing{Round{x.Number, x.Level, x.Reason, edits, x.Time}, inverse, len(after)})
	return nil
}

// wait notes a level that waits from now on.
func (s *State) wait(w Wait) {
	if w.Seen <= 0 || w.Seen > len(s.Messages) {
		w.Seen = len(s.Messages) // files of earlier versions do not say
	}
	s.Waiting = slices.DeleteFunc(s.Waiting, func(old Wait) bool { return old.Level == w.Level })
	s.Waiting = append(s.Waiting, w)
}

func (s *State) undo() error {
	if len(s.Rounds) == 0 {
		return errors.New("undo without a round")
	}
	newest := s.Rounds[len(s.Rounds)-1]
	before, _, err := applyRound(s.Messages, newest.Inverse)
	if err != nil {
		return fmt.Errorf("undo of round %d: %w", newest.Number, err)
	}
	s.Messages, s.Rounds, s.Since, s.Waiting = withProtection(before, s.Messages), s.Rounds[:len(s.Rounds)-1], 0, nil
	return nil
}

// withProtection returns t with the messages protected that are protected in now,
// under whatever text: a round that is taken back may be older than that.
func withProtection(t, now chat.Transcript) chat.Transcript {
	protected := make(map[string]bool)
	for _, m := range now {
		if m.Protected {
			protected[m.ID] = true
		}
	}
	if len(protected) == 0 {
		return t
	}
	t = slices.Clone(t)
	for i := range t {
		t[i].Protected = t[i].Protected || protected[t[i].ID]
	}
	return t
}

// cut keeps n messages. A round that was made on more cannot be taken back
// then, nor those before it.
func (s *State) cut(n int) error {
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

func (s *State) set(x setMade) error {
	if x.At < 0 || x.At >= len(s.Messages) {
		return fmt.Errorf("change of message %d of %d", x.At, len(s.Messages))
	}
	var alone sharing
	m, err := alone.decode(x.Message)
	if err != nil {
		return err
	}
	s.Messages[x.At] = m
	return nil
}
