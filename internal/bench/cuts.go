package bench

import "github.com/tiercompact/tiercompact/chat"

// A cutting is a cut of a session, and what is needed after it.
type cutting struct {
	before  chat.Transcript
	need    map[string]bool
	anchors []Anchor
	size    int // tokens of before
	orphans int // in before
	files   *followed
}

// cuttings returns the cuts of a session after which something is needed: none for
// a session of fewer than 40 messages. With cuts, every measure is taken at each of
// them, in percent of the messages. Without, edits are measured at 30 to 90 % and
// identifiers at 60 %; a long session is cut only there.
func cuttings(session chat.Transcript, cuts []int, count func(string) int) (out []cutting) {
	if len(session) < minSession {
		return nil
	}
	given := len(cuts) > 0
	switch {
	case given:
	case len(session) > longSession:
		cuts = []int{identifierCut}
	default:
		cuts = []int{30, 40, 50, 60, 70, 80, 90}
	}
	for _, percent := range cuts {
		cut := SafeCut(session, len(session)*percent/100)
		c := cutting{before: session[:cut:cut]}
		c.anchors = Anchors(c.before, session[cut:])
		if given || percent == identifierCut {
			c.need = Needed(c.before, session[cut:])
		}
		if len(c.anchors) == 0 && len(c.need) == 0 {
			continue
		}
		c.size, c.orphans, c.files = Size(c.before, count), countOrphans(c.before), followFiles(c.before)
		out = append(out, c)
	}
	return out
}

// identifierCut is the cut for identifiers if no cuts are given, in
// percent of its messages.
const identifierCut = 60

// addCut adds the retention at a cut.
func (k *Kept) addCut(c cutting, left chat.Transcript, count func(string) int) {
	is := Size(left, count)
	if len(c.need) > 0 {
		k.Identifiers.addShare(Present(c.need, left), len(c.need))
		k.Placed.addShare(Placed(c.need, c.before, left), len(c.need))
		k.IdentifierSize.addShare(is, c.size)
	}
	if len(c.anchors) > 0 {
		k.Edits.addShare(Holding(c.anchors, left), len(c.anchors))
		k.EditSize.addShare(is, c.size)
	}
	k.Orphans += max(0, countOrphans(left)-c.orphans)
	k.Truth.addTruth(c.files.truthOf(left))
}

// countOrphans returns the calls and results without a partner.
func countOrphans(t chat.Transcript) int {
	calls, results := Orphans(t)
	return calls + results
}
