package proxy_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tiercompact/tiercompact/internal/proxy"
)

func (s *setup) session(t *testing.T, body string, headers ...string) (id, noticed string) {
	t.Helper()
	answer, _ := s.post(t, "/api/chat", body, headers...)
	s.proxy.Wait()
	if reason := answer.Header.Get("X-Tiercompact-Passed"); reason != "" {
		t.Fatalf("the request passed: %s", reason)
	}
	return answer.Header.Get("X-Tiercompact-Session"), answer.Header.Get("X-Tiercompact-Noticed")
}

// say returns a body with the given messages, "u:text" or "a:text", in order.
func say(system, tools string, messages ...string) string {
	var items []string
	if system != "" {
		items = append(items, fmt.Sprintf(`{"role":"system","content":%q}`, system))
	}
	for _, m := range messages {
		role := map[byte]string{'u': "user", 'a': "assistant", 't': "tool"}[m[0]]
		items = append(items, fmt.Sprintf(`{"role":%q,"content":%q}`, role, m[2:]))
	}
	return `{"model":"m","messages":[` + strings.Join(items, ",") + `]` + tools + `}`
}

const someTools = `,"tools":[{"type":"function","function":{"name":"read","parameters":{"type":"object"}}}]`

func TestConversationsAreToldApartByTheirMessages(t *testing.T) {
	s := newSetup(t, 100_000, nil)
	main, noticed := s.session(t, say("be brief", someTools, "u:hello"))
	if noticed != "new" || main == "" {
		t.Fatalf("%q, %q", main, noticed)
	}
	for _, step := range []struct {
		name, body, noticed string
		same                bool
	}{
		{"a retry", say("be brief", someTools, "u:hello"), "", true},
		{"the next turn", say("be brief", someTools, "u:hello", "a:hi", "u:read a.go"), "", true},
		{"another system prompt", say("be brief. It is 10:01", someTools, "u:hello", "a:hi", "u:read a.go", "a:done", "u:and b.go"), "changed", true},
		{"other tools", say("be brief. It is 10:01", "", "u:hello", "a:hi", "u:read a.go", "a:done", "u:and b.go", "a:done", "u:c"), "changed", true},
		{"a title", say("write a title", "", "u:hello", "a:hi", "u:read a.go", "a:done", "u:and b.go", "a:done", "u:c", "u:a title for this"), "side task", false},
		{"goes on after the title", say("be brief", someTools, "u:hello", "a:hi", "u:read a.go", "a:done", "u:and b.go", "a:done", "u:c", "a:ok", "u:d"), "changed", true},
		{"an earlier message was edited", say("be brief", someTools, "u:hello", "a:hi", "u:read z.go"), "branch", false},
		{"back to an earlier message", say("be brief", someTools, "u:hello", "a:hi", "u:read a.go"), "branch", false},
		{"the main one goes on", say("be brief", someTools, "u:hello", "a:hi", "u:read a.go", "a:done", "u:and b.go", "a:done", "u:c", "a:ok", "u:d", "a:ok", "u:e"), "", true},
		{"another one", say("be brief", someTools, "u:good day"), "new", false},
		{"a title of its own", say("write a title", "", "u:a title for: hello"), "new", false},
		{"a reminder in the newest message is gone", say("be brief", someTools, "u:hello", "a:hi", "u:read a.go", "a:done", "u:and b.go", "a:done", "u:c", "a:ok", "u:d", "a:ok", "u:e, without its reminder", "a:ok", "u:f"), "", true},
	} {
		id, noticed := s.session(t, step.body)
		if noticed != step.noticed || (id == main) != step.same {
			t.Errorf("%s: session %q (main is %q), noticed %q, want %q", step.name, id, main, noticed, step.noticed)
		}
	}
}

func TestTwoThatBeginAlikePart(t *testing.T) {
	s := newSetup(t, 100_000, nil)
	first, _ := s.session(t, say("", "", "u:hi"))
	if other, _ := s.session(t, say("", "", "u:hi")); other != first {
		t.Errorf("%q and %q", first, other)
	}
	a, _ := s.session(t, say("", "", "u:hi", "a:hello", "u:of the one"))
	b, _ := s.session(t, say("", "", "u:hi", "a:hello", "u:of the other"))
	if a == b {
		t.Fatal("two conversations have one id")
	}
	for range 3 {
		a2, _ := s.session(t, say("", "", "u:hi", "a:hello", "u:of the one", "a:x", "u:more"))
		b2, _ := s.session(t, say("", "", "u:hi", "a:hello", "u:of the other", "a:x", "u:more"))
		if a2 != a || b2 != b {
			t.Errorf("%q is now %q, %q is %q", a, a2, b, b2)
		}
	}
}

