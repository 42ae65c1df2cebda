package edit

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"io"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

// A Rewrite is the effect of one round on a conversation whose client resends it
// with every request. It knows the messages of the round and which of them it kept,
// so that the round can be repeated after the client has changed messages that the
// round kept: a clock in the system prompt, a reminder that is only in the newest
// request.
type Rewrite struct {
	was   []knownMessage
	after []leftMessage
}

// A knownMessage is a message of the conversation before a round.
type knownMessage struct {
	sum  Digest
	role chat.Role
	kept bool
}

// A leftMessage is a message of a round's outcome.
type leftMessage struct {
	was   int           // its index before the round; -1: none
	made  *chat.Message // its replacement, or a new message; nil: the message itself
	sum   Digest        // index in made
	moved bool          // it was moved to the front
}

// NewRewrite returns the round whose steps were applied to before. sent is before
// as the client sent it, and after each former rewrite: one message for each. ok is
// false if the steps do not fit before.
func NewRewrite(sent, before chat.Transcript, steps [][]Edit) (r Rewrite, ok bool) {
	r = Rewrite{was: make([]knownMessage, len(sent)), after: make([]leftMessage, len(before))}
	for i, m := range sent {
		r.was[i] = knownMessage{sum: MessageDigest(m), role: detachedRole(m.Role)}
		r.after[i].was = i
	}
	now := before
	for _, edits := range steps {
		edits = Sorted(edits)
		next, err := assemble(now, edits)
		if err != nil {
			return Rewrite{}, false
		}
		var after []leftMessage
		at := 0
		for _, e := range edits {
			after = append(after, r.after[at:e.Start]...)
			after = append(after, leftMessages(now[e.Start:e.End], r.after[e.Start:e.End], e.New)...)
			at = e.End
		}
		r.after, now = append(after, r.after[at:]...), next
	}
	for i, p := range r.after {
		if p.made == nil {
			r.was[p.was].kept = true
		} else {
			r.after[i].made = detached(*p.made)
		}
	}
	return r, true
}

// detached returns a copy of m that shares no memory with the request that m is from,
// of which a text of m may be a part. A rewrite lives as long as its conversation, and
// must not keep a whole request for a sentence of it. Like the stored form, the copy
// has no source.
func detached(m chat.Message) *chat.Message {
	own := m
	own.Source, own.Index = nil, 0
	own.ID, own.Recall, own.Role = strings.Clone(m.ID), strings.Clone(m.Recall), detachedRole(m.Role)
	own.Parts = slices.Clone(m.Parts)
	for i := range own.Parts {
		p := &own.Parts[i]
		p.Text, p.ID, p.Name, p.Args, p.Raw = strings.Clone(p.Text), strings.Clone(p.ID), strings.Clone(p.Name), strings.Clone(p.Args), strings.Clone(p.Raw)
		if p.Image != nil {
			picture := *p.Image
			picture.Data, picture.URL, picture.MediaType, picture.Detail = strings.Clone(picture.Data), strings.Clone(picture.URL), strings.Clone(picture.MediaType), strings.Clone(picture.Detail)
			p.Image = &picture
		}
	}
	return &own
}

func detachedRole(r chat.Role) chat.Role {
	for _, usual := range []chat.Role{chat.User, chat.Assistant, chat.Tool, chat.System, chat.Developer} {
		if r == usual {
			return usual
		}
	}
	return chat.Role(strings.Clone(string(r)))
}

// leftMessages returns the replacement of run by an edit; old are the messages of
// run.
func leftMessages(run chat.Transcript, old []leftMessage, put []chat.Message) []leftMessage {
	at := make(map[string]int, len(run))
	for i, m := range run {
		at[m.ID] = i
	}
	out := make([]leftMessage, len(put))
	stays := make([]int, len(put)) // index in run of the unchanged message; -1: it is new
	gone := make([]bool, len(run))
	for i := range gone {
		gone[i] = true
	}
	for k, m := range put {
		i, stood := at[m.ID]
		if stays[k] = -1; stood && Same(run[i], m) {
			stays[k], gone[i], out[k] = i, false, old[i]
			continue
		}
		out[k] = leftMessage{was: -1, made: &put[k], sum: MessageDigest(m)}
		if stood {
			out[k].was = old[i].was
		}
	}
	first := slices.Index(gone, true) // the first new message replaces the run
	made, least := false, len(run)
	for k := len(put) - 1; k >= 0; k-- {
		if i := stays[k]; i >= 0 {
			out[k].moved = out[k].moved || made && first >= 0 && first < i || least < i
			least = min(least, i)
		} else {
			made = made || put[k].State != chat.Marked
		}
	}
	return out
}

// A liveMessage is a message of a conversation to which rewrites are applied.
type liveMessage struct {
	message chat.Message
	sum     Digest
}

