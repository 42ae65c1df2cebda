package evidence_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/tiercompact/tiercompact/internal/bench/evidence"
)

// samples reads the samples in text, up to the first error.
func samples(r io.Reader, name string) (all []evidence.Sample, err error) {
	for s, err := range evidence.Read(r, name) {
		if err != nil {
			return all, err
		}
		all = append(all, s)
	}
	return all, nil
}

func fixture(t testing.TB, name string) []evidence.Sample {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	all, err := samples(bytes.NewReader(data), name)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func check(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s:\n got %+v\nwant %+v", what, got, want)
	}
}

func TestLoCoMoIsReadWithItsQuirks(t *testing.T) {
	all := fixture(t, "locomo.json")
	if len(all) != 1 {
		t.Fatalf("%d samples", len(all))
	}
	s := all[0]
	check(t, "turns, by number of session", s.Turns, []evidence.Turn{
		{ID: "D2:1", Speaker: "Jo", Text: "Where did you spend the summer?"},
		{ID: "D2:2", Speaker: "Mira", Text: "On a farm. [a photo of a goat]"},
		{ID: "D2:3", Speaker: "Mira", Text: "[a photo of a barn]"},
		{ID: "D10:1", Speaker: "Jo", Text: "The kiln broke."},
	})
	check(t, "questions", s.Questions, []evidence.Question{
		{Text: "Where was Mira?", Index: 0, Kind: "category 4", Evidence: [][]int{{1}}},
		{Text: "How many goats?", Index: 1, Kind: "category 1", Evidence: [][]int{{0}, {1}}},
		{Text: "What broke?", Index: 2, Kind: "category 2", Evidence: [][]int{{3}}},
		{Text: "What stood there?", Index: 3, Kind: "category 3", Evidence: [][]int{{2}}},
	})
	check(t, "left out", s.LeftOut, evidence.LeftOut{Adversarial: 1, NoEvidence: 2})
}

func TestLongMemEvalTakesMarkedTurnsElseSessions(t *testing.T) {
	all := fixture(t, "longmemeval.json")
	if len(all) != 4 {
		t.Fatalf("%d samples", len(all))
	}
	check(t, "ids of turns", all[0].Turns[2], evidence.Turn{ID: "s2:1", Speaker: "user", Text: "I studied physics."})
	check(t, "marked", all[0].Questions, []evidence.Question{{Text: "Which degree have I got?", Kind: "single-session-user", Evidence: [][]int{{2}}}})
	check(t, "by session", all[1].Questions, []evidence.Question{{Text: "What did I buy?", Kind: "multi-session", Evidence: [][]int{{0, 1}, {2}}}})
	check(t, "abstention", all[2].LeftOut, evidence.LeftOut{Adversarial: 1})
	check(t, "no session named", all[3].LeftOut, evidence.LeftOut{NoEvidence: 1})
}

func TestASampleMayBeAnObjectOrLines(t *testing.T) {
	one := `{"conversation":{"session_1":[{"text":"a"}]},"qa":[]}`
	for text, want := range map[string]int{one: 1, one + "\n" + one: 2, "\ufeff" + one: 1, "\ufeff\n [" + one + "]": 1, "\n [" + one + "," + one + "]\n": 2} {
		all, err := samples(strings.NewReader(text), "x")
		if err != nil || len(all) != want {
			t.Errorf("%s: %d samples, %v", text, len(all), err)
		}
		if len(all) > 0 && all[0].Turns[0].ID != "D1:1" {
			t.Errorf("a turn without an id is %q", all[0].Turns[0].ID)
		}
	}
}

func TestOptionalFieldsMayBeNull(t *testing.T) {
	for text, want := range map[string]evidence.LeftOut{
		`{"conversation":{"session_1":[{"text":null}],"session_2":null},"qa":[{"question":"a","evidence":null,"category":null}]}`:                         {NoEvidence: 1},
		`{"question_id":"a","question":"b","haystack_sessions":[[{"role":"user","content":null}]],"haystack_session_ids":null,"answer_session_ids":null}`: {NoEvidence: 1},
	} {
		all, err := samples(strings.NewReader(text), "x")
		if err != nil || len(all) != 1 || len(all[0].Turns) != 1 || all[0].LeftOut != want {
			t.Errorf("%s: %+v, %v", text, all, err)
		}
	}
}

