package archive

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A pack is a file that holds steps and messages. It is a sequence of frames: a
// line with the kind, length and hash of the content, then the compressed content,
// then a line feed. The data after a damaged frame can be read.
//
//	~~ steps 1 32 …   packHead: which steps are in the file
//	~~ head 7 7 …     headerLine of step 7
//	~~ body 7 7 …     bodyLine of step 7, and an entryRefs for each recall entry
//	~~ items 90 121 … itemsLine, and one item a line
//	~~ again 2 88 …   the same, of messages that an older file has too
//	~~ end 0 4 …      how many frames there were, and a hash of their lines
//
// A file is complete before it gets its name, so one without its end was cut.
type frame struct {
	kind        string
	first, last int
	at          int64 // of the content
	length      int
	sum         string // of the line without this hash, and of the content
}

// The kinds of frames.
const (
	frameSteps = "steps"
	frameHead  = "head"
	frameBody  = "body"
	frameItems = "items"
	frameAgain = "again"
	frameEnd   = "end"
)

const (
	frameMark = "~~ "
	// maxFrameLine is the maximum length of the line of a frame.
	maxFrameLine = 160
)

func (f frame) start() string {
	return fmt.Sprintf("%s%s %d %d %d ", frameMark, f.kind, f.first, f.last, f.length)
}

// packHead is the content of the first frame.
type packHead struct {
	head
	Format  string `json:"format"`
	Session string `json:"session"`
	First   int    `json:"first"` // as in the name of the file
	Last    int    `json:"last"`
	Steps   runs   `json:"steps"` // that are in the file
}

const packFormat = "tiercompact steps"

// A packWriter writes frames.
type packWriter struct {
	w     io.Writer
	count int
	lines hash.Hash
}

func newPackWriter(w io.Writer) *packWriter { return &packWriter{w: w, lines: sha256.New()} }

// add writes a frame with the text as its content.
func (p *packWriter) add(kind string, first, last int, text []byte) error {
	content, err := deflated(text)
	if err != nil {
		return err
	}
	f := frame{kind: kind, first: first, last: last, length: len(content)}
	f.sum = hashParts([]byte(f.start()), content)
	return p.copy(f, content)
}

// copy writes a frame unchanged.
func (p *packWriter) copy(f frame, content []byte) error {
	line := f.start() + f.sum + "\n"
	p.count++
	p.lines.Write([]byte(line)) // a hash never fails
	for _, b := range [][]byte{[]byte(line), content, {'\n'}} {
		if _, err := p.w.Write(b); err != nil {
			return err
		}
	}
	return nil
}

// end writes the last frame.
func (p *packWriter) end() error {
	sum := hex.EncodeToString(p.lines.Sum(nil))
	return p.add(frameEnd, 0, p.count, []byte(sum))
}

func deflated(text []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.DefaultCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	err = w.Close()
	return b.Bytes(), err
}

// A packFile is a pack that is open for reading.
type packFile struct {
	*packScan
	f io.ReaderAt
}

// A packScan is the result of scanning a pack. A pack never changes, so it is valid
// as long as size and time are the same.
type packScan struct {
	name        string
	first, last int // in its name
	size        int64
	modified    time.Time
	frames      []frame
	places      map[frameKey]int // of frames
	head        packHead
	damages     []error  // of the file as a whole
	foreign     bool     // its content does not match its name; nothing in it counts
	ended       bool     // the last frame fits those before it
	headers     sync.Map // of steps that were read, by number
}

type frameKey struct {
	kind  string
	first int
}

// An aheadReader reads more than it is asked for: frames follow one another.
type aheadReader struct {
	r    io.ReaderAt
	size int64
	at   int64
	data []byte // of the file, from at
	room []byte
}

const aheadBytes = 1 << 16

// bytesAt returns n bytes of the file, fewer at its end. They are valid until the next
// call.
func (a *aheadReader) bytesAt(at int64, n int) ([]byte, error) {
	if at < a.at || at+int64(n) > a.at+int64(len(a.data)) {
		if a.room == nil {
			a.room = make([]byte, min(max(aheadBytes, maxFrameLine), a.size))
		}
		got, err := a.r.ReadAt(a.room[:min(int64(len(a.room)), a.size-at)], at)
		if err != nil && err != io.EOF {
			return nil, err
		}
		a.at, a.data = at, a.room[:got]
	}
	from := at - a.at
	return a.data[from:min(int64(len(a.data)), from+int64(n))], nil
}

