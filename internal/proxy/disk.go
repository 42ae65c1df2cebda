package proxy

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// Limits bound a state on disk. What was used least recently is forgotten first: a
// forgotten conversation goes on, and is compacted anew.
type Limits struct {
	Age           time.Duration // since the last request; 0: 30 days
	Conversations int           // 0: 2,000
	Messages      int           // of all conversations' newest requests; 0: 1,000,000, which take 16 MB of memory
	Bytes         int64         // of stored rounds; 0: 256 MiB
}

// A Disk is a [State] in a file of a folder, of one process at a time.
type Disk struct {
	db     *bbolt.DB
	limits Limits
	leases leases
	now    func() time.Time

	write sync.Mutex // held while the file follows the index

	mu     sync.Mutex
	index  tipIndex
	sizes  map[string]int64 // bytes of rounds
	total  int64
	dirty  map[string]bool     // tips to write
	usage  map[string][][]byte // samples to write
	wake   chan struct{}
	done   chan struct{}
	closed bool
}

var (
	tipBucket    = []byte("tips")
	roundBucket  = []byte("rounds")
	usageBucket  = []byte("usage") // a bucket of each conversation
	formatBucket = []byte("format")
)

const diskFormat = "tiercompact conversations 1"

// OpenDisk opens the state in a folder, which it makes if there is none. It waits a
// moment for another process that has it open.
func OpenDisk(dir string, l Limits) (*Disk, error) {
	if l.Age <= 0 {
		l.Age = 30 * 24 * time.Hour
	}
	if l.Conversations <= 0 {
		l.Conversations = 2000
	}
	if l.Messages <= 0 {
		l.Messages = 1_000_000
	}
	if l.Bytes <= 0 {
		l.Bytes = 256 << 20
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of the state: %w", err)
	}
	ignore := filepath.Join(dir, ".gitignore")
	if _, err := os.Stat(ignore); errors.Is(err, os.ErrNotExist) {
		if err := os.WriteFile(ignore, []byte("*\n"), 0o600); err != nil {
			return nil, fmt.Errorf("make the folder of the state: %w", err)
		}
	}
	path := filepath.Join(dir, "conversations.db")
	d := &Disk{limits: l, now: time.Now, index: newTipIndex(), sizes: make(map[string]int64), dirty: make(map[string]bool), usage: make(map[string][][]byte), wake: make(chan struct{}, 1), done: make(chan struct{})}
	switch err := d.open(path); {
	case errors.Is(err, berrors.ErrTimeout):
		return nil, fmt.Errorf("%s is in use by another process; stop that, or give another folder", path)
	case err != nil:
		return nil, fmt.Errorf("open %s: %w; move it away to begin without earlier conversations", path, err)
	}
	go d.writeTips()
	return d, nil
}

const openWithin = 5 * time.Second // limit of the wait for another process

// open opens the file, and reads the index.
func (d *Disk) open(path string) (err error) {
	defer recoverDamage(&err)()
	if err := checkWhole(path); err != nil {
		return err
	}
	if d.db, err = bbolt.Open(path, 0o600, &bbolt.Options{Timeout: openWithin}); err != nil {
		return err
	}
	if err := d.load(); err != nil {
		return errors.Join(err, d.db.Close())
	}
	return nil
}

// recoverDamage returns a function that turns a panic into an error: bbolt panics on pages
// that a crash of the machine left empty, and reads beyond its memory where one points.
func recoverDamage(err *error) func() {
	before := debug.SetPanicOnFault(true)
	return func() {
		debug.SetPanicOnFault(before)
		if found := recover(); found != nil {
			*err = fmt.Errorf("it is damaged: %v", found)
		}
	}
}

