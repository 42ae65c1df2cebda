package evidence_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/tiercompact/tiercompact/internal/bench/evidence"
)

func generated(t testing.TB, seed uint64) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := evidence.Generate(&b, seed); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestAGeneratedFileIsOfTheShapeAndTheSize(t *testing.T) {
	n := 0
	for s, err := range evidence.Read(bytes.NewReader(generated(t, 1)), "generated") {
		if err != nil {
			t.Fatal(err)
		}
		n++
		if len(s.Turns) < 400 || len(s.Turns) > 600 {
			t.Errorf("%s has %d turns, not 400 to 600", s.ID, len(s.Turns))
		}
		several := slices.ContainsFunc(s.Questions, func(q evidence.Question) bool { return len(q.Evidence) > 1 })
		if len(s.Questions) < 80 || !several || s.LeftOut.Adversarial == 0 || s.LeftOut.NoEvidence > 0 {
			t.Errorf("%s has %d questions, several pieces of evidence %v, %+v left out", s.ID, len(s.Questions), several, s.LeftOut)
		}
		for _, turn := range s.Turns {
			if bytes.ContainsAny([]byte(turn.String()), "{}|") {
				t.Errorf("%s %s: a name was not filled in: %s", s.ID, turn.ID, turn)
			}
		}
	}
	if n != 10 {
		t.Errorf("%d conversations, not 10", n)
	}
}

func TestASeedGivesTheSameFile(t *testing.T) {
	if !bytes.Equal(generated(t, 1), generated(t, 1)) {
		t.Error("two files of one seed differ")
	}
	if bytes.Equal(generated(t, 1), generated(t, 2)) {
		t.Error("files of two seeds are the same")
	}
}
