package recall

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/tiercompact/tiercompact/archive"
)

// An index is that of one session. Its file is a sequence of segments, each with its
// length and a checksum. Its end is written without a sync: what a crash takes is indexed
// again from the archive.
type index struct {
	session string
	path    string // "": in memory alone

	mu       sync.Mutex // guards the fields below
	segments []*segment
	read     bool
	size     int64     // of the file when it was read or written
	known    *known    // nil until a step is added
	cached   *snapshot // of this session alone
	texts    map[*message]string
	textSize int

	context     string // of the newest step, see newestContext
	contextStep int
}

const (
	fileMark  = "tiercompact recall index 2\n"
	blockHead = 8 // length and checksum
)

// errStale says that the index is not one of the archive as it is.
var errStale = errors.New("the index does not fit the archive")

// load reads the file, unless it is as it was. What is damaged is left out.
func (x *index) load() {
	if x.path == "" {
		return
	}
	info, err := os.Stat(x.path)
	if err != nil {
		x.replace(nil, 0)
		return
	}
	if x.read && info.Size() == x.size {
		return
	}
	data, err := os.ReadFile(x.path)
	if err != nil {
		x.replace(nil, 0)
		return
	}
	segments, size := decodeFile(data)
	x.replace(segments, size)
}

func (x *index) replace(segments []*segment, size int64) {
	x.segments, x.size, x.read, x.known, x.texts = segments, size, true, nil, nil
}

// decodeFile returns the segments up to the first damage, and their size.
func decodeFile(data []byte) (segments []*segment, size int64) {
	if len(data) < len(fileMark) || string(data[:len(fileMark)]) != fileMark {
		return nil, 0
	}
	at := len(fileMark)
	for len(data)-at >= blockHead {
		n, sum := binary.LittleEndian.Uint32(data[at:]), binary.LittleEndian.Uint32(data[at+4:])
		if uint64(n) > uint64(len(data)-at-blockHead) {
			break
		}
		body := data[at+blockHead : at+blockHead+int(n)]
		if crc32.Checksum(body, castagnoli) != sum {
			break
		}
		s, err := decodeSegment(body)
		if err != nil {
			break
		}
		segments, at = append(segments, s), at+blockHead+int(n)
	}
	return segments, int64(at)
}

func blockOf(body []byte) []byte {
	b := binary.LittleEndian.AppendUint32(make([]byte, 0, blockHead+len(body)), uint32(len(body)))
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(body, castagnoli))
	return append(b, body...)
}

// covered are the numbers of the steps in the index.
func (x *index) covered() []int {
	var numbers []int
	for _, s := range x.segments {
		for _, st := range s.steps {
			numbers = append(numbers, st.number)
		}
	}
	return numbers
}

// refresh brings the index and its file up to date with the archive; an error of the
// file is not one of the index.
func (x *index) refresh(ctx context.Context, store archive.Store) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.load()
	numbers, err := archive.Numbers(ctx, store, x.session)
	if err != nil {
		return err
	}
	covered := x.covered()
	if len(covered) > len(numbers) || !slices.Equal(covered, numbers[:len(covered)]) {
		x.replace(nil, 0)
		covered = nil
	}
	if len(covered) == len(numbers) {
		return nil
	}
	return x.catchUp(ctx, store, covered)
}

// catchUp adds the steps after those that are covered.
func (x *index) catchUp(ctx context.Context, store archive.Store, covered []int) error {
	after := 0
	if len(covered) > 0 {
		after = covered[len(covered)-1]
	}
	const most = 1 << 20 // postings of a segment while it is made
	b := newBuilder(x.knownSteps())
	var made []*segment
	finish := func() error {
		if len(b.s.steps) == 0 {
			return nil
		}
		s, err := decodeSegment(b.segment())
		made = append(made, s)
		b = newBuilder(b.known)
		return err
	}
	err := archive.Removals(ctx, store, x.session, after, func(s archive.Step, damage error) error {
		b.addStep(s, damage != nil)
		if len(b.postings) > most {
			return finish()
		}
		return nil
	})
	if err == nil {
		err = finish()
	}
	if err != nil {
		x.known = nil
		return err
	}
	all := slices.Concat(x.segments, made)
	if len(all) > 1 {
		merged, err := decodeSegment(mergeSegments(all))
		if err != nil {
			return err
		}
		all = []*segment{merged}
	}
	x.segments = all
	if len(all) > 0 {
		x.writeFile()
	}
	return nil
}

func (x *index) knownSteps() *known {
	if x.known == nil {
		x.known = knownOf(x.segments)
	}
	return x.known
}

// writeFile replaces the file by the segments, as a whole.
func (x *index) writeFile() {
	if x.path == "" {
		return
	}
	x.read = false
	data := []byte(fileMark)
	for _, s := range x.segments {
		data = append(data, blockOf(s.encoded)...)
	}
	if err := os.MkdirAll(filepath.Dir(x.path), 0o700); err != nil {
		return
	}
	f, err := os.CreateTemp(filepath.Dir(x.path), draftPrefix+"*") // has mode 0600
	if err != nil {
		return
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), x.path)
	}
	if err != nil {
		os.Remove(f.Name())
		return
	}
	x.size, x.read = int64(len(data)), true
}

