package archive

import (
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/edit"
)

// origins are the records by which messages came into a damaged session file, by
// their ids.
type origins struct {
	added  map[string]int  // of a record that adds a message
	wrote  map[string]int  // of a round that put it in the place of others; 0: its record is damaged
	told   map[string]bool // by a step of the archive, whatever record added it
	rounds map[int]bool    // by number, of which the record is there
}

func newOrigins() origins {
	return origins{make(map[string]int), make(map[string]int), make(map[string]bool), make(map[int]bool)}
}

// made takes in what a round wrote.
func (o origins) made(r Round, record int) {
	o.rounds[r.Number] = true
	for _, m := range writtenBy(r.Edits) {
		o.wrote[m.ID] = record
	}
}

// writtenBy returns the messages that a round puts in the place of others.
func writtenBy(r edit.Round) (messages []chat.Message) {
	for _, edits := range r.Steps {
		for _, e := range edits {
			messages = append(messages, e.New...)
		}
	}
	return messages
}

// seenBy returns up to which record a step certainly knows what was told, by the
// messages that it has; and how many records behind that of the newest message it
// knows it makes good besides: each message that no other record added is of one.
func (o origins) seenBy(s Step) (newest, added, more int) {
	for _, m := range s.Before {
		if n := o.added[m.ID]; n > 0 {
			newest, added, more = max(newest, n), max(added, n), 0
			continue
		}
		n, wrote := o.wrote[m.ID]
		newest = max(newest, n)
		if !wrote && !o.told[m.ID] {
			more++
		}
	}
	return newest, added, more
}

// toldBy returns which damages a step makes good, of those before record until:
// all up to the newest record that the step knows, and behind that, where no
// message of a record is one that it does not know, as many as it has messages
// and rounds of which no record is there.
func (r *recovery) toldBy(s Step, until int) (damages []int, err error) {
	seen, rounds, err := r.damagedRounds(s)
	if err != nil {
		return nil, err
	}
	newest, added, more := r.origins.seenBy(s)
	newest, more = max(newest, seen), more+rounds
	for _, n := range r.origins.added {
		if n > newest && n < until {
			more = 0 // it is older than that record, and what it has may be of what was cut off since
		}
	}
	for i, d := range r.Damages {
		last := max(d.Record, d.Until)
		if !d.Lost || d.Step > 0 || d.Record == 0 || last >= until {
			continue
		}
		if last > added {
			more -= last - max(d.Record, added+1) + 1
		}
		if last <= newest || more >= 0 {
			damages = append(damages, i)
		}
	}
	return damages, nil
}

// An unrecordedRound is one that the archive knows, and no record that is as it
// was written.
type unrecordedRound struct {
	number int
	wrote  []chat.Message
	newest int // record that it knows
}

// damagedRounds looks for the rounds before a step whose records are damaged, and
// which it was made behind: it has what they wrote. It returns the newest record
// that they know, and how many they are.
func (r *recovery) damagedRounds(s Step) (newest, rounds int, err error) {
	if err := r.readUnrecorded(s.Number); err != nil {
		return 0, 0, err
	}
	has := make(map[string]chat.Message, len(s.Before))
	for _, m := range s.Before {
		has[m.ID] = m
	}
	for _, made := range r.unrecorded {
		if made.number >= s.Number || r.origins.rounds[made.number] {
			continue
		}
		seen := false
		for _, m := range made.wrote {
			if n, ok := has[m.ID]; ok && r.origins.added[m.ID] == 0 && edit.Same(m, n) {
				seen, r.origins.wrote[m.ID] = true, max(0, r.origins.wrote[m.ID])
			}
		}
		if seen {
			newest, rounds = max(newest, made.newest), rounds+1
		}
	}
	return newest, rounds, nil
}

// readUnrecorded reads the rounds of the archive before one, each once.
func (r *recovery) readUnrecorded(before int) error {
	infos, err := r.steps()
	if err != nil {
		return err
	}
	for ; r.asked < len(infos) && infos[r.asked].Number < before; r.asked++ {
		info := infos[r.asked]
		if info.Undoes != 0 || r.origins.rounds[info.Number] {
			continue
		}
		step, err := r.step(info.Number)
		if err != nil {
			return err
		}
		if step != nil {
			newest, _, _ := r.origins.seenBy(*step)
			r.unrecorded = append(r.unrecorded, unrecordedRound{info.Number, writtenBy(step.Edits), newest})
		}
	}
	return nil
}