// Reapply repeats rewrites, in order, on a conversation that was sent again. The
// messages that a rewrite replaces must be in it, each run in one piece and in the
// same order. The messages that it keeps may have changed, been added or removed,
// and are in the result as sent. The first rewrite that does not fit, or whose
// result would fail the checks of [Apply], is dropped with those after it: fit are
// the ones that were applied.
func Reapply(sent chat.Transcript, rewrites []Rewrite) (t chat.Transcript, fit []Rewrite) {
	if len(rewrites) == 0 {
		return sent, nil
	}
	now := make([]liveMessage, len(sent))
	for i, m := range sent {
		now[i] = liveMessage{m, MessageDigest(m)}
	}
	for _, r := range rewrites {
		next, ok := r.applyTo(now)
		if !ok {
			break
		}
		now, fit = next, append(fit, r)
	}
	t = make(chat.Transcript, len(now))
	for i, l := range now {
		t[i] = l.message
	}
	return t, fit
}

// applyTo returns the outcome of the round on now.
func (r Rewrite) applyTo(now []liveMessage) ([]liveMessage, bool) {
	if r.matchesStart(now) {
		out := make([]liveMessage, 0, len(r.after)+len(now)-len(r.was))
		for _, p := range r.after {
			out = append(out, p.liveMessageAt(now, p.was))
		}
		return append(out, now[len(r.was):]...), true
	}
	m, ok := r.matchMessages(now)
	if !ok {
		return nil, false
	}
	return m.rebuildOutcome()
}

// matchesStart reports whether now begins with the messages of the round.
func (r Rewrite) matchesStart(now []liveMessage) bool {
	if len(now) < len(r.was) {
		return false
	}
	for i, w := range r.was {
		if w.sum != now[i].sum {
			return false
		}
	}
	return true
}

// liveMessageAt returns the message of p, which has index at in now, -1 for none. A
// rewritten message belongs to the object that was sent this time: its other members,
// and the messages that share the object, are as sent.
func (p leftMessage) liveMessageAt(now []liveMessage, at int) liveMessage {
	if p.made == nil {
		return now[at]
	}
	made := liveMessage{*p.made, p.sum}
	if at >= 0 && made.message.Changed && made.message.Role == now[at].message.Role {
		made.message.Source, made.message.Index = now[at].message.Source, now[at].message.Index
	}
	return made
}

// A messageMatch gives the place of a round's messages in another conversation.
type messageMatch struct {
	Rewrite
	now    []liveMessage
	places map[Digest][]int // for each message of now
	to     []int            // index in now of each message; -1: none
	from   []int            // the reverse; -1: the client added it later
}

// matchMessages finds the messages of r in now; ok is false if one that the round
// replaces is not in its place.
func (r Rewrite) matchMessages(now []liveMessage) (m messageMatch, ok bool) {
	m = messageMatch{Rewrite: r, now: now, places: make(map[Digest][]int, len(now)), to: make([]int, len(r.was)), from: make([]int, len(now))}
	for i, l := range now {
		m.from[i] = -1
		m.places[l.sum] = append(m.places[l.sum], i)
	}
	gap, at := 0, 0 // after the last run found
	for i := 0; i < len(r.was); {
		if r.was[i].kept {
			m.to[i] = -1
			i++
			continue
		}
		end := i
		for end < len(r.was) && !r.was[end].kept {
			end++
		}
		start, found := m.findRun(i, end, at)
		if !found {
			return m, false
		}
		m.matchKept(gap, i, at, start)
		for k := i; k < end; k++ {
			m.pairMessages(k, start+k-i)
		}
		gap, at, i = end, start+end-i, end
	}
	m.matchKept(gap, len(r.was), at, len(now))
	return m, true
}

func (m *messageMatch) pairMessages(was, now int) { m.to[was], m.from[now] = now, was }

// maxTriedPlaces limits the places that are tried for a run: if many others begin
// like it, the search is not worthwhile.
const maxTriedPlaces = 64

// findRun returns the place of the run of messages start to end, from at on: after
// the message that preceded it, else before the one that followed it, else its
// first occurrence.
func (m *messageMatch) findRun(start, end, at int) (place int, found bool) {
	candidates := m.places[m.was[start].sum]
	candidates = candidates[sort.SearchInts(candidates, at):]
	best := 0
	for _, c := range candidates[:min(len(candidates), maxTriedPlaces)] {
		if !m.runStandsAt(start, end, c) {
			continue
		}
		rank := 1
		switch {
		case start == 0 && c == 0 || start > 0 && c > 0 && m.was[start-1].sum == m.now[c-1].sum:
			return c, true
		case end < len(m.was) && c+end-start < len(m.now) && m.was[end].sum == m.now[c+end-start].sum:
			rank = 2
		}
		if rank > best {
			place, best = c, rank
		}
	}
	return place, best > 0
}

// runStandsAt reports whether the messages start to end are at place c.
func (m *messageMatch) runStandsAt(start, end, c int) bool {
	if c+end-start > len(m.now) {
		return false
	}
	for k := start; k < end; k++ {
		if m.was[k].sum != m.now[c+k-start].sum {
			return false
		}
	}
	return true
}