// draftPrefix begins the names of unfinished files, as the archive knows them.
const draftPrefix = ".tmp~"

// add adds a step that was just put into the archive, if the index has those before it.
func (x *index) add(ctx context.Context, store archive.Store, s archive.Step) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.load()
	numbers, err := archive.Numbers(ctx, store, x.session)
	if err != nil {
		return err
	}
	covered := x.covered()
	if len(numbers) == 0 || numbers[len(numbers)-1] != s.Number || !slices.Equal(covered, numbers[:len(numbers)-1]) {
		return errStale
	}
	b := newBuilder(x.knownSteps())
	b.addStep(s, false)
	body := b.segment()
	made, err := decodeSegment(body)
	if err != nil {
		return err
	}
	x.segments = append(slices.Clip(x.segments), made)
	from := x.mergeFrom()
	if from == len(x.segments)-1 {
		return x.writeTail(from, x.size)
	}
	merged, err := decodeSegment(mergeSegments(x.segments[from:]))
	if err != nil {
		return err
	}
	at := x.size
	for _, s := range x.segments[from : len(x.segments)-1] {
		at -= int64(blockHead + s.size)
	}
	if x.segments = append(slices.Clip(x.segments[:from]), merged); from == 0 {
		x.writeFile()
		return nil
	}
	return x.writeTail(from, at)
}

const (
	// maxTail is the size of the segments after the first from which all are merged, if
	// they have a quarter of its size too.
	maxTail = 64 << 10
	// fanout is how many segments of about as many steps are merged: a search looks for
	// each word in each segment, and merging costs time of a round.
	fanout = 16
)

// mergeFrom returns the first of the newest segments that are to be merged.
func (x *index) mergeFrom() int {
	tail := 0
	for _, s := range x.segments[1:] {
		tail += s.size
	}
	if tail > max(maxTail, x.segments[0].size/4) {
		return 0
	}
	from, steps := len(x.segments)-1, 1
	for from-(fanout-1) > 0 {
		first := from - (fanout - 1)
		for _, s := range x.segments[first:from] {
			if len(s.steps) >= fanout*steps {
				return from
			}
		}
		from, steps = first, fanout*steps
	}
	return from
}

// writeTail writes the segments from one on at a place of the file, which is its end if
// nothing was merged. A crash leaves a damaged block there.
func (x *index) writeTail(from int, at int64) error {
	if x.path == "" {
		return nil
	}
	if x.size == 0 {
		x.writeFile()
		return nil
	}
	f, err := os.OpenFile(x.path, os.O_WRONLY, 0)
	if err != nil {
		x.read = false
		return err
	}
	info, err := f.Stat()
	if err == nil && info.Size() != x.size { // a crash left a part of a block, or another process wrote it
		f.Close() // nothing was written
		x.writeFile()
		return nil
	}
	var blocks []byte
	for _, s := range x.segments[from:] {
		blocks = append(blocks, blockOf(s.encoded)...)
	}
	end := at + int64(len(blocks))
	if err == nil {
		_, err = f.WriteAt(blocks, at)
	}
	if err == nil && end < x.size {
		err = f.Truncate(end)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		x.read = false
		return err
	}
	x.size = end
	return nil
}

// A place is where a passage is: in the session, and in its index.
type place struct {
	*segment
	at  int32 // of the passage in the segment
	msg *message
}

func (s *segment) place(at int32) place { return place{s, at, &s.messages[s.docs[at].message]} }

func (p place) step() *stepRef { return &p.steps[p.msg.step] }

func (p place) ref() archive.Ref {
	return archive.Ref{Step: p.step().number, Entry: p.step().entries[p.msg.entry], Index: int(p.msg.place)}
}

// texts returns the text of the messages of places, "" for one that cannot be read.
// errStale if one is not that of the index.
func texts(ctx context.Context, r *archive.RemovedReader, places []place) ([]string, error) {
	refs := make([]archive.Ref, len(places))
	for i, p := range places {
		refs[i] = p.ref()
	}
	messages, damaged := r.Messages(ctx, refs)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	out := make([]string, len(places))
	for i, m := range messages {
		if m == nil {
			if damaged == nil {
				return nil, errStale
			}
			continue
		}
		pieces, piece := piecesOf(*m), int(places[i].msg.piece)
		if piece >= len(pieces) {
			return nil, errStale
		}
		text := textOf(pieces[piece])
		if hashOfText(m.Role, text) != places[i].msg.hash || m.Role != roles[places[i].msg.role] {
			return nil, errStale
		}
		out[i] = text
	}
	return out, damaged
}

// damages returns an error about the steps that could not be read as a whole.
func (x *index) damages(segments []*segment) error {
	var err error
	for _, s := range segments {
		for _, st := range s.steps {
			if st.damaged {
				err = errors.Join(err, fmt.Errorf("step %d of session %s: %w; archive verify says where", st.number, x.session, archive.ErrDamaged))
			}
		}
	}
	return err
}
