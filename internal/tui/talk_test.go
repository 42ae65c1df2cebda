package tui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/model"
	"github.com/tiercompact/tiercompact/summarize"
)

// A turn answers one request.
type turn func(ctx context.Context, r model.Request, each func(model.Delta) error) (model.Answer, error)

// A scripted chatter takes its turns in order, and repeats the last one.
type scripted struct {
	turns []turn
	asked []model.Request
}

func (s *scripted) Chat(ctx context.Context, r model.Request, each func(model.Delta) error) (model.Answer, error) {
	s.asked = append(s.asked, r)
	return s.turns[min(len(s.asked), len(s.turns))-1](ctx, r, each)
}

// says streams a text word by word; the server reports no token count.
func says(text string) turn { return counts(text, 0) }

func counts(text string, prompt int) turn {
	return func(_ context.Context, _ model.Request, each func(model.Delta) error) (model.Answer, error) {
		for _, w := range strings.SplitAfter(text, " ") {
			if err := each(model.Delta{Text: w}); err != nil {
				return model.Answer{}, err
			}
		}
		return model.Answer{Message: chat.NewText(chat.Assistant, text), Done: model.Stopped, PromptTokens: prompt}, nil
	}
}

func fails(err error) turn {
	return func(context.Context, model.Request, func(model.Delta) error) (model.Answer, error) {
		return model.Answer{}, err
	}
}

func calls(parts ...chat.Part) turn {
	for i := range parts {
		parts[i].Kind = chat.Call
	}
	return func(context.Context, model.Request, func(model.Delta) error) (model.Answer, error) {
		return model.Answer{Message: chat.Message{Role: chat.Assistant, Parts: parts}}, nil
	}
}

// opened is a chat in a folder of the test, with its events.
type opened struct {
	*Talk
	chat   *scripted
	events []Event
}

func open(t *testing.T, window int, turns ...turn) *opened {
	t.Helper()
	return reopen(t, Options{Dir: filepath.Join(t.TempDir(), ".compact"), Name: "test", Model: Model{Name: "smol", Window: window, Source: "test"}}, turns...)
}

func reopen(t *testing.T, o Options, turns ...turn) *opened {
	t.Helper()
	s := &scripted{turns: turns}
	o.Chat = s
	o.Config.Preset = cmp.Or(o.Config.Preset, tiercompact.Steady)
	talk, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	x := &opened{Talk: talk, chat: s}
	talk.receive = func(e Event) { x.events = append(x.events, e) }
	t.Cleanup(func() { talk.Close() })
	return x
}

// texts returns the texts of the events of a kind.
func (x *opened) texts(k Kind) []string {
	var out []string
	for _, e := range x.events {
		if e.Kind == k {
			out = append(out, e.Text)
		}
	}
	return out
}

// said returns the roles and texts of the conversation, without the system
// prompt.
func (x *opened) said() []string {
	var out []string
	for _, m := range x.Messages()[1:] {
		out = append(out, string(m.Role)+": "+m.Text())
	}
	return out
}

// checkDisk compares the session file with the conversation.
func (x *opened) checkDisk(t *testing.T) {
	t.Helper()
	s, err := archive.ReadSession(sessionPath(x.o.Dir, x.Name()))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := s.Messages, x.Messages(); !reflect.DeepEqual(got, want) {
		t.Errorf("on disk are %d messages\n%v\nnot the %d of the conversation\n%v", len(got), got, len(want), want)
	}
}

func equal(t *testing.T, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
}

func TestEachMessageIsOnDisk(t *testing.T) {
	x := open(t, 4096, func(ctx context.Context, r model.Request, each func(model.Delta) error) (model.Answer, error) {
		s, err := archive.ReadSession(sessionPath(filepath.Join(t.TempDir(), ".compact"), "test"))
		if err == nil || len(s.Messages) > 0 {
			t.Error("another folder has the session")
		}
		return says("hello yourself")(ctx, r, each)
	})
	if err := x.Do(t.Context(), "hello"); err != nil {
		t.Fatal(err)
	}
	equal(t, x.said(), []string{"user: hello", "assistant: hello yourself"})
	x.checkDisk(t)
	r := x.chat.asked[0]
	if r.Model != "smol" || r.Window != 4096 || len(r.Messages) != 2 || !strings.Contains(string(r.Tools), `"recall"`) {
		t.Errorf("asked for %+v", r)
	}
}

