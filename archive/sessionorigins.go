package archive

import (
	"context"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/edit"
)

// origins are the records that added the messages of a damaged session file, by
// their ids.
type origins struct {
	added    map[string]int // of a record that adds a message
	wrote    map[string]int // of a round that inserted it; 0: its record is damaged
	numberOf map[string]int // by the number of the archive's step with that message, whatever record added it
	rounds   map[int]bool   // numbers with a record

	damaged map[int]string // by number of a damaged record, the id of its message if that is readable
}

func newOrigins() origins {
	return origins{make(map[string]int), make(map[string]int), make(map[string]int), make(map[int]bool), nil}
}

// made adds the messages that a round inserted.
func (o origins) made(r Round, record int) {
	o.rounds[r.Number] = true
	for _, m := range writtenBy(r.Edits) {
		o.wrote[m.ID] = record
	}
}

// writtenBy returns the messages that a round inserts in place of others.
func writtenBy(r edit.Round) (messages []chat.Message) {
	for _, edits := range r.Steps {
		for _, e := range edits {
			messages = append(messages, e.New...)
		}
	}
	return messages
}

// behind reports whether the file was begun after a step: it was rewritten, and the
// messages of the step's round are ordinary messages.
func (o origins) behind(s Step) bool {
	damaged := make(map[string]bool)
	for _, id := range o.damaged {
		damaged[id] = true
	}
	for _, m := range writtenBy(s.Edits) {
		if o.added[m.ID] > 0 || damaged[m.ID] {
			return true
		}
	}
	return false
}

// arrivedAfter reports whether a message that is not in a step may have arrived
// after it. Otherwise a record before it removed the message.
func (o origins) arrivedAfter(s Step, newest int, id string) bool {
	if n := o.added[id]; n > 0 {
		return n > newest
	}
	_, wrote := o.wrote[id]
	return !wrote && (o.numberOf[id] == 0 || o.numberOf[id] > s.Number)
}

// What a step contains of the records of a file.
type knows struct {
	newest int             // up to there it has the content
	added  int             // of the newest message that it has
	more   map[string]bool // messages after that one without a record
	rounds int             // damaged ones before it
}

func (o origins) knownTo(s Step) knows {
	var k knows
	for _, m := range s.Before {
		if n := o.added[m.ID]; n > 0 {
			k.newest, k.added, k.more = max(k.newest, n), max(k.added, n), nil
			continue
		}
		n, wrote := o.wrote[m.ID]
		k.newest = max(k.newest, n)
		if !wrote && o.numberOf[m.ID] == 0 {
			if k.more == nil {
				k.more = make(map[string]bool)
			}
			k.more[m.ID] = true
		}
	}
	return k
}

// knownTo returns what a step contains of the records of the file.
func (r *recovery) knownTo(ctx context.Context, s Step) (knows, error) {
	newest, rounds, err := r.damagedRounds(ctx, s)
	k := r.origins.knownTo(s)
	k.newest, k.rounds = max(k.newest, newest), rounds
	return k, err
}

// toldBy returns the damages before record until that a step recovers. Up to
// k.newest, the newest record that the step contains, it recovers all. After
// k.newest, it recovers none if the step lacks the message of an undamaged record
// there. Otherwise it recovers the damages whose message it has; of those with an
// unknown message, as many as the step has more messages, and rounds without a record.
func (r *recovery) toldBy(k knows, until int) (damages []int) {
	for _, n := range r.origins.added {
		if n > k.newest && n < until {
			until = k.newest + 1 // later messages of the step may be of a part that was cut off since
		}
	}
	var unread []int
	for i, d := range r.Damages {
		last := max(d.Record, d.Until)
		if !d.Lost || d.Step > 0 || d.Record == 0 || last >= until {
			continue
		}
		id := r.origins.damaged[d.Record]
		has := k.more[id]
		delete(k.more, id)
		if last <= k.newest || has {
			damages = append(damages, i)
		}
		if id == "" && last > k.added {
			unread = append(unread, i)
		}
	}
	return append(damages, r.recoveredByCount(unread, k)...)
}

// recoveredByCount returns the damages after the newest known record that a step
// recovers by the number of its messages. If it recovers only a part of a damage of
// several records, the rest becomes a damage of its own.
func (r *recovery) recoveredByCount(unread []int, k knows) (damages []int) {
	more := len(k.more) + k.rounds
	for _, i := range unread {
		d := r.Damages[i]
		first, last := max(d.Record, k.added+1), max(d.Record, d.Until)
		found := min(more, last-first+1)
		more -= found
		if last <= k.newest {
			continue
		}
		if found == 0 {
			break
		}
		if behind := first + found; behind <= last {
			rest := d
			rest.Record = behind
			r.Damages = append(r.Damages, rest)
			r.Damages[i].Until = behind - 1
		}
		damages = append(damages, i)
	}
	return damages
}

// An unrecordedRound is a round in the archive without an undamaged record.
type unrecordedRound struct {
	number int
	wrote  []chat.Message
	newest int // newest record that it includes
}

// damagedRounds finds the rounds before a step whose records are damaged, and which
// the step includes. It returns the newest record that they include, and their
// number.
func (r *recovery) damagedRounds(ctx context.Context, s Step) (newest, rounds int, err error) {
	if err := r.readUnrecorded(ctx, s.Number); err != nil {
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
func (r *recovery) readUnrecorded(ctx context.Context, before int) error {
	infos, err := r.steps(ctx)
	if err != nil {
		return err
	}
	for ; r.asked < len(infos) && infos[r.asked].Number < before; r.asked++ {
		info := infos[r.asked]
		if info.Undoes != 0 || r.origins.rounds[info.Number] {
			continue
		}
		step, err := r.step(ctx, info.Number)
		if err != nil {
			return err
		}
		if step != nil {
			newest := r.origins.knownTo(*step).newest
			r.unrecorded = append(r.unrecorded, unrecordedRound{info.Number, writtenBy(step.Edits), newest})
		}
	}
	return nil
}
