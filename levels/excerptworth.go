package levels

import (
	"github.com/tiercompact/tiercompact/files"
)

// The likelihood that a token is needed again, by its source. docs/LEVELS.md has the
// counts.
const (
	worthResult = 3.0 // the result of an edit
	worthEdit   = 2.0 // text of an edit or write
	worthFresh  = 2.0 // a file that was edited before it was read
	worthRead   = 0.7 // a file that was never edited
	worthStale  = 0.2 // a file that was edited since

	worthAged  = 0.7 // the share of its worth that the oldest has lost
	worthAny   = 0.3 // of a block that mentions no current topic
	worthFocus = 0.2 // added for each current topic that a block mentions
	blockSpan  = 300 // tokens: long blocks mention more by chance
)

// messageAges returns, for each message, the share of the conversation's tokens that
// follow it: 0 for the newest, towards 1 for the oldest.
func (v View) messageAges() []float64 {
	ages, behind, total := make([]float64, len(v.Messages)), 0, max(1, v.Total())
	for i := len(v.Sizes) - 1; i >= 0; i-- {
		ages[i] = float64(behind) / float64(total)
		behind += v.Sizes[i]
	}
	return ages
}

// ageFactor returns the share of its worth that copy c of message i has kept with age.
func (h *excerptPicker) ageFactor(i int, c files.Ref) float64 {
	age := h.ages[i]
	if m := h.Messages[i]; m.IsSummary() { // its excerpts have many ages
		behind := tokensForBytes(len(m.Parts[c.Part].Text) - c.End)
		age += float64(behind) / float64(max(1, h.Total()))
	}
	return 1 - worthAged*min(age, 1)
}

// copyWorth returns the likelihood that a token of copy c of message i is needed
// again, by the kind of copy.
func (h *excerptPicker) copyWorth(i int, c files.Ref, called bool) float64 {
	switch {
	case c.Kind == files.Edit && !called:
		return worthResult
	case c.Kind == files.Edit, c.Kind == files.Write:
		return worthEdit
	case h.index.ChangedSince(i, c) >= 0:
		return worthStale
	case h.index.Edited(c.Path):
		return worthFresh
	}
	return worthRead
}

// blockWorth returns the worth of a token in a block of a number of tokens, by how
// many current topics the block mentions.
func blockWorth(tokens int, focus float32) float64 {
	return (worthAny + worthFocus*float64(focus)) * blockSpan / float64(tokens+blockSpan)
}
