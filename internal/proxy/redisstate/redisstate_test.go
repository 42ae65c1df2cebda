package redisstate_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/archive/s3"
	"github.com/tiercompact/tiercompact/internal/proxy"
	"github.com/tiercompact/tiercompact/internal/proxy/redisstate"
	"github.com/tiercompact/tiercompact/internal/s3test"
)

// A server is a real Valkey or Redis, which a test can kill and start again.
type server struct {
	t       *testing.T
	program string
	port    string
	URL     string
	cmd     *exec.Cmd
	ended   <-chan struct{} // closed when cmd has
}

// hang is longer than any step takes, on any machine.
const hang = 5 * time.Minute

// startServer starts a server on a free port, and skips the test if there is none.
func startServer(t *testing.T) *server {
	t.Helper()
	s := &server{t: t}
	for _, name := range []string{"valkey-server", "redis-server"} {
		if path, err := exec.LookPath(name); err == nil {
			s.program = path
			break
		}
	}
	if s.program == "" {
		t.Skip("there is no Valkey or Redis; install the package valkey-server or redis-server to run this")
	}
	t.Cleanup(s.kill)
	for range 10 { // another program may take the port first
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		_, s.port, _ = net.SplitHostPort(l.Addr().String())
		l.Close()
		s.URL = "redis://127.0.0.1:" + s.port + "/0"
		if s.start() {
			return s
		}
	}
	t.Fatal("the server does not start")
	return nil
}

// start starts the server, and reports whether it answers at its port.
func (s *server) start() bool {
	s.t.Helper()
	s.cmd = exec.Command(s.program, "--port", s.port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", s.t.TempDir(), "--daemonize", "no")
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	ended := make(chan struct{})
	s.ended = ended
	go func() { _ = s.cmd.Wait(); close(ended) }()
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + s.port, DisableIdentity: true})
	defer client.Close()
	for end := time.Now().Add(hang); ; {
		if answer := client.Info(s.t.Context(), "server"); strings.Contains(answer.Val(), fmt.Sprintf("process_id:%d\r", s.cmd.Process.Pid)) {
			return true
		}
		select {
		case <-ended: // as it does if the port is in use
			return false
		case <-time.After(10 * time.Millisecond):
		}
		if time.Now().After(end) {
			s.t.Fatal("the server does not listen")
		}
	}
}

func (s *server) kill() {
	_ = s.cmd.Process.Kill()
	<-s.ended
}

// open opens the state. Its limits are far away, unless a test sets them.
func (s *server) open(t *testing.T, o redisstate.Options) *redisstate.State {
	t.Helper()
	o.Lease, o.Answer = cmp.Or(o.Lease, hang), cmp.Or(o.Answer, hang)
	state, err := redisstate.Open(t.Context(), s.URL, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = state.Close() })
	return state
}

// client returns a client of the server, beside the state.
func (s *server) client(t *testing.T) *redis.Client {
	t.Helper()
	to, err := redis.ParseURL(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(to)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// A model server records what it gets.
type modelServer struct {
	*httptest.Server
	mu     sync.Mutex
	bodies [][]byte
}

func startModel(t *testing.T) *modelServer {
	m := &modelServer{}
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		m.mu.Lock()
		m.bodies = append(m.bodies, body)
		m.mu.Unlock()
		_, _ = io.WriteString(w, `{"message":{"role":"assistant","content":"Yes"},"done":true}`+"\n")
	}))
	t.Cleanup(m.Close)
	return m
}

func (m *modelServer) last() []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.bodies[len(m.bodies)-1]
}

const window = 3000

// A node is one of several proxies.
type node struct {
	*httptest.Server
	proxy *proxy.Proxy
}

