package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/edit"
)

// A Recovery is the result of reading a damaged session file.
type Recovery struct {
	Records int            // number of undamaged records
	Damages []RecordDamage // by their place; empty if there is no damage
	Kept    string         // path of the damaged file now; "" if nothing was written
}

// Lost returns the damages whose text is lost.
func (r Recovery) Lost() []RecordDamage {
	var lost []RecordDamage
	for _, d := range r.Damages {
		if d.Lost && d.Step == 0 {
			lost = append(lost, d)
		}
	}
	return lost
}

// A RecordDamage is a record of a session file that was omitted, or that is not in
// its place.
type RecordDamage struct {
	Line   int   // from 1; 0: it is on no line
	Record int   // its number in the file, from 1; 0: unknown
	Until  int   // the last record of several that are missing; 0: it is one
	Err    error // the problem
	Lost   bool  // a part of its content is not in the session file
	Step   int   // of the archive step with its content; 0: none
}

func (d RecordDamage) String() string {
	var at []string
	if d.Line > 0 {
		at = append(at, fmt.Sprintf("line %d", d.Line))
	}
	switch {
	case d.Until > d.Record:
		at = append(at, fmt.Sprintf("records %d to %d", d.Record, d.Until))
	case d.Record > 0:
		at = append(at, fmt.Sprintf("record %d", d.Record))
	}
	text := strings.TrimPrefix(strings.Join(at, ", ")+": ", ": ") + d.Err.Error()
	switch {
	case d.Step > 0:
		text += fmt.Sprintf("; its content is taken from step %d of the archive", d.Step)
	case d.Lost:
		text += "; its content is missing"
	}
	return text
}

// CheckSession reads the session file path as far as possible, and returns its
// state. Damaged records are omitted; their content is taken from store, which may
// be nil, if a later round stored it there. Nothing is written. ErrVersion if a
// newer tiercompact wrote the file.
func CheckSession(ctx context.Context, path string, store Store) (State, Recovery, error) {
	s, r, err := checkSessionFile(ctx, path, store)
	if err != nil {
		err = fmt.Errorf("check session %s: %w", path, err)
	}
	return s, r, err
}

func checkSessionFile(ctx context.Context, path string, store Store) (State, Recovery, error) {
	marks := readMarks(path)
	text, err := os.ReadFile(path)
	if err != nil {
		return State{}, Recovery{}, err
	}
	return recoverState(ctx, text, store, marks, strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)))
}

// DecodeDamagedSession is [DecodeSession] for a text with damaged records: they are
// omitted.
func DecodeDamagedSession(text io.Reader) (State, Recovery, error) {
	b, err := io.ReadAll(text)
	if err != nil {
		return State{}, Recovery{}, err
	}
	return recoverState(context.Background(), b, nil, nil, "session")
}

// RecoverSession is [OpenSession] for a file that may be damaged, see
// [CheckSession]. A damaged file is kept under another name, and the rest is
// written again: from then on it can be opened like any other.
func RecoverSession(ctx context.Context, path string, store Store) (*SessionFile, State, Recovery, error) {
	f, s, r, err := recoverSession(ctx, path, store, realDisk)
	if err != nil {
		return nil, State{}, r, fmt.Errorf("recover session %s: %w", path, err)
	}
	return f, s, r, nil
}

func recoverSession(ctx context.Context, path string, store Store, disk disk) (*SessionFile, State, Recovery, error) {
	f, s, err := openSession(path, disk)
	if !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrVersion) {
		return f, s, Recovery{}, err
	}
	s, r, err := checkSessionFile(ctx, path, store)
	if err != nil {
		return nil, s, r, err
	}
	if f, err = lockSession(path, disk); err != nil {
		return nil, s, r, err
	}
	f.state = s
	f.state.Messages = append(f.state.Messages[:0:0], s.Messages...)
	w, err := f.state.whole()
	if err == nil {
		r.Kept, err = f.replace(w, ".damaged")
	}
	if err != nil {
		return nil, s, r, errors.Join(err, f.hold.release())
	}
	f.trim()
	return f, s, r, nil
}

