package tiercompact

import (
	"encoding/binary"
	"hash/maphash"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/tiercompact/tiercompact/chat"
)

// hashSeed makes the hashes by which counts are remembered; they never leave the process.
var hashSeed = sync.OnceValue(maphash.MakeSeed)

// countUsage counts t, each message once in the life of the compactor's id.
func (k *resentHistory) countUsage(cfg *settings, t chat.Transcript, tools int) Usage {
	cores := runtime.GOMAXPROCS(0)
	if cfg.Count != nil { // the caller's, which is watched in one goroutine
		cores = 1
	}
	type counts struct {
		sizes []int
		keys  []uint64
	}
	made := count(cfg, func(own *counters) counts { // given up it changes nothing of k
		made := counts{make([]int, len(t)), make([]uint64, len(t))}
		runParallel(cores, len(t), func(i int) {
			known := false
			if k.sizes != nil {
				made.keys[i] = messageKey(t[i])
				made.sizes[i], known = k.sizes[made.keys[i]]
			}
			if !known {
				made.sizes[i] = own.countMessage(t[i])
			}
		})
		return made
	})
	sizes := made.sizes
	u := Usage{Tools: tools, Window: cfg.Window, Budget: cfg.budget.Limit()}
	for i, m := range t {
		if k.sizes != nil {
			k.sizes[made.keys[i]] = sizes[i]
		}
		switch m.Role {
		case chat.System:
			u.System += sizes[i]
		case chat.Developer:
			u.Developer += sizes[i]
		default:
			u.Messages += sizes[i]
		}
	}
	u.Tokens = u.System + u.Developer + u.Messages + u.Tools
	u.Share = float64(u.Tokens) / float64(u.Window)
	return u
}

// runParallel calls f with 0 to n-1, on so many cores: a model call waits for it.
func runParallel(cores, n int, f func(i int)) {
	const block = 16
	var next atomic.Int64
	work := func() {
		for {
			end := int(next.Add(block))
			for i := end - block; i < min(end, n); i++ {
				f(i)
			}
			if end >= n {
				return
			}
		}
	}
	var others sync.WaitGroup
	for range min(cores, n/block) - 1 {
		others.Go(work)
	}
	work()
	others.Wait()
}

// messageKey tells messages apart by what counts in them.
func messageKey(m chat.Message) uint64 {
	var h maphash.Hash
	h.SetSeed(hashSeed())
	number := func(n int) {
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], uint64(n))
		h.Write(b[:])
	}
	text := func(s string) {
		number(len(s))
		h.WriteString(s)
	}
	text(string(m.Role))
	for _, p := range m.Parts {
		for _, s := range []string{string(p.Kind), p.Text, p.Args, p.Name, p.ID} {
			text(s)
		}
		if p.Image != nil {
			number(p.Image.Width)
			number(p.Image.Height)
			text(p.Image.Detail)
			text(p.Image.Data)
		}
	}
	return h.Sum64()
}
