// Package evidence measures whether a ranking keeps what a question about a
// long dialogue is answered from: the recall of evidence of section 13 of the
// design, over files of LoCoMo's and LongMemEval's shape.
//
// [Read] goes through the samples of a file, [Rankings] are the ways to choose
// turns, [Tally] adds up what they keep, [Generate] makes a file to try it on.
package evidence

import "github.com/tiercompact/tiercompact/chat"

// A Sample is one conversation and what is asked about it afterwards.
type Sample struct {
	ID        string
	Turns     []Turn
	Questions []Question
	LeftOut   LeftOut
}

// A Turn is what one speaker says at once.
type Turn struct {
	ID      string
	Speaker string
	Text    string // with the caption of what was shown
}

// A Question is asked after the whole conversation.
type Question struct {
	Text  string
	Index int    // its place in the file's list of questions, from 0
	Kind  string // as the file calls it; "" where it does not
	// Evidence is what the answer stands in, at least one piece: each is the
	// indices of turns any one of which proves it.
	Evidence [][]int
}

// LeftOut counts questions that no recall can be measured by.
type LeftOut struct {
	Adversarial int `json:"adversarial"` // not answered by the conversation
	NoEvidence  int `json:"no_evidence"` // without evidence that is in the conversation
}

func (l *LeftOut) addLeftOut(m LeftOut) {
	l.Adversarial += m.Adversarial
	l.NoEvidence += m.NoEvidence
}

// String returns what the turn is ranked and counted by.
func (t Turn) String() string {
	if t.Speaker == "" {
		return t.Text
	}
	return t.Speaker + ": " + t.Text
}

// messages returns the turns as a conversation.
func (s *Sample) messages() chat.Transcript {
	out := make(chat.Transcript, len(s.Turns))
	for i, t := range s.Turns {
		out[i] = chat.NewText(chat.User, t.String())
	}
	return out
}
