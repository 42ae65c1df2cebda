package summarize

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

// Verify removes the lines of text with a path, an identifier, a number or a quoted
// string that does not occur in the source: the messages with their ids, the former
// summary, the facts and the note. It ignores markers at the beginning of a line
// (bullets, ordinals, step numbers). It returns the rest, without headings that
// have lost all their lines, and the number of removed lines. It is idempotent. Its
// time is linear in text and source.
func Verify(text string, r Request) (clean string, removed int) {
	asked := sourceWords{asked: new(askedWords)}
	asked.removeUnfounded(text)
	s := sourceWords{words: make(map[uint64]struct{}), asked: asked.asked}
	s.asked.closed = true
	s.addRequest(r)
	return s.removeUnfounded(text)
}

// Vet does what [Verify] does, and also returns why the rest cannot be used:
// [Unfounded] if no line stays, [Ungrounded] if more lines were removed than
// stayed, [Unrelated] if a long text contains none of the many names in the source;
// "" if it can.
//
// It also removes what is under a heading of the facts section, and lines that
// say that something went well which failed according to the facts.
func Vet(text string, r Request) (clean string, removed int, reason string) {
	text, removed = withoutFactLines(text, failuresOf(r.Facts))
	clean, unfounded, reason := newSourceWords(r).vetText(text, tokenCounter(r.Count))
	return clean, removed + unfounded, reason
}

// Thresholds of Vet: minimum names in the source, minimum tokens of a text.
const manyNames, longText = 20, 60

func (s sourceWords) vetText(text string, count func(string) int) (clean string, removed int, reason string) {
	clean, removed = s.removeUnfounded(text)
	kept, names := 0, 0
	for line := range strings.Lines(clean) {
		if sentenceKey(line) != "" && !isHeading(line) {
			kept++
		}
	}
	for w := range wordTokens(clean) {
		if isNameToken(w) {
			names++
		}
	}
	switch {
	case kept == 0:
		return "", removed, Unfounded
	case removed > kept:
		return clean, removed, Ungrounded
	case names == 0 && len(s.names) >= manyNames && count(clean) >= longText:
		return clean, removed, Unrelated
	}
	return clean, removed, ""
}

// failuresOf returns the commands and the tests that failed according to a facts
// section.
func failuresOf(facts string) (failed []string) {
	_, errors, _ := strings.Cut("\n"+facts, "\nLast errors:\n")
	for line := range strings.SplitSeq(errors, "\n") {
		item, ok := strings.CutPrefix(line, "- ")
		if !ok {
			return failed
		}
		call, ending, _ := strings.Cut(item, arrow)
		failed = append(append(failed, strings.TrimSuffix(call, "…")), testsOfEnding(ending)...)
	}
	return failed
}

// contradicts reports whether line says that one of failed went well.
func contradicts(line string, failed []string) bool {
	names := slices.ContainsFunc(failed, func(name string) bool { return len(name) > 3 && strings.Contains(line, name) })
	if !names {
		return false
	}
	low := paddedLower(line)
	well := containsAny(low, " pass ", " passes ", " passed ", " passing ", " green ", " succeeds ", " succeeded ", " successful ", " successfully ", " ok ", " fixed ", " works ", " done ", " uploaded ", " deployed ", " clean ")
	return well && !containsAny(low, " fail ", " fails ", " failed ", " failing ", " error ", " errors ", " not ", " until ", " to make ", " should ", " must ", " so that ", " red ", " broken ")
}

// withoutFactLines removes contradictions of what failed, and what a model writes under a heading of the facts section,
// which is extracted from the messages, and returns how many lines.
func withoutFactLines(text string, failed []string) (clean string, removed int) {
	var kept []string
	under := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		bare := strings.ToLower(strings.Trim(line, " \t\r*#_:-"))
		isHead := slices.ContainsFunc(factKinds(), func(k factKind) bool {
			title := strings.ToLower(strings.TrimSuffix(k.title, ":"))
			return bare == title || strings.HasPrefix(bare, title+": ") || strings.HasPrefix(bare, title+" in /")
		}) || bare == strings.ToLower(factsHead[3:]) || bare == strings.ToLower(ledgerHead[3:]) || bare == strings.ToLower(filesHead[3:])
		switch {
		case isHead:
			under = true
			removed++
		case under && (strings.TrimSpace(line) == "" || isHeading(line) || line[:markerLen(line)] == "" && strings.HasSuffix(line, ":")):
			under = false
			kept = append(kept, line)
		case under, contradicts(line, failed):
			removed++
		default:
			kept = append(kept, line)
		}
	}
	return strings.TrimSpace(strings.Join(kept, "\n")), removed
}

