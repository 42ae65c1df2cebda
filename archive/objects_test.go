package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A heap is a Bucket in memory.
type heap struct {
	mu      sync.Mutex
	objects map[string]string
	fail    func(verb, key string) error // nil: nothing fails
	puts    []string                     // keys, in order
}

func newHeap() *heap { return &heap{objects: make(map[string]string)} }

func (h *heap) failure(verb, key string) error {
	if h.fail == nil {
		return nil
	}
	return h.fail(verb, key)
}

func (h *heap) Open(_ context.Context, key string) (io.ReadCloser, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.failure("open", key); err != nil {
		return nil, err
	}
	body, there := h.objects[key]
	if !there {
		return nil, ErrNotFound
	}
	return io.NopCloser(strings.NewReader(body)), nil
}

func (h *heap) Put(_ context.Context, key string, body []byte, fresh bool) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.failure("put", key); err != nil {
		return err
	}
	if _, there := h.objects[key]; there && fresh {
		return ErrExists
	}
	h.objects[key] = string(body)
	h.puts = append(h.puts, key)
	return nil
}

func (h *heap) List(_ context.Context, folder string) ([]string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.failure("list", folder); err != nil {
		return nil, err
	}
	var names []string
	for key := range h.objects {
		if name, is := strings.CutPrefix(key, folder); is {
			if at := strings.IndexByte(name, '/'); at >= 0 {
				name = name[:at+1]
			}
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

func (h *heap) Remove(_ context.Context, key string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.failure("remove", key); err != nil {
		return err
	}
	delete(h.objects, key)
	return nil
}

func (h *heap) Where(key string) (adapter, address string) { return "heap", "heap://" + key }

func openHeap(t *testing.T, b Bucket) *Objects {
	t.Helper()
	o, err := OpenObjects(t.Context(), b)
	must(t, err)
	return o
}

func TestAStepIsThereWithItsLastObject(t *testing.T) {
	h := newHeap()
	o := openHeap(t, h)
	must(t, o.Put(t.Context(), smallStep(1)))
	want := []string{"archive.json", "s/session.json", "s/transcript-pre-compact-001.jsonl", "s/summary-001.json", "s/step-001.jsonl"}
	if record := append(slices.Clone(want), "s/session.json"); !slices.Equal(h.puts, record) {
		t.Errorf("puts %v, want %v", h.puts, record)
	}
	for _, key := range want {
		h := newHeap()
		down := errors.New("the bucket is down")
		h.fail = func(verb, k string) error {
			if verb == "put" && k == key {
				return down
			}
			return nil
		}
		o := openHeap(t, h)
		if err := o.Put(t.Context(), smallStep(1)); !errors.Is(err, down) {
			t.Errorf("without %s: Put = %v", key, err)
		}
		if infos, err := o.Steps(t.Context(), "s"); err != nil || len(infos) > 0 {
			t.Errorf("without %s: Steps = %v, %v", key, infos, err)
		}
		f, err := Verify(t.Context(), o, "s")
		must(t, err)
		if !f.Clean() {
			t.Errorf("without %s: damages %v", key, f.Damages)
		}
		h.fail = nil
		err = o.Put(t.Context(), smallStep(1))
		if errors.Is(err, ErrExists) { // the failed put left a part of number 1
			err = o.Put(t.Context(), smallStep(2))
		}
		must(t, err)
		if f, err := Verify(t.Context(), o, "s"); err != nil || !f.Clean() || f.Steps != 1 {
			t.Errorf("without %s, and again: %+v, %v", key, f, err)
		}
	}
}

// A process that was killed between two objects has used its number.
func TestANumberOfAnotherProcessIsPassedOver(t *testing.T) {
	h := newHeap()
	h.objects["s/transcript-pre-compact-001.jsonl"] = "another's"
	o := openHeap(t, h)
	if err := o.Put(t.Context(), smallStep(1)); !errors.Is(err, ErrExists) {
		t.Errorf("Put = %v", err)
	}
	if h.objects["s/transcript-pre-compact-001.jsonl"] != "another's" {
		t.Error("it was overwritten")
	}
	must(t, o.Put(t.Context(), smallStep(2)))
	f, err := Verify(t.Context(), o, "s")
	must(t, err)
	if !f.Clean() || len(f.Notes) != 1 || !strings.Contains(f.Notes[0].File, "heap://s/transcript-pre-compact-001.jsonl") {
		t.Errorf("findings %+v", f)
	}
	p, err := Prune(t.Context(), o, "s", PruneOptions{Keep: 9})
	must(t, err)
	if !slices.Equal(p.Leftovers, []int{1}) || h.objects["s/transcript-pre-compact-001.jsonl"] != "" {
		t.Errorf("pruned %+v", p)
	}
}

func TestEventsOfABucketAreWrittenWithEachStepAndAtTheEnd(t *testing.T) {
	h := newHeap()
	o := openHeap(t, h)
	event := func(o *Objects, n int) { must(t, o.Event(t.Context(), "s", fmt.Appendf(nil, `{"n":%d}`, n))) }
	event(o, 1)
	if len(h.objects) > 0 {
		t.Errorf("an event waited for the bucket: %v", h.puts)
	}
	must(t, o.Put(t.Context(), smallStep(1)))
	event(o, 2)
	must(t, o.Close())
	if got := h.objects["s/events.jsonl"]; got != "{\"n\":1}\n{\"n\":2}\n" {
		t.Errorf("events.jsonl holds %q", got)
	}
	again := openHeap(t, h)
	event(again, 3)
	must(t, again.Close())
	if got := h.objects["s/events-002.jsonl"]; got != "{\"n\":3}\n" {
		t.Errorf("events-002.jsonl holds %q", got)
	}
	last := openHeap(t, h)
	f, err := Verify(t.Context(), last, "s")
	must(t, err)
	if !f.Clean() || f.Events != 3 {
		t.Errorf("findings %+v", f)
	}
}

func TestAFullObjectOfEventsIsFollowedByAnother(t *testing.T) {
	h := newHeap()
	o := openHeap(t, h)
	line := []byte(`{"text":"` + strings.Repeat("x", eventObjectSize/2) + `"}`)
	for n := range 5 {
		must(t, o.Event(t.Context(), "s", line), o.Put(t.Context(), smallStep(n+1)))
	}
	must(t, o.Close())
	for name, lines := range map[string]int{"s/events.jsonl": 2, "s/events-002.jsonl": 2, "s/events-003.jsonl": 1} {
		if got := strings.Count(h.objects[name], "\n"); got != lines {
			t.Errorf("%s has %d lines, want %d", name, got, lines)
		}
	}
}

func TestEventsBeyondTheBoundAreDroppedAndCounted(t *testing.T) {
	h := newHeap()
	o := openHeap(t, h)
	h.fail = func(verb, key string) error { return errors.New("down") }
	line := []byte(`{"text":"` + strings.Repeat("x", 1<<20) + `"}`)
	for range 6 {
		must(t, o.Event(t.Context(), "s", line))
	}
	if o.Dropped() != 3 {
		t.Errorf("%d dropped, want 3", o.Dropped())
	}
	if err := o.Close(); err == nil || !strings.Contains(err.Error(), "3 events were dropped") || !strings.Contains(err.Error(), "archive events of session s") {
		t.Errorf("Close = %v", err)
	}
}

// If a bucket cannot be written to when events are due, it gets them later.
func TestEventsOutliveAnOutage(t *testing.T) {
	h := newHeap()
	o := openHeap(t, h)
	must(t, o.Put(t.Context(), smallStep(1)), o.Event(t.Context(), "s", []byte(`{"n":1}`)))
	h.fail = func(verb, key string) error {
		if strings.Contains(key, "events") {
			return errors.New("down")
		}
		return nil
	}
	must(t, o.Put(t.Context(), smallStep(2)), o.Event(t.Context(), "s", []byte(`{"n":2}`)))
	h.fail = nil
	must(t, o.Close())
	if got := h.objects["s/events.jsonl"]; got != "{\"n\":1}\n{\"n\":2}\n" {
		t.Errorf("events.jsonl holds %q", got)
	}
}

func TestHeadersOfABucketAreReadOnce(t *testing.T) {
	h := newHeap()
	must(t, openHeap(t, h).Put(t.Context(), smallStep(1)))
	o := openHeap(t, h)
	opened := 0
	h.fail = func(verb, key string) error {
		if verb == "open" && key != "s/session.json" { // this file names the newest step
			opened++
		}
		return nil
	}
	for range 3 {
		_, err := o.Steps(t.Context(), "s")
		must(t, err)
	}
	if opened != 1 {
		t.Errorf("%d objects were read for a list of one step, three times", opened)
	}
}

func TestBucketFromTheFuture(t *testing.T) {
	h := newHeap()
	h.objects["archive.json"] = `{"v":9}`
	if _, err := OpenObjects(t.Context(), h); !errors.Is(err, ErrVersion) || !strings.Contains(err.Error(), "heap://archive.json") {
		t.Errorf("OpenObjects: %v", err)
	}
	h.objects = map[string]string{"s/session.json": `{"v":9}`}
	if err := openHeap(t, h).Put(t.Context(), smallStep(1)); !errors.Is(err, ErrVersion) {
		t.Errorf("Put: %v", err)
	}
}

func TestABucketThatOverwritesIsRefused(t *testing.T) {
	o := openHeap(t, careless{newHeap()})
	err := o.Put(t.Context(), smallStep(1))
	if err == nil || !strings.Contains(err.Error(), "If-None-Match") {
		t.Errorf("Put: %v", err)
	}
}

// careless overwrites existing objects.
type careless struct{ *heap }

func (c careless) Put(ctx context.Context, key string, body []byte, _ bool) error {
	return c.heap.Put(ctx, key, body, false)
}