func TestTheServersCountIsLearntBeforeTheAnswerIsAdded(t *testing.T) {
	x := open(t, 4096, counts("four words of answer", 250))
	if err := x.Do(t.Context(), "hello"); err != nil {
		t.Fatal(err)
	}
	// If the answer counted among them, exactly those 250 would be left.
	if n := x.Status().Usage.Tokens; n <= 250 || n > 270 {
		t.Errorf("the conversation has %d tokens, want the 250 that were counted and those of the answer", n)
	}
}

func TestATooLongPromptIsCompactedAndSentOnceMore(t *testing.T) {
	long := fmt.Errorf("chat with smol: %w", model.ErrTooLong)
	tests := []struct {
		name  string
		turns []turn
		asked int
		err   error
	}{
		{"an error, then an answer", []turn{fails(long), says("done")}, 2, nil},
		{"an error twice", []turn{fails(long)}, 2, model.ErrTooLong},
		{"cut silently, then an answer", []turn{counts("beheaded", 20), counts("done", 0)}, 2, nil},
		{"cut silently twice", []turn{counts("done", 20)}, 2, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			x := open(t, 8192, test.turns...)
			source := "package main\n" + strings.Repeat("\nfunc doSomething() error {\n\treturn errors.New(\"nothing was done\")\n}\n", 100)
			if _, err := x.session.AddFile(t.Context(), "main.go", source); err != nil {
				t.Fatal(err)
			}
			for _, text := range []string{"one", "two", "three", "four"} {
				if err := x.session.Load([]chat.Message{chat.NewText(chat.Assistant, "ok"), chat.NewText(chat.User, text)}); err != nil {
					t.Fatal(err)
				}
			}
			x.session.Load([]chat.Message{chat.NewText(chat.Assistant, "ok")})
			err := x.Do(t.Context(), "go on")
			if !errors.Is(err, test.err) {
				t.Errorf("err = %v, want %v", err, test.err)
			}
			if n := len(x.chat.asked); n != test.asked {
				t.Fatalf("asked %d times, want %d", n, test.asked)
			}
			first, second := size(x.chat.asked[0]), size(x.chat.asked[1])
			if second >= first {
				t.Errorf("asked with %d bytes, then with %d", first, second)
			}
			if len(x.texts(Voided)) != 1 || len(x.texts(Compacted)) == 0 {
				t.Errorf("told %d times that it is sent again, and of %d rounds", len(x.texts(Voided)), len(x.texts(Compacted)))
			}
			if last := x.said()[len(x.said())-1]; err == nil && last != "assistant: done" || err != nil && last != "user: go on" {
				t.Errorf("the conversation ends with %q", last)
			}
			x.checkDisk(t)
		})
	}
}

// A server without a window in its requests cuts each prompt to its own.
func TestASmallerWindowOfTheServerIsUsedFromThenOn(t *testing.T) {
	cuts := func(_ context.Context, r model.Request, _ func(model.Delta) error) (model.Answer, error) {
		return model.Answer{Message: chat.NewText(chat.Assistant, "done"), Done: model.Stopped, PromptTokens: min(2048, size(r)/4+100)}, nil
	}
	x := open(t, 8192, cuts)
	source := "package main\n" + strings.Repeat("\nfunc doSomething() error {\n\treturn errors.New(\"nothing was done\")\n}\n", 200)
	if _, err := x.session.AddFile(t.Context(), "main.go", source); err != nil {
		t.Fatal(err)
	}
	for range 4 {
		if err := x.Do(t.Context(), "go on"); err != nil {
			t.Fatal(err)
		}
	}
	if w := x.Status().Model.Window; w != 2048 || x.Status().Usage.Window != 2048 || x.Status().Usage.Tokens > 2048 {
		t.Errorf("the window is %d, usage %+v", w, x.Status().Usage)
	}
	warned := x.texts(Warned)
	if len(warned) != 1 || !strings.Contains(warned[0], "its window is 2,048, not 8,192") || !strings.Contains(warned[0], "--ollama-url") {
		t.Errorf("warned %q", warned)
	}
	if n := len(x.chat.asked); n != 5 || len(x.texts(Voided)) != 1 {
		t.Errorf("asked %d times for 4 answers", n)
	}
}

func size(r model.Request) int {
	n := 0
	for _, m := range r.Messages {
		n += len(m.Text())
	}
	return n
}

