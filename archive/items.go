package archive

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"slices"

	"github.com/tiercompact/tiercompact/chat"
)

// The messages of a session are items, each written once and numbered: steps refer
// to them. The source of a message is a separate item, because several messages may
// share it.
type item struct {
	message
	From int `json:"from,omitempty"` // number of the item with the source
}

// itemsLine begins the content of a frame of items.
type itemsLine struct {
	head
	Session string `json:"session"`
	Numbers runs   `json:"numbers"` // of the items, in ascending order
}

// refs are messages of a session, in order.
type refs struct {
	Items runs `json:"items"`
	// Apart are the indices of messages that have the same source as the message
	// before them, but from another copy.
	Apart  []int  `json:"apart,omitempty"`
	Digest string `json:"digest,omitempty"` // of the items and their sources
}

// An itemKey is the hash that identifies an item.
type itemKey [16]byte

func keyOfItem(line []byte) itemKey {
	sum := sha256.Sum256(line)
	return itemKey(sum[:16])
}

// blockSize is the size at which the next frame of items is begun: a frame is the
// unit of damage and of reading.
const blockSize = 64 << 10

// A knownItem is an item that is in the archive.
type knownItem struct {
	number int
	step   int // the last with a copy of it
}

// An itemWriter numbers messages, and collects new ones.
type itemWriter struct {
	session string
	step    int
	known   map[itemKey]knownItem
	fresh   map[itemKey]knownItem // the value of known after the step
	next    int
	spare   int // number of bytes that may be written again; see repeat

	blocks   []*itemBlock
	referred map[itemKey]referredItem // known ones that the step refers to
	again    []*itemBlock
	written  int // bytes of new items
	repeated int // bytes of others
}

type referredItem struct {
	knownItem
	line []byte
}

type itemBlock struct {
	numbers []int // ascending
	lines   bytes.Buffer
}

// number returns the number of an item, and its key.
func (w *itemWriter) number(x item) (int, itemKey, error) {
	line, err := lineOf(x)
	if err != nil {
		return 0, itemKey{}, err
	}
	key := keyOfItem(line)
	if k, ok := w.known[key]; ok {
		w.referred[key] = referredItem{k, line}
		return k.number, key, nil
	}
	if k, ok := w.fresh[key]; ok {
		return k.number, key, nil
	}
	n := w.next
	w.next++
	w.fresh[key] = knownItem{n, w.step}
	w.written += len(line)
	w.blocks = withItem(w.blocks, n, line)
	return n, key, nil
}

// withItem adds an item to the last block, or to a new one if that is full.
func withItem(blocks []*itemBlock, n int, line []byte) []*itemBlock {
	if last := len(blocks) - 1; last < 0 || blocks[last].lines.Len() >= blockSize {
		blocks = append(blocks, new(itemBlock))
	}
	b := blocks[len(blocks)-1]
	b.numbers = append(b.numbers, n)
	b.lines.Write(line)
	b.lines.WriteByte('\n')
	return blocks
}

// refer returns references to messages; nil for nil.
func (w *itemWriter) refer(messages []chat.Message) (*refs, error) {
	if messages == nil {
		return nil, nil
	}
	var out refs
	var numbers []int
	digest := sha256.New()
	last, lastFrom := (*chat.Source)(nil), 0
	var lastKey itemKey
	for i, m := range messages {
		from, source := 0, m.Source
		var sourceKey itemKey
		switch {
		case source != nil && source == last:
			from, sourceKey = lastFrom, lastKey
		case source != nil:
			var err error
			if from, sourceKey, err = w.number(item{message: new(sourceSharing).encodeMessage(chat.Message{Source: source})}); err != nil {
				return nil, err
			}
			if from == lastFrom {
				out.Apart = append(out.Apart, i)
			}
		}
		last, lastFrom, lastKey = source, from, sourceKey
		m.Source = nil
		n, key, err := w.number(item{new(sourceSharing).encodeMessage(m), from})
		if err != nil {
			return nil, err
		}
		numbers = append(numbers, n)
		addDigest(digest, key, from, sourceKey)
	}
	out.Items = runsOf(numbers)
	out.Digest = hex.EncodeToString(digest.Sum(nil)[:16])
	return &out, nil
}

func addDigest(digest hash.Hash, key itemKey, from int, source itemKey) {
	digest.Write(key[:])
	if from > 0 {
		digest.Write(source[:])
	}
}

