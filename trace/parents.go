package trace

// Parents says where the spans of one session are in a tree: each check is a
// root, its [TokenEstimate]; the [TriggerDecision] is a child of it; what a
// round did, and what is told beside it, are children of the decision, or of
// the check where nothing was triggered. A parent is always emitted before its
// children. The zero value is a session that has told nothing yet; ID is what
// names a span.
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

// Add tells that the span of an event is called id.
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

// Forget has later spans name none of those so far: they got nowhere.
func (p *Parents[ID]) Forget() { p.check, p.round = nil, nil }
