package archive

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"

	"github.com/tiercompact/tiercompact/chat"
)

// ReadSession returns the state of the session in the file path, without opening it
// for writing and without its lock. A damaged record is a [*RecordError];
// [CheckSession] reads the rest of such a file.
func ReadSession(path string) (State, error) {
	s, _, err := readSession(path)
	if errors.Is(err, ErrDamaged) { // or it was written again between the mark and the file
		s, _, err = readSession(path)
	}
	if err != nil {
		return State{}, fmt.Errorf("read session %s: %w", path, err)
	}
	return s, nil
}

// DecodeSession returns the state of a session from the text of its file.
func DecodeSession(text io.Reader) (State, error) {
	s, _, err := decodeSession(text, nil)
	return s, err
}

// A Reader builds a State from the records of a session file.
type reader struct {
	state   State
	shared  sourceSharing
	at      position
	first   string // checksum of the first record
	lines   int
	end     int64 // after the last whole record, without a missing line feed
	unended bool  // the last record is complete except its line feed
}

// readSession reads the file, and then compares it with the last marks.
func readSession(path string) (State, *reader, error) {
	marks := readMarks(path) // first: another process may be writing
	f, err := os.Open(path)
	if err != nil {
		return State{}, nil, err
	}
	defer f.Close()
	return decodeSession(f, marks)
}

func decodeSession(text io.Reader, marks []mark) (State, *reader, error) {
	r := &reader{state: State{Since: -1}}
	b := bufio.NewReaderSize(text, 1<<16)
	for last := false; !last; {
		line, err := readLine(b)
		if err != nil && !errors.Is(err, io.EOF) {
			return State{}, nil, r.fail(err)
		}
		last = errors.Is(err, io.EOF)
		if last && len(line) == 0 {
			break
		}
		if err := r.line(line, last); err != nil {
			return State{}, nil, r.fail(err)
		}
		if err := checkMarks(marks, r.at); err != nil {
			return State{}, nil, r.fail(err)
		}
		r.lines++
	}
	if r.state.Meta.Session == "" {
		return State{}, nil, fmt.Errorf("%w: it does not begin with the session's record", ErrDamaged)
	}
	if err := checkEnd(marks, r.at); err != nil {
		return State{}, nil, r.fail(err)
	}
	return r.state, r, nil
}

// fail returns err for the line after those that were read.
func (r *reader) fail(err error) error {
	if errors.Is(err, ErrDamaged) {
		err = fmt.Errorf("%w; --lenient skips such records, and takes their content from the archive if it is there", err)
	}
	return &RecordError{r.lines + 1, err}
}

// line reads the next line. One without its line feed may be unfinished.
func (r *reader) line(line []byte, last bool) error {
	x, err := decodeRecord(line)
	switch {
	case err != nil && last && errors.Is(err, ErrDamaged) && endOfRecord(line) == 0:
		r.state.Torn = len(line)
		return nil
	case err != nil:
		return err
	case (r.at.number == 0) != (x.Meta != nil):
		return fmt.Errorf("%w: only the first record may be the session's", ErrDamaged)
	}
	at, err := r.at.follow(x)
	if err != nil {
		return err
	}
	if err := r.apply(x); err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if r.at = at; at.number == 1 {
		r.first = at.sum
	}
	r.end += int64(len(line))
	if r.unended = last; !last {
		r.end++
	}
	return nil
}

func (r *reader) apply(x record) error {
	if x.Message == nil {
		return r.state.apply(x.sessionLine)
	}
	m, err := r.shared.decodeMessage(*x.Message)
	if err == nil {
		r.state.add(m, x.Loaded)
	}
	return err
}

// messagesOf returns the records that add messages.
func messagesOf(messages []chat.Message, shared *sourceSharing, loaded bool) []sessionLine {
	lines := make([]sessionLine, len(messages))
	for i, m := range messages {
		x := shared.encodeMessage(m)
		lines[i] = sessionLine{Message: &x, Loaded: loaded}
	}
	return lines
}

// A listed record is an undamaged record with its line.
type listed struct {
	record
	line int
}

// A recordList is the readable content of a session file that may be damaged.
type recordList struct {
	records []listed // by number
	damages []RecordDamage
	meta    Meta  // of the first record, if that is damaged and still has one
	newer   error // a record of a newer tiercompact
	torn    int

	added   map[int]string // by number of a damaged record, the id of its message if that is readable
	broken  []brokenLine
	checked bool // a record of version 2 was met
}

// A brokenLine is a line that is not a record.
type brokenLine struct {
	line  int
	after int // highest number of a record before it in the file
	err   error
	added string // id of the message that it added, "" if unreadable
}

// listRecords lists the records of a session file. The marks are the last ones
// written for it.
func listRecords(text []byte, marks []mark) *recordList {
	l := &recordList{added: make(map[int]string)}
	byNumber := make(map[int]listed)
	highest, n := 0, 0
	for rest := text; len(rest) > 0; {
		line, behind, ended := bytes.Cut(rest, []byte("\n"))
		rest = behind
		n++
		for _, piece := range pieces(line) {
			x, err := l.decode(piece, n)
			if err != nil && !ended && endOfRecord(line) == 0 && len(piece) > 0 && !bytes.HasSuffix(piece, []byte(`"}`)) {
				l.torn = len(piece)
				continue
			}
			if err != nil {
				l.broken = append(l.broken, brokenLine{n, highest, err, addedBy(piece)})
				continue
			}
			l.place(listed{x, n}, byNumber, highest)
			highest = max(highest, x.Number)
		}
	}
	for _, x := range byNumber {
		l.records = append(l.records, x)
	}
	slices.SortFunc(l.records, func(a, b listed) int { return a.Number - b.Number })
	l.numberDamages(marks)
	return l
}