func startNode(t *testing.T, state proxy.State, model *modelServer, store archive.Store) *node {
	t.Helper()
	upstream, err := url.Parse(model.URL)
	if err != nil {
		t.Fatal(err)
	}
	p, err := proxy.New(proxy.Config{Upstream: upstream, State: state, Open: func(context.Context, string) (tiercompact.Config, error) {
		cfg := tiercompact.Defaults(tiercompact.Steady)
		cfg.Window, cfg.Archive = window, store
		return cfg, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	n := &node{httptest.NewServer(p), p}
	t.Cleanup(func() { p.Close(); n.Close() })
	return n
}

// post sends a request, and waits until no round is planned any more.
func (n *node) post(t *testing.T, body string, headers ...string) http.Header {
	t.Helper()
	r, _ := http.NewRequest(http.MethodPost, n.URL+"/api/chat", strings.NewReader(body))
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Error(err)
		return nil
	}
	_, _ = io.Copy(io.Discard, answer.Body)
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Errorf("%s", answer.Status)
	}
	n.proxy.Wait()
	return answer.Header
}

// session is a request of conversation k after so many turns.
func session(k, turns int) string {
	var items []string
	for i := range turns {
		items = append(items, fmt.Sprintf(`{"role":"user","content":"Conversation %d, question %d: how does function_%d work?"}`, k, i, i),
			fmt.Sprintf(`{"role":"assistant","content":"The answer %d of %d: %s"}`, i, k, strings.Repeat(fmt.Sprintf("detail %d of part_%d; ", i, i), 40)))
	}
	return fmt.Sprintf(`{"model":"m","messages":[%s,{"role":"user","content":"Go on with %d."}]}`, strings.Join(items, ","), turns)
}

// TestTwoProxiesMakeOneRound has conversations whose requests alternate between two
// proxies, the last ones at once. What goes upstream is, byte for byte, what one proxy
// sends, and the archive has each round once.
func TestTwoProxiesMakeOneRound(t *testing.T) {
	s := startServer(t)
	runConversations(t, s, 10, archive.NewMemory(), archive.NewMemory())
}

// TestRealTwoProxiesWithABucket is the same with 100 conversations and an archive on a
// real server of S3, which each proxy opens for itself.
func TestRealTwoProxiesWithABucket(t *testing.T) {
	bucket := s3test.Start(t)
	s := startServer(t)
	var stores []archive.Store
	for range 2 {
		store, err := s3.Open(t.Context(), s3.Config{Bucket: s3test.Bucket, Prefix: "kept", Region: "us-east-1", Endpoint: bucket.URL, Attempts: 2, Timeout: 10 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		stores = append(stores, store)
	}
	runConversations(t, s, 100, stores[0], stores[1])
}

// runConversations gives stores[0] to one proxy and stores[1] to the other, unless both
// are in memory.
func runConversations(t *testing.T, s *server, conversations int, stores ...archive.Store) {
	t.Helper()
	if _, memory := stores[0].(*archive.Memory); memory {
		stores[1] = stores[0]
	}
	model, alone := startModel(t), startModel(t)
	nodes := []*node{startNode(t, s.open(t, redisstate.Options{}), model, stores[0]), startNode(t, s.open(t, redisstate.Options{}), model, stores[1])}
	disk, err := proxy.OpenDisk(t.TempDir(), proxy.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	kept := archive.NewMemory()
	one := startNode(t, disk, alone, kept)
	t.Cleanup(func() { _ = disk.Close() })
	compacted := 0
	for k := range conversations {
		id := ""
		for i, turns := range []int{1, 5, 9, 13} {
			body := session(k, turns)
			id = nodes[(i+k)%2].post(t, body).Get("X-Tiercompact-Session")
			if one.post(t, body); !bytes.Equal(model.last(), alone.last()) {
				t.Fatalf("conversation %d, %d turns: two proxies send\n%s\none sends\n%s", k, turns, model.last(), alone.last())
			}
		}
		body := session(k, 17)
		var both sync.WaitGroup
		for _, n := range nodes {
			both.Go(func() { n.post(t, body) })
		}
		both.Wait()
		one.post(t, body)
		model.mu.Lock()
		for _, sent := range model.bodies[len(model.bodies)-2:] {
			if !bytes.Equal(sent, alone.last()) {
				t.Errorf("conversation %d: of two requests at once, one was sent as\n%s\nnot\n%s", k, sent, alone.last())
			}
		}
		model.bodies = model.bodies[len(model.bodies)-1:]
		model.mu.Unlock()
		got, err := stores[1].Steps(t.Context(), id)
		want, err2 := kept.Steps(t.Context(), id)
		if err := errors.Join(err, err2); err != nil || len(got) != len(want) || len(want) == 0 {
			t.Errorf("conversation %d (%s): %d rounds are archived, %d by one proxy; %v", k, id, len(got), len(want), err)
		}
		compacted += len(want)
	}
	if compacted < 2*conversations {
		t.Errorf("%d rounds in %d conversations: the test tests little", compacted, conversations)
	}
}

// TestOneConversationStartsAtBothProxies sends the first request of a named
// conversation to both at once.
func TestOneConversationStartsAtBothProxies(t *testing.T) {
	s := startServer(t)
	store, model := archive.NewMemory(), startModel(t)
	nodes := []*node{startNode(t, s.open(t, redisstate.Options{}), model, store), startNode(t, s.open(t, redisstate.Options{}), model, store)}
	for k := range 30 {
		var both sync.WaitGroup
		ids := make([]string, 2)
		name := fmt.Sprintf("named %d", k)
		for i, n := range nodes {
			both.Go(func() { ids[i] = n.post(t, session(k, 12), "X-Tiercompact-Session", name).Get("X-Tiercompact-Session") })
		}
		both.Wait()
		steps, err := store.Steps(t.Context(), name)
		if ids[0] != name || ids[1] != name || len(steps) != 1 || err != nil {
			t.Errorf("conversations %q, %d rounds, %v", ids, len(steps), err)
		}
		model.mu.Lock()
		if last := model.bodies[len(model.bodies)-2:]; !bytes.Equal(last[0], last[1]) {
			t.Error("the proxies send different bytes")
		}
		model.mu.Unlock()
	}
}

// blockingStore reports that a round is being archived, and never finishes.
type blockingStore struct{ archive.Store }

func (b blockingStore) Put(ctx context.Context, step archive.Step) error {
	if err := b.Store.Put(ctx, step); err != nil {
		return err
	}
	fmt.Println("in a round")
	select {}
}

// TestMain runs this program as a proxy that a test kills in a round.
func TestMain(m *testing.M) {
	if address := os.Getenv("REDISSTATE_CHILD"); address != "" {
		runChild(address)
		return
	}
	os.Exit(m.Run())
}

func runChild(address string) {
	state, err := redisstate.Open(context.Background(), address, redisstate.Options{Lease: time.Second})
	if err != nil {
		panic(err)
	}
	upstream, _ := url.Parse("http://127.0.0.1:1")
	p, err := proxy.New(proxy.Config{Upstream: upstream, State: state, Open: func(context.Context, string) (tiercompact.Config, error) {
		cfg := tiercompact.Defaults(tiercompact.Steady)
		cfg.Window, cfg.Archive = window, blockingStore{archive.NewMemory()}
		cfg.Deadlines.Archive = time.Hour
		return cfg, nil
	}})
	if err != nil {
		panic(err)
	}
	s := httptest.NewServer(p)
	fmt.Println(s.URL)
	select {}
}

// TestAProxyThatDiesInARound is killed while it holds the lease: the other one waits
// until the lease expires, and makes the round.
func TestAProxyThatDiesInARound(t *testing.T) {
	s := startServer(t)
	model := startModel(t)
	store := archive.NewMemory()
	other := startNode(t, s.open(t, redisstate.Options{Lease: time.Second}), model, store)
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), "REDISSTATE_CHILD="+s.URL)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Scan()
	address := lines.Text()
	body := session(1, 12)
	go func() {
		if answer, err := http.Post(address+"/api/chat", "application/json", strings.NewReader(body)); err == nil {
			answer.Body.Close()
		}
	}()
	if lines.Scan(); lines.Text() != "in a round" {
		t.Fatalf("the proxy says %q", lines.Text())
	}
	_ = child.Process.Kill()
	_ = child.Wait()
	header := other.post(t, body)
	if header.Get("X-Tiercompact-Level") == "none" || header.Get("X-Tiercompact-Passed") != "" || len(model.last()) >= len(body) {
		t.Errorf("headers %v, %d of %d bytes", header, len(model.last()), len(body))
	}
	first := model.last()
	if other.post(t, body); !bytes.Equal(model.last(), first) {
		t.Error("the round is not repeated")
	}
	if steps, err := store.Steps(t.Context(), header.Get("X-Tiercompact-Session")); err != nil || len(steps) != 1 {
		t.Errorf("%d rounds, %v", len(steps), err)
	}
}

// TestWithoutTheServerRequestsPass kills the server, and starts it again.
func TestWithoutTheServerRequestsPass(t *testing.T) {
	s := startServer(t)
	model := startModel(t)
	n := startNode(t, s.open(t, redisstate.Options{}), model, archive.NewMemory())
	body := session(1, 12)
	if n.post(t, body); len(model.last()) >= len(body) {
		t.Fatal("nothing was compacted")
	}
	s.kill()
	for range 5 {
		header := n.post(t, body)
		if header.Get("X-Tiercompact-Passed") == "" || string(model.last()) != body {
			t.Errorf("headers %v, %d of %d bytes", header, len(model.last()), len(body))
		}
	}
	for end := time.Now().Add(hang); !s.start(); { // its port may be in use for a moment
		if time.Now().After(end) {
			t.Fatal("the server does not come back")
		}
	}
	for end := time.Now().Add(hang); len(model.last()) >= len(body); time.Sleep(50 * time.Millisecond) {
		if n.post(t, body); time.Now().After(end) {
			t.Fatal("nothing is compacted after the server came back")
		}
	}
}

// TestStates holds what both states promise.
func TestStates(t *testing.T) {
	disk, err := proxy.OpenDisk(t.TempDir(), proxy.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer disk.Close()
	t.Run("disk", func(t *testing.T) { checkState(t, disk) })
	t.Run("redis", func(t *testing.T) { checkState(t, startServer(t).open(t, redisstate.Options{})) })
}

// links returns a chain: each link stands for all messages up to its own.
func links(names string) (chain []proxy.Link) {
	for i := range names {
		var l proxy.Link
		copy(l[:], names[:i+1])
		chain = append(chain, l)
	}
	return chain
}

func checkState(t *testing.T, s proxy.State) {
	ctx, at := t.Context(), time.Now().Truncate(time.Second)
	for i, tip := range []proxy.Tip{
		{ID: "one", Chain: links("abc")}, {ID: "two", Chain: links("abde")}, {ID: "three", Space: "x", Chain: links("ab")}, {ID: "four", Chain: links("z")}, {ID: "empty"},
	} {
		tip.Used = at.Add(time.Duration(i) * time.Second)
		if err := s.Touch(ctx, tip); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		space, chain, id string
		common           int
	}{
		{"", "abc", "one", 3}, {"", "abcd", "one", 3}, {"", "abd", "two", 3}, {"", "ab", "two", 2}, {"", "a", "two", 1}, {"x", "abc", "three", 2}, {"", "q", "", 0}, {"", "", "", 0}, {"y", "abc", "", 0}, {"", "zz", "four", 1},
	} {
		tip, common, err := s.Find(ctx, test.space, links(test.chain))
		if tip.ID != test.id || common != test.common || err != nil {
			t.Errorf("%q %q: %q, %d, %v; want %q, %d", test.space, test.chain, tip.ID, common, err, test.id, test.common)
		}
	}
	all, err := s.List(ctx)
	var ids []string
	for _, tip := range all {
		ids = append(ids, tip.ID)
	}
	if want := []string{"empty", "four", "three", "two", "one"}; !slices.Equal(ids, want) || err != nil {
		t.Errorf("listed %v, %v; want %v", ids, err, want)
	}
	for id, want := range map[string]bool{"one": true, "none": false} {
		if got, err := s.Has(ctx, id); got != want || err != nil {
			t.Errorf("Has(%q): %v, %v", id, got, err)
		}
	}
	checkRounds(t, s)
}

func checkRounds(t *testing.T, s proxy.State) {
	ctx := t.Context()
	if data, version, err := s.Rounds(ctx, "one"); len(data) != 0 || version != 0 || err != nil {
		t.Errorf("rounds of a new conversation: %q, %d, %v", data, version, err)
	}
	var wins, conflicts int
	var mu sync.Mutex
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			err := s.SetRounds(ctx, "one", []byte("first\x00\xff"), 0)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				wins++
			case errors.Is(err, proxy.ErrConflict):
				conflicts++
			default:
				t.Error(err)
			}
		})
	}
	if all.Wait(); wins != 1 || conflicts != 7 {
		t.Errorf("of 8 that store version 1, %d succeed and %d conflict", wins, conflicts)
	}
	if data, version, err := s.Rounds(ctx, "one"); string(data) != "first\x00\xff" || version != 1 || err != nil {
		t.Errorf("rounds: %q, %d, %v", data, version, err)
	}
	if err := s.SetRounds(ctx, "", nil, 0); err == nil {
		t.Error("rounds without a conversation are stored")
	}
	inside, most := 0, 0
	for range 6 {
		all.Go(func() {
			release, err := s.Lease(ctx, "one")
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			inside++
			most = max(most, inside)
			mu.Unlock()
			time.Sleep(5 * time.Millisecond)
			mu.Lock()
			inside--
			mu.Unlock()
			release()
			release()
		})
	}
	if all.Wait(); most != 1 {
		t.Errorf("%d hold the lease at once", most)
	}
	release, err := s.Lease(ctx, "one")
	if err != nil {
		t.Fatal(err)
	}
	short, stop := context.WithTimeout(ctx, 50*time.Millisecond)
	defer stop()
	if _, err := s.Lease(short, "one"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a second lease: %v", err)
	}
	release()
	if ok, err := s.Has(ctx, "one"); !ok || err != nil {
		t.Errorf("after a caller whose time was over: %v, %v", ok, err)
	}
}