// A recovery combines the records of a damaged session file.
type recovery struct {
	Recovery
	store   Store // may be nil
	state   State
	shared  sourceSharing
	at      position // of the last used record
	uncut   bool     // a cut was not applied
	unsure  bool     // the next record may belong to another conversation
	rounds  []roundFate
	origins origins
	newest  int // number of the newest round in a record

	infos      []StepInfo // of the archive
	listed     bool
	unrecorded []unrecordedRound
	asked      int // of infos, for unrecorded
}

// A roundFate is a round of the file that was not undone, oldest first.
type roundFate struct {
	Round
	record   int
	inEffect bool // in state.Rounds
	made     bool
}

func recoverState(ctx context.Context, text []byte, store Store, marks []mark, session string) (State, Recovery, error) {
	l := listRecords(text, marks)
	if len(l.records) == 0 && l.newer != nil {
		return State{}, Recovery{}, l.newer
	}
	if len(l.records) == 0 && len(l.meta.Session) == 0 {
		return State{}, Recovery{}, fmt.Errorf("%w: no record of a session is in it", ErrDamaged)
	}
	r := recovery{store: store, origins: newOrigins(), state: State{Since: -1, Torn: l.torn, Meta: l.meta}}
	r.Damages, r.Records, r.origins.damaged = l.damages, len(l.records), l.added
	if r.state.Meta.Session == "" {
		r.state.Meta.Session = session
	}
	for i, x := range l.records {
		if i+1 < len(l.records) && r.foreign(x, l.records[i+1]) {
			r.Damages = append(r.Damages, RecordDamage{Line: x.line, Record: x.Number, Err: errForeign, Lost: true})
			r.at, r.unsure, r.shared = position{number: x.Number}, true, sourceSharing{}
			continue
		}
		if err := r.take(ctx, x); err != nil {
			return State{}, r.Recovery, err
		}
	}
	err := r.takeNewest(ctx)
	if infos, listErr := r.steps(ctx); listErr == nil { // all are older than the records from here on
		for _, info := range infos {
			r.state.Number = max(r.state.Number, info.Number)
		}
	}
	slices.SortStableFunc(r.Damages, func(a, b RecordDamage) int {
		return cmp.Or(cmp.Compare(a.Record, b.Record), cmp.Compare(a.Line, b.Line))
	})
	return r.state, r.Recovery, err
}

var errForeign = fmt.Errorf("%w: it does not follow the record before it: one of the two is from another file", ErrDamaged)

// foreign reports whether a record fits neither the one before it, nor the one
// after it.
func (r *recovery) foreign(x, next listed) bool {
	return r.at.checked && x.Number == r.at.number+1 && x.After != r.at.sum && next.Number == x.Number+1 && next.After != x.sum
}

// take applies the next undamaged record.
func (r *recovery) take(ctx context.Context, x listed) error {
	switch {
	case x.Number != r.at.number+1:
		r.unsure, r.shared = true, sourceSharing{}
	case x.V > 1 && r.at.checked && x.After != r.at.sum:
		r.Damages = append(r.Damages, RecordDamage{Line: x.line, Record: x.Number, Err: errForeign, Lost: true})
		r.unsure, r.shared = true, sourceSharing{}
	}
	r.at = position{x.Number, x.sum, x.V > 1}
	var err error
	switch {
	case x.Meta != nil && x.Number > 1:
		r.damage(x, fmt.Errorf("%w: only the first record may be the session's", ErrDamaged))
	case x.Message != nil:
		err = r.message(x)
	case x.Round != nil && x.Round.Number > 0:
		return r.round(ctx, x)
	case x.Undo != nil:
		return r.undo(ctx, x)
	case x.Cut != nil && r.unsure:
		r.uncut = true
		r.damage(x, fmt.Errorf("%w: its cut to %d messages was not applied: records before it are missing", ErrDamaged, *x.Cut))
	case x.Set != nil && r.unsure:
		r.set(*x.Set)
	default:
		err = r.state.apply(x.sessionLine)
		r.fitRounds()
	}
	if err != nil {
		r.damage(x, fmt.Errorf("%w: %w", ErrDamaged, err))
	}
	return nil
}

// damage records a record that does not fit. The records after it were written for
// a conversation with its change.
func (r *recovery) damage(x listed, err error) {
	r.unsure = true
	r.Damages = append(r.Damages, RecordDamage{Line: x.line, Record: x.Number, Err: err})
}