func TestErrorsNamePlaceAndRemedy(t *testing.T) {
	qa := `[{"conversation":{},` + "\n" + `"qa":[{"question":"a","evidence":[]},%s]}]`
	for name, c := range map[string]struct{ text, want string }{
		"empty":              {"", "x: no sample in it; give a file of LoCoMo"},
		"empty list":         {"[]", "x: no sample in it; give"},
		"messages":           {"\n" + `[{"role":"user","content":"hi"}]`, "x:2: [0]: has neither conversation nor haystack_sessions; give a file of LoCoMo"},
		"no object":          {`[7]`, "x:1: [0]: is no object; give a file"},
		"text":               {`hello`, "x:1: broken JSON: invalid character"},
		"cut short":          {"[\n{\"conversation\":{},\n\"qa", "x:3: broken JSON: the file ends too soon; use"},
		"list not closed":    {`[{"conversation":{},"qa":[]}`, "x:1: broken JSON: the file ends too soon; use"},
		"behind the list":    {`[{"conversation":{},"qa":[]}] []`, "x:1: broken JSON: text follows the list"},
		"broken behind":      {`[{"conversation":{},"qa":[]}] ]`, "x:1: broken JSON: invalid character ']'"},
		"second sample":      {"[{\"conversation\":{},\"qa\":[]},\n\n{\"qa\":[]}]", "x:3: [1]: has neither"},
		"no questions":       {`[{"conversation":{}}]`, "x:1: [0].qa: is missing; it must be a list of questions"},
		"null for questions": {`[{"conversation":{},"qa":null}]`, "x:1: [0].qa: is missing; it must be a list of questions"},
		"null for sessions":  {`[{"conversation":null,"qa":[]}]`, "x:1: [0].conversation: is missing; it must be an object with session_1"},
		"null for a turn":    {`[{"conversation":{"session_3":[null]},"qa":[]}]`, "x:1: [0].conversation.session_3[0]: is missing; it must be"},
		"list for a text":    {`[{"conversation":{"session_3":[{"blip_caption":[]}]},"qa":[]}]`, "session_3[0].blip_caption: is an array; the whole must be"},
		"session":            {`[{"conversation":{"session_3":7},"qa":[]}]`, "[0].conversation.session_3: is not a list of turns; make it so"},
		"turn":               {`[{"conversation":{"session_3":[{"text":7}]},"qa":[]}]`, "[0].conversation.session_3[0].text: is a number; the whole must be an object with the texts"},
		"question":           {fmt.Sprintf(qa, `{"evidence":["D1:1"]}`), "x:1: [0].qa[1].question: is missing; give the question's text"},
		"evidence":           {fmt.Sprintf(qa, `{"question":"a","evidence":{}}`), "[0].qa[1].evidence: is not a list of texts like D1:3; make it so"},
		"category":           {fmt.Sprintf(qa, `{"question":"a","category":"x"}`), "[0].qa[1].category: is a string; the whole must be"},
		"sessions":           {`[{"question":"a","haystack_sessions":{}}]`, "[0].haystack_sessions: is not a list of sessions"},
		"role":               {`[{"question":"a","haystack_sessions":[[{"role":1}]]}]`, "[0].haystack_sessions.role: is a number; the whole must be a list of sessions"},
		"ids":                {`[{"question":"a","haystack_sessions":[],"haystack_session_ids":7}]`, "[0].haystack_session_ids: is not a list of texts"},
		"answers":            {`[{"question":"a","haystack_sessions":[],"answer_session_ids":7}]`, "[0].answer_session_ids: is not a list of texts"},
		"question of memory": {`[{"haystack_sessions":[[{"has_answer":true}]]}]`, "[0].question: is missing"},
		"sample's id":        {`[{"sample_id":7,"conversation":{},"qa":[]}]`, "[0].sample_id: is a number; the whole must be"},
	} {
		_, err := samples(strings.NewReader(c.text), "x")
		var format *evidence.FormatError
		if !errors.As(err, &format) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q in it", name, err, c.want)
		}
	}
}

func TestAReadersErrorIsReturned(t *testing.T) {
	broken := errors.New("disk on fire")
	for _, text := range []string{"", "[", `[{"conversation":`, `[{"conversation":{},"qa":[]},`} {
		_, err := samples(io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken)), "x")
		if !errors.Is(err, broken) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// endless is a list of samples without an end.
type endless struct{ begun bool }

func (e *endless) Read(p []byte) (int, error) {
	if !e.begun {
		e.begun = true
		return copy(p, "["), nil
	}
	return copy(p, `{"conversation":{},"qa":[]},`), nil
}

func TestSamplesComeBeforeTheFileEnds(t *testing.T) {
	n := 0
	for _, err := range evidence.Read(&endless{}, "x") {
		if n++; err != nil {
			t.Fatal(err)
		}
		if n == 1000 {
			return
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, name := range []string{"locomo.json", "longmemeval.json"} {
		data, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(`{"conversation":{"session_1":[{}]},"qa":[{"question":"a","evidence":"D1:1"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		all, err := samples(bytes.NewReader(data), "x")
		if err == nil && len(all) == 0 {
			t.Error("neither a sample nor an error")
		}
		for _, s := range all {
			for _, q := range s.Questions {
				if len(q.Evidence) == 0 || q.Text == "" {
					t.Errorf("%q has %d pieces of evidence", q.Text, len(q.Evidence))
				}
				for _, piece := range q.Evidence {
					for _, i := range piece {
						_ = s.Turns[i]
					}
				}
			}
		}
	})
}