// matchKept matches the kept messages between two runs: equal ones, and between
// those the ones that changed in place.
func (m *messageMatch) matchKept(start, end, at, stop int) {
	next := at
	for k := start; k < end; k++ {
		same := m.places[m.was[k].sum]
		if i := sort.SearchInts(same, next); i < len(same) && same[i] < stop {
			m.pairMessages(k, same[i])
			next = same[i] + 1
		}
	}
	for k, place := start, at; k < end; k++ {
		if m.to[k] >= 0 {
			place = m.to[k] + 1
			continue
		}
		until := k
		for until < end && m.to[until] < 0 {
			until++
		}
		limit := stop
		if until < end {
			limit = m.to[until]
		}
		if limit-place == until-k {
			for i := k; i < until; i++ {
				if p := place + i - k; m.was[i].role == m.now[p].message.Role {
					m.pairMessages(i, p)
				}
			}
		}
		k = until - 1
	}
}

// rebuildOutcome returns the outcome of the round with later messages inserted. ok
// is false if that would break a rule.
func (m messageMatch) rebuildOutcome() (out []liveMessage, ok bool) {
	moved := make([]bool, len(m.now))
	for _, p := range m.after {
		if p.made == nil && p.moved && m.to[p.was] >= 0 {
			moved[m.to[p.was]] = true
		}
	}
	s := m.sentSinceRound(moved)
	var ids []string
	put := func(l liveMessage, id string) { out, ids = append(out, l), append(ids, id) }
	sent := func(places []int) {
		for _, i := range places {
			put(m.now[i], strconv.Itoa(i))
		}
	}
	sent(s.first)
	for k, p := range m.after {
		at := -1
		if p.was >= 0 {
			at = m.to[p.was]
		}
		switch {
		case p.made == nil && at < 0:
			continue // the client has removed it
		case p.made == nil:
			sent(s.before[at])
			put(m.now[at], strconv.Itoa(at))
			sent(s.after[at])
		case at >= 0:
			put(p.liveMessageAt(m.now, at), strconv.Itoa(at))
		default:
			put(p.liveMessageAt(m.now, -1), "made "+strconv.Itoa(k))
		}
	}
	sent(s.last)
	return out, m.keepsRules(out, ids, moved)
}

// sentSince are the indices of messages that came after the round, by their place
// in its outcome.
type sentSince struct {
	first, last   []int
	before, after map[int][]int // by the index of a message that the round keeps
}

// sentSinceRound returns the places of messages that the client added later: after
// the kept message before them, or before the next kept one if the round replaces
// that.
func (m messageMatch) sentSinceRound(moved []bool) sentSince {
	s := sentSince{before: make(map[int][]int), after: make(map[int][]int)}
	behind, replaced := -1, false
	var wait []int
	for i := range m.now {
		w := m.from[i]
		switch {
		case w >= 0 && !m.was[w].kept:
			replaced = true
		case w >= 0 && moved[i]:
		case w >= 0:
			s.before[i], wait = wait, nil
			behind, replaced = i, w == len(m.was)-1 // at the end, also the messages that the round added there
		case replaced:
			wait = append(wait, i)
		case behind < 0:
			s.first = append(s.first, i)
		default:
			s.after[behind] = append(s.after[behind], i)
		}
	}
	s.last = wait
	return s
}

// keepsRules reports whether out, whose ids are indices into m.now, passes the
// checks of Apply. The newest message stays unchanged.
func (m messageMatch) keepsRules(out []liveMessage, ids []string, moved []bool) bool {
	if last := len(m.now) - 1; last >= 0 && m.from[last] >= 0 && !m.was[m.from[last]].kept {
		return false
	}
	before, after := make(chat.Transcript, len(m.now)), make(chat.Transcript, len(out))
	for i, l := range m.now {
		before[i] = l.message
		before[i].ID = strconv.Itoa(i)
	}
	for i, l := range out {
		after[i] = l.message
		after[i].ID = ids[i]
	}
	return checkInvariants(before, after, Rules{Moved: func(i int) bool { return moved[i] }}) == nil
}

// A Digest identifies the content of a message.
type Digest [16]byte

// MessageDigest returns the digest of the content of m: role, parts and pairing,
// not its id, which a client need not send. A summary has the same digest as a
// block and as its text on the wire.
func MessageDigest(m chat.Message) Digest {
	h := sha256.New()
	hashString(h, string(m.Role))
	for _, p := range m.Parts {
		kind := p.Kind
		if kind == chat.Summary {
			kind = chat.Text
		}
		for _, s := range []string{string(kind), p.Text, p.ID, p.Name, p.Args} {
			hashString(h, s)
		}
		if p.Image != nil {
			for _, s := range []string{p.Image.MediaType, p.Image.Data, p.Image.URL} {
				hashString(h, s)
			}
		}
	}
	return Digest(h.Sum(nil)[:16])
}

func hashString(h hash.Hash, s string) {
	var size [8]byte
	binary.LittleEndian.PutUint64(size[:], uint64(len(s)))
	h.Write(size[:])
	io.WriteString(h, s)
}
