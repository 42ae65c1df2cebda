package proxy

import (
	"bytes"
	"encoding/binary"
	"errors"

	"go.etcd.io/bbolt"
)

// maxStoredSamples is how many of a conversation's requests a restart remembers.
const maxStoredSamples = 120

// AddSample stores what the page shows of a request, together with the conversation.
func (d *Disk) AddSample(id string, sample []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || id == "" {
		return
	}
	d.usage[id] = append(d.usage[id], sample)
	if over := len(d.usage[id]) - maxStoredSamples; over > 0 { // the disk does not keep up
		d.usage[id] = d.usage[id][over:]
	}
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// Samples returns the stored samples of a conversation, oldest first.
func (d *Disk) Samples(id string) (samples [][]byte) {
	if id == "" {
		return nil
	}
	err := d.db.View(func(tx *bbolt.Tx) error {
		b := tx.Bucket(usageBucket).Bucket([]byte(id))
		if b == nil {
			return nil
		}
		return b.ForEach(func(_, v []byte) error {
			samples = append(samples, bytes.Clone(v))
			return nil
		})
	})
	if err != nil {
		return nil
	}
	return samples
}

// putSamples adds samples, which are numbered, and deletes those that are too old.
func putSamples(tx *bbolt.Tx, id string, samples [][]byte) error {
	b, err := tx.Bucket(usageBucket).CreateBucketIfNotExists([]byte(id))
	if err != nil {
		return err
	}
	for _, s := range samples {
		n, err := b.NextSequence()
		if err != nil {
			return err
		}
		err = b.Put(binary.BigEndian.AppendUint64(nil, n), s)
		if n > maxStoredSamples {
			err = errors.Join(err, b.Delete(binary.BigEndian.AppendUint64(nil, n-maxStoredSamples)))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
