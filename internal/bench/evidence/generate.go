package evidence

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"slices"
	"time"
)

// conversations is the number of conversations in a generated file.
const conversations = 10

// speakers are the two speakers of each conversation.
var speakers = [conversations][2]string{
	{"Mirela", "Jonas"}, {"Tavi", "Odette"}, {"Renske", "Malik"}, {"Soren", "Beatriz"}, {"Anouk", "Desmond"},
	{"Ilya", "Carmen"}, {"Fenna", "Rashid"}, {"Gwen", "Lazlo"}, {"Hana", "Piotr"}, {"Esme", "Viktor"},
}

// Generate writes a file in LoCoMo's format: ten conversations of 400 to 600 turns
// between two friends, over some 25 sessions, and questions about them, most of
// them in other words. Some need two turns, the turn before the evidence often has
// the words of the question, and other turns have the same subject. Equal seeds
// give equal bytes.
func Generate(w io.Writer, seed uint64) error {
	s := parseScenes(scenesText)
	all := make([]any, conversations)
	for i := range all {
		d := dialogue{script: s, names: speakers[i], rand: rand.New(rand.NewPCG(seed, uint64(i))), decks: make(map[string][]string)}
		all[i] = d.sampleJSON(fmt.Sprintf("dialogue-%d", i+1))
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(all); err != nil {
		return fmt.Errorf("write dialogues: %w", err)
	}
	return nil
}

// A dialogue is one conversation under construction.
type dialogue struct {
	script
	names    [2]string
	rand     *rand.Rand
	decks    map[string][]string // the rest of each list
	sessions [][]block
	asked    []*question
}

// A block is a run of turns that stay together in a session.
type block []*turn

// A turn of the file. Its place is known only at the end.
type turn struct {
	Speaker string `json:"speaker"`
	ID      string `json:"dia_id"`
	Text    string `json:"text"`
	Caption string `json:"blip_caption,omitempty"`
}

// A question of the file.
type question struct {
	Question    string   `json:"question"`
	Answer      string   `json:"answer,omitempty"`
	Evidence    []string `json:"evidence"`
	Category    int      `json:"category"`
	Adversarial string   `json:"adversarial_answer,omitempty"`

	turns []*turn
}

// The density of a dialogue.
const (
	minSessions  = 23
	moreSessions = 5
	played       = 0.85 // share of the scenes
	noises       = 3    // in a session, at most
	trailing     = 0.4  // share of the longer turns
)

func (d *dialogue) sampleJSON(id string) any {
	d.sessions = make([][]block, minSessions+d.rand.IntN(moreSessions))
	for _, scene := range d.scenes["scene"] {
		for side := range d.names {
			if d.rand.Float64() < played {
				d.playScene(scene, side)
			} else {
				d.askUnplayed(scene, side)
			}
		}
	}
	conversation := map[string]any{"speaker_a": d.names[0], "speaker_b": d.names[1]}
	day := time.Date(2024, time.January, 3+d.rand.IntN(20), 9, 0, 0, 0, time.UTC)
	for n := range d.sessions {
		key := fmt.Sprintf("session_%d", n+1)
		conversation[key] = d.sessionTurns(n)
		conversation[key+"_date_time"] = day.Add(time.Duration(d.rand.IntN(720)) * time.Minute).Format("3:04 pm on 2 January, 2006")
		day = day.AddDate(0, 0, 3+d.rand.IntN(14))
	}
	for _, q := range d.asked {
		for _, t := range q.turns {
			q.Evidence = append(q.Evidence, t.ID)
		}
	}
	return map[string]any{"sample_id": id, "conversation": conversation, "qa": d.asked}
}

// sessionTurns returns the turns of the n-th session, in their places.
func (d *dialogue) sessionTurns(n int) []*turn {
	blocks := d.sessions[n]
	for range d.rand.IntN(noises + 1) {
		blocks = append(blocks, d.sceneTurns(d.anyScene("noise"), d.rand.IntN(2), nil))
	}
	d.rand.Shuffle(len(blocks), func(i, j int) { blocks[i], blocks[j] = blocks[j], blocks[i] })
	first := d.rand.IntN(2)
	turns := slices.Concat(d.sceneTurns(d.anyScene("hello"), first, nil), d.sceneTurns(d.anyScene("chat"), first, nil), slices.Concat(blocks...), d.sceneTurns(d.anyScene("bye"), first, nil))
	for i, t := range turns {
		t.ID = fmt.Sprintf("D%d:%d", n+1, i+1)
	}
	return turns
}

func (d *dialogue) anyScene(kind string) scene {
	of := d.scenes[kind]
	return of[d.rand.IntN(len(of))]
}

// A part is a scene in a dialogue, with the values of its placeholders.
type part struct {
	values   map[string]string
	way      int
	evidence map[string]*turn
	later    block
}

// playScene puts a scene of one side into a session, its later lines into a later
// one, and adds its question.
func (d *dialogue) playScene(s scene, side int) {
	p := d.newPart(side)
	n := d.rand.IntN(len(d.sessions))
	d.sessions[n] = append(d.sessions[n], d.sceneTurns(s, side, p))
	if len(p.later) > 0 {
		n += d.rand.IntN(len(d.sessions) - n)
		d.sessions[n] = append(d.sessions[n], p.later)
	}
	for _, a := range s.questions {
		q := &question{Question: d.fillNames(pickPhrase(a.ways, p.way), p), Evidence: []string{}, Category: a.category}
		for _, e := range a.evidence {
			q.turns = append(q.turns, p.evidence[e])
		}
		q.Answer = q.turns[0].Text
		d.asked = append(d.asked, q)
	}
}

// askUnplayed sometimes adds a question about a scene that is not in the dialogue.
func (d *dialogue) askUnplayed(s scene, side int) {
	if p := d.newPart(side); len(s.questions) > 0 && d.rand.IntN(2) == 0 {
		d.asked = append(d.asked, &question{Question: d.fillNames(pickPhrase(s.questions[0].ways, p.way), p), Evidence: []string{}, Category: adversarial, Adversarial: "not mentioned"})
	}
}

func (d *dialogue) newPart(side int) *part {
	return &part{
		values: map[string]string{"A": d.names[side], "B": d.names[1-side]},
		way:    d.rand.IntN(2), evidence: make(map[string]*turn),
	}
}

// sceneTurns returns the turns of a scene of one side; later lines stay in p.
func (d *dialogue) sceneTurns(s scene, side int, p *part) block {
	if p == nil {
		p = d.newPart(side)
	}
	var now block
	for _, l := range s.lines {
		way := p.way
		if l.evidence == "" {
			way = d.rand.IntN(len(l.ways))
		}
		t := &turn{Speaker: p.values[string(l.speaker)], Text: d.fillNames(pickPhrase(l.ways, way), p), Caption: d.fillNames(pickPhrase(l.picture, way), p)}
		if d.rand.Float64() < trailing {
			t.Text += " " + d.fillNames(d.drawPhrase("tail"), p)
		}
		if l.evidence != "" {
			p.evidence[l.evidence] = t
		}
		if l.later {
			p.later = block{t, {Speaker: p.values["B"], Text: d.fillNames(d.drawPhrase("reply"), p)}}
			continue
		}
		now = append(now, t)
	}
	return now
}

// drawPhrase draws one phrase of a kind that has a single line.
func (d *dialogue) drawPhrase(kind string) string {
	ways := d.scenes[kind][0].lines[0].ways
	return ways[d.rand.IntN(len(ways))]
}

func pickPhrase(ways []string, i int) string { return ways[i%len(ways)] }

var slot = regexp.MustCompile(`\{[A-Za-z]+\}`)

// fillNames replaces the names in text by their values in p, and draws missing
// ones.
func (d *dialogue) fillNames(text string, p *part) string {
	return slot.ReplaceAllStringFunc(text, func(name string) string {
		name = name[1 : len(name)-1]
		if p.values[name] == "" {
			p.values[name] = d.drawWord(name)
		}
		return p.values[name]
	})
}

// drawWord takes a word from a list, none twice before all were drawn.
func (d *dialogue) drawWord(list string) string {
	if len(d.decks[list]) == 0 {
		deck := slices.Clone(d.lists[list])
		d.rand.Shuffle(len(deck), func(i, j int) { deck[i], deck[j] = deck[j], deck[i] })
		d.decks[list] = deck
	}
	deck := d.decks[list]
	d.decks[list] = deck[1:]
	return deck[0]
}
