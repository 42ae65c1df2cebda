package evidence

import (
	"encoding/json"
	"fmt"
	"strings"
)

type longMemSample struct {
	ID       string          `json:"question_id"`
	Question string          `json:"question"`
	Kind     string          `json:"question_type"`
	Sessions json.RawMessage `json:"haystack_sessions"`
	IDs      json.RawMessage `json:"haystack_session_ids"`
	Answers  json.RawMessage `json:"answer_session_ids"`
}

type longMemTurn struct {
	Role      string `json:"role"`
	Content   string `json:"content"`
	HasAnswer bool   `json:"has_answer"`
}

// abstention ends the id of a question without an answer in the sessions.
const abstention = "_abs"

// longMemEval decodes one question with its sessions.
func longMemEval(raw json.RawMessage, f field) (Sample, error) {
	var l longMemSample
	if err := f.decodeField(raw, &l, "an object with the texts question_id, question and question_type"); err != nil {
		return Sample{}, err
	}
	var sessions [][]longMemTurn
	if err := f.childField("haystack_sessions").decodeField(l.Sessions, &sessions, "a list of sessions, each a list of turns with the texts role and content"); err != nil {
		return Sample{}, err
	}
	ids, err := decodeTexts(l.IDs, f.childField("haystack_session_ids"))
	if err != nil {
		return Sample{}, err
	}
	answers, err := decodeTexts(l.Answers, f.childField("answer_session_ids"))
	if err != nil {
		return Sample{}, err
	}
	s := Sample{ID: l.ID}
	evidence := s.addSessions(sessions, ids, answers)
	switch {
	case strings.HasSuffix(l.ID, abstention):
		s.LeftOut.Adversarial++
	case strings.TrimSpace(l.Question) == "":
		return Sample{}, f.childField("question").fieldError("is missing", "give the question's text")
	case len(evidence) == 0:
		s.LeftOut.NoEvidence++
	default:
		s.Questions = []Question{{l.Question, 0, l.Kind, evidence}}
	}
	return s, nil
}

// addSessions adds the turns of sessions. It returns the evidence: the marked turns
// or, if there are none, the sessions with the answers, any turn of which counts.
func (s *Sample) addSessions(sessions [][]longMemTurn, ids, answers []string) [][]int {
	holds := make(map[string]bool, len(answers))
	for _, id := range answers {
		holds[id] = true
	}
	var marked, named [][]int
	for n, session := range sessions {
		id := fmt.Sprint("session ", n)
		if n < len(ids) {
			id = ids[n]
		}
		var turns []int
		for i, t := range session {
			turns = append(turns, len(s.Turns))
			if t.HasAnswer {
				marked = append(marked, []int{len(s.Turns)})
			}
			s.Turns = append(s.Turns, Turn{fmt.Sprintf("%s:%d", id, i+1), t.Role, t.Content})
		}
		if holds[id] && len(turns) > 0 {
			named = append(named, turns)
		}
	}
	if len(marked) > 0 {
		return marked
	}
	return named
}

// decodeTexts decodes a list of texts, which may be missing.
func decodeTexts(raw json.RawMessage, f field) ([]string, error) {
	var list []string
	if isMissing(raw) {
		return nil, nil
	}
	err := f.decodeField(raw, &list, "a list of texts")
	return list, err
}
