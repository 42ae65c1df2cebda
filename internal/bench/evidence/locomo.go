package evidence

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// adversarial is LoCoMo's category of questions that the conversation does not
// answer.
const adversarial = 5

type locomoSample struct {
	ID           string          `json:"sample_id"`
	Conversation json.RawMessage `json:"conversation"`
	QA           json.RawMessage `json:"qa"`
}

type locomoTurn struct {
	Speaker string `json:"speaker"`
	ID      string `json:"dia_id"`
	Text    string `json:"text"`
	Caption string `json:"blip_caption"`
}

type locomoQuestion struct {
	Question    string          `json:"question"`
	Evidence    json.RawMessage `json:"evidence"`
	Category    int             `json:"category"`
	Adversarial json.RawMessage `json:"adversarial_answer"`
}

func decodeLoCoMo(raw json.RawMessage, f field) (Sample, error) {
	var l locomoSample
	if err := f.decodeField(raw, &l, "an object with a text as sample_id"); err != nil {
		return Sample{}, err
	}
	s := Sample{ID: l.ID}
	if s.ID == "" {
		s.ID = strings.Trim(f.path, "[]")
	}
	var err error
	if s.Turns, err = locomoTurns(l.Conversation, f.childField("conversation")); err != nil {
		return Sample{}, err
	}
	var list []json.RawMessage
	f = f.childField("qa")
	if err := f.decodeField(l.QA, &list, "a list of questions"); err != nil {
		return Sample{}, err
	}
	places := s.turnPlaces()
	for i, raw := range list {
		if err := s.addQuestion(raw, i, places, f.childField(i)); err != nil {
			return Sample{}, err
		}
	}
	return s, nil
}

var sessionKey = regexp.MustCompile(`^session_([0-9]{1,9})$`)

// locomoTurns returns the turns of all sessions, by the numbers of the sessions.
func locomoTurns(raw json.RawMessage, f field) ([]Turn, error) {
	var conversation map[string]json.RawMessage
	if err := f.decodeField(raw, &conversation, "an object with session_1, session_2 and so on"); err != nil {
		return nil, err
	}
	numbers := make(map[int]string)
	for key := range conversation {
		if m := sessionKey.FindStringSubmatch(key); m != nil {
			n, _ := strconv.Atoi(m[1])
			numbers[n] = key
		}
	}
	var turns []Turn
	for _, n := range slices.Sorted(maps.Keys(numbers)) {
		var session []json.RawMessage
		at := f.childField(numbers[n])
		if isMissing(conversation[numbers[n]]) {
			continue // a session without turns
		}
		if err := at.decodeField(conversation[numbers[n]], &session, "a list of turns"); err != nil {
			return nil, err
		}
		for i, raw := range session {
			var t locomoTurn
			if err := at.childField(i).decodeField(raw, &t, "an object with the texts speaker, dia_id, text and blip_caption"); err != nil {
				return nil, err
			}
			turns = append(turns, t.turnOfSession(n, i))
		}
	}
	return turns, nil
}

// turnOfSession returns the i-th turn of a session.
func (t locomoTurn) turnOfSession(session, i int) Turn {
	id := strings.TrimSpace(t.ID)
	if id == "" {
		id = fmt.Sprintf("D%d:%d", session, i+1)
	}
	text := t.Text
	if t.Caption != "" {
		text = strings.TrimSpace(text + " [" + t.Caption + "]")
	}
	return Turn{id, t.Speaker, text}
}

// turnPlaces returns the places of the turns of an id.
func (s *Sample) turnPlaces() map[string][]int {
	at := make(map[string][]int, len(s.Turns))
	for i, t := range s.Turns {
		at[t.ID] = append(at[t.ID], i)
	}
	return at
}

// addQuestion adds the i-th question, or counts it as left out.
func (s *Sample) addQuestion(raw json.RawMessage, i int, places map[string][]int, f field) error {
	var q locomoQuestion
	if err := f.decodeField(raw, &q, "an object with a text as question and a number as category"); err != nil {
		return err
	}
	if q.Category == adversarial || q.Category == 0 && q.Adversarial != nil {
		s.LeftOut.Adversarial++
		return nil
	}
	if strings.TrimSpace(q.Question) == "" {
		return f.childField("question").fieldError("is missing", "give the question's text")
	}
	refs, err := references(q.Evidence, f.childField("evidence"))
	if err != nil {
		return err
	}
	var pieces [][]int
	for _, ref := range refs {
		if at, ok := places[ref]; ok {
			pieces = append(pieces, at)
		}
	}
	if len(pieces) == 0 {
		s.LeftOut.NoEvidence++
		return nil
	}
	s.Questions = append(s.Questions, Question{q.Question, i, questionKind(q.Category), pieces})
	return nil
}

func questionKind(category int) string {
	if category == 0 {
		return ""
	}
	return "category " + strconv.Itoa(category)
}

// turnRef is the form of a turn in evidence: D8:6, and by mistake D:8:6 or D08:06.
var turnRef = regexp.MustCompile(`D:?([0-9]{1,9}):([0-9]{1,9})`)

// references returns the ids of the turns in evidence, each once. One text may have
// several.
func references(raw json.RawMessage, f field) ([]string, error) {
	var list []string
	var one string
	switch {
	case isMissing(raw):
		return nil, nil
	case json.Unmarshal(raw, &one) == nil:
		list = []string{one}
	default:
		if err := f.decodeField(raw, &list, "a list of texts like D1:3"); err != nil {
			return nil, err
		}
	}
	var refs []string
	seen := make(map[string]bool)
	for _, text := range list {
		found := turnRef.FindAllStringSubmatch(text, -1)
		names := make([]string, 0, len(found)+1)
		for _, m := range found {
			names = append(names, "D"+trimZeros(m[1])+":"+trimZeros(m[2]))
		}
		if len(found) == 0 {
			names = append(names, strings.TrimSpace(text)) // an id of another form
		}
		for _, name := range names {
			if !seen[name] {
				seen[name] = true
				refs = append(refs, name)
			}
		}
	}
	return refs, nil
}

// trimZeros returns a number without leading zeros.
func trimZeros(number string) string {
	n, _ := strconv.Atoi(number)
	return strconv.Itoa(n)
}
