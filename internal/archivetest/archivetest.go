// Package archivetest checks that a store keeps the contract of [archive.Store].
package archivetest

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/edit"
)

// Check returns every violation of [archive.Store] by the stores that open returns.
// It opens one after the other; each must begin empty or with the content of the
// one before.
func Check(ctx context.Context, open func() archive.Store) error {
	var errs []error
	for _, c := range []struct {
		name  string
		check func(context.Context, archive.Store) error
	}{
		{"a store without steps", checkEmpty},
		{"what was put comes back", checkRoundTrip},
		{"a number is taken once", checkNoOverwriting},
		{"what is no step is refused", checkRefusals},
		{"the newest entry is recalled", checkNewest},
		{"sessions are apart", checkSessions},
		{"events are lines of JSON", checkEvents},
		{"a cancelled context stops", checkCancelled},
		{"concurrent use", checkConcurrent},
	} {
		if err := checkAndClose(ctx, open(), c.check); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", c.name, err))
		}
	}
	if err := checkReopened(ctx, open); err != nil {
		errs = append(errs, fmt.Errorf("reopening: %w", err))
	}
	return errors.Join(errs...)
}

func checkAndClose(ctx context.Context, s archive.Store, check func(context.Context, archive.Store) error) error {
	err := check(ctx, s)
	if again := errors.Join(s.Close(), s.Close()); again != nil {
		err = errors.Join(err, fmt.Errorf("close, twice: %w", again))
	}
	if _, used := s.Steps(ctx, "any"); !errors.Is(used, archive.ErrClosed) {
		err = errors.Join(err, fmt.Errorf("use after Close: %v, want ErrClosed", used))
	}
	return err
}

// Step returns a step with everything that a step can hold.
func Step(session string, number int) archive.Step {
	source := &chat.Source{Format: "openai", JSON: `{"role":"user", "z": 1,"content":"a \ud83d <b>"}`, Count: 2}
	before := chat.Transcript{
		{ID: "s", Role: chat.System, Protected: true, Parts: []chat.Part{{Kind: chat.Text, Text: "rules & <tags>"}}},
		{ID: "u", Role: chat.User, Parts: []chat.Part{{Kind: chat.Text, Text: "not UTF-8: \xff\xfe, and é"}}, Source: source},
		{ID: "v", Role: chat.User, Machine: true, Parts: []chat.Part{{Kind: chat.Image, Image: &chat.Picture{MediaType: "image/png", Data: "aGk=", Width: 3}}}, Source: source, Index: 1},
		{ID: "a", Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Call, ID: "1", Name: "read", Args: `{"path":"a.go"}`, Raw: `{"x": 1}`}}},
		{ID: "t", Role: chat.Tool, Parts: []chat.Part{{Kind: chat.Result, ID: "1", Text: "line\r\n\u2028", Error: true}}},
		{ID: "e", Role: chat.Assistant, State: chat.Outlined, Changed: true, Recall: "r0"},
	}
	marker := chat.Message{ID: "m", Role: chat.Assistant, State: chat.Marked, Recall: "m1", Parts: []chat.Part{{Kind: chat.Text, Text: "2 messages"}}}
	return archive.Step{
		Session: session,
		Number:  number,
		Before:  before,
		Removed: []archive.Entry{
			{ID: fmt.Sprintf("r%d", number), Messages: before[1:3:3], Below: []string{"r0"}},
			{ID: "same", Messages: before[4:5:5], Text: fmt.Sprintf("of step %d", number)},
		},
		Summary: json.RawMessage(`{"goals":["<ship>"]}`),
		Edits:   edit.Round{Seen: 6, Sum: edit.Sum(before), Steps: [][]edit.Edit{{{Start: 1, End: 3, New: []chat.Message{marker}, Why: "old"}}, {}}},
		Reason:  "usage", Level: "hard", Note: "by hand",
		Time:    time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC),
		Written: archive.NewWritten([]archive.Reading{{Format: "openai", Messages: before}}, []archive.Reading{{Messages: slices.Concat(before[1:], before[:1])}}),
	}
}

func checkEmpty(ctx context.Context, s archive.Store) error {
	infos, err := s.Steps(ctx, "nobody")
	if err != nil || len(infos) != 0 {
		return fmt.Errorf("list steps: %v, %w; want none, no error", infos, err)
	}
	_, getErr := s.Get(ctx, "nobody", 1)
	_, recallErr := s.Recall(ctx, "nobody", "r1")
	return errors.Join(wantError(getErr, archive.ErrNotFound, "get"), wantError(recallErr, archive.ErrNotFound, "recall"))
}

func wantError(got, want error, what string) error {
	if errors.Is(got, want) {
		return nil
	}
	return fmt.Errorf("%s: %v, want %w", what, got, want)
}

