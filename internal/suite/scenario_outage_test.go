package suite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	tiercompact "github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/levels"
	"github.com/tiercompact/tiercompact/summarize"
	"github.com/tiercompact/tiercompact/trace"
)

// A modelUnderTest answers or fails on demand.
type modelUnderTest struct {
	asked int
	err   error
}

func (m *modelUnderTest) Summarize(ctx context.Context, r summarize.Request) (string, error) {
	m.asked++
	if m.err != nil {
		return "", m.err
	}
	return summarize.Extractive{}.Summarize(ctx, r)
}

func (m *modelUnderTest) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	m.asked++
	if m.err != nil {
		return nil, m.err
	}
	return scored{}.Embed(ctx, texts)
}

// tooMuch brings a session over its budget with the next message.
func tooMuch(t *testing.T, s *tiercompact.Session, salt int) tiercompact.Report {
	t.Helper()
	fill(t, s, 0, turns(fmt.Sprint("t", salt, "-"), 6, 120)...)
	return add(t, s, said(chat.User, max(20, 9000-s.Usage().Tokens), salt))
}

func whyOf(r tiercompact.Report) string {
	if len(r.Applied) == 0 {
		return ""
	}
	return r.Applied[0].Why
}

func TestAModelThatFailedIsLeftOutForAWhileThatDoubles(t *testing.T) {
	for _, failure := range []error{errors.New("connection refused"), context.DeadlineExceeded} {
		m := &modelUnderTest{err: failure}
		cfg := tiercompact.Config{Window: 10000, Summary: tiercompact.SummaryConfig{Summarizer: m, Name: "small"}}
		heard := hearing(&cfg)
		s := loaded(t, cfg, turns("", 10, 400)...)
		if r := tooMuch(t, s, 1); m.asked != 1 || r.Applied[0].Fallback != levels.FallbackExtractive {
			t.Fatalf("asked %d times, %+v", m.asked, r.Applied)
		}
		// Each round comes with 13 messages: the outages of 3, 6, 12 are over by
		// the next, those of 24 and 48 not.
		for i, want := range []int{2, 3, 4, 4, 5, 5, 5, 5, 6} {
			before := m.asked
			r := tooMuch(t, s, 2+i)
			if out := strings.Contains(whyOf(r), "small failed when it was last asked"); m.asked != want || !r.Compacted() || out != (m.asked == before) {
				t.Errorf("%v, round %d: asked %d times, want %d; why %q", failure, i+2, m.asked, want, whyOf(r))
			}
		}
		m.err = nil
		fill(t, s, 0, turns("h", 12, 200)...)
		if _, err := s.Compact(t.Context(), ""); err != nil || m.asked != 7 { // manual: it is called again
			t.Errorf("%v: by hand: asked %d times, %v", failure, m.asked, err)
		}
		if r := tooMuch(t, s, 99); m.asked != 8 || r.Applied[0].Engine != "small" { // and has answered
			t.Errorf("%v: after an answer: asked %d times, %+v", failure, m.asked, r.Applied)
		}
		events := eventsOf[trace.LevelApplied](*heard)
		if !slices.ContainsFunc(events, func(l trace.LevelApplied) bool { return strings.Contains(l.Why, "asked again after") }) {
			t.Errorf("%v: the trace does not say why", failure)
		}
	}
}

func TestCooldownLeavesOutFailedModelsOnly(t *testing.T) {
	m := &modelUnderTest{}
	s := loaded(t, tiercompact.Config{Window: 10000, Summary: tiercompact.SummaryConfig{Summarizer: m, Name: "small"}}, turns("", 10, 400)...)
	over := func(salt int) tiercompact.Report { return add(t, s, said(chat.User, 9200-s.Usage().Tokens, salt)) }
	for i := range 3 { // each message is over the budget, in the cooldown of the one before
		if r := over(100 + i); m.asked != i+1 || r.Applied[0].Engine != "small" {
			t.Errorf("message %d: asked %d times, %+v", i, m.asked, r.Applied)
		}
	}
	m.err = errors.New("500")
	for i, want := range []int{4, 4, 4, 5} {
		if i == 3 { // more than a model is not asked for
			fill(t, s, 0, turns("more", 2, 300)...)
		}
		if r := over(200 + i); m.asked != want {
			t.Errorf("message %d after a failure: asked %d times, want %d; %q", i, m.asked, want, whyOf(r))
		}
	}
}

func TestAnAnswerThatIsNoSummaryIsNoFailure(t *testing.T) {
	asked := 0
	s := loaded(t, tiercompact.Config{Window: 10000, Summary: tiercompact.SummaryConfig{Name: "small", Summarizer: summarizer(func(context.Context, summarize.Request) (string, error) {
		asked++
		return "I'm sorry, I cannot help with that.", nil
	})}}, turns("", 10, 400)...)
	tooMuch(t, s, 1)
	before := asked
	if add(t, s, said(chat.User, 9200-s.Usage().Tokens, 2)); asked == before {
		t.Error("a model that refused once is not asked any more")
	}
}

