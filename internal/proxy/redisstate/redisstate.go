// Package redisstate keeps the conversations of several proxies in Redis or Valkey: any
// of the proxies of a team answers the next request of a conversation.
package redisstate

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/tiercompact/tiercompact/internal/proxy"
)

// Options are those of a [State]. The zero value works.
type Options struct {
	Age    time.Duration // of a conversation since its last request; 0: 30 days
	Lease  time.Duration // that the lease of a proxy which died lasts; 0: 15 seconds
	Extend time.Duration // between extensions of a lease; 0: a third of Lease
	Answer time.Duration // limit of a connection, and of an answer; 0: 1 second, and 3
	Prefix string        // of all keys; "": "tiercompact:"
}

// A State is a [proxy.State] of any number of processes. The keys, after the prefix:
//
//	tip:ID               a conversation, as JSON
//	rounds:ID            its rounds, with their version
//	lease:ID             the proxy that makes a round now
//	begin:SPACE:LINK     the conversations that begin with a message, by last use
//	all                  all conversations, by last use
//
// All of them expire, except for all, which forgets what has expired.
type State struct {
	client *redis.Client
	o      Options
	down   atomic.Int64 // until this time, in ns, the server is not asked: it did not answer
}

const (
	connectWithin = time.Second
	answerWithin  = 3 * time.Second
	downFor       = 2 * time.Second
	maxSiblings   = 100 // conversations that begin alike
	maxListed     = 2000
)

// Open returns the state at a URL such as redis://host:6379/0 or rediss://…. The server
// must answer.
func Open(ctx context.Context, address string, o Options) (*State, error) {
	to, err := redis.ParseURL(address)
	if err != nil {
		return nil, errors.New("the URL of the state is wrong; it takes redis://HOST:PORT/NUMBER, or rediss:// for TLS") // err may quote a password
	}
	to.DialTimeout = cmp.Or(o.Answer, connectWithin)
	o.Answer = cmp.Or(o.Answer, answerWithin)
	to.ReadTimeout, to.WriteTimeout = o.Answer, o.Answer
	to.MaxRetries, to.DialerRetries, to.ContextTimeoutEnabled = 1, 1, true
	to.DisableIdentity = true
	to.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	o.Age = cmp.Or(o.Age, 30*24*time.Hour)
	o.Lease = cmp.Or(o.Lease, 15*time.Second)
	o.Extend = cmp.Or(o.Extend, o.Lease/3)
	o.Prefix = cmp.Or(o.Prefix, "tiercompact:")
	logging.Disable() // its errors are returned too
	s := &State{client: redis.NewClient(to), o: o}
	if err := s.client.Ping(ctx).Err(); err != nil {
		return nil, errors.Join(fmt.Errorf("the state at %s does not answer: %w", to.Addr, err), s.client.Close())
	}
	return s, nil
}

// Close ends the connections.
func (s *State) Close() error { return s.client.Close() }

func (s *State) key(parts ...string) string {
	return s.o.Prefix + strings.Join(parts, ":")
}

// errDown is the error of requests while the server is not asked.
var errDown = errors.New("the state did not answer a moment ago")

// ready refuses for a moment after a failure: requests would all wait for a server that
// is gone.
func (s *State) ready() error {
	if time.Now().UnixNano() < s.down.Load() {
		return errDown
	}
	return nil
}

// checked notes a failure of the connection. An answer that says nothing is none, and
// neither is a caller whose time is over.
func (s *State) checked(ctx context.Context, err error) error {
	if err != nil && contextEnded(ctx) != nil {
		return contextEnded(ctx)
	}
	var answer redis.Error
	if err == nil || errors.Is(err, redis.Nil) || errors.As(err, &answer) || errors.Is(err, context.Canceled) {
		return err
	}
	s.down.Store(time.Now().Add(downFor).UnixNano())
	return err
}

// contextEnded returns the error of a context that has ended. A connection may notice
// first that the deadline has passed.
func contextEnded(ctx context.Context) error {
	if end, ok := ctx.Deadline(); ok && !time.Now().Before(end) {
		return context.DeadlineExceeded
	}
	return ctx.Err()
}

// Find implements [proxy.State].
func (s *State) Find(ctx context.Context, space string, chain []proxy.Link) (proxy.Tip, int, error) {
	if len(chain) == 0 {
		return proxy.Tip{}, 0, nil
	}
	if err := s.ready(); err != nil {
		return proxy.Tip{}, 0, err
	}
	ids, err := s.newest(ctx, s.beginning(space, chain[0]), maxSiblings)
	if err != nil {
		return proxy.Tip{}, 0, s.checked(ctx, err)
	}
	tips, err := s.tips(ctx, ids)
	if err != nil {
		return proxy.Tip{}, 0, err
	}
	tips = slices.DeleteFunc(tips, func(tip proxy.Tip) bool { return tip.Space != space })
	tip, common := proxy.Nearest(tips, chain)
	return tip, common, nil
}

func (s *State) beginning(space string, first proxy.Link) string {
	return s.key("begin", space, hex.EncodeToString(first[:]))
}

// tips returns the conversations with ids, without those that have expired.
func (s *State) tips(ctx context.Context, ids []string) ([]proxy.Tip, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	keys := make([]string, len(ids))
	for i, id := range ids {
		keys[i] = s.key("tip", id)
	}
	values, err := s.client.MGet(ctx, keys...).Result()
	if err != nil {
		return nil, s.checked(ctx, err)
	}
	var tips []proxy.Tip
	for i, v := range values {
		text, ok := v.(string)
		var tip proxy.Tip
		if ok && json.Unmarshal([]byte(text), &tip) == nil && tip.ID == ids[i] { // one that is damaged begins anew
			tips = append(tips, tip)
		}
	}
	return tips, nil
}

