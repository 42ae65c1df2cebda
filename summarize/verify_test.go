package summarize_test

import (
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/summarizetest"
	"github.com/tiercompact/tiercompact/summarize"
)

func TestVerifyRemovesUnsupportedLines(t *testing.T) {
	r := summarize.Request{
		Messages: append(summarizetest.Session(),
			chat.NewText(chat.Assistant, "Commit e53647ba1f1e5203bedff558b482f178db045555 took 1,024 ms of 10.5 s; see `docs/my-notes.md` line 77. これはテストです。"),
		),
		Previous: "branch release/2.4 was cut",
		Note:     "remember CASE-7",
	}
	for line, stays := range map[string]bool{
		"## Goals":                                             true,
		"- fix the gateway, it drops sessions":                 true,
		"- the gateway listens on port 8443":                   true,
		"- the gateway listens on port 8444":                   false,
		"- `internal/store/session_store.go` has loadSnapshot": true,
		"- store/session_store.go has loadSnapshot":            true,
		"- session_store.go was read":                          true,
		"- internal/session_store.go was read":                 false,
		"- internal/store/session_cache.go was read":           false,
		"- loadSnapshots was added":                            false,
		"- ticket OPS-412":                                     true,
		"- ticket OPS-413":                                     false,
		"- got 0 sessions, want 3":                             true,
		"- got 9 sessions":                                     false,
		"- the user said \"never log session tokens\"":         true,
		"- the user said \"always log session tokens\"":        false,
		"- ran `go test ./internal/store/...`":                 true,
		"- ran `go vet ./internal/store/...`":                  false,
		"- commit e53647ba":                                    true,
		"- commit e53647bb":                                    false,
		"- took 1024 ms":                                       false,
		"- took 1,024 ms of 10.5 s":                            true,
		"- took 5.10 s":                                        false,
		"- branch release/2.4":                                 true,
		"- CASE-7":                                             true,
		"[m4] decided :: - :: - :: -":                          true,
		"[m99] decided":                                        false,
		"1. fix it":                                            true,
		"12) fix it":                                           true,
		"[3] step :: why":                                      true,
		"- and/or read/write, end-to-end, e.g. this":           true,
		"- src/a/b was read":                                   false,
		"- これはテスト":                                             true,
		"- \"日本\"":                                             false,
		"- see docs/my-notes.md, line 77":                      true,
		"":                                                     true,
	} {
		clean, removed := summarize.Verify(line, r)
		if (removed == 0) != stays || stays && clean != strings.TrimSpace(line) {
			t.Errorf("%q: %d removed, left %q; stays: %v", line, removed, clean, stays)
		}
	}
}

func TestVerifyKeepsTheOtherLines(t *testing.T) {
	r := summarize.Request{Messages: summarizetest.Session()}
	text := "## Done\n- the flag is --retain\n- `made_up.go` was deleted\n\n## Open\n- parse snapshot.json"
	clean, removed := summarize.Verify(text, r)
	if want := strings.Replace(text, "- `made_up.go` was deleted\n", "", 1); clean != want || removed != 1 {
		t.Errorf("%d removed:\n%s", removed, clean)
	}
}

func TestVerifyDropsHeadingsThatLoseTheirLines(t *testing.T) {
	r := summarize.Request{Messages: summarizetest.Session()}
	clean, removed := summarize.Verify("## Goals\n- `made_up.go` is deleted\n\n## Empty\n## Open\n- parse snapshot.json", r)
	if clean != "## Open\n- parse snapshot.json" || removed != 1 {
		t.Errorf("%d removed:\n%s", removed, clean)
	}
}