func TestAnAnswerToACutPromptIsKeptWhereNothingCanShrink(t *testing.T) {
	x := open(t, 4096, counts("of what I saw", 20))
	if err := x.Do(t.Context(), "hello"); err != nil {
		t.Fatal(err)
	}
	if w := x.texts(Warned); len(w) != 1 || !strings.Contains(w[0], "may miss") {
		t.Errorf("warned %q", w)
	}
	equal(t, x.said(), []string{"user: hello", "assistant: of what I saw"})
}

func TestASlowServerIsToldOfOnce(t *testing.T) {
	reads := func(spent time.Duration) turn {
		return func(context.Context, model.Request, func(model.Delta) error) (model.Answer, error) {
			return model.Answer{Message: chat.NewText(chat.Assistant, "yes"), Done: model.Stopped, PromptTime: spent}, nil
		}
	}
	x := open(t, 4096, reads(19*time.Second), reads(450*time.Second))
	for range 4 {
		if err := x.Do(t.Context(), "hello"); err != nil {
			t.Fatal(err)
		}
	}
	if told := x.texts(Noted); len(told) != 1 || !strings.Contains(told[0], "smol took 7m30s to read the prompt") || !strings.Contains(told[0], "--num-thread") {
		t.Errorf("told %q", told)
	}
}

func TestNothingToShrinkIsSaid(t *testing.T) {
	x := open(t, 4096, fails(model.ErrTooLong))
	err := x.Do(t.Context(), "hello")
	if !errors.Is(err, model.ErrTooLong) || !strings.Contains(err.Error(), "larger window") || len(x.chat.asked) != 1 {
		t.Errorf("err = %v after %d requests", err, len(x.chat.asked))
	}
}

func TestAStoppedAnswerIsKept(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	x := open(t, 4096, func(ctx context.Context, _ model.Request, each func(model.Delta) error) (model.Answer, error) {
		each(model.Delta{Thinking: "hm"})
		each(model.Delta{Text: "half an "})
		stop()
		return model.Answer{}, each(model.Delta{Text: "answer"})
	}, says("the whole answer"))
	if err := x.Do(ctx, "hello"); !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v", err)
	}
	equal(t, x.said(), []string{"user: hello", "assistant: half an answer\n\n" + stoppedMark})
	x.checkDisk(t)
	if err := x.Do(t.Context(), "/retry"); err != nil {
		t.Error(err)
	}
	asked := x.chat.asked[1].Messages
	if last := asked[len(asked)-1]; last.Text() != "hello" {
		t.Errorf("/retry asks with %q at the end, which a server would continue", last.Text())
	}
	equal(t, x.said(), []string{"user: hello", "assistant: the whole answer"})
	x.checkDisk(t)
}

func TestABrokenAnswerIsKept(t *testing.T) {
	x := open(t, 4096, func(_ context.Context, _ model.Request, each func(model.Delta) error) (model.Answer, error) {
		each(model.Delta{Text: "half an"})
		return model.Answer{}, model.ErrGarbled
	}, fails(model.ErrUnreachable))
	if err := x.Do(t.Context(), "hello"); !errors.Is(err, model.ErrGarbled) {
		t.Errorf("err = %v", err)
	}
	if err := x.Do(t.Context(), "and now?"); !errors.Is(err, model.ErrUnreachable) {
		t.Errorf("err = %v", err)
	}
	equal(t, x.said(), []string{"user: hello", "assistant: half an\n\n" + brokenMark, "user: and now?"})
	x.checkDisk(t)
}

func TestAnEmptyAnswerIsNoMessage(t *testing.T) {
	for _, parts := range [][]chat.Part{nil, {{Kind: chat.Text, Text: " \n"}}, {{Kind: chat.Thinking, Text: "hm"}}} {
		x := open(t, 4096, func(context.Context, model.Request, func(model.Delta) error) (model.Answer, error) {
			return model.Answer{Message: chat.Message{Parts: parts}}, nil
		})
		if err := x.Do(t.Context(), "hello"); !errors.Is(err, errSilent) {
			t.Errorf("%v: err = %v", parts, err)
		}
		equal(t, x.said(), []string{"user: hello"})
	}
}

