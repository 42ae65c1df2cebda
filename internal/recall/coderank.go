package recall

import (
	"math"
	"path"
	"regexp"
	"strings"
	"sync"
	"unicode"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/embed"
)

// What a coding session removed is mostly text of files, often the same text several
// times. These weights are added to those of words; docs/RECALL.md says what each brings.
const (
	contextWeight    = 1    // what the conversation is about now
	definitionWeight = 0.6  // a definition of a name in the query
	bareWeight       = 4    // a call or a result that hardly has text, if text of a file is looked for
	bareOtherwise    = 0.3  // the same for other queries
	oldWeight        = 0.4  // text that an edit replaced: below the text that it wrote
	fileNameWeight   = 0.5  // the query has the words of the file's name
	fileKindWeight   = 0.5  // the query names the kind of the file, such as documentation
	fileBestWeight   = 0.3  // the best passage of the file
	fileHeadWeight   = 0.25 // the head of a file, which has its imports
	newerWeight      = 0.1  // the newest version of a file
	mentionWeight    = 0.2  // the best passages name the file
	noFileWeight     = 0.5  // text of no file, if the query announces work on one
)

// Numbers of terms below which a call and a result hardly have text.
const (
	bareCall   = 60
	bareResult = 25
)

// A docKind is what the ranking of code knows of a passage.
type docKind struct {
	file  int32 // in the table, -1 for none
	newer float32
	bare  float32 // 1: has no text, 0: has text
	head  bool
	old   bool
}

// A sessionFile is a file that passages show.
type sessionFile struct {
	base  string
	terms []uint32 // of the name
	kind  fileKind
}

// A fileTable is the files of a snapshot, and the kinds of its passages.
type fileTable struct {
	names []string
	docs  []docKind // by passage

	described sync.Once // by describe; a query that announces no work needs none of it
	files     []sessionFile
	in        map[uint32]int // number of files that have a term in their name
}

func (t *fileTable) describe() {
	t.described.Do(func() {
		t.in = make(map[uint32]int)
		for _, name := range t.names {
			t.addFile(name)
		}
	})
}

func (s *snapshot) newFileTable() *fileTable {
	t := &fileTable{docs: make([]docKind, len(s.lengths))}
	at := map[string]int32{"": -1}
	byWord := make([]map[int32]int32, len(s.segments)) // files, by the word of a segment
	for k := range byWord {
		byWord[k] = make(map[int32]int32)
	}
	versions, newest := []int32(nil), []int32(nil) // of each file: messages so far, the last of them
	version := make([]int32, len(s.lengths))
	for _, d := range s.order {
		owner := s.segmentOf(d)
		p := s.segments[owner].place(d - s.base[owner])
		k, known := byWord[owner][p.msg.file]
		if !known {
			name := p.word(p.msg.file)
			if k, known = at[name]; !known {
				k = int32(len(t.names))
				at[name] = k
				t.names = append(t.names, name)
				versions, newest = append(versions, 0), append(newest, -1)
			}
			byWord[owner][p.msg.file] = k
		}
		part := p.docs[p.at]
		t.docs[d] = docKind{file: k, bare: bareness(p, s.lengths[d]), head: part.part == 0 && p.msg.passages > 1, old: part.old}
		if k < 0 {
			continue
		}
		if newest[k] != p.msg.number {
			newest[k] = p.msg.number
			versions[k]++
		}
		version[d] = versions[k]
	}
	for d := range t.docs {
		if k := t.docs[d].file; k >= 0 {
			t.docs[d].newer = float32(version[d]) / float32(versions[k])
		}
	}
	return t
}

// bareness returns how far a call or a result is from having text.
func bareness(p place, length int32) float32 {
	limit := float32(bareCall)
	switch {
	case p.msg.tool == 0:
		return 0
	case roles[p.msg.role] == chat.Tool:
		limit = bareResult
	}
	return max(0, 1-float32(length)/limit)
}

// nameWords puts spaces between the words of a file name.
var nameWords = strings.NewReplacer("-", " ", ".", " ", "_", " ")

func (t *fileTable) addFile(name string) {
	name = strings.ReplaceAll(name, "\\", "/")
	f := sessionFile{base: path.Base(name), kind: kindOfFile(name)}
	for hash := range embed.TermsOfText(nameWords.Replace(strings.TrimSuffix(f.base, path.Ext(f.base)))).Counts() {
		f.terms = append(f.terms, hash)
		t.in[hash]++
	}
	t.files = append(t.files, f)
}

// A fileKind is a set of kinds.
type fileKind uint8

