package archive

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
)

const (
	packVersion = 2       // of records in this format only
	maxNumbers  = 1 << 24 // limits the size that any file content can cause
)

// decodePacked is decodeLine for records in packs.
func decodePacked(line []byte, x interface{ version() int }) error {
	return decodeVersion(line, x, packVersion)
}

// packs are the packs of a session, open for reading.
type packs struct {
	storeReader
	session, folder string
	names           []string // of all files of the folder
	files           []*packFile
	closers         []io.Closer

	blocks []itemPlace // by number
	again  []itemPlace // copies of some of these
	cache  []cachedBlock

	pending []*packFile // not scanned yet, by their steps
	near    int         // the step of the frame that was read last
}

// An itemPlace is a frame of items.
type itemPlace struct {
	file *packFile
	frame
}

type cachedBlock struct {
	place itemPlace
	lines map[int][]byte
	err   error
}

// maxCachedBlocks is the number of blocks that are cached while steps are read.
const maxCachedBlocks = 64

// packs opens the packs of a session. They must be closed.
func (l storeReader) packs(ctx context.Context, session string) (*packs, error) {
	return l.retried(ctx, session, storeReader.openPacks)
}

// unscannedPacks is packs for who reads a few steps.
func (l storeReader) unscannedPacks(ctx context.Context, session string) (*packs, error) {
	return l.retried(ctx, session, storeReader.openUnscanned)
}

// retried opens packs. If another process merges steps meanwhile, the names are listed
// again.
func (l storeReader) retried(ctx context.Context, session string, open func(storeReader, context.Context, string) (*packs, error)) (v *packs, err error) {
	const tries = 5
	for range tries {
		if v, err = open(l, ctx, session); !errors.Is(err, fs.ErrNotExist) {
			return v, err
		}
	}
	return nil, err
}

func (l storeReader) openPacks(ctx context.Context, session string) (*packs, error) {
	v, err := l.openUnscanned(ctx, session)
	if err != nil {
		return nil, err
	}
	if err := v.scanPending(func(*packFile) bool { return true }); err != nil {
		v.close()
		return nil, err
	}
	return v, nil
}

// openUnscanned opens the packs of a session. They are scanned as they are needed:
// header, body and item may be called, not what lists all steps.
func (l storeReader) openUnscanned(ctx context.Context, session string) (*packs, error) {
	v := &packs{storeReader: l, session: session, folder: folderName(session)}
	var err error
	if v.names, err = l.fileNames(ctx, v.folder); err != nil {
		return nil, err
	}
	for _, name := range v.names {
		first, last, ok := packNumbers(name)
		if !ok {
			continue
		}
		if err := v.open(ctx, name, first, last); err != nil {
			v.close()
			return nil, err
		}
	}
	v.pending = slices.Clone(v.files)
	slices.SortStableFunc(v.pending, func(a, b *packFile) int { return cmp.Compare(a.first, b.first) })
	// The longest first: it includes the shorter ones that an interrupted process
	// left.
	slices.SortStableFunc(v.files, func(a, b *packFile) int {
		return cmp.Or(cmp.Compare(b.last-b.first, a.last-a.first), cmp.Compare(a.first, b.first))
	})
	return v, nil
}

func (v *packs) open(ctx context.Context, name string, first, last int) error {
	p := &packFile{packScan: &packScan{name: name, first: first, last: last, places: make(map[frameKey]int)}}
	v.files = append(v.files, p)
	f, err := v.storeReader.openFile(ctx, v.folder, name)
	if err == nil {
		v.closers = append(v.closers, f)
		err = p.access(f)
	}
	return p.setAside(err)
}

// setAside records why p cannot be read, and returns an error that is not one of p.
func (p *packFile) setAside(err error) error {
	if unreadable(err) {
		p.damages, p.foreign, err = append(p.damages, err), true, nil
	}
	return err
}