// checkWhole returns an error for a file with a page that is missing or damaged. It only
// reads, since bbolt cannot close a file in whose change it has panicked.
func checkWhole(path string) (err error) {
	if is, err := os.Stat(path); errors.Is(err, os.ErrNotExist) || err == nil && is.Size() == 0 {
		return nil
	}
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: openWithin, ReadOnly: true})
	if err != nil {
		return err
	}
	defer db.Close()
	defer recoverDamage(&err)()
	return db.View(func(tx *bbolt.Tx) error {
		is, err := os.Stat(path)
		if err != nil {
			return err
		}
		if is.Size() < tx.Size() {
			return fmt.Errorf("it is damaged: it ends after %d of %d bytes", is.Size(), tx.Size())
		}
		return tx.ForEach(func(_ []byte, b *bbolt.Bucket) error { return readAll(b) })
	})
}

// readAll reads the keys of a bucket and those in it.
func readAll(b *bbolt.Bucket) error {
	return b.ForEach(func(k, v []byte) error {
		if v == nil {
			return readAll(b.Bucket(k))
		}
		return nil
	})
}

// load reads the index.
func (d *Disk) load() error {
	err := d.db.Update(func(tx *bbolt.Tx) error {
		f, err := tx.CreateBucketIfNotExists(formatBucket)
		if err != nil {
			return err
		}
		if is := f.Get([]byte("name")); is != nil && string(is) != diskFormat {
			return fmt.Errorf("its format is %q, not %q", is, diskFormat)
		}
		if err := f.Put([]byte("name"), []byte(diskFormat)); err != nil {
			return err
		}
		for _, name := range [][]byte{tipBucket, roundBucket, usageBucket} {
			if _, err := tx.CreateBucketIfNotExists(name); err != nil {
				return err
			}
		}
		err = tx.Bucket(tipBucket).ForEach(func(k, v []byte) error {
			var tip Tip
			if json.Unmarshal(v, &tip) == nil && tip.ID == string(k) { // one that is damaged begins anew
				d.index.put(tip)
			}
			return nil
		})
		if err != nil {
			return err
		}
		return tx.Bucket(roundBucket).ForEach(func(k, v []byte) error {
			if _, known := d.index.byID[string(k)]; !known {
				d.index.put(Tip{ID: string(k)}) // the first to be forgotten
			}
			d.sizes[string(k)] = int64(len(v))
			d.total += int64(len(v))
			return nil
		})
	})
	return err
}

func (d *Disk) Find(_ context.Context, space string, chain []Link) (Tip, int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	tip, common := d.index.find(space, chain)
	return tip, common, nil
}

func (d *Disk) Has(_ context.Context, id string) (bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, ok := d.index.byID[id]
	return ok, nil
}

func (d *Disk) List(context.Context) ([]Tip, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := d.index.oldestFirst()
	slices.Reverse(all)
	return all, nil
}

func (d *Disk) Touch(_ context.Context, tip Tip) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return errors.New("the state is closed")
	}
	d.index.put(tip)
	d.dirty[tip.ID] = true
	select {
	case d.wake <- struct{}{}:
	default:
	}
	return nil
}

// writeTips writes changed tips, several at once.
func (d *Disk) writeTips() {
	defer close(d.done)
	for range d.wake {
		_ = d.flush() // what fails is tried again with the next one
	}
}

