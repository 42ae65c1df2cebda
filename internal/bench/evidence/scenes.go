package evidence

import (
	_ "embed"
	"regexp"
	"strings"
)

//go:embed scenes.txt
var scenesText string

// A script is the material of dialogues.
type script struct {
	lists  map[string][]string
	scenes map[string][]scene // by their purpose: scene, noise, hello …
}

// A scene is a few lines that belong together, and the questions about them.
type scene struct {
	lines     []line
	questions []asked
}

// A line is spoken by the owner of the scene, A, or by the other.
type line struct {
	speaker  byte   // 'A' or 'B'
	evidence string // number of the evidence in it; "" if there is none
	later    bool   // in a later session
	ways     []string
	picture  []string // images for each wording; "" if there are none
}

// An asked is a question in its wordings; those of a line with the same number
// belong to them.
type asked struct {
	category int
	evidence []string
	ways     []string
}

var (
	sceneLine    = regexp.MustCompile(`^([AB])([0-9]?): (later: )?(.+)$`)
	sceneAsk     = regexp.MustCompile(`^Q([1-4])((?: [0-9])+): (.+)$`)
	sceneList    = regexp.MustCompile(`^list ([a-z]+): (.+)$`)
	scenePicture = regexp.MustCompile(`^(.*) \[(.+)\]$`)
)

// parseScenes reads scenes.txt, whose head explains its format.
func parseScenes(text string) script {
	s := script{lists: make(map[string][]string), scenes: make(map[string][]scene)}
	kind := ""
	for l := range strings.SplitSeq(text, "\n") {
		if m := sceneList.FindStringSubmatch(l); m != nil {
			s.lists[m[1]] = strings.Split(m[2], ", ")
			continue
		}
		if m := sceneAsk.FindStringSubmatch(l); m != nil {
			last := s.lastScene(kind)
			last.questions = append(last.questions, asked{int(m[1][0] - '0'), strings.Fields(m[2]), strings.Split(m[3], " | ")})
			continue
		}
		if m := sceneLine.FindStringSubmatch(l); m != nil {
			last := s.lastScene(kind)
			last.lines = append(last.lines, parseLine(m))
			continue
		}
		if l != "" && l[0] != '#' {
			kind, _, _ = strings.Cut(l, " ")
			s.scenes[kind] = append(s.scenes[kind], scene{})
		}
	}
	return s
}

func (s script) lastScene(kind string) *scene { return &s.scenes[kind][len(s.scenes[kind])-1] }

func parseLine(m []string) line {
	l := line{speaker: m[1][0], evidence: m[2], later: m[3] != ""}
	for way := range strings.SplitSeq(m[4], " | ") {
		picture := ""
		if m := scenePicture.FindStringSubmatch(way); m != nil {
			way, picture = m[1], m[2]
		}
		l.ways, l.picture = append(l.ways, way), append(l.picture, picture)
	}
	return l
}