func TestCallsAreAnswered(t *testing.T) {
	x := open(t, 4096,
		calls(chat.Part{Name: "recall", Args: `{"id":"00000000"}`}, chat.Part{ID: "a", Name: "recall", Args: `{"text":7}`},
			chat.Part{ID: "b", Name: "rm", Args: `{}`}, chat.Part{ID: "c", Name: "recall", Args: `{}`}),
		says("never mind"))
	if err := x.Do(t.Context(), "what was it?"); err != nil {
		t.Fatal(err)
	}
	equal(t, x.said()[2:], []string{
		`tool: no removed text has the id "00000000"; ids have eight digits, as in "recall 3f9a1c2e"; give words in "text" to search instead: not found`,
		`tool: recall takes an object such as {"text":"words to search for"} or {"id":"3f9a1c2e"}; "text" must be a string`,
		`tool: there is no tool "rm"; there are: recall`,
		`tool: recall takes an object such as {"text":"words to search for"} or {"id":"3f9a1c2e"}; it needs a text, an id or a file`,
		"assistant: never mind",
	})
	for _, p := range chat.Check(x.Messages()) {
		t.Error(p)
	}
	x.checkDisk(t)
}

func TestAModelThatOnlyCallsComesToAnEnd(t *testing.T) {
	x := open(t, 32768, calls(slices.Repeat([]chat.Part{{Name: "recall", Args: `{"text":"x"}`}}, 50)...))
	if err := x.Do(t.Context(), "go"); !errors.Is(err, errSilent) {
		t.Errorf("err = %v", err)
	}
	if n := len(x.chat.asked); n != maxTurns {
		t.Errorf("asked %d times, want %d", n, maxTurns)
	}
	if last := x.chat.asked[maxTurns-1]; last.Tools != nil {
		t.Error("the last request has tools")
	}
	if n := len(x.Messages()); n > 2+maxTurns*(maxCalls+1) {
		t.Errorf("%d messages", n)
	}
}

func TestAModelWithoutToolsIsAskedWithout(t *testing.T) {
	x := open(t, 4096, fails(model.ErrCannot), says("hello"))
	if err := x.Do(t.Context(), "hi"); err != nil {
		t.Fatal(err)
	}
	if x.chat.asked[0].Tools == nil || x.chat.asked[1].Tools != nil || x.Status().Usage.Tools != 0 {
		t.Error("the second request, or the count, has tools")
	}
}

func TestWhatIsRemovedIsRecalled(t *testing.T) {
	x := open(t, 4096, says("noted"))
	if err := x.Do(t.Context(), "the vault's number is 40417, remember it well"); err != nil {
		t.Fatal(err)
	}
	for i := range 12 {
		if err := x.Do(t.Context(), fmt.Sprintf("%d: %s", i, strings.Repeat("tell me more of the sea and its ships ", 5))); err != nil {
			t.Fatal(err)
		}
	}
	if err := x.Do(t.Context(), "/compact keep the number"); err != nil {
		t.Fatal(err)
	}
	x.chat.turns, x.chat.asked = []turn{calls(chat.Part{ID: "r", Name: "recall", Args: `{"text":"sea ships"}`}), says("of the sea")}, nil
	if err := x.Do(t.Context(), "what did I ask?"); err != nil {
		t.Fatal(err)
	}
	said := x.said()
	if got := said[len(said)-2]; !strings.Contains(got, "tell me more of the sea") {
		t.Errorf("recall gives %q", got)
	}
}

// A patient summarizer reports its progress, and ends with its context.
type patient struct{ began func() }

func (p patient) Summarize(ctx context.Context, r summarize.Request) (string, error) {
	if r.Progress != nil {
		r.Progress(summarize.Progress{Step: "chunk", Call: 1, Of: 3})
	}
	p.began()
	<-ctx.Done()
	return "", ctx.Err()
}

func TestALongSummaryTellsItsProgressAndCanBeStopped(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	x := reopen(t, Options{
		Dir: filepath.Join(t.TempDir(), ".compact"), Name: "test", Model: Model{Name: "smol", Window: 4096},
		Config: tiercompact.Config{Summary: tiercompact.SummaryConfig{Summarizer: patient{stop}, Name: "patient"}},
	}, says(strings.Repeat("an answer of some length ", 20)))
	for range 8 {
		if err := x.Do(ctx, strings.Repeat("a question of some length ", 20)); err != nil {
			t.Fatal(err)
		}
	}
	before := x.Messages()
	if err := x.Do(ctx, "/compact"); !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v", err)
	}
	if !reflect.DeepEqual(x.Messages(), before) {
		t.Error("the conversation is not as it was")
	}
	at := slices.IndexFunc(x.events, func(e Event) bool { return e.Kind == Summaries })
	if at < 0 || x.events[at].Progress.Of != 3 {
		t.Error("no progress was told")
	}
	x.checkDisk(t)
}