func checkRoundTrip(ctx context.Context, s archive.Store) error {
	step := Step("round trip", 1)
	if err := s.Put(ctx, step); err != nil {
		return err
	}
	bare := archive.Step{Session: "round trip", Number: 3, Undoes: 1, Time: step.Time}
	if err := s.Put(ctx, bare); err != nil {
		return fmt.Errorf("a step without messages: %w", err)
	}
	return errors.Join(compareStep(ctx, s, step), compareStep(ctx, s, bare), checkInfos(ctx, s, step))
}

func checkInfos(ctx context.Context, s archive.Store, step archive.Step) error {
	infos, err := s.Steps(ctx, step.Session)
	if err != nil || len(infos) != 2 || infos[0].Number != 1 || infos[1].Number != 3 {
		return fmt.Errorf("list steps: %v, %w; want 1 and 3", infos, err)
	}
	first := archive.StepInfo{
		Session: step.Session, Number: 1, Messages: 6, Entries: []string{"r1", "same"}, Reason: "usage", Level: "hard",
		Note: "by hand", Time: step.Time, Summary: true, Written: step.Written,
	}
	if !reflect.DeepEqual(infos[0], first) {
		return fmt.Errorf("list steps: %+v, want %+v", infos[0], first)
	}
	if infos[1].Undoes != 1 || infos[1].Summary {
		return fmt.Errorf("list steps: %+v, want one that undoes 1", infos[1])
	}
	e, err := s.Recall(ctx, step.Session, "r1")
	if err != nil || !reflect.DeepEqual(e, step.Removed[0]) {
		return fmt.Errorf("recall: %+v, %w; want %+v", e, err, step.Removed[0])
	}
	_, err = s.Recall(ctx, step.Session, "r9")
	return wantError(err, archive.ErrNotFound, "recall an unknown id")
}

// compareStep reports where the result of Get differs from step, byte for byte.
func compareStep(ctx context.Context, s archive.Store, step archive.Step) error {
	got, err := s.Get(ctx, step.Session, step.Number)
	if err != nil {
		return err
	}
	var a, b bytes.Buffer
	if err := errors.Join(archive.EncodeTranscript(&a, got.Before), archive.EncodeTranscript(&b, step.Before)); err != nil {
		return err
	}
	if !bytes.Equal(a.Bytes(), b.Bytes()) {
		return fmt.Errorf("step %d: transcript %s, want %s", step.Number, a.Bytes(), b.Bytes())
	}
	if !got.Time.Equal(step.Time) {
		return fmt.Errorf("step %d: time %v, want %v", step.Number, got.Time, step.Time)
	}
	got.Before, got.Time = step.Before, step.Time
	if !reflect.DeepEqual(got, step) {
		return fmt.Errorf("step %d: %+v, want %+v", step.Number, got, step)
	}
	return nil
}

func checkNoOverwriting(ctx context.Context, s archive.Store) error {
	first, second := Step("taken", 1), Step("taken", 1)
	second.Level = "soft"
	if err := s.Put(ctx, first); err != nil {
		return err
	}
	return errors.Join(wantError(s.Put(ctx, second), archive.ErrExists, "put again"), compareStep(ctx, s, first))
}

func checkRefusals(ctx context.Context, s archive.Store) error {
	var errs []error
	for name, spoil := range map[string]func(*archive.Step){
		"no session":         func(s *archive.Step) { s.Session = "" },
		"an id not UTF-8":    func(s *archive.Step) { s.Session = "\xff" },
		"number 0":           func(s *archive.Step) { s.Number = 0 },
		"an id twice":        func(s *archive.Step) { s.Removed[1].ID = s.Removed[0].ID },
		"an empty id":        func(s *archive.Step) { s.Removed[0].ID = "" },
		"a summary not JSON": func(s *archive.Step) { s.Summary = json.RawMessage("{") },
	} {
		step := Step("refused", 1)
		spoil(&step)
		if s.Put(ctx, step) == nil {
			errs = append(errs, fmt.Errorf("a step with %s was put", name))
		}
	}
	infos, err := s.Steps(ctx, "refused")
	if len(infos) > 0 {
		err = fmt.Errorf("refused steps are there: %v", infos)
	}
	return errors.Join(append(errs, err)...)
}

func checkNewest(ctx context.Context, s archive.Store) error {
	for _, n := range []int{1, 3, 2} {
		if err := s.Put(ctx, Step("newest", n)); err != nil {
			return err
		}
	}
	e, err := s.Recall(ctx, "newest", "same")
	if err == nil && e.Text != "of step 3" {
		err = fmt.Errorf("recall gives the entry %s", e.Text)
	}
	return err
}