func TestAClientCanNameItsConversation(t *testing.T) {
	s := newSetup(t, 100_000, nil)
	const name = "X-Tiercompact-Session"
	a, _ := s.session(t, say("", "", "u:hi"), name, "alpha")
	b, _ := s.session(t, say("", "", "u:hi"), name, "beta")
	c, _ := s.session(t, say("", "", "u:hi"))
	if a != "alpha" || b != "beta" || c == a || c == b {
		t.Errorf("%q, %q, %q", a, b, c)
	}
	side, _ := s.session(t, say("", "", "u:a title for: hi"), name, "alpha")
	again, _ := s.session(t, say("", "", "u:hi", "a:x", "u:y"), name, "alpha")
	if side == "alpha" || again != "alpha" {
		t.Errorf("a title is of %q, the conversation of %q", side, again)
	}
}

// TestASideTaskDoesNotDisturbTheConversation has a compacted conversation interrupted
// by requests that are not part of it: the bytes upstream stay the same.
func TestASideTaskDoesNotDisturbTheConversation(t *testing.T) {
	s := newSetup(t, 3000, nil)
	var d dialogue
	for range 40 {
		d.turn()
		s.session(t, d.body())
	}
	s.session(t, d.body())
	want := s.last(t)
	title := strings.Replace(d.body(), ` ],"z_unknown"`, `, {"role":"user","content":"A title for this?"}],"tools":[],"z_unknown"`, 1)
	title = strings.Replace(title, `"messages":[ `, `"messages":[ {"role":"system","content":"You write titles."},`, 1)
	s.session(t, title)
	if sent := s.last(t); len(sent) > len(title)/2 {
		t.Errorf("the side task went upstream with %d of %d bytes", len(sent), len(title))
	}
	other := d
	other.items = append([]string(nil), d.items[:len(d.items)-4]...)
	other.add("user", "Another way.")
	s.session(t, other.body())
	if s.session(t, d.body()); !bytes.Equal(s.last(t), want) {
		t.Errorf("after side tasks\n%s\nbefore\n%s", s.last(t), want)
	}
}

func TestRequestsAtOnceMakeOneRound(t *testing.T) {
	s := newSetup(t, 3000, nil)
	body := history("", 60)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { s.post(t, "/api/chat", body) })
	}
	all.Wait()
	sent := s.received()
	for _, b := range sent[1:] {
		if !bytes.Equal(b, sent[0]) {
			t.Fatalf("two bodies went upstream for one history:\n%s\n%s", sent[0], b)
		}
	}
	if len(sent) != 8 || len(sent[0]) >= len(body) {
		t.Errorf("%d requests, %d bytes", len(sent), len(sent[0]))
	}
}

func tipOf(id string, links ...byte) proxy.Tip {
	tip := proxy.Tip{ID: id, Used: time.Now()}
	for _, l := range links {
		tip.Chain = append(tip.Chain, proxy.Link{l})
	}
	return tip
}