// scanPending scans the files that are wanted, unless they are scanned.
func (v *packs) scanPending(wanted func(*packFile) bool) error {
	var scanned []*packFile
	for _, p := range v.pending {
		if !wanted(p) {
			continue
		}
		if err := v.scanFile(p); err != nil {
			return err
		}
		scanned = append(scanned, p)
	}
	if len(scanned) == 0 {
		return nil
	}
	v.pending = slices.DeleteFunc(v.pending, func(p *packFile) bool { return slices.Contains(scanned, p) })
	v.blocks, v.again = v.blocks[:0], v.again[:0]
	for _, p := range v.files {
		for _, f := range p.frames {
			switch {
			case p.foreign:
			case f.kind == frameItems:
				v.blocks = append(v.blocks, itemPlace{p, f})
			case f.kind == frameAgain:
				v.again = append(v.again, itemPlace{p, f})
			}
		}
	}
	slices.SortStableFunc(v.blocks, func(a, b itemPlace) int { return cmp.Compare(a.first, b.first) })
	return nil
}

func (v *packs) scanFile(p *packFile) error {
	if p.foreign {
		return nil // cannot be read
	}
	path := v.filePath(v.folder, p.name)
	if v.scans != nil {
		if known, ok := v.scans.Load(path); ok {
			if scan := known.(*packScan); scan.size == p.size && scan.modified.Equal(p.modified) { // nothing else is kept there
				p.packScan = scan
				return nil
			}
		}
	}
	err := p.scan()
	if err == nil {
		p.readHead(v.session)
		if v.scans != nil {
			v.scans.Store(path, p.packScan)
		}
	}
	return p.setAside(err)
}

// access makes r readable at any place.
func (p *packFile) access(r io.ReadCloser) error {
	if f, ok := r.(interface {
		io.ReaderAt
		Stat() (fs.FileInfo, error)
	}); ok {
		info, err := f.Stat()
		if err != nil {
			return damagedError(err)
		}
		p.f, p.size, p.modified = f, info.Size(), info.ModTime()
		return nil
	}
	b, err := io.ReadAll(r)
	p.f, p.size = bytes.NewReader(b), int64(len(b))
	return err
}

func (v *packs) close() {
	for _, c := range v.closers {
		c.Close()
	}
}

// numbers returns the step numbers that the files list.
func (v *packs) numbers() (numbers []int) {
	for _, p := range v.files {
		if p.foreign {
			continue
		}
		numbers = slices.AppendSeq(numbers, p.head.Steps.all())
		for _, f := range p.frames {
			if f.kind == frameHead && p.lists(f.first) {
				numbers = append(numbers, f.first)
			}
		}
	}
	slices.Sort(numbers)
	return slices.Compact(numbers)
}

// names reports whether step n may be in p.
func (p *packFile) names(n int) bool { return p.first <= n && n <= p.last }

// lists reports whether p has step n, by its first frame; if that is damaged, by
// the frame of the step's header.
func (p *packFile) lists(n int) bool {
	if len(p.head.Steps) > 0 {
		return p.head.Steps.has(n)
	}
	_, ok := p.find(frameHead, n)
	return ok && p.names(n)
}

// frameOf returns the text of a frame of step n: of several files with it, the
// first from which it can be read.
func (v *packs) frameOf(kind string, n int) (text []byte, err error) {
	if err := v.scanPending(func(p *packFile) bool { return p.names(n) }); err != nil {
		return nil, err
	}
	v.near, err = n, fs.ErrNotExist
	for _, p := range v.files {
		if p.foreign || !p.names(n) {
			continue
		}
		f, ok := p.find(kind, n)
		var bad error
		if ok {
			if text, bad = p.text(f); bad == nil {
				return text, nil
			}
		} else if p.lists(n) {
			bad = fmt.Errorf("%w: its %s cannot be found", ErrDamaged, kind)
		}
		if bad != nil {
			err = &Damage{Session: v.session, Step: n, File: v.filePath(v.folder, p.name), Err: bad}
		}
	}
	return nil, err
}

