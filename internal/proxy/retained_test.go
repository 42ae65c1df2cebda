package proxy

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"
	"weak"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/archive"
)

// growingBody returns the request of a conversation after some turns, in the form of an
// API.
func growingBody(a *api, name string, turns int) []byte {
	var items []string
	add := func(role, text string) {
		items = append(items, fmt.Sprintf(`{"role":%q,"content":%q}`, role, text))
	}
	add("user", "I am "+name+".")
	add("assistant", "Yes.")
	for i := range turns {
		add("user", fmt.Sprintf("Question %d of %s: how does function_%d work?", i, name, i))
		items = append(items, toolTurn(a, i, strings.Repeat(fmt.Sprintf("detail %d of part_%d\\n", i, i), 40)))
		add("assistant", fmt.Sprintf("Answer %d: see part_%d.", i, i))
	}
	add("user", "And now?")
	return fmt.Appendf(nil, `{"model":"model of %s","%s":[%s]}`, name, a.list, strings.Join(items, ","))
}

// toolTurn returns a call of a tool and its result, in the form of an API.
func toolTurn(a *api, i int, text string) string {
	switch {
	case a.format == responsesFormat:
		return fmt.Sprintf(`{"type":"function_call","call_id":"c%d","name":"read","arguments":"{\"path\":\"file_%d.go\"}"},{"type":"function_call_output","call_id":"c%d","output":"%s"}`, i, i, i, text)
	case a.name == "anthropic":
		return fmt.Sprintf(`{"role":"assistant","content":[{"type":"tool_use","id":"c%d","name":"read","input":{"path":"file_%d.go"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c%d","content":"%s"}]}`, i, i, i, text)
	case a.name == "ollama":
		return fmt.Sprintf(`{"role":"assistant","content":"","tool_calls":[{"function":{"name":"read","arguments":{"path":"file_%d.go"}}}]},{"role":"tool","tool_name":"read","content":"%s"}`, i, text)
	}
	return fmt.Sprintf(`{"role":"assistant","content":null,"tool_calls":[{"id":"c%d","type":"function","function":{"name":"read","arguments":"{\"path\":\"file_%d.go\"}"}}]},{"role":"tool","tool_call_id":"c%d","content":"%s"}`, i, i, i, text)
}

func openEngine(t *testing.T, limits Limits) *engine {
	t.Helper()
	store, err := archive.OpenDir(t.TempDir(), archive.DirOptions{})
	if err != nil {
		t.Fatal(err)
	}
	state, err := OpenDisk(t.TempDir(), limits)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = state.Close(); _ = store.Close() })
	return newEngine(withDefaults(Config{State: state, Archive: store, Open: func(context.Context, string) (tiercompact.Config, error) {
		cfg := tiercompact.Defaults(tiercompact.Steady)
		cfg.Window, cfg.Archive = 12000, store
		return cfg, nil
	}}))
}

// sendGrowing lets a conversation grow past its window, and returns its requests, which
// it does not hold.
func sendGrowing(t *testing.T, e *engine, a *api, name string) (bodies []weak.Pointer[byte], rounds int) {
	t.Helper()
	for turns := 1; turns < 29; turns += 3 {
		body := growingBody(a, name, turns)
		bodies = append(bodies, weak.Make(&body[0]))
		h := make(http.Header)
		if turns%4 == 0 {
			h.Set(modeHeader, "soft") // its rewritten messages are parts of the request
		}
		r, err := parseRequest(a, body, h)
		if err != nil {
			t.Fatal(err)
		}
		p, err := e.compact(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if p.due != "" {
			if err := e.later(t.Context(), p); err != nil {
				t.Fatal(err)
			}
		}
		rounds = p.rounds.rounds.Len()
	}
	return bodies, rounds
}

// What a proxy remembers of a conversation must not keep a whole request alive, of which
// a message, a name or a text may be a part.
func TestNoRequestIsKeptAfterItsAnswer(t *testing.T) {
	for _, a := range apis {
		if a.counts {
			continue
		}
		t.Run(strings.TrimPrefix(a.path, "/"), func(t *testing.T) {
			e := openEngine(t, Limits{})
			var bodies []weak.Pointer[byte]
			for i := range 1 {
				of, rounds := sendGrowing(t, e, a, fmt.Sprint("client ", i))
				if rounds == 0 {
					t.Fatal("no round was made")
				}
				bodies = append(bodies, of...)
			}
			runtime.GC()
			kept := 0
			for _, b := range bodies {
				if b.Value() != nil {
					kept++
				}
			}
			if kept > 0 {
				t.Errorf("%d of %d requests are kept", kept, len(bodies))
			}
			runtime.KeepAlive(e)
		})
	}
}

// After many conversations, what is held is what the limits permit, whatever came before.
func TestWhatIsHeldDoesNotGrowWithTheConversations(t *testing.T) {
	const limit = 4
	e := openEngine(t, Limits{Conversations: limit, Messages: 150})
	d := e.cfg.State.(*Disk)
	clock := time.Now()
	e.cfg.Now = func() time.Time { clock = clock.Add(time.Second); return clock }
	for i := range 2*limit + 1 {
		sendGrowing(t, e, apis[0], fmt.Sprint("client ", i))
	}
	if err := d.flush(); err != nil {
		t.Fatal(err)
	}
	d.mu.Lock()
	messages, starts := 0, 0
	for _, tip := range d.index.byID {
		messages += len(tip.Chain)
	}
	for _, ids := range d.index.byStart {
		starts += len(ids)
	}
	if len(d.index.byID) > limit || messages > 150 || messages != d.index.messages || starts > 10*limit || len(d.sizes) > limit {
		t.Errorf("the state holds %d conversations, %d messages (counted %d), %d starts, %d sizes", len(d.index.byID), messages, d.index.messages, starts, len(d.sizes))
	}
	d.mu.Unlock()
	if n := len(e.models.of); n > maxModels {
		t.Errorf("%d models are open", n)
	}
	for id, l := range e.live.rounds {
		if raw, _ := json.Marshal(l.rounds); l.weight < len(raw)/2 {
			t.Errorf("the rounds of %s weigh %d, and have %d bytes", id, l.weight, len(raw))
		}
	}
	for id, samples := range e.board.samples {
		for _, s := range samples[1:] {
			if reflect.ValueOf(s.Thresholds).Pointer() != reflect.ValueOf(samples[0].Thresholds).Pointer() {
				t.Fatalf("each sample of %s has its own thresholds", id)
			}
		}
	}
}