var addsMessage = regexp.MustCompile(`^\{"v":2,"n":\d+,"after":"[^"]*","message":\{"id":("(?:[^"\\]|\\.)+")`)

// addedBy returns the id of the message that a damaged record adds, "" if it is
// unreadable.
func addedBy(piece []byte) (id string) {
	if m := addsMessage.FindSubmatch(piece); m == nil || json.Unmarshal(m[1], &id) != nil {
		return ""
	}
	return id
}

// pieces returns the parts of a line that may be records: an unfinished record has
// the next one on its line.
func pieces(line []byte) [][]byte {
	var all [][]byte
	for len(line) > 0 {
		end := bytes.Index(line[1:], []byte(recordStart)) + 1
		if end == 0 {
			end = len(line)
		}
		piece := line[:end]
		if whole := endOfRecord(piece); whole > 0 {
			all = append(all, piece[:whole], piece[whole:])
		} else {
			all = append(all, piece)
		}
		line = line[end:]
	}
	if all == nil {
		all = [][]byte{nil} // an empty line
	}
	return all
}

// decode returns the record in a piece of line n.
func (l *recordList) decode(piece []byte, n int) (record, error) {
	x, err := decodeRecord(piece)
	switch {
	case errors.Is(err, ErrVersion):
		l.newer = err
	case err == nil && x.V == 1 && l.checked:
		err = fmt.Errorf("%w: it has no checksum, but the records before it have one", ErrDamaged)
	case err == nil && x.V == 1:
		x.Number = n
	case err == nil:
		l.checked = true
	}
	if err != nil && n == 1 {
		var first sessionLine
		if json.Unmarshal(piece, &first) == nil && first.Meta != nil && checkSession(first.Meta.Session) == nil {
			l.meta = *first.Meta
		}
	}
	return x, err
}

// place adds a record. highest is the number of the records before it.
func (l *recordList) place(x listed, byNumber map[int]listed, highest int) {
	d := RecordDamage{Line: x.line, Record: x.Number}
	other, twice := byNumber[x.Number]
	switch {
	case twice && other.sum == x.sum:
		d.Err = fmt.Errorf("%w: it is on line %d too", ErrDamaged, other.line)
	case twice:
		d.Err = fmt.Errorf("%w: another record %d is on line %d", ErrDamaged, x.Number, other.line)
		d.Lost = true
	case x.Number < highest:
		d.Err = fmt.Errorf("%w: it comes after record %d", ErrDamaged, highest)
	}
	if !twice {
		byNumber[x.Number] = x
	}
	if d.Err != nil {
		l.damages = append(l.damages, d)
	}
}

// numberDamages gives missing numbers to the broken lines in their place, and
// records those without a line.
func (l *recordList) numberDamages(marks []mark) {
	behind := make(map[int][]brokenLine) // by the number before them
	for _, b := range l.broken {
		behind[b.after] = append(behind[b.after], b)
	}
	most := 0
	for _, m := range marks {
		most = max(most, m.Number)
	}
	for i := -1; i < len(l.records); i++ {
		at := 0
		if i >= 0 {
			at = l.records[i].Number
		}
		var next int
		if i+1 < len(l.records) {
			next = l.records[i+1].Number
		} else { // after the last
			next = max(at+1+len(behind[at]), most+1)
		}
		l.gap(at, next, behind[at])
	}
	for _, m := range marks {
		l.compare(m)
	}
}

// compare records a record that differs from the one of m. The content of the other
// copy is unknown.
func (l *recordList) compare(m mark) {
	if _, sum := l.sumOf(1); sum != "" && sum != m.First {
		l.damages = append(l.damages, RecordDamage{Err: fmt.Errorf("%w: another session file has replaced the one that was written here", ErrDamaged), Lost: true})
		return
	}
	if line, sum := l.sumOf(m.Number); sum != "" && sum != m.Sum {
		l.damages = append(l.damages, RecordDamage{Line: line, Err: fmt.Errorf("%w: record %d is not the one that was written here: the file is another copy", ErrDamaged, m.Number), Lost: true})
	}
}

// sumOf returns the checksum of record n, and its line: the checksum of a damaged
// one is in the next record. "" if neither exists.
func (l *recordList) sumOf(n int) (line int, sum string) {
	i, there := slices.BinarySearchFunc(l.records, n, func(x listed, n int) int { return x.Number - n })
	switch {
	case there:
		return l.records[i].line, l.records[i].sum
	case i < len(l.records) && l.records[i].Number == n+1 && l.records[i].V > 1:
		return l.records[i].line, l.records[i].After
	}
	return 0, ""
}

// gap records the broken or missing records between two numbers.
func (l *recordList) gap(at, next int, broken []brokenLine) {
	for _, b := range broken {
		d := RecordDamage{Line: b.line, Err: b.err}
		if at+1 < next {
			at++
			d.Record, d.Lost = at, true
			l.added[at] = b.added
		}
		l.damages = append(l.damages, d)
	}
	if at+1 < next {
		d := RecordDamage{Record: at + 1, Err: fmt.Errorf("%w: it is not in the file", ErrDamaged), Lost: true}
		if next-1 > at+1 {
			d.Until = next - 1
		}
		l.damages = append(l.damages, d)
	}
}
