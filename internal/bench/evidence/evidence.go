// Package evidence measures whether a ranking keeps the turns that answer a
// question about a long dialogue: the recall of evidence, over files in LoCoMo's
// and LongMemEval's formats. [Read] reads the samples of a file, [Rankings] are the
// ways to choose turns, [Tally] sums the results, [Generate] generates a file for
// trials.
package evidence

import "github.com/tiercompact/tiercompact/chat"

// A Sample is one conversation and the questions about it.
type Sample struct {
	ID        string
	Turns     []Turn
	Questions []Question
	LeftOut   LeftOut
}

// A Turn is one utterance of a speaker.
type Turn struct {
	ID      string
	Speaker string
	Text    string // with the caption of its image
}

// A Question comes after the whole conversation.
type Question struct {
	Text  string
	Index int    // its index in the file's list of questions, from 0
	Kind  string // as in the file; "" if it gives none
	// Evidence is the source of the answer, at least one piece: each is the indices
	// of turns any one of which proves it.
	Evidence [][]int
}

// LeftOut counts the questions without a measurable recall.
type LeftOut struct {
	Adversarial int `json:"adversarial"` // not answered by the conversation
	NoEvidence  int `json:"no_evidence"` // without evidence in the conversation
}

func (l *LeftOut) addLeftOut(m LeftOut) {
	l.Adversarial += m.Adversarial
	l.NoEvidence += m.NoEvidence
}

// String returns the text by which the turn is ranked and counted.
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