func (r *recovery) message(x listed) error {
	if x.Message.SameSource && r.shared.last == nil { // its source was in a damaged record
		x.Message.SameSource, x.Message.Index = false, 0
	}
	m, err := r.shared.decodeMessage(*x.Message)
	if err == nil {
		r.state.add(m, x.Loaded)
		r.origins.added[m.ID] = x.Number
	}
	return err
}

// set replaces the message with the same id.
func (r *recovery) set(x setMade) {
	var alone sourceSharing
	m, err := alone.decodeMessage(x.Message)
	for i := range r.state.Messages {
		if err == nil && m.ID != "" && r.state.Messages[i].ID == m.ID {
			r.state.Messages[i] = m
		}
	}
}

// fitRounds drops the oldest rounds that a cut has given up.
func (r *recovery) fitRounds() {
	inEffect := 0
	for i := len(r.rounds) - 1; i >= 0; i-- {
		if r.rounds[i].inEffect {
			if inEffect++; inEffect > len(r.state.Rounds) {
				r.rounds[i].inEffect = false
			}
		}
	}
}

// round repeats a round: on the current conversation if that is the one of the
// round, else on the one before it in the archive. If neither exists, it is not
// applied: the messages stay as they were, and nothing is lost.
func (r *recovery) round(ctx context.Context, x listed) error {
	made, err := x.Round.round()
	if err != nil {
		r.damage(x, err)
		return nil
	}
	r.newest = max(r.newest, made.Number)
	r.origins.made(made, x.Number)
	fate := roundFate{Round: made, record: x.Number}
	defer func() { r.rounds = append(r.rounds, fate) }()
	if r.unsure && !r.fits(made) {
		step, err := r.step(ctx, made.Number)
		if err != nil {
			return err
		}
		if step == nil || !r.before(*step, made) {
			r.damage(x, fmt.Errorf("%w: round %d is not applied: its conversation is missing, and the messages stay as they were", ErrDamaged, made.Number))
			return nil
		}
		if err := r.goOnFrom(ctx, *step, x.Number); err != nil {
			return err
		}
	}
	if err := r.state.addRound(made); err != nil {
		r.damage(x, fmt.Errorf("%w: %w", ErrDamaged, err))
		return nil
	}
	fate.inEffect, fate.made = true, true
	return nil
}

// before reports whether step has the conversation before a round. An earlier
// session of the same id may have had a step of that number.
func (r *recovery) before(step Step, made Round) bool {
	e := made.Edits
	if len(step.Before) != e.Seen {
		return false
	}
	if len(step.Redacted) > 0 { // its text has another sum
		_, other := r.compare(step)
		return !other
	}
	return e.Sum == "" || e.Sum == edit.Sum(step.Before)
}

// compare reports whether a step has messages of this conversation, and whether it
// has other ones under their ids.
func (r *recovery) compare(s Step) (known, other bool) {
	own := make(map[string]chat.Message, len(r.state.Messages))
	for _, m := range r.state.Messages {
		own[m.ID] = m
	}
	redacted := make(map[int]bool, len(s.Redacted))
	for _, i := range s.Redacted {
		redacted[i] = true
	}
	for i, m := range s.Before {
		o, ok := own[m.ID]
		if !ok || redacted[i] || o.State != m.State {
			continue
		}
		if !edit.Same(o, m) {
			return known, true
		}
		known = true
	}
	return known, false
}

// undo undoes the newest round, if it was applied.
func (r *recovery) undo(ctx context.Context, x listed) error {
	n := len(r.rounds)
	if n == 0 {
		r.damage(x, fmt.Errorf("%w: the round that it undoes is missing", ErrDamaged))
		return nil
	}
	newest := r.rounds[n-1]
	r.rounds = r.rounds[:n-1]
	switch {
	case newest.inEffect:
		return r.state.undoRound()
	case newest.made: // on a conversation that the archive has replaced since
		step, err := r.step(ctx, newest.Number)
		if err == nil && step != nil && r.before(*step, newest.Round) {
			err = r.goOnFrom(ctx, *step, newest.record)
		}
		return err
	}
	return nil
}