// header returns the header of step n, or fs.ErrNotExist.
func (v *packs) header(n int) (h headerLine, err error) {
	for _, p := range v.files {
		if known, ok := p.headers.Load(n); ok && !p.foreign {
			return known.(headerLine), nil // nothing else is kept there
		}
	}
	text, err := v.frameOf(frameHead, n)
	if err != nil {
		return h, err
	}
	if err = decodePacked(text, &h); err == nil && h.Number != n {
		err = fmt.Errorf("%w: it holds step %d", ErrDamaged, h.Number)
	}
	if err == nil && h.Session != v.session {
		err = fmt.Errorf("%w: it holds session %q", ErrDamaged, h.Session)
	}
	if err != nil {
		return headerLine{}, &Damage{Session: v.session, Step: n, File: v.filePath(v.folder, v.fileOf(n)), Err: err}
	}
	h.settle()
	h.packed = true
	for _, p := range v.files {
		if p.head.Steps.has(n) && !p.foreign {
			p.headers.Store(n, h)
			break
		}
	}
	return h, nil
}

// fileOf returns the name of the file with step n.
func (v *packs) fileOf(n int) string {
	for _, p := range v.files {
		if !p.foreign && (p.head.Steps.has(n) || p.names(n) && p.first == p.last) {
			return p.name
		}
	}
	return packName(n, n)
}

// line returns the JSON of item n. Of files that are not scanned, the one of the step
// that was read last and those before it have it most likely.
func (v *packs) line(n int) ([]byte, error) {
	for {
		line, err := v.scannedLine(n)
		if err == nil || len(v.pending) == 0 {
			return line, err
		}
		next := v.pending[len(v.pending)-1]
		for _, p := range slices.Backward(v.pending) {
			if p.first <= v.near {
				next = p
				break
			}
		}
		if err := v.scanPending(func(p *packFile) bool { return p == next }); err != nil {
			return nil, err
		}
	}
}

// scannedLine returns the JSON of item n, if a file that is scanned has it.
func (v *packs) scannedLine(n int) ([]byte, error) {
	at, found := slices.BinarySearchFunc(v.blocks, n, func(p itemPlace, n int) int { return cmp.Compare(p.first, n) })
	if found { // after the last of those that begin with n
		for at < len(v.blocks) && v.blocks[at].first == n {
			at++
		}
	}
	var err error
	const near = 8 // blocks overlap only if an interrupted process left a file
	for i := at - 1; i >= 0 && i >= at-near; i-- {
		p := v.blocks[i]
		if p.last < n {
			continue
		}
		lines, bad := v.block(p)
		if line, ok := lines[n]; ok && bad == nil {
			return line, nil
		}
		if bad != nil {
			err = &Damage{File: v.filePath(v.folder, p.file.name), Err: bad}
		}
	}
	for _, p := range v.again {
		if p.first > n || p.last < n {
			continue
		}
		if lines, bad := v.block(p); bad == nil && lines[n] != nil {
			return lines[n], nil
		}
	}
	if err == nil {
		err = fmt.Errorf("%w: message %d of the session is missing", ErrDamaged, n)
	}
	return nil, err
}

// block returns the items of a frame.
func (v *packs) block(p itemPlace) (map[int][]byte, error) {
	for _, c := range v.cache {
		if c.place.file == p.file && c.place.at == p.at {
			return c.lines, c.err
		}
	}
	c := cachedBlock{place: p, lines: make(map[int][]byte)}
	text, err := p.file.text(p.frame)
	if err == nil {
		err = decodeBlock(text, v.session, func(n int, line []byte) { c.lines[n] = line })
	}
	c.err = err
	if len(v.cache) >= maxCachedBlocks {
		v.cache = v.cache[1:]
	}
	v.cache = append(v.cache, c)
	return c.lines, c.err
}
