package proxy_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tiercompact/tiercompact/internal/proxy"
)

// A toolClient has a conversation with tool calls, and goes back in it.
type toolClient struct {
	items []string
	turns int
}

// turn adds an answer with a call, its result, and every third time a question.
func (c *toolClient) turn() {
	c.turns++
	n := c.turns
	c.items = append(c.items,
		fmt.Sprintf(`{"role":"assistant","content":"Step %d.","tool_calls":[{"id":"call_%d","type":"function","function":{"name":"read","arguments":"{\"path\":\"f%d.go\"}"}}]}`, n, n, n%5),
		fmt.Sprintf(`{"role":"tool","tool_call_id":"call_%d","content":%s}`, n, jsonOf(sourceText(n, 700))))
	if n%3 == 0 {
		c.items = append(c.items, fmt.Sprintf(`{"role":"assistant","content":"It is part %d."}`, n), fmt.Sprintf(`{"role":"user","content":"And question %d?"}`, n))
	}
}

// back removes the newest n messages, and what is no end of a request.
func (c *toolClient) back(n int) {
	c.items = c.items[:max(1, len(c.items)-n)]
	for !strings.Contains(c.items[len(c.items)-1], `"role":"user"`) && !strings.Contains(c.items[len(c.items)-1], `"role":"tool"`) {
		c.items = c.items[:len(c.items)-1]
	}
}

func (c *toolClient) body() string {
	return `{"model":"m","messages":[` + strings.Join(c.items, ",") + `]}`
}

// TestAClientGoesBackWhileARoundIsPlanned has clients go back by some messages, and send a
// request twice at once, while rounds are planned: whatever was planned, no call is
// without its result upstream, the newest message is as it came, and all fits the window.
func TestAClientGoesBackWhileARoundIsPlanned(t *testing.T) {
	const window = 4000
	var planned, branches atomic.Int64
	s := newSetup(t, window, func(c *proxy.Config) {
		c.Report = func(r proxy.RequestReport) {
			if r.Planned {
				planned.Add(1)
			}
		}
	})
	s.answer = func(w http.ResponseWriter, r *http.Request) {
		var q struct{ Messages []json.RawMessage }
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			t.Error(err)
		}
		_, _ = fmt.Fprintf(w, `{"newest":%s}`, jsonOf(string(q.Messages[len(q.Messages)-1])))
	}
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			random := rand.New(rand.NewPCG(17, uint64(i)))
			c := &toolClient{items: []string{fmt.Sprintf(`{"role":"user","content":"I am client %d."}`, i)}}
			for range 60 {
				switch random.IntN(5) {
				case 0:
					c.back(1 + random.IntN(4))
				case 1:
					c.turn()
					c.turn()
				default:
					c.turn()
				}
				body, newest := c.body(), c.items[len(c.items)-1]
				var both sync.WaitGroup
				for range 1 + random.IntN(2) {
					both.Go(func() {
						answer, text := s.post(t, "/v1/chat/completions", body)
						var got struct{ Newest string }
						_ = json.Unmarshal([]byte(text), &got)
						if answer.Header.Get("X-Tiercompact-Noticed") == "branch" {
							branches.Add(1)
						}
						if answer.StatusCode != http.StatusOK || got.Newest != newest || answer.Header.Get("X-Tiercompact-Passed")+answer.Header.Get("X-Tiercompact-Warning") != "" {
							t.Errorf("client %d: %d, %s instead of %s, %v", i, answer.StatusCode, got.Newest, newest, answer.Header)
						}
					})
				}
				both.Wait()
			}
		})
	}
	all.Wait()
	s.proxy.Wait()
	t.Logf("%d rounds were planned; %d requests went back", planned.Load(), branches.Load())
	for _, body := range s.received() {
		if wrong := unpaired(body); wrong != "" {
			t.Errorf("%s: %s", wrong, body)
		}
		if n := historyTokens(body); n > window {
			t.Errorf("%d tokens went upstream", n)
		}
	}
	if planned.Load() == 0 || branches.Load() == 0 {
		t.Errorf("%d rounds were planned; %d requests went back", planned.Load(), branches.Load())
	}
	if held := s.gauge(t, "held_bytes"); held != 0 {
		t.Errorf("%d bytes are held", held)
	}
}