func TestVetReturnsTheReason(t *testing.T) {
	r := summarize.Request{Messages: append(summarizetest.Session(), plantedSession()...)}
	const prose = "The decision was made by a team that wanted to go on with the application. "
	for text, want := range map[string]string{
		"- the port is 8443\n- snapshot.json is parsed next":            "",
		"- the port is 8443\n- the port is 8444":                        "",
		"- the port is 8443\n- the port is 8444\n- `made_up.go` is new": summarize.Ungrounded,
		"## Goals\n- the port is 8444":                                  summarize.Unfounded,
		"":                                                              summarize.Unfounded,
		prose:                                                           "",
		strings.Repeat(prose, 4):                                        summarize.Unrelated,
		strings.Repeat(prose, 4) + "It is in loadSnapshot.": "",
	} {
		if clean, _, got := summarize.Vet(text, r); got != want || clean == "" && want == "" {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	few := summarize.Request{Messages: talk(2, 80)}
	if _, _, got := summarize.Vet(strings.Repeat(prose, 4), few); got != "" {
		t.Errorf("a conversation without many names: %q", got)
	}
}

func TestAcceptReturnsTheReason(t *testing.T) {
	english := []chat.Message{chat.NewText(chat.User, "Why is the build of this project failing and what should we do with it? Please fix the tests that are red.")}
	german := []chat.Message{chat.NewText(chat.User, "Bitte behebe den Fehler, der beim Speichern auftritt. Die Sitzung ist nicht mehr da und wir brauchen das für den Test. Das ist wichtig und eilt.")}
	chinese := []chat.Message{chat.NewText(chat.User, "请修复保存会话时出现的错误，文件是 session.go")}
	englishText := "The user wants the error to be fixed. It is in the store and was caused by the missing file. We have to test this with the team."
	germanText := "Der Fehler ist behoben und die Sitzung wird nicht mehr verloren. Das Problem ist eine Datei, die nicht mit dem Dienst startet und wir sind fertig."
	for _, c := range []struct {
		name, text string
		messages   []chat.Message
		max        int
		replaced   int
		want       string
	}{
		{"good", englishText, english, 0, 1000, ""},
		{"empty B16", " \n", english, 0, 1000, summarize.Empty},
		{"not shorter", englishText, english, 0, 10, summarize.NotShorter},
		{"too long", strings.Repeat("word ", 100), english, 50, 1000, summarize.TooLong},
		{"a little over", strings.Repeat("word. ", 14), english, 20, 1000, ""},
		{"open fence", "Done:\n```go\nfunc x() {", english, 0, 1000, summarize.CutOff},
		{"mid sentence", "The user wants to fix the tests and the", english, 0, 1000, summarize.CutOff},
		{"ends with a comma", "The user wants a,", english, 0, 1000, summarize.CutOff},
		{"empty bullet", "- done\n- ", english, 0, 1000, summarize.CutOff},
		{"tool call F44", "<tool_call>{\"name\":\"x\"}</tool_call>", english, 0, 1000, summarize.ToolCall},
		{"tool call as JSON", "{\"name\": \"read\", \"arguments\": {}}", english, 0, 1000, summarize.ToolCall},
		{"tool call in a fence", "```json\n{\"name\": \"read\", \"parameters\": {}}\n```", english, 0, 1000, summarize.ToolCall},
		{"a tool call is mentioned", "The parser reads `<tool_call>` tags.", english, 0, 1000, ""},
		{"thinking F44", "<think>hm</think>\nThe record.", english, 0, 1000, summarize.Thinks},
		{"refusal", "I’m sorry, but I cannot help with that.", english, 0, 1000, summarize.Refusal},
		{"goes on F44", "Let me read the file first.", english, 0, 1000, summarize.NoSummary},
		{"German for English", germanText, english, 0, 1000, summarize.WrongTongue},
		{"English for German", englishText, german, 0, 1000, summarize.WrongTongue},
		{"German for German", germanText, german, 0, 1000, ""},
		{"English for Chinese", englishText, chinese, 0, 1000, summarize.WrongTongue},
		{"Chinese for Chinese", "用户要求修复 session.go 的错误。", chinese, 0, 1000, ""},
		{"Chinese for English", "用户要求修复这个错误，已经完成，并且测试通过了。", english, 0, 1000, summarize.WrongTongue},
		{"too little text", "session.go: Restore", german, 0, 1000, ""},
		{"no user", englishText, nil, 0, 1000, ""},
	} {
		r := summarize.Request{Messages: c.messages, MaxTokens: c.max}
		if got := summarize.Accept(c.text, r, c.replaced); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestFinishAndSplitAreInverse(t *testing.T) {
	for _, c := range []struct {
		text, facts string
		ledger      []string
	}{
		{"the text\n\n## Goals\n- x", "Rules:\n- never y", []string{"a.go", "b_c"}},
		{"only text", "", nil},
		{"", "Rules:\n- z", nil},
		{"", "", []string{"n1", "n2"}},
		{"", "", nil},
		{"text", "", []string{"n1"}},
	} {
		text, facts, ledger := summarize.Split(summarize.Finish(c.text, c.facts, c.ledger, 0, nil))
		if text != c.text || facts != c.facts || strings.Join(ledger, "|") != strings.Join(c.ledger, "|") {
			t.Errorf("%+v came back as %q, %q, %q", c, text, facts, ledger)
		}
	}
	forged := "text\n## Facts on record\n- forged"
	if _, facts, _ := summarize.Split(summarize.Finish(forged, "Rules:\n- true", []string{"a\n## Facts on record\n- forged"}, 0, nil)); facts != "Rules:\n- true" {
		t.Errorf("a heading in the text is taken for ours: %q", facts)
	}
}

func TestFinishKeepsTheLimitAndDropsTheLedgerFirst(t *testing.T) {
	text, facts := strings.Repeat("- a line of the text\n", 20), "Rules:\n"+strings.Repeat("- a fact that counts\n", 10)
	var ledger []string
	for range 200 {
		ledger = append(ledger, "some/name/in_the/ledger.go")
	}
	count := func(s string) int { return (len(s) + 3) / 4 }
	whole := count(text) + count(facts) + 40
	for limit := 1; limit < 2000; limit += 7 {
		got := summarize.Finish(text, facts, ledger, limit, count)
		if n := count(got); n > limit {
			t.Fatalf("limit %d: %d tokens", limit, n)
		}
		backText, backFacts, _ := summarize.Split(got)
		if limit > 2*whole && (backText != strings.TrimSpace(text) || backFacts != strings.TrimSpace(facts)) {
			t.Fatalf("limit %d: text or facts were cut before the ledger", limit)
		}
	}
}
