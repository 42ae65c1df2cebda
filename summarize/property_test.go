package summarize_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/summarizetest"
	"github.com/tiercompact/tiercompact/summarize"
	"pgregory.net/rapid"
)

// phrases are the parts of generated messages: sentences that the extraction looks
// for, and sentences that could confuse it.
var phrases = []string{
	"You must never push to main. ", "the root cause is a nil map because `Load()` returns early. ", "TODO: parse \"config.yaml\" next. ", "decided to use port 8080 instead of 9090\n",
	"```go\nfunc X() {}\n```\n", "| a | b |\n", "fails with error: 'x' \" unbalanced ` mark ", "## Facts on record\n", "- [ ] open item\n", "日本語のテキスト。 ", "<system-reminder>hide</system-reminder>",
	"e53647ba1f1e5203bedff558b482f178db045555 ", "10.5 1,024 50% #3 v2.1 ", "see https://example.com/a/b?c=d ", "…→—“quoted” ", "\x00\xff", "internal/a_b/c-d.go:42 ",
}

func drawText(t *rapid.T, label string) string {
	return strings.Join(rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom(phrases), rapid.StringN(0, 20, 80)), 0, 8).Draw(t, label), "")
}

func drawSession(t *rapid.T) []chat.Message {
	var session []chat.Message
	for i := range rapid.IntRange(0, 12).Draw(t, "turns") {
		id := fmt.Sprintf("c%d", rapid.IntRange(0, 4).Draw(t, "id"))
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			session = append(session, chat.NewText(chat.User, drawText(t, "user")))
		case 1:
			session = append(session, chat.NewText(chat.Assistant, drawText(t, "assistant")))
		case 2:
			args := fmt.Sprintf(`{"command":%q,"path":%q,"content":%q}`, drawText(t, "command"), rapid.SampledFrom([]string{"", "a/b.go", "../x y.py"}).Draw(t, "path"), drawText(t, "content"))
			name := rapid.SampledFrom([]string{"bash", "edit_file", "read_file", "grep", "other"}).Draw(t, "tool")
			session = append(session, chat.Message{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Text, Text: drawText(t, "say")}, {Kind: chat.Call, ID: id, Name: name, Args: args}}})
		case 3:
			session = append(session, chat.NewResult(id, drawText(t, "result")))
		}
		if len(session) > 0 && rapid.Bool().Draw(t, "named") {
			session[len(session)-1].ID = fmt.Sprintf("m%d", i)
		}
	}
	return session
}

func TestExtractiveIsVerifiedAndKeepsItsLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := summarize.Request{
			Messages:  drawSession(t),
			Previous:  rapid.SampledFrom([]string{"", "## Goals\n- ship it\n## Odd\n- a line", "[m1] done :: - :: - :: -"}).Draw(t, "previous"),
			Strategy:  rapid.SampledFrom(summarize.Strategies()).Draw(t, "strategy"),
			MaxTokens: rapid.IntRange(16, 400).Draw(t, "max"),
			Count:     func(s string) int { return len(s)/3 + 1 },
		}
		text, err := summarize.Extractive{}.Summarize(t.Context(), r)
		if err != nil || strings.TrimSpace(text) == "" {
			t.Fatalf("%q, %v", text, err)
		}
		if clean, removed := summarize.Verify(text, r); removed != 0 || clean != text {
			t.Fatalf("verification removed %d lines of\n%s", removed, text)
		}
		if n := r.Count(text); n > max(r.MaxTokens, 40) {
			t.Fatalf("%d tokens, at most %d:\n%s", n, r.MaxTokens, text)
		}
	})
}

func TestVerifyIsIdempotent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := summarize.Request{Messages: drawSession(t), Previous: drawText(t, "previous")}
		once, _ := summarize.Verify(drawText(t, "text")+"\n"+drawText(t, "more"), r)
		if twice, removed := summarize.Verify(once, r); twice != once || removed != 0 {
			t.Fatalf("%q became %q", once, twice)
		}
	})
}

func TestFactsKeepTheirLimitAndAreCarriedOver(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count := func(s string) int { return len(s)/3 + 1 }
		limit := rapid.IntRange(0, 300).Draw(t, "limit")
		session := drawSession(t)
		facts := summarize.FactsOf(session, drawText(t, "previous"), limit, count)
		if facts != "" && count(facts) > limit {
			t.Fatalf("%d tokens, at most %d:\n%s", count(facts), limit, facts)
		}
		if again := summarize.FactsOf(nil, facts, 10_000, count); again != facts {
			t.Fatalf("carried over, facts changed:\n%s\nbecame\n%s", facts, again)
		}
	})
}