const (
	documentFile fileKind = 1 << iota
	settingsFile
	scriptFile
	testFile
	sourceFile
)

func kindOfFile(name string) fileKind {
	base := strings.ToLower(path.Base(name))
	if strings.Contains(base, "test") || strings.Contains(base, "spec") || strings.Contains(name, "/test/") || strings.Contains(name, "/tests/") {
		return testFile
	}
	switch path.Ext(base) {
	case ".md", ".rst", ".adoc", ".txt":
		return documentFile
	case ".json", ".toml", ".yaml", ".yml", ".ini", ".cfg", ".conf", ".env":
		return settingsFile
	case ".sh", ".bash", ".zsh", ".ps1":
		return scriptFile
	}
	return sourceFile
}

// kindsNamed returns the kinds of files that a query names.
func kindsNamed(query string) (k fileKind) {
	for word := range strings.FieldsFuncSeq(strings.ToLower(query), func(r rune) bool { return !unicode.IsLetter(r) }) {
		switch word {
		case "documentation", "document", "docs", "doc", "readme", "changelog":
			k |= documentFile
		case "test", "tests", "testing", "spec":
			k |= testFile
		case "config", "configuration", "settings":
			k |= settingsFile
		case "script", "scripts":
			k |= scriptFile
		case "implementation":
			k |= sourceFile
		}
	}
	return k
}

// work finds verbs of a sentence that announces a change.
var work = regexp.MustCompile(`(?i)\b(?:let me|let's|now|i'll|i will|step \d+|update|add|fix|change|edit|implement|replace|modify|rename|remove|delete|refactor|create|write|rewrite|move|extract|simplify|revert|insert|use|using)\b`)

var question = regexp.MustCompile(`(?i)^\W*(?:what|which|why|how|where|who|when|did|does|do|is|are|was|were)\b|\?\s*$`)

// announcesWork reports whether a query announces work on a file, or names one: then the
// text of files is looked for rather than what was said.
func announcesWork(query string) bool {
	return pathLike.MatchString(query) || work.MatchString(query) && !question.MatchString(query)
}

// A codeRanking adds to the scores of words what is known of files.
type codeRanking struct {
	*snapshot
	table   *fileTable
	query   string
	lexical []float64 // of passages
	context []float64
	defines map[int32]bool
	// mentioned are names of files in the best passages.
	mentioned map[string]bool
}

// addTo changes scores in the order of the conversation.
func (c *codeRanking) addTo(scores []float64) {
	files, bare := make([]float64, len(c.table.names)), float64(bareOtherwise)
	announced := announcesWork(c.query)
	if announced {
		files, bare = c.fileScores(), bareWeight
	}
	for i, d := range c.order {
		k := &c.table.docs[d]
		if c.context != nil && announced {
			scores[i] += contextWeight * c.context[d]
		}
		if c.defines[d] {
			scores[i] += definitionWeight
		} else {
			scores[i] -= bare * float64(k.bare)
		}
		if k.old {
			scores[i] -= oldWeight
		}
		switch {
		case k.file >= 0:
			scores[i] += files[k.file] + newerWeight*float64(k.newer)
			if k.head && announced {
				scores[i] += fileHeadWeight
			}
		case announced:
			scores[i] -= noFileWeight
		}
	}
}

// fileScores returns what the query says of each file.
func (c *codeRanking) fileScores() []float64 {
	t := c.table
	t.describe()
	out := make([]float64, len(t.files))
	asked := make(map[uint32]bool)
	for hash := range embed.TermsOfText(nameWords.Replace(c.query)).Counts() {
		asked[hash] = true
	}
	kinds, top := kindsNamed(c.query), 0.0
	for k, f := range t.files {
		have, all := 0.0, 0.0
		for _, hash := range f.terms {
			weight := math.Log(1 + float64(len(t.files))/float64(t.in[hash]))
			all += weight
			if asked[hash] {
				have += weight
			}
		}
		if all > 0 {
			out[k] = have * have / all
		}
		top = max(top, out[k])
	}
	best := make([]float64, len(t.files))
	for d, k := range t.docs {
		if k.file >= 0 {
			best[k.file] = max(best[k.file], c.lexical[d])
		}
	}
	for k, f := range t.files {
		if top > 0 {
			out[k] *= fileNameWeight / top
		}
		out[k] += fileBestWeight * best[k]
		if f.kind&kinds != 0 {
			out[k] += fileKindWeight
		}
		if c.mentioned[f.base] {
			out[k] += mentionWeight
		}
	}
	return out
}