func TestResumedAsItWas(t *testing.T) {
	x := open(t, 2048, says(strings.Repeat("an answer of some length ", 12)))
	for i := 0; i < 24 && x.Status().Level == ""; i++ {
		if err := x.Do(t.Context(), fmt.Sprintf("question %d %s", i, strings.Repeat("about this and that ", 5))); err != nil {
			t.Fatal(err)
		}
	}
	before, status := x.Messages(), x.Status()
	if status.Level == "" || status.Cooldown == 0 {
		t.Fatal("nothing was compacted")
	}
	o := x.o
	if _, err := Open(t.Context(), o); !errors.Is(err, archive.ErrExists) && !errors.Is(err, archive.ErrLocked) {
		t.Errorf("a second chat of the same name: err = %v", err)
	}
	o.Resume = true
	if _, err := Open(t.Context(), o); !errors.Is(err, archive.ErrLocked) || !strings.Contains(err.Error(), "end that chat") {
		t.Errorf("a second process: err = %v", err)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	y := reopen(t, o, says("hello again"))
	if !reflect.DeepEqual(y.Messages(), before) {
		t.Error("the messages are not those that were there")
	}
	if got := y.Status(); got.Cooldown != status.Cooldown || got.Level != status.Level || len(y.texts(Compacted)) > 0 {
		t.Errorf("status %+v, was %+v", got, status)
	}
	if err := y.Do(t.Context(), "/undo"); err != nil {
		t.Errorf("undo after resume: %v", err)
	}
}

func TestCallsThatAKillLeftOpenAreAnswered(t *testing.T) {
	x := open(t, 4096, says("so it is"))
	open := chat.Message{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Call, ID: "q", Name: "recall", Args: `{"text":"x"}`}}}
	if err := x.session.Load([]chat.Message{chat.NewText(chat.User, "hi"), open}); err != nil {
		t.Fatal(err)
	}
	if err := x.Do(t.Context(), "go on"); err != nil {
		t.Fatal(err)
	}
	for _, p := range chat.Check(x.Messages()) {
		if p.Severity == chat.SeverityError {
			t.Error(p)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	good := Model{Name: "smol", Window: 4096}
	for want, o := range map[string]Options{
		"--window":             {Dir: dir, Model: Model{Name: "smol"}},
		"plain file name":      {Dir: dir, Model: good, Name: "../x"},
		"another with --dir":   {Dir: file, Model: good},
		"no such file":         {Dir: dir, Model: good, Name: "x", Resume: true},
		"plain file name, too": {Dir: dir, Model: good, Name: "", Resume: true},
	} {
		want, _, _ = strings.Cut(want, ", too")
		if _, err := Open(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("err = %v, want one with %q", err, want)
		}
	}
	t.Run("another chat's folder", func(t *testing.T) {
		dir := t.TempDir()
		lock, err := archive.OpenDir(filepath.Join(dir, "archive"), archive.DirOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer lock.Close()
		if _, err := Open(t.Context(), Options{Dir: dir, Model: good, Name: "second"}); !errors.Is(err, archive.ErrLocked) || !strings.Contains(err.Error(), "--dir") {
			t.Errorf("err = %v", err)
		}
		if names, err := Saved(dir); err != nil || len(names) > 0 {
			t.Errorf("a session that never began is there: %v, %v", names, err)
		}
	})
	if _, err := SavedMeta(dir, "gone", false); err == nil || !strings.Contains(err.Error(), "there are: none") {
		t.Errorf("err = %v", err)
	}
}

// full fails every write.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestAnAnswerThatCannotBeWrittenIsAnError(t *testing.T) {
	l := lineChat{out: full{}, notes: io.Discard, watched: true}
	l.printEvent(Event{Kind: Streamed, Delta: model.Delta{Text: "hi"}})
	if l.failed == nil || !strings.Contains(l.failed.Error(), "no space left") {
		t.Errorf("err = %v", l.failed)
	}
}