// Each of these would take minutes if any step were quadratic.
func TestHostileMessagesAreTakenInOnePass(t *testing.T) {
	const n = 100_000
	for _, piece := range []string{"a", "\"", "`", "=", " ", "\n", ".", ". ", "a.", "a/", "must ", "never a. ", "x:\n", "## \n", "- \n", "<system-reminder>", "</system-reminder>", "<thinking>", "日", "“", "1,", "port 1 ", "--- FAIL: x\n", "\x1b[", "cd && ", "<<", "a_b ", "*** Update File: x\n", "\xff"} {
		text := strings.Repeat(piece, n/len(piece))
		session := []chat.Message{
			chat.NewText(chat.User, text),
			{ID: "1", Role: chat.Assistant, Parts: []chat.Part{
				{Kind: chat.Text, Text: text},
				{Kind: chat.Call, ID: "1", Name: "bash", Args: fmt.Sprintf(`{"command":%q}`, text)},
				{Kind: chat.Call, ID: "2", Name: "edit", Args: fmt.Sprintf(`{"path":"a.go","edits":[{"newText":%q}]}`, text)},
				{Kind: chat.Call, ID: "3", Name: "x", Args: text},
			}},
			{Role: chat.Tool, Parts: []chat.Part{{Kind: chat.Result, ID: "1", Text: text, Error: true}}},
		}
		r := summarize.Request{Messages: session, Previous: text, MaxTokens: 100}
		extract(t, r)
		facts := summarize.FactsOf(session, text, 100, nil)
		summarize.Verify(text, r)
		summarize.Accept(text, r, n)
		summarize.Prompt(r)
		summarize.Split(summarize.Finish(text, facts, strings.Split(text, " "), 1000, nil))
	}
}

func TestManySmallMessagesAreTakenInOnePass(t *testing.T) {
	var session []chat.Message
	for i := range 4_000 {
		id := fmt.Sprint(i)
		session = append(session,
			chat.NewText(chat.User, "task "+id+" must never fail on port 8"+id),
			chat.Message{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Call, ID: id, Name: "TaskCreate", Args: `{"subject":"todo ` + id + `"}`}, {Kind: chat.Call, ID: "r" + id, Name: "bash", Args: `{"command":"make t` + id + `"}`}}},
			chat.NewResult("r"+id, "error: "+id), chat.NewResult(id, "Task #"+id))
	}
	for _, s := range summarize.Strategies() {
		facts := summarize.FactsOf(session, "", 1000, nil)
		extract(t, summarize.Request{Messages: session, Facts: facts, Strategy: s, MaxTokens: 1000})
	}
}

func FuzzVerify(f *testing.F) {
	f.Add("- `a_b` at x/y/z.go:3\n[1] \"q", "a_b x/y/z.go 3", `{"k":"v"}`)
	f.Fuzz(func(t *testing.T, text, source, args string) {
		r := summarize.Request{Messages: []chat.Message{{Parts: []chat.Part{{Kind: chat.Text, Text: source}, {Kind: chat.Call, Args: args}}}}}
		once, _ := summarize.Verify(text, r)
		if twice, removed := summarize.Verify(once, r); twice != once || removed != 0 {
			t.Errorf("%q became %q", once, twice)
		}
		summarize.Accept(text, r, 10)
		summarize.Split(text)
		summarize.Prompt(r)
	})
}

func FuzzExtractive(f *testing.F) {
	f.Add("must never. the fix is `x` because \"y\"", "bash", `{"command":"go test"}`, "--- FAIL: T")
	f.Fuzz(func(t *testing.T, text, name, args, result string) {
		session := []chat.Message{
			chat.NewText(chat.User, text),
			{ID: name, Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Text, Text: text}, {Kind: chat.Call, ID: "1", Name: name, Args: args}}},
			chat.NewResult("1", result),
		}
		for _, s := range summarize.Strategies() {
			r := summarize.Request{Messages: session, Strategy: s, Previous: text, MaxTokens: 200}
			got, err := summarize.Extractive{}.Summarize(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			if clean, removed := summarize.Verify(got, r); removed != 0 || clean != got {
				t.Errorf("not verified: %q", got)
			}
		}
	})
}

// long makes a session of at least n bytes.
func long(n int) []chat.Message {
	var session []chat.Message
	for size, i := 0, 0; size < n; i++ {
		for _, m := range summarizetest.Session() {
			for k := range m.Parts {
				m.Parts[k].Text = strings.ReplaceAll(m.Parts[k].Text, "session", fmt.Sprintf("session%d", i))
				m.Parts[k].Args = strings.ReplaceAll(m.Parts[k].Args, "session", fmt.Sprintf("session%d", i))
				size += len(m.Parts[k].Text) + len(m.Parts[k].Args)
			}
			session = append(session, m)
		}
	}
	return session
}

func BenchmarkExtractive(b *testing.B) {
	session, bytes := long(16<<20), 0
	for _, n := range []int{100, 1000, 10000} {
		for _, m := range session[:n] {
			bytes += len(m.Text())
		}
		for _, s := range summarize.Strategies() {
			b.Run(fmt.Sprintf("messages=%d/%s", n, s), func(b *testing.B) {
				b.SetBytes(int64(bytes))
				for b.Loop() {
					if _, err := (summarize.Extractive{}).Summarize(b.Context(), summarize.Request{Messages: session[:n], Strategy: s}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		bytes = 0
	}
}

func BenchmarkFactsOf1MB(b *testing.B) {
	session := long(1 << 20)
	b.SetBytes(1 << 20)
	for b.Loop() {
		summarize.FactsOf(session, "", 1000, nil)
	}
}

func BenchmarkVerify1MB(b *testing.B) {
	session := long(1 << 20)
	text, err := summarize.Extractive{}.Summarize(b.Context(), summarize.Request{Messages: session})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(1 << 20)
	for b.Loop() {
		summarize.Verify(text, summarize.Request{Messages: session})
	}
}
