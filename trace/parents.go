package trace

// Parents gives the place of a session's spans in a tree: each check is a root, its
// [TokenEstimate]; the [TriggerDecision] is its child; the events of a round, and
// other events beside it, are children of the decision, or of the check if nothing
// was triggered. A parent is always emitted before its children. The zero value is
// a session without events; ID is the type of a span's name.
type Parents[ID any] struct {
	check, round *ID
}

// Of returns the parent of the next event, nil if it is a root.
func (p *Parents[ID]) Of(next Payload) *ID {
	switch next.(type) {
	case TokenEstimate:
		return nil
	case TriggerDecision:
		return p.check
	}
	if p.round != nil {
		return p.round
	}
	return p.check
}

// Add records that the span of an event is called id.
func (p *Parents[ID]) Add(e Payload, id ID) {
	switch e := e.(type) {
	case TokenEstimate:
		p.check, p.round = &id, nil
	case TriggerDecision:
		p.round = nil
		if e.Triggered {
			p.round = &id
		}
	}
}

// Forget drops the spans so far, so that later spans do not name them: they were
// lost.
func (p *Parents[ID]) Forget() { p.check, p.round = nil, nil }