// Has implements [proxy.State].
func (s *State) Has(ctx context.Context, id string) (bool, error) {
	if err := s.ready(); err != nil {
		return false, err
	}
	n, err := s.client.Exists(ctx, s.key("tip", id)).Result()
	return n > 0, s.checked(ctx, err)
}

// List implements [proxy.State].
func (s *State) List(ctx context.Context) ([]proxy.Tip, error) {
	if err := s.ready(); err != nil {
		return nil, err
	}
	ids, err := s.newest(ctx, s.key("all"), maxListed)
	if err != nil {
		return nil, s.checked(ctx, err)
	}
	return s.tips(ctx, ids)
}

// newest returns at most most members of a sorted set, the newest first.
func (s *State) newest(ctx context.Context, set string, most int) ([]string, error) {
	return s.client.ZRangeArgs(ctx, redis.ZRangeArgs{Key: set, Start: 0, Stop: most - 1, Rev: true}).Result()
}

// Touch implements [proxy.State].
func (s *State) Touch(ctx context.Context, tip proxy.Tip) error {
	if err := s.ready(); err != nil {
		return err
	}
	text, err := json.Marshal(tip)
	if err != nil {
		return err
	}
	member := redis.Z{Score: float64(tip.Used.UnixMilli()), Member: tip.ID}
	_, err = s.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.Set(ctx, s.key("tip", tip.ID), text, s.o.Age)
		p.Expire(ctx, s.key("rounds", tip.ID), s.o.Age)
		p.ZAdd(ctx, s.key("all"), member)
		p.ZRemRangeByScore(ctx, s.key("all"), "-inf", strconv.FormatInt(tip.Used.Add(-s.o.Age).UnixMilli(), 10))
		if len(tip.Chain) > 0 {
			begin := s.beginning(tip.Space, tip.Chain[0])
			p.ZAdd(ctx, begin, member)
			p.ZRemRangeByRank(ctx, begin, 0, -maxSiblings-1)
			p.Expire(ctx, begin, s.o.Age)
		}
		return nil
	})
	return s.checked(ctx, err)
}

// Rounds implements [proxy.State].
func (s *State) Rounds(ctx context.Context, id string) ([]byte, uint64, error) {
	if err := s.ready(); err != nil {
		return nil, 0, err
	}
	values, err := s.client.HMGet(ctx, s.key("rounds", id), "version", "data").Result()
	if err != nil {
		return nil, 0, s.checked(ctx, err)
	}
	version, _ := values[0].(string)
	data, _ := values[1].(string)
	n, err := strconv.ParseUint(cmp.Or(version, "0"), 10, 64)
	if err != nil || n == 0 {
		return nil, 0, nil
	}
	return []byte(data), n, nil
}

// setRounds stores rounds if their version is still the expected one. KEYS: the
// rounds. ARGV: the expected version, the next one, the data, the age in ms.
var setRounds = redis.NewScript(`
if (redis.call('HGET', KEYS[1], 'version') or '0') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'version', ARGV[2], 'data', ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return 1`)

// SetRounds implements [proxy.State].
func (s *State) SetRounds(ctx context.Context, id string, data []byte, version uint64) error {
	if id == "" {
		return errors.New("store rounds: the conversation has no id")
	}
	if err := s.ready(); err != nil {
		return err
	}
	stored, err := setRounds.Run(ctx, s.client, []string{s.key("rounds", id)},
		strconv.FormatUint(version, 10), strconv.FormatUint(version+1, 10), data, s.o.Age.Milliseconds()).Int()
	if err != nil {
		return s.checked(ctx, err)
	}
	if stored != 1 {
		return proxy.ErrConflict
	}
	return nil
}

// extend and release change a lease only if it is still the caller's. KEYS: the lease.
// ARGV: its token, its time in ms.
var (
	extend  = redis.NewScript(`if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0`)
	release = redis.NewScript(`if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`)
)

// Lease implements [proxy.State]. A lease is extended while its holder lives. If it
// is lost all the same, the version of the rounds prevents that two are stored.
func (s *State) Lease(ctx context.Context, id string) (func(), error) {
	key, token := s.key("lease", id), rand.Text()
	wait := 5 * time.Millisecond
	for {
		if err := s.ready(); err != nil {
			return nil, err
		}
		err := s.client.SetArgs(ctx, key, token, redis.SetArgs{Mode: "NX", TTL: s.o.Lease}).Err()
		if err == nil {
			return s.hold(key, token), nil
		}
		if !errors.Is(err, redis.Nil) {
			return nil, s.checked(ctx, err)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(wait):
			wait = min(2*wait, 100*time.Millisecond)
		}
	}
}

// hold extends a lease until it is released.
func (s *State) hold(key, token string) func() {
	done := make(chan struct{})
	var once sync.Once
	var held sync.WaitGroup
	held.Go(func() {
		every := time.NewTicker(s.o.Extend)
		defer every.Stop()
		for {
			select {
			case <-done:
				return
			case <-every.C:
				ctx, stop := context.WithTimeout(context.Background(), s.o.Answer)
				_ = extend.Run(ctx, s.client, []string{key}, token, s.o.Lease.Milliseconds()).Err() // at worst it is lost
				stop()
			}
		}
	})
	return func() {
		once.Do(func() {
			close(done)
			held.Wait()
			ctx, stop := context.WithTimeout(context.Background(), s.o.Answer)
			defer stop()
			_ = release.Run(ctx, s.client, []string{key}, token).Err() // else it expires
		})
	}
}