// scan finds the frames of p.
func (p *packFile) scan() error {
	lines, ahead := sha256.New(), &aheadReader{r: p.f, size: p.size}
	for at := int64(0); at < p.size; {
		f, line, err := p.frameAt(ahead, at)
		if err != nil && !errors.Is(err, ErrDamaged) {
			return err
		}
		if err == nil {
			at = f.at + int64(f.length) + 1
			if p.ended {
				p.damages = append(p.damages, fmt.Errorf("%w: data follows its end", ErrDamaged))
			}
			if f.kind == frameEnd {
				text, err := p.text(f)
				p.ended = err == nil && f.last == len(p.frames) && string(text) == hex.EncodeToString(lines.Sum(nil))
				continue
			}
			lines.Write([]byte(line))
			if _, twice := p.places[frameKey{f.kind, f.first}]; !twice {
				p.places[frameKey{f.kind, f.first}] = len(p.frames)
			}
			p.frames = append(p.frames, f)
			continue
		}
		next, err := p.nextMark(at + 1)
		if err != nil {
			return err
		}
		p.damages = append(p.damages, fmt.Errorf("%w: bytes %d to %d differ from what was written", ErrDamaged, at, next))
		at = next
	}
	if !p.ended && len(p.damages) == 0 {
		p.damages = append(p.damages, errTorn)
	}
	return nil
}

// frameAt returns the frame whose line begins at an offset, and the line.
func (p *packFile) frameAt(ahead *aheadReader, at int64) (f frame, line string, err error) {
	b, err := ahead.bytesAt(at, int(min(maxFrameLine, p.size-at)))
	if err != nil {
		return f, "", err
	}
	text, _, ended := strings.Cut(string(b), "\n")
	words := strings.Split(text, " ")
	if !ended || len(words) != 6 || words[0]+" " != frameMark || len(words[5]) != sha256.Size*2 {
		return f, "", errChanged
	}
	f.kind, f.sum = words[1], words[5]
	for i, to := range []*int{&f.first, &f.last, &f.length} {
		if *to, err = strconv.Atoi(words[2+i]); err != nil || *to < 0 || strconv.Itoa(*to) != words[2+i] {
			return f, "", errChanged
		}
	}
	f.at = at + int64(len(text)) + 1
	if f.at+int64(f.length) >= p.size {
		return f, "", errChanged
	}
	end, err := ahead.bytesAt(f.at+int64(f.length), 1)
	if err != nil {
		return f, "", err
	}
	if len(end) < 1 || end[0] != '\n' {
		return f, "", errChanged
	}
	return f, text + "\n", nil
}

// nextMark returns the start of the next line that may begin a frame.
func (p *packFile) nextMark(from int64) (int64, error) {
	mark := []byte("\n" + frameMark)
	b := make([]byte, 1<<16)
	for at := from - 1; at < p.size; {
		n, err := p.f.ReadAt(b, at)
		if err != nil && err != io.EOF {
			return 0, err
		}
		if i := bytes.Index(b[:n], mark); i >= 0 {
			return at + int64(i) + 1, nil
		}
		if err == io.EOF || n < len(mark) {
			break
		}
		at += int64(n - len(mark) + 1)
	}
	return p.size, nil
}

// content returns the content of a frame as it is in the file.
func (p *packFile) content(f frame) ([]byte, error) {
	b := make([]byte, f.length) // less than the size of the file
	if _, err := p.f.ReadAt(b, f.at); err != nil {
		return nil, err
	}
	if hashParts([]byte(f.start()), b) != f.sum {
		return nil, errChanged
	}
	return b, nil
}

// text returns the content of a frame as passed to add.
func (p *packFile) text(f frame) ([]byte, error) {
	b, err := p.content(f)
	if err != nil {
		return nil, err
	}
	r := inflaters.Get().(inflater) // nothing else is put there
	defer inflaters.Put(r)
	var text bytes.Buffer
	text.Grow(4 * len(b))
	if err = r.Reset(bytes.NewReader(b), nil); err == nil {
		_, err = text.ReadFrom(r)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return text.Bytes(), nil
}

// inflaters are readers for text: a new one takes more time than a frame.
var inflaters = sync.Pool{New: func() any { return flate.NewReader(nil) }}

type inflater interface {
	io.Reader
	flate.Resetter
}

// find returns the frame of a kind for step n.
func (p *packFile) find(kind string, n int) (frame, bool) {
	at, ok := p.places[frameKey{kind, n}]
	if !ok {
		return frame{}, false
	}
	return p.frames[at], true
}

// readHead reads the head of the file. A pack of another session or with another
// file's name is foreign.
func (p *packFile) readHead(session string) {
	var f frame
	ok := false
	for _, f = range p.frames {
		if ok = f.kind == frameSteps; ok {
			break
		}
	}
	if !ok {
		return // a damage that scan found
	}
	text, err := p.text(f)
	if err == nil {
		err = decodePacked(text, &p.head)
	}
	if err != nil {
		p.damages = append(p.damages, err)
		return
	}
	switch h := p.head; {
	case h.Session != session:
		p.foreign = true
		p.damages = append(p.damages, fmt.Errorf("%w: it holds session %q", ErrDamaged, h.Session))
	case h.First != p.first || h.Last != p.last || !h.Steps.valid(maxNumbers):
		p.foreign = true
		p.damages = append(p.damages, fmt.Errorf("%w: it is the file of steps %d to %d", ErrDamaged, h.First, h.Last))
	}
}

// whole reports whether every frame is undamaged.
func (p *packFile) whole() bool {
	if len(p.damages) > 0 || p.foreign || !p.ended {
		return false
	}
	for _, f := range p.frames {
		if _, err := p.content(f); err != nil {
			return false
		}
	}
	return true
}
