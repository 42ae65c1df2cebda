package proxy_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/tiercompact/tiercompact/internal/proxy"
)

// pageOf returns the page of a conversation.
func (s *setup) pageOf(t *testing.T, id string) string {
	t.Helper()
	code, text := s.get(t, "/_tiercompact/session?id="+url.QueryEscape(id))
	if code != http.StatusOK {
		t.Fatalf("%d %s", code, text)
	}
	return text
}

// onlyState is a state that keeps no usage.
type onlyState struct{ proxy.State }

func TestTheChartSurvivesARestart(t *testing.T) {
	dir := t.TempDir()
	s := &setup{upstream: newUpstream(t), events: new(events)}
	s.restart(t, dir, 3000, nil)
	var d dialogue
	var id string
	for range 12 {
		d.turn()
		answer, _ := s.post(t, "/api/chat", d.body())
		s.proxy.Wait()
		id = answer.Header.Get("X-Tiercompact-Session")
	}
	numbers := func() string {
		_, rest, found := strings.Cut(s.pageOf(t, id), "<tbody>")
		table, _, _ := strings.Cut(rest, "</tbody>")
		if !found {
			return ""
		}
		return table
	}
	want := numbers()
	if strings.Count(want, "<tr>") < 12 {
		t.Fatalf("before the restart: %s", s.pageOf(t, id))
	}
	s.stop()
	s.restart(t, dir, 3000, nil)
	if got := numbers(); got != want {
		t.Errorf("after a restart:\n%s\nbefore:\n%s", got, want)
	}
	d.turn()
	s.post(t, "/api/chat", d.body())
	s.proxy.Wait()
	if got := numbers(); !strings.HasSuffix(got, want) || strings.Count(got, "<tr>") <= strings.Count(want, "<tr>") {
		t.Errorf("after another request:\n%s", got)
	}
	s.stop()
	s.restart(t, dir, 3000, func(c *proxy.Config) { c.State = onlyState{c.State} })
	if text := s.pageOf(t, id); !strings.Contains(text, "There is no chart: no request came since the proxy was started") {
		t.Errorf("without stored usage: %s", text)
	}
}

func TestStoredUsageHasALimit(t *testing.T) {
	d, err := proxy.OpenDisk(t.TempDir(), proxy.Limits{Conversations: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	now := time.Now()
	write := func(id string) {
		now = now.Add(time.Millisecond)
		if err := d.Touch(context.Background(), proxy.Tip{ID: id, Used: now}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 500 {
		write("a")
		d.AddSample("a", fmt.Append(nil, i))
	}
	waitFor(t, "the newest samples are stored", func() bool {
		all := d.Samples("a")
		return len(all) == 120 && string(all[119]) == "499" && string(all[0]) == "380"
	})
	write("b")
	write("c")
	waitFor(t, "a forgotten conversation has no samples", func() bool { return len(d.Samples("a")) == 0 })
}