// repeat writes items of the step again as far as there is room, first those with
// the oldest last copy: if an old file is lost or damaged, later steps can still be read.
func (w *itemWriter) repeat() {
	var items []referredItem
	for _, x := range w.referred {
		items = append(items, x)
	}
	slices.SortFunc(items, func(a, b referredItem) int {
		return cmp.Or(cmp.Compare(a.step, b.step), cmp.Compare(a.number, b.number))
	})
	room := w.spare + w.written/2
	items = slices.DeleteFunc(items, func(x referredItem) bool {
		if len(x.line) > room {
			return true
		}
		room -= len(x.line)
		w.repeated += len(x.line)
		return false
	})
	slices.SortFunc(items, func(a, b referredItem) int { return cmp.Compare(a.number, b.number) })
	for _, x := range items {
		w.fresh[keyOfItem(x.line)] = knownItem{x.number, w.step}
		w.again = withItem(w.again, x.number, x.line)
	}
}

// write writes the new items, and the repeated ones.
func (w *itemWriter) write(p *packWriter) error {
	for _, b := range w.blocks {
		if err := w.writeBlock(p, frameItems, b); err != nil {
			return err
		}
	}
	for _, b := range w.again {
		if err := w.writeBlock(p, frameAgain, b); err != nil {
			return err
		}
	}
	return nil
}

func (w *itemWriter) writeBlock(p *packWriter, kind string, b *itemBlock) error {
	line, err := lineOf(itemsLine{head{packVersion}, w.session, runsOf(b.numbers)})
	if err != nil {
		return err
	}
	return p.add(kind, b.numbers[0], b.numbers[len(b.numbers)-1], slices.Concat(line, []byte("\n"), b.lines.Bytes()))
}

// lineOf returns the JSON of x without a line feed.
func lineOf(x any) ([]byte, error) {
	var b bytes.Buffer
	err := lineEncoder(&b).Encode(x)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// decodeBlock yields each item of a frame.
func decodeBlock(text []byte, session string, each func(n int, line []byte)) error {
	var head itemsLine
	first, rest, _ := bytes.Cut(text, []byte("\n"))
	if err := decodePacked(first, &head); err != nil {
		return err
	}
	if head.Session != session {
		return fmt.Errorf("%w: it holds session %q", ErrDamaged, head.Session)
	}
	if !head.Numbers.valid(len(text)) {
		return errChanged
	}
	for n := range head.Numbers.all() {
		line, more, ok := bytes.Cut(rest, []byte("\n"))
		if !ok {
			return errTorn
		}
		each(n, line)
		rest = more
	}
	return nil
}

// resolve returns the messages that r refers to.
func (v *packs) resolve(r *refs) ([]chat.Message, error) {
	if r == nil {
		return nil, nil
	}
	if !r.Items.valid(maxNumbers) {
		return nil, errChanged
	}
	messages := []chat.Message{}
	digest := sha256.New()
	var shared *chat.Source
	sharedFrom := 0
	apart := r.Apart
	for n := range r.Items.all() {
		x, key, err := v.item(n)
		if err != nil {
			return nil, err
		}
		alone := len(apart) > 0 && apart[0] == len(messages)
		if alone {
			apart = apart[1:]
		}
		source, sourceKey := shared, itemKey{}
		if x.From == 0 {
			source = nil
		} else if s, k, err := v.item(x.From); err != nil {
			return nil, err
		} else if sourceKey = k; x.From != sharedFrom || alone {
			m, err := new(sourceSharing).decodeMessage(s.message)
			if err == nil && m.Source == nil {
				err = errChanged
			}
			if err != nil {
				return nil, fmt.Errorf("%w: item %d is not a source: %w", ErrDamaged, x.From, err)
			}
			source = m.Source
		}
		shared, sharedFrom = source, x.From
		m, err := new(sourceSharing).decodeMessage(x.message)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		m.Source = source
		messages = append(messages, m)
		addDigest(digest, key, x.From, sourceKey)
	}
	if hex.EncodeToString(digest.Sum(nil)[:16]) != r.Digest {
		return nil, fmt.Errorf("%w: its messages are not those that were written", ErrDamaged)
	}
	return messages, nil
}

// item returns item n, and its key.
func (v *packs) item(n int) (x item, key itemKey, err error) {
	line, err := v.line(n)
	if err != nil {
		return x, key, err
	}
	if err := json.Unmarshal(line, &x); err != nil {
		return x, key, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return x, keyOfItem(line), nil
}