// isNameToken reports whether w is specific: not a short id or number, which any
// text contains.
func isNameToken(w wordToken) bool { return checkable(w) && len(w.text) >= 4 }

// removeUnfounded removes the lines of text that s does not support, and returns
// how many.
func (s sourceWords) removeUnfounded(text string) (clean string, removed int) {
	var kept []string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if s.bearsOutLine(line) {
			kept = append(kept, line)
		} else {
			removed++
		}
	}
	if removed > 0 {
		kept = withoutBareHeads(kept)
	}
	return strings.TrimSpace(strings.Join(kept, "\n")), removed
}

// A sourceWords indexes the words of a text and their pairs.
type sourceWords struct {
	words map[uint64]struct{} // of words as written, and of pairs in lower case
	names map[uint64]struct{} // some of the names; nil if they are not collected
	asked *askedWords         // only these are indexed; nil: all
}

func newSourceWords(r Request) sourceWords {
	s := sourceWords{words: make(map[uint64]struct{}, 1<<12), names: make(map[uint64]struct{})}
	s.addRequest(r)
	return s
}

func (s sourceWords) addRequest(r Request) {
	s.addText(r.Previous)
	s.addText(r.Facts)
	s.addText(r.Note)
	if r.Work != nil {
		for _, x := range r.Work.w.list {
			s.addText(x.factLine())
		}
	}
	for _, m := range r.Messages {
		s.addText(m.ID)
		for _, p := range m.Parts {
			s.addPart(p)
		}
	}
}

func (s sourceWords) addPart(p chat.Part) {
	switch p.Kind {
	case chat.Thinking:
		return // thinking is not a source
	case chat.Image:
		if p.Image != nil {
			s.addText(p.Image.MediaType)
		}
		return
	}
	s.addText(p.Text)
	s.addText(p.ID)
	s.addText(p.Name)
	if p.Args == "" {
		return
	}
	var args any
	if json.Unmarshal([]byte(p.Args), &args) == nil {
		s.addLeaves(args)
	} else {
		s.addText(p.Args)
	}
}

func (s sourceWords) addLeaves(v any) {
	switch v := v.(type) {
	case string:
		s.addText(v)
	case []any:
		for _, e := range v {
			s.addLeaves(e)
		}
	case map[string]any:
		for k, e := range v {
			s.addText(k)
			s.addLeaves(e)
		}
	case float64:
		b, err := json.Marshal(v)
		if err == nil {
			s.addText(string(b))
		}
	}
}

// abbreviations are the lengths of abbreviated hashes in tools.
const shortestHash, longestCut = 7, 12

func (s sourceWords) addText(text string) {
	var before uint64
	for start, end := nextWord(text, 0); start < len(text); start, end = nextWord(text, end) {
		w := text[start:end]
		exact, h := hashWord(w)
		s.addHash(exact)
		if s.names != nil && len(s.names) < manyNames && isNameToken(newWordToken(w)) {
			s.names[exact] = struct{}{}
		}
		if len(w) > longestCut && newWordToken(w).hasDigit {
			for n := shortestHash; n <= longestCut; n++ {
				s.addHash(hashExact(w[:n]))
			}
		}
		s.addHash(pairHash(before, h))
		before = h
	}
}

// addHash adds the hash of a word or of a pair, if it is asked for.
func (s sourceWords) addHash(h uint64) {
	if s.asked == nil || s.asked.contains(h) {
		s.words[h] = struct{}{}
	}
}

func (s sourceWords) containsWord(word string) bool { return s.containsHash(hashExact(word)) }

func (s sourceWords) containsPair(before, word string) bool {
	return s.containsHash(pairHash(hashFold(before), hashFold(word)))
}

func (s sourceWords) containsHash(h uint64) bool {
	if s.asked != nil && !s.asked.closed {
		s.asked.add(h)
		return true // so that everything is asked for
	}
	_, ok := s.words[h]
	return ok
}

// askedWords are the hashes that a text asks a source for. A source is far longer than
// a text, so most of its hashes are not among them.
type askedWords struct {
	hashes map[uint64]struct{}
	some   [1 << 10]uint64 // a bit for each hash, by its first bits
	closed bool            // all are known
}

func (a *askedWords) add(h uint64) {
	if a.hashes == nil {
		a.hashes = make(map[uint64]struct{})
	}
	a.hashes[h] = struct{}{}
	a.some[h>>54] |= 1 << (h >> 48 & 63)
}

