package summarize_test

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/model"
	"github.com/tiercompact/tiercompact/internal/summarizetest"
	"github.com/tiercompact/tiercompact/summarize"
)

func TestInvalidSummariesAreRejected(t *testing.T) {
	call := model.Answer{Message: chat.Message{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Call, Name: "bash", Args: "{}"}}}}
	thought := model.Answer{Message: chat.Message{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Thinking, Text: "hm"}}}}
	cut := saying("The gateway drops sessions, and the next step is to")
	cut.Done = model.CutOff
	whole := saying("The gateway drops sessions. The test fails.")
	whole.Done = model.CutOff
	for name, c := range map[string]struct {
		answer model.Answer
		want   string
	}{
		"a tool call":                  {call, summarize.ToolCall},
		"thinking alone":               {thought, summarize.Thinks},
		"nothing":                      {saying(" \n"), summarize.Empty},
		"only a tag":                   {saying("<think>hm</think>"), summarize.Empty},
		"cut off":                      {cut, summarize.CutOff},
		"cut off at the end of a line": {whole, summarize.CutOff},
		"far too long":                 {saying(strings.Repeat("abcdefgh 0123 ", 40_000)), summarize.TooLong},
	} {
		text, err := (&summarize.Model{Chat: &server{answer: always(c.answer)}, Name: "fake"}).Summarize(t.Context(), summarize.Request{Messages: summarizetest.Session(), MaxTokens: 100})
		var rejected summarize.Rejection
		if !errors.As(err, &rejected) || string(rejected) != c.want || text != "" {
			t.Errorf("%s: %q, error %v", name, text, err)
		}
	}
}

func TestTextAroundARecordIsRemoved(t *testing.T) {
	const record = "## Goals\n- the gateway keeps its sessions (m1)\n\n## Outstanding\n- loadSnapshot reads no file (m8)"
	for name, text := range map[string]string{
		"as it is":            record,
		"thinking":            "<think>\nThe user wants…\n</think>\n\n" + record,
		"thinking, half":      "The user wants…\n</think>\n" + record,
		"a fence":             "```markdown\n" + record + "\n```",
		"a greeting":          "Here is the record of the session:\n\n" + record,
		"our fence":           "===== record\n" + record + "\n===== end of record",
		"a line twice":        record + "\n- loadSnapshot reads no file (m8).",
		"an empty section":    record + "\n\n## Sources\n\n## Entities\n",
		"the example":         strings.Replace(record, "\n\n", "\n- never touch the valve_table (x3)\n\n", 1),
		"the form":            strings.Replace(record, "\n\n", "\n- What the user wants, and when it is done\n\n", 1),
		"a sentence, doubled": strings.Replace(record, "- loadSnapshot reads no file (m8)", "- loadSnapshot reads no file (m8)\n- loadSnapshot reads no file (m8)", 1),
	} {
		got, err := (&summarize.Model{Chat: &server{answer: always(saying(text))}, Name: "fake"}).Summarize(t.Context(), summarize.Request{Messages: summarizetest.Session(), MaxTokens: 200})
		if err != nil || got != record {
			t.Errorf("%s:\n%s\nerror %v", name, got, err)
		}
	}
	open := "<think>\nThe user wants"
	if got, err := (&summarize.Model{Chat: &server{answer: always(saying(open))}, Name: "fake"}).Summarize(t.Context(), summarize.Request{Messages: summarizetest.Session()}); err != nil || summarize.Accept(got, summarize.Request{}, 1000) != summarize.Thinks {
		t.Errorf("thinking that is not closed: %q, error %v", got, err)
	}
	tag := "The parser drops what stands before `</think>` in a text."
	if got, err := (&summarize.Model{Chat: &server{answer: always(saying(tag))}, Name: "fake"}).Summarize(t.Context(), summarize.Request{Messages: summarizetest.Session()}); err != nil || got != tag {
		t.Errorf("a tag that is mentioned: %q, error %v", got, err)
	}
}

func TestAModelThatRepeatsItselfIsStopped(t *testing.T) {
	const first = "- the gateway drops sessions after a deploy\n- the test fails: got 0 sessions\n"
	endless := saying(first + strings.Repeat("- the next step is to parse snapshot.json\n", 300) + "- the next st")
	endless.Done = model.CutOff
	prose := saying("The gateway drops sessions after a deploy. " + strings.Repeat("The next step is to parse snapshot.json. It is in loadSnapshot now. ", 100))
	prose.Done = model.CutOff
	for _, c := range []struct {
		answer model.Answer
		want   string
	}{
		{endless, first + "- the next step is to parse snapshot.json"},
		{prose, "The gateway drops sessions after a deploy. The next step is to parse snapshot.json. It is in loadSnapshot now."},
	} {
		for piece := 1; piece < 200; piece += 13 {
			s := &server{answer: always(c.answer), piece: piece}
			got, err := (&summarize.Model{Chat: s, Name: "fake"}).Summarize(t.Context(), summarize.Request{Messages: summarizetest.Session(), MaxTokens: 400})
			if err != nil || got != c.want {
				t.Errorf("pieces of %d bytes:\n%s\nerror %v", piece, got, err)
			}
		}
	}
}

func TestACutAnswerIsUsedIfItOnlyRepeatedItself(t *testing.T) {
	again := saying("The gateway drops sessions.\nThe next step is this.\n" + strings.Repeat("Go on now. Go on now. ", 60) + "Go o")
	for _, again.Done = range []model.Done{model.CutOff, model.Looped} {
		got, err := (&summarize.Model{Chat: &server{answer: always(again), piece: 1 << 20}, Name: "fake"}).Summarize(t.Context(), summarize.Request{Messages: summarizetest.Session(), MaxTokens: 100})
		if err != nil || !strings.HasPrefix(got, "The gateway drops sessions.\nThe next step is this.") || len(got) > 120 {
			t.Errorf("%s: %q, error %v", again.Done, got, err)
		}
	}
}

func FuzzAnyAnswerIsTidied(f *testing.F) {
	f.Add("## Goals\n- the port is 8443 (m1)\n")
	f.Add("<think>x</think>\n```\n- a line that is said\n- a line that is said\n```")
	f.Add("Go on now, please do. Go on now, please do. Go on")
	f.Add("\xa20") // an invalid byte is read as U+FFFD, which has three
	f.Fuzz(func(t *testing.T, text string) {
		m := func(s string) *summarize.Model {
			return &summarize.Model{Chat: &server{answer: always(saying(s)), piece: 7}, Name: "fake"}
		}
		r := summarize.Request{Messages: summarizetest.Session(), MaxTokens: 400}
		got, err := m(text).Summarize(t.Context(), r)
		if err != nil {
			return
		}
		if got == "" || utf8.RuneCountInString(got) > utf8.RuneCountInString(text) || strings.TrimSpace(got) != got {
			t.Errorf("%q became %q", text, got)
		}
		if again, err := m(got).Summarize(t.Context(), r); err == nil && utf8.RuneCountInString(again) > utf8.RuneCountInString(got) {
			t.Errorf("%q, then %q", got, again)
		}
	})
}