func checkSessions(ctx context.Context, s archive.Store) error {
	ids := []string{"plain", "a/b", "../up", "a b", "con", "NUL.txt", ".", "..", "é", "x\x00y", "s~x", string(bytes.Repeat([]byte("long"), 500))}
	for i, id := range ids {
		if err := s.Put(ctx, Step(id, i+1)); err != nil {
			return fmt.Errorf("session %q: %w", id, err)
		}
	}
	for i, id := range ids {
		infos, err := s.Steps(ctx, id)
		if err != nil || len(infos) != 1 || infos[0].Number != i+1 {
			return fmt.Errorf("session %q: %v, %w; want step %d", id, infos, err, i+1)
		}
	}
	return nil
}

func checkEvents(ctx context.Context, s archive.Store) error {
	var errs []error
	for _, line := range []string{`{"v":1}`, "{\"name\":\n\"x\"}\n"} {
		errs = append(errs, s.Event(ctx, "events", []byte(line)))
	}
	for _, line := range []string{"", "{", "1", "{}{}"} {
		if s.Event(ctx, "events", []byte(line)) == nil {
			errs = append(errs, fmt.Errorf("the event %q was taken", line))
		}
	}
	if s.Event(ctx, "", []byte("{}")) == nil {
		errs = append(errs, errors.New("an event without a session was taken"))
	}
	return errors.Join(errs...)
}

func checkCancelled(ctx context.Context, s archive.Store) error {
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	_, stepsErr := s.Steps(ctx, "cancelled")
	_, getErr := s.Get(ctx, "cancelled", 1)
	return errors.Join(
		wantError(s.Put(ctx, Step("cancelled", 1)), context.Canceled, "put"),
		wantError(stepsErr, context.Canceled, "list steps"),
		wantError(getErr, context.Canceled, "get"),
		wantError(s.Event(ctx, "cancelled", []byte("{}")), context.Canceled, "add event"),
	)
}

// checkConcurrent makes writers compete for numbers: each number is used once.
func checkConcurrent(ctx context.Context, s archive.Store) error {
	const writers, numbers = 4, 6
	var wg sync.WaitGroup
	var mu sync.Mutex
	taken := make(map[int]int)
	var errs []error
	for w := range writers {
		wg.Go(func() {
			for n := 1; n <= numbers; n++ {
				err := s.Put(ctx, Step("race", n))
				_, readErr := s.Recall(ctx, "race", fmt.Sprintf("r%d", n))
				eventErr := s.Event(ctx, "race", fmt.Appendf(nil, `{"writer":%d}`, w))
				mu.Lock()
				if err == nil {
					taken[n]++
				} else if !errors.Is(err, archive.ErrExists) {
					errs = append(errs, err)
				}
				errs = append(errs, readErr, eventErr)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for n := 1; n <= numbers; n++ {
		if taken[n] != 1 {
			errs = append(errs, fmt.Errorf("number %d was taken %d times", n, taken[n]))
		}
	}
	return errors.Join(errs...)
}

// checkReopened checks that a store that survives Close still has everything.
func checkReopened(ctx context.Context, open func() archive.Store) error {
	s := open()
	step := Step("reopened", 1)
	if err := errors.Join(s.Put(ctx, step), s.Close()); err != nil {
		return err
	}
	s = open()
	defer s.Close()
	infos, err := s.Steps(ctx, "reopened")
	if err != nil || len(infos) == 0 {
		return err
	}
	return errors.Join(compareStep(ctx, s, step), wantError(s.Put(ctx, step), archive.ErrExists, "put a number that is taken"))
}

// Texts returns the content of the files below an archive's folder, by path below
// it: unchanged, or decompressed. It is for tests of what must not be in an
// archive.
func Texts(root string) (map[string]string, error) {
	texts := make(map[string]string)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		inflated := []byte(nil)
		switch filepath.Ext(path) {
		case ".pack":
			inflated, err = inflateFrames(b)
		case ".gz":
			inflated, err = inflate(bytes.NewReader(b))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		texts[filepath.ToSlash(name)] = string(b) + string(inflated)
		return nil
	})
	return texts, err
}

func inflate(r io.Reader) ([]byte, error) {
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

// inflateFrames returns the text of each frame of a pack: a line that begins with
// ~~ and ends with a length and a hash, followed by that number of bytes of
// deflate.
func inflateFrames(b []byte) (text []byte, err error) {
	frames := 0
	for len(b) > 0 {
		line, rest, ok := bytes.Cut(b, []byte("\n"))
		words := bytes.Fields(line)
		var length int
		if ok && len(words) == 6 && string(words[0]) == "~~" {
			_, err = fmt.Sscan(string(words[4]), &length)
		}
		if err != nil || length <= 0 || length >= len(rest) {
			return nil, fmt.Errorf("frame %d is not whole", frames+1)
		}
		part, err := io.ReadAll(flate.NewReader(bytes.NewReader(rest[:length])))
		if err != nil {
			return nil, fmt.Errorf("frame %d: %w", frames+1, err)
		}
		text, b = append(text, part...), rest[length+1:]
		frames++
	}
	if frames < 2 {
		return nil, errors.New("it has no frames")
	}
	return text, nil
}