// takeNewest continues from the newest step of the archive if records are missing
// that no round covers.
func (r *recovery) takeNewest(ctx context.Context) error {
	if len(r.Lost()) == 0 || r.store == nil {
		return nil
	}
	infos, err := r.steps(ctx)
	if err != nil {
		return err
	}
	newest := 0
	for _, info := range infos {
		if info.Damaged == nil && info.Undoes == 0 {
			newest = max(newest, info.Number)
		}
	}
	if newest <= max(r.newest, r.state.Number) {
		return nil
	}
	step, err := r.step(ctx, newest)
	if err != nil || step == nil {
		return err
	}
	if known, other := r.compare(*step); !known || other || r.origins.behind(*step) {
		return nil
	}
	k, err := r.knownTo(ctx, *step)
	if err == nil && len(r.toldBy(k, math.MaxInt)) > 0 {
		err = r.goOnFrom(ctx, *step, math.MaxInt)
		r.state.Number = max(r.state.Number, newest)
	}
	return err
}

// steps lists the archive's steps, once.
func (r *recovery) steps(ctx context.Context) (_ []StepInfo, err error) {
	if r.store != nil && !r.listed {
		r.infos, err = r.store.Steps(ctx, r.state.Meta.Session)
		r.listed = err == nil
	}
	return r.infos, err
}

// step returns a step of the archive, nil if it has no readable one.
func (r *recovery) step(ctx context.Context, n int) (*Step, error) {
	if r.store == nil {
		return nil, nil
	}
	s, err := r.store.Get(ctx, r.state.Meta.Session, n)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, ErrNotFound), errors.Is(err, ErrDamaged), errors.Is(err, ErrVersion), errors.Is(err, fs.ErrNotExist):
		return nil, nil
	}
	return &s, err
}

// goOnFrom replaces the conversation so far by the one before a step. Text without
// its secrets in the archive is taken from the file if that has it. The step was
// made after the records before record until.
func (r *recovery) goOnFrom(ctx context.Context, s Step, until int) error {
	k, err := r.knownTo(ctx, s)
	if err != nil {
		return err
	}
	own := make(map[string]int, len(r.state.Messages))
	for i, m := range r.state.Messages {
		own[m.ID] = i
	}
	t := append(s.Before[:0:0], s.Before...)
	known := make(map[string]bool, len(t))
	last := -1 // index of the last current message in the step
	for _, m := range t {
		known[m.ID] = true
		if i, ok := own[m.ID]; ok {
			last = max(last, i)
		}
	}
	for _, i := range s.Redacted {
		if i < 0 || i >= len(t) {
			continue
		}
		if k, ok := own[t[i].ID]; ok && r.state.Messages[k].State == t[i].State {
			t[i] = r.state.Messages[k]
		}
	}
	more := false // messages after those of the step, some of which may be missing or cut off
	for _, m := range r.state.Messages[last+1:] {
		if !known[m.ID] && r.origins.arrivedAfter(s, k.newest, m.ID) {
			t, more = append(t, m), true
		}
	}
	for _, i := range r.toldBy(k, until) {
		r.Damages[i].Step = s.Number
	}
	for _, m := range s.Before {
		if r.origins.numberOf[m.ID] == 0 {
			r.origins.numberOf[m.ID] = s.Number
		}
	}
	r.put(t)
	r.unsure = more && r.uncut
	for _, d := range r.Damages {
		r.unsure = r.unsure || d.Lost && d.Step == 0 && d.Record <= r.at.number
	}
	r.uncut = r.uncut && more
	return nil
}

// put replaces the current conversation by t. Rounds stay if t only extends it.
func (r *recovery) put(t chat.Transcript) {
	if now := r.state.Messages; len(now) > len(t) || !slices.EqualFunc(now, t[:len(now)], edit.Same) {
		r.state.Rounds = nil
		for i := range r.rounds {
			r.rounds[i].inEffect = false
		}
	}
	r.state.Messages, r.state.Waiting = t, nil
	r.state.Added = max(r.state.Added, len(t))
}

// fits reports whether the current conversation is the one of a round.
func (r *recovery) fits(made Round) bool {
	e := made.Edits
	return e.Sum != "" && e.Seen <= len(r.state.Messages) && e.Sum == edit.Sum(r.state.Messages[:e.Seen])
}