func (a *askedWords) contains(h uint64) bool {
	if a.some[h>>54]&(1<<(h>>48&63)) == 0 {
		return false
	}
	_, ok := a.hashes[h]
	return ok
}

// bearsOutLine reports whether the source supports everything in line that can be
// checked.
func (s sourceWords) bearsOutLine(line string) bool {
	line = line[markerLen(line):]
	for _, quoted := range quotedTexts(line) {
		if !s.bearsOutChain(quoted) {
			return false
		}
	}
	for compound := range strings.FieldsFuncSeq(line, isCompoundBreak) {
		if !s.bearsOutCompound(compound) {
			return false
		}
	}
	return true
}

// bearsOutCompound checks the text between two spaces: a word, a name, a path, a
// number.
func (s sourceWords) bearsOutCompound(text string) bool {
	text = strings.Trim(text, ".!?'-/")
	if isPathLike(text) || strings.Contains(text, ".") && strings.Trim(text, "0123456789.") == "" {
		return s.bearsOutChain(text)
	}
	for w := range wordTokens(text) {
		if checkable(w) && !s.containsWord(w.text) {
			return false
		}
	}
	if t := strings.Index(text, "-"); t > 1 && isTicket(text[:t], text[t+1:]) {
		return s.bearsOutChain(text)
	}
	return true
}

// bearsOutChain reports whether the words of text follow each other somewhere in
// the source, pair by pair.
func (s sourceWords) bearsOutChain(text string) bool {
	before := ""
	for w := range wordTokens(text) {
		if before == "" {
			if !s.containsWord(w.text) && checkable(w) {
				return false
			}
		} else if !s.containsPair(before, w.text) {
			return false
		}
		before = w.text
	}
	return true
}

// checkable reports whether w is a number or a name, not a word.
func checkable(w wordToken) bool {
	return w.hasDigit || w.hasUnder && len(w.text) >= 3 || w.innerUpper && len(w.text) >= 4
}

// isPathLike reports whether the words of text are joined like a path, a file name,
// an address or a qualified name.
func isPathLike(text string) bool {
	slashes := strings.Count(text, "/")
	if slashes >= 2 {
		return true
	}
	dot := strings.LastIndexByte(text, '.')
	if dot <= 0 || dot == len(text)-1 || len(text)-dot > 12 {
		return false
	}
	ext := text[dot+1:]
	for i := range len(ext) {
		if c := ext[i]; !('a' <= c && c <= 'z' || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z') {
			return false
		}
	}
	return dot > 1 || slashes > 0
}

// isTicket reports whether before-after has the form of a ticket's id.
func isTicket(before, after string) bool {
	for i := range len(before) {
		if before[i] < 'A' || before[i] > 'Z' {
			return false
		}
	}
	return after != "" && after[0] >= '0' && after[0] <= '9'
}

// markerLen returns the length of the indentation, bullets, ordinals and step
// numbers at the beginning of line.
func markerLen(line string) int {
	at := 0
	for at < len(line) {
		switch c := line[at]; {
		case c == ' ' || c == '\t' || c == '-' || c == '*' || c == '#' || c == '>' || c == '+':
			at++
			continue
		}
		break
	}
	rest := line[at:]
	digits := 0
	bracket := strings.HasPrefix(rest, "[")
	if bracket {
		digits = 1
	}
	start := digits
	for digits < len(rest) && rest[digits] >= '0' && rest[digits] <= '9' {
		digits++
	}
	if digits == start || digits == len(rest) {
		return at
	}
	if end := rest[digits]; bracket && end == ']' || !bracket && (end == '.' || end == ')') && (digits+1 == len(rest) || rest[digits+1] == ' ') {
		return at + digits + 1
	}
	return at
}

// quotedTexts returns the texts in quotation marks or backticks in line.
func quotedTexts(line string) []string {
	var found []string
	for _, mark := range [][2]string{{"`", "`"}, {`"`, `"`}, {"“", "”"}, {"«", "»"}, {"„", "“"}} {
		rest := line
		for {
			_, after, ok := strings.Cut(rest, mark[0])
			if !ok {
				break
			}
			inside, next, ok := strings.Cut(after, mark[1])
			if !ok {
				break
			}
			found = append(found, inside)
			rest = next
		}
	}
	return found
}

// isCompoundBreak reports whether r separates compounds.
func isCompoundBreak(r rune) bool {
	switch r {
	case ' ', '\t', ',', ';', ':', '(', ')', '[', ']', '{', '}', '<', '>', '"', '`', '|', '=', '*', '“', '”', '«', '»', '„', '…', '→', '—':
		return true
	}
	return false
}