// TestALeaseIsExtended sees that the time of a lease becomes longer again.
func TestALeaseIsExtended(t *testing.T) {
	s := startServer(t)
	state := s.open(t, redisstate.Options{Extend: 50 * time.Millisecond})
	release, err := state.Lease(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	client := s.client(t)
	keys, err := client.Keys(t.Context(), "*").Result()
	if err != nil || len(keys) != 1 {
		t.Fatalf("keys %v, %v", keys, err)
	}
	for last := time.Hour; ; time.Sleep(20 * time.Millisecond) {
		left, err := client.PTTL(t.Context(), keys[0]).Result()
		switch {
		case err != nil || left <= 0:
			t.Fatalf("the lease ended while its holder lives: %v, %v", left, err)
		case left > last:
			return // it was extended
		}
		last = left
	}
}

// TestWhatExpires looks whether every key but the list has an end.
func TestWhatExpires(t *testing.T) {
	s := startServer(t)
	state := s.open(t, redisstate.Options{Age: time.Hour})
	tip := proxy.Tip{ID: "a", Chain: links("ab"), Used: time.Now()}
	release, err := state.Lease(t.Context(), "a")
	if err = errors.Join(err, state.Touch(t.Context(), tip), state.SetRounds(t.Context(), "a", []byte("1"), 0)); err != nil {
		t.Fatal(err)
	}
	defer release()
	client := s.client(t)
	keys, err := client.Keys(t.Context(), "*").Result()
	if err != nil || len(keys) != 5 {
		t.Fatalf("keys %v, %v", keys, err)
	}
	for _, key := range keys {
		left, err := client.TTL(t.Context(), key).Result()
		if err != nil || !strings.HasPrefix(key, "tiercompact:") || (left <= 0 || left > time.Hour) && key != "tiercompact:all" {
			t.Errorf("%s: %v, %v", key, left, err)
		}
	}
}

func TestAWrongURLKeepsItsPassword(t *testing.T) {
	for _, address := range []string{"redis://user:secret@[::1", "http://user:secret@localhost", "redis://:secret@127.0.0.1:1/0", "redis://:secret@localhost:6379/notanumber"} {
		_, err := redisstate.Open(t.Context(), address, redisstate.Options{})
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", filepath.Base(address), err)
		}
	}
}