func openDisk(t *testing.T, dir string, l proxy.Limits) *proxy.Disk {
	t.Helper()
	d, err := proxy.OpenDisk(dir, l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func TestADiskStateOutlivesItsProcess(t *testing.T) {
	dir, ctx := t.TempDir(), t.Context()
	d := openDisk(t, dir, proxy.Limits{})
	if err := errors.Join(d.Touch(ctx, tipOf("a", 1, 2, 3)), d.SetRounds(ctx, "a", []byte("one"), 0), d.SetRounds(ctx, "a", []byte("two"), 1)); err != nil {
		t.Fatal(err)
	}
	if err := d.SetRounds(ctx, "a", []byte("late"), 1); !errors.Is(err, proxy.ErrConflict) {
		t.Errorf("rounds on an old version: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	d = openDisk(t, dir, proxy.Limits{})
	tip, common, err := d.Find(ctx, "", []proxy.Link{{1}, {2}, {9}})
	data, version, err2 := d.Rounds(ctx, "a")
	if err != nil || err2 != nil || tip.ID != "a" || common != 2 || string(data) != "two" || version != 2 {
		t.Errorf("%v, %d, %q, %d, %v, %v", tip, common, data, version, err, err2)
	}
	if _, err := proxy.OpenDisk(dir, proxy.Limits{}); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("a second process: %v", err)
	}
}

func TestADiskStateIsBounded(t *testing.T) {
	ctx := t.Context()
	for name, l := range map[string]proxy.Limits{"number": {Conversations: 3}, "bytes": {Bytes: 3 * 108}, "age": {Age: time.Hour}} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			d := openDisk(t, dir, l)
			for i := range 10 {
				tip := tipOf(fmt.Sprint("c", i), 1, byte(i+2))
				tip.Used = time.Now().Add(time.Duration(i-10) * time.Second)
				if i < 7 {
					tip.Used = tip.Used.Add(-2 * time.Hour)
				}
				if err := errors.Join(d.SetRounds(ctx, tip.ID, make([]byte, 100), 0), d.Touch(ctx, tip)); err != nil {
					t.Fatal(err)
				}
			}
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
			d = openDisk(t, dir, proxy.Limits{})
			for i := range 10 {
				known, _ := d.Has(ctx, fmt.Sprint("c", i))
				_, version, _ := d.Rounds(ctx, fmt.Sprint("c", i))
				if known != (i >= 7) || (version > 0) != known {
					t.Errorf("conversation %d: known %v, version %d", i, known, version)
				}
			}
		})
	}
}

func TestADamagedStateIsNamed(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "conversations.db"), bytes.Repeat([]byte("damage "), 4000), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := proxy.OpenDisk(dir, proxy.Limits{}); err == nil || !strings.Contains(err.Error(), "move it away") {
		t.Errorf("%v", err)
	}
}

// TestAHalfWrittenStateIsNamed has a file cut off at each of its pages, as a full disk or a
// copy leaves it, or with an empty page, as a crash of the machine does. Such a state is
// named, or all of it can be read and written.
func TestAHalfWrittenStateIsNamed(t *testing.T) {
	const page, conversations = 4096, 6
	dir := t.TempDir()
	file := filepath.Join(dir, "conversations.db")
	d := openDisk(t, dir, proxy.Limits{})
	for i := range byte(conversations) {
		d.AddSample(fmt.Sprint("c", i), bytes.Repeat([]byte{i}, 2000))
		if err := errors.Join(d.Touch(t.Context(), tipOf(fmt.Sprint("c", i), i, 2, 3)), d.SetRounds(t.Context(), fmt.Sprint("c", i), bytes.Repeat([]byte{i}, 9000), 0)); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for at := 0; at < len(whole); at += page {
		empty := bytes.Clone(whole)
		clear(empty[at : at+page])
		for how, text := range map[string][]byte{"cut off": whole[:at], "empty": empty} {
			if at > page*60 && how == "empty" {
				continue // no page of the file's content
			}
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "conversations.db"), text, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := useAll(t.Context(), dir, conversations); err != nil {
				named++
				if !strings.Contains(err.Error(), "move it away") {
					t.Errorf("%s at %d: %v", how, at, err)
				}
			}
		}
	}
	if named < 10 {
		t.Errorf("%d states are named", named)
	}
}

// useAll opens a state, and reads and writes conversations of it.
func useAll(ctx context.Context, dir string, conversations int) error {
	d, err := proxy.OpenDisk(dir, proxy.Limits{})
	if err != nil {
		return err
	}
	for i := range conversations {
		id := fmt.Sprint("c", i)
		_, version, err := d.Rounds(ctx, id)
		d.Samples(id)
		d.AddSample(id, []byte("new"))
		if err = errors.Join(err, d.SetRounds(ctx, id, make([]byte, 20_000), version), d.Touch(ctx, tipOf(id, 1))); err != nil {
			return errors.Join(err, d.Close())
		}
	}
	return d.Close()
}