func TestAnEmbedderThatFailedIsLeftOutForAWhile(t *testing.T) {
	m := &modelUnderTest{err: errors.New("no such model")}
	s := loaded(t, tiercompact.Config{Window: 10000, Level: levels.HardName, Embed: tiercompact.EmbedConfig{Embedder: m, Name: "vectors"}}, turns("", 10, 300)...)
	ranked := func(salt int) tiercompact.Report {
		fill(t, s, 7000)
		return compactedNow(t, s, salt)
	}
	var asked []int
	for i := range 6 {
		ranked(i)
		asked = append(asked, m.asked)
	}
	if want := []int{1, 2, 2, 3, 3, 3}; !slices.Equal(asked, want) {
		t.Errorf("asked %v times, want %v", asked, want)
	}
}

// compactedNow adds messages of 10 tokens until a round is made.
func compactedNow(t *testing.T, s *tiercompact.Session, salt int) tiercompact.Report {
	t.Helper()
	for i := range 9 {
		if r := add(t, s, said([]chat.Role{chat.User, chat.Assistant}[i%2], 10, 300+10*salt+i)); r.Compacted() {
			return r
		}
	}
	t.Fatal("no round is made")
	return tiercompact.Report{}
}

func TestPreflightsOfOneIDRememberFailedModels(t *testing.T) {
	m := &modelUnderTest{err: errors.New("connection refused")}
	c, err := tiercompact.New(tiercompact.Config{Window: 10000, Policy: tiercompact.PolicyConfig{HardCapBuffer: tiercompact.Tokens(0)}, Count: quarter, Summary: tiercompact.SummaryConfig{Summarizer: m, Name: "small"}})
	if err != nil {
		t.Fatal(err)
	}
	in := pairs(20, 9000)
	for i, want := range []int{1, 1, 2} { // another conversation each time, of 20, 21 and 23 messages
		in[4] = said(in[4].Role, 225, 500+i)
		if _, r, err := c.Preflight(t.Context(), "x", in); err != nil || !r.Compacted() || m.asked != want {
			t.Errorf("request %d: asked %d times, want %d; %q, %v", i, m.asked, want, r.Reason, err)
		}
		for range i + 1 {
			in = append(in, said(chat.Assistant, 10, 600+len(in)))
		}
	}
}

// An unwritable store returns an error on demand.
type unwritable struct {
	archive.Store
	broken bool
	puts   int
}

func (u *unwritable) Put(ctx context.Context, s archive.Step) error {
	u.puts++
	if u.broken {
		return errors.New("no space left on device")
	}
	return u.Store.Put(ctx, s)
}

func TestWhileTheArchiveCannotBeWrittenNoModelIsAskedAgain(t *testing.T) {
	for _, optional := range []bool{false, true} {
		m, store := &modelUnderTest{}, &unwritable{Store: archive.NewMemory(), broken: true}
		cfg := tiercompact.Config{Window: 10000, Count: quarter, Summary: tiercompact.SummaryConfig{Summarizer: m, Name: "small"}, Archive: store, ArchiveOptional: optional}
		c, err := tiercompact.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		s := c.Session("x")
		fill(t, s, 9100, turns("", 10, 400)...) // over the budget of 8,750
		before := s.Messages()
		for i := range 9 { // asked at 0, and after 3 messages, by the old step and by one of the conversation as it is then
			r, err := s.AddMessage(t.Context(), said(chat.User, 10, 700+i))
			if told := err != nil && strings.Contains(err.Error(), "no space left"); told == optional || r.Compacted() || optional && len(r.Warnings) != 1 {
				t.Errorf("message %d: %v, warnings %q", i, err, r.Warnings)
			}
		}
		if got := s.Messages(); m.asked != 1 || store.puts != 3 || len(got) != len(before)+9 {
			t.Errorf("the model was asked %d times, the archive %d; %d messages of %d", m.asked, store.puts, len(got), len(before)+9)
		}
		store.broken = false
		r, err := s.AddMessage(t.Context(), said(chat.User, 10, 800)) // 3 + 6 messages are over
		if err != nil || !r.Compacted() || m.asked != 2 || r.Applied[0].Engine != "small" {
			t.Errorf("the archive is well again: %+v, asked %d times, %v", r.Applied, m.asked, err)
		}
		if _, err := s.Undo(t.Context()); err != nil {
			t.Error(err)
		}
		if err := held(before, s.Messages()); err != nil {
			t.Error(err)
		}
	}
}

func TestAPreflightAsksTheArchiveBeforeAModelToo(t *testing.T) {
	m, store := &modelUnderTest{}, &unwritable{Store: archive.NewMemory(), broken: true}
	c, err := tiercompact.New(tiercompact.Config{Window: 10000, Policy: tiercompact.PolicyConfig{HardCapBuffer: tiercompact.Tokens(0)}, Count: quarter, Summary: tiercompact.SummaryConfig{Summarizer: m}, Archive: store})
	if err != nil {
		t.Fatal(err)
	}
	in := pairs(20, 9000)
	for i := range 5 {
		if out, _, err := c.Preflight(t.Context(), "x", in); err == nil || len(out) != len(in) || m.asked != 1 {
			t.Errorf("request %d: asked %d times, %v", i, m.asked, err)
		}
		in = append(in, said(chat.User, 10, i))
	}
	for i := range 4 {
		in = append(in, said(chat.User, 10, 100+i))
	}
	store.broken = false
	for range 2 {
		if _, _, err := c.Preflight(t.Context(), "x", in); err != nil || m.asked != 2 {
			t.Errorf("the archive is well again: asked %d times, %v", m.asked, err)
		}
	}
}