func (d *Disk) flush() error {
	d.write.Lock()
	defer d.write.Unlock()
	d.mu.Lock()
	tips := make([]Tip, 0, len(d.dirty))
	for id := range d.dirty {
		tips = append(tips, d.index.byID[id])
	}
	clear(d.dirty)
	usage := d.usage
	d.usage = make(map[string][][]byte)
	maps.DeleteFunc(usage, func(id string, _ [][]byte) bool { return d.index.byID[id].ID == "" })
	d.mu.Unlock()
	if len(tips)+len(usage) > 0 {
		err := d.db.Update(func(tx *bbolt.Tx) error {
			for _, tip := range tips {
				if err := putTip(tx, tip); err != nil {
					return err
				}
			}
			for id, samples := range usage {
				if err := putSamples(tx, id, samples); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			d.mu.Lock()
			for _, tip := range tips {
				d.dirty[tip.ID] = true // the usage is not worth another try
			}
			d.mu.Unlock()
			return err
		}
	}
	return d.prune()
}

func putTip(tx *bbolt.Tx, tip Tip) error {
	if tip.ID == "" {
		return nil // it was forgotten meanwhile
	}
	text, err := json.Marshal(tip)
	if err != nil {
		return err
	}
	return tx.Bucket(tipBucket).Put([]byte(tip.ID), text)
}

// prune forgets what is over the limits.
func (d *Disk) prune() error {
	d.mu.Lock()
	all := d.index.oldestFirst()
	var gone []string
	n, messages, total := len(all), d.index.messages, d.total
	for _, tip := range all {
		if n <= d.limits.Conversations && messages <= d.limits.Messages && total <= d.limits.Bytes && d.now().Sub(tip.Used) <= d.limits.Age {
			break
		}
		gone = append(gone, tip.ID)
		n--
		messages -= len(tip.Chain)
		total -= d.sizes[tip.ID]
	}
	for _, id := range gone {
		d.index.remove(id)
		d.total -= d.sizes[id]
		delete(d.sizes, id)
		delete(d.dirty, id)
		delete(d.usage, id)
	}
	d.mu.Unlock()
	if len(gone) == 0 {
		return nil
	}
	return d.db.Update(func(tx *bbolt.Tx) error {
		for _, id := range gone {
			err := errors.Join(tx.Bucket(tipBucket).Delete([]byte(id)), tx.Bucket(roundBucket).Delete([]byte(id)))
			if all := tx.Bucket(usageBucket); all.Bucket([]byte(id)) != nil {
				err = errors.Join(err, all.DeleteBucket([]byte(id)))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Rounds are stored after their version, 8 bytes.
const versionBytes = 8

func (d *Disk) Rounds(_ context.Context, id string) (data []byte, version uint64, err error) {
	err = d.db.View(func(tx *bbolt.Tx) error {
		v := tx.Bucket(roundBucket).Get([]byte(id))
		if len(v) < versionBytes {
			return nil
		}
		version = binary.BigEndian.Uint64(v)
		data = append([]byte(nil), v[versionBytes:]...)
		return nil
	})
	return data, version, err
}

func (d *Disk) SetRounds(_ context.Context, id string, data []byte, version uint64) error {
	if id == "" {
		return errors.New("store rounds: the conversation has no id")
	}
	v := append(binary.BigEndian.AppendUint64(nil, version+1), data...)
	d.write.Lock()
	defer d.write.Unlock()
	d.mu.Lock()
	tip, known := d.index.byID[id]
	if !known { // rounds without their conversation would never be forgotten
		tip = Tip{ID: id, Used: d.now()}
		d.index.put(tip)
	}
	d.mu.Unlock()
	err := d.db.Update(func(tx *bbolt.Tx) error {
		var now uint64
		if was := tx.Bucket(roundBucket).Get([]byte(id)); len(was) >= versionBytes {
			now = binary.BigEndian.Uint64(was)
		}
		if now != version {
			return ErrConflict
		}
		if err := putTip(tx, tip); err != nil {
			return err
		}
		return tx.Bucket(roundBucket).Put([]byte(id), v)
	})
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.total += int64(len(v)) - d.sizes[id]
	d.sizes[id] = int64(len(v))
	return nil
}

func (d *Disk) Lease(ctx context.Context, id string) (func(), error) { return d.leases.take(ctx, id) }

// Close writes what is not written, and closes the file.
func (d *Disk) Close() error {
	d.mu.Lock()
	closed := d.closed
	d.closed = true
	d.mu.Unlock()
	if closed {
		return nil
	}
	close(d.wake)
	<-d.done
	return errors.Join(d.flush(), d.db.Close())
}