func TestALeaseHasOneHolder(t *testing.T) {
	d := openDisk(t, t.TempDir(), proxy.Limits{})
	release, err := d.Lease(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := d.Lease(ctx, "a"); err == nil {
		t.Error("a lease has two holders")
	}
	if other, err := d.Lease(t.Context(), "b"); err != nil {
		t.Error(err)
	} else {
		other()
	}
	release()
	release()
	if again, err := d.Lease(t.Context(), "a"); err != nil {
		t.Error(err)
	} else {
		again()
	}
}

// TestAKilledProxyLeavesAWholeState kills a process that writes rounds, at moments that
// differ, and opens its state.
func TestAKilledProxyLeavesAWholeState(t *testing.T) {
	if dir := os.Getenv("TIERCOMPACT_KILLED_STATE"); dir != "" {
		d, err := proxy.OpenDisk(dir, proxy.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range uint64(1 << 30) {
			_ = d.Touch(t.Context(), tipOf("a", 1, byte(i)))
			if err := d.SetRounds(t.Context(), "a", bytes.Repeat([]byte{byte(i + 1)}, 50_000), i); err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				fmt.Println("begun")
			}
		}
	}
	for i := range 5 {
		dir := t.TempDir()
		cmd := exec.Command(os.Args[0], "-test.run=^TestAKilledProxyLeavesAWholeState$")
		cmd.Env = append(os.Environ(), "TIERCOMPACT_KILLED_STATE="+dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		_, _ = out.Read(make([]byte, 1))
		time.Sleep(time.Duration(17*i) * time.Millisecond)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		d := openDisk(t, dir, proxy.Limits{})
		data, version, err := d.Rounds(t.Context(), "a")
		if err != nil || version == 0 || len(data) != 50_000 || !bytes.Equal(data, bytes.Repeat([]byte{byte(version)}, 50_000)) {
			t.Errorf("version %d, %d bytes, %v", version, len(data), err)
		}
		if ok, _ := d.Has(t.Context(), "a"); !ok {
			t.Error("the rounds have no conversation")
		}
	}
}

// TestTwoProxiesOnOneState has two proxies answer the requests of conversations in
// turn: what goes upstream begins alike whichever was asked, and each round is made once.
func TestTwoProxiesOnOneState(t *testing.T) {
	a := newSetup(t, 3000, nil)
	p, err := proxy.New(proxy.Config{Upstream: mustURL(t, a.upstream.URL), Open: steady(3000), State: a.state})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	b := &setup{upstream: a.upstream, Server: httptest.NewServer(p), proxy: p, state: a.state, events: a.events}
	defer b.Server.Close()
	both := []*setup{a, b}
	for c := range 4 {
		var d dialogue
		d.add("user", fmt.Sprintf("Conversation %d.", c))
		var before []byte
		changes := 0
		for i := range 50 {
			d.turn()
			at, other := both[i%2], both[(i+1)%2]
			id, _ := at.session(t, d.body())
			first := a.last(t)
			if again, _ := other.session(t, d.body()); again != id {
				t.Fatalf("conversation %d is %q and %q", c, id, again)
			}
			second := a.last(t)
			// A round that was planned meanwhile may be in the second.
			if !bytes.Equal(first, second) && len(second) >= len(first) {
				t.Fatalf("conversation %d, request %d: the proxies send\n%s\nand\n%s", c, i, first, second)
			}
			if cut := bytes.LastIndex(before, []byte(" ],")); i > 0 && !bytes.HasPrefix(second, before[:max(cut, 0)]) {
				changes++
			}
			before = second
		}
		if changes == 0 || changes > 12 {
			t.Errorf("conversation %d: the beginning changed %d times", c, changes)
		}
	}
}

// A rival stores a round of its own before the first of the proxy.
type rival struct {
	*proxy.Disk
	once sync.Once
}

func (r *rival) SetRounds(ctx context.Context, id string, data []byte, version uint64) (err error) {
	r.once.Do(func() { err = r.Disk.SetRounds(ctx, id, data, version) })
	if err != nil {
		return err
	}
	return r.Disk.SetRounds(ctx, id, data, version)
}

func TestARoundThatAnotherProcessStoredIsUsed(t *testing.T) {
	var disk *proxy.Disk
	s := newSetup(t, 3000, func(c *proxy.Config) {
		disk = c.State.(*proxy.Disk)
		c.State = &rival{Disk: disk}
	})
	body := history("", 60)
	id, _ := s.session(t, body)
	want := s.last(t)
	if s.session(t, body); !bytes.Equal(s.last(t), want) || len(want) >= len(body) {
		t.Errorf("%d bytes, then %d, of %d", len(want), len(s.last(t)), len(body))
	}
	if _, version, _ := disk.Rounds(t.Context(), id); version != 1 {
		t.Errorf("%d rounds were stored", version)
	}
}
