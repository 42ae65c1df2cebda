package recall

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
)

func calling(id, tool, args string) chat.Part {
	return chat.Part{Kind: chat.Call, ID: id, Name: tool, Args: args}
}

// codeSession returns a store with a session of calls and results, each an entry.
func codeSession(t *testing.T, before chat.Transcript, messages ...chat.Message) *IndexedStore {
	t.Helper()
	step := archive.Step{Session: "s", Number: 1}
	for i, m := range messages {
		m.ID = fmt.Sprintf("m%d", i+1)
		step.Before = append(step.Before, m)
		step.Removed = append(step.Removed, archive.Entry{ID: fmt.Sprintf("%08x", i+1), Messages: chat.Transcript{m}})
	}
	step.Before = append(step.Before, before...)
	store := Indexed(archive.NewMemory(), "")
	must(t, store.Put(t.Context(), step))
	return store
}

// readOf returns the call that reads a file, and its result with numbered lines.
func readOf(id, path string, lines ...string) []chat.Message {
	var b strings.Builder
	for i, line := range lines {
		fmt.Fprintf(&b, "%6d→%s\n", i+1, line)
	}
	return []chat.Message{{Role: chat.Assistant, Parts: []chat.Part{calling(id, "Read", `{"file_path":"`+path+`"}`)}}, chat.NewResult(id, b.String())}
}

func answer(t *testing.T, store *IndexedStore, q Query) string {
	t.Helper()
	r, err := store.Search(t.Context(), []string{"s"}, q)
	must(t, err, r.Damaged)
	return r.Text()
}

func TestTheDefinitionOfANameIsFirst(t *testing.T) {
	uses := strings.Repeat("total = refund_for(order) + refund_for(other)\n", 12)
	messages := append(readOf("a", "shop/report.py", strings.Split(uses, "\n")...), readOf("b", "shop/pricing.py", "import math", "", "def refund_for(order):", "    return order.paid - order.fee", "")...)
	messages = append(messages, readOf("c", "shop/late.py", strings.Split(uses, "\n")...)...)
	store := codeSession(t, nil, messages...)
	if text := answer(t, store, Query{Text: "refund_for"}); !strings.Contains(text, "def refund_for") || strings.Index(text, "def refund_for") > strings.Index(text, "total = ") {
		t.Errorf("the definition is not first:\n%s", text)
	}
}

func TestLinesOfAFileHaveNoNumbersButTheHeadingHas(t *testing.T) {
	store := codeSession(t, nil, readOf("a", "store.go", "package store", "", "func Open() error {", "\treturn nil", "}")...)
	text := answer(t, store, Query{Text: "func Open"})
	if !strings.Contains(text, "\nfunc Open() error {\n\treturn nil\n}\n") {
		t.Errorf("the text is not as in the file:\n%s", text)
	}
	mixed := codeSession(t, nil, chat.NewText(chat.User, "look"), calls("x"), chat.NewResult("x", "   12→counted\nnot counted\n"))
	if text := answer(t, mixed, Query{Text: "counted"}); !strings.Contains(text, "12→counted") {
		t.Errorf("a text that only looks numbered was changed:\n%s", text)
	}
}

func calls(id string) chat.Message {
	return chat.Message{Role: chat.Assistant, Parts: []chat.Part{calling(id, "bash", `{"command":"show"}`)}}
}

func TestTheNewTextOfAnEditIsBeforeTheOld(t *testing.T) {
	edit := chat.Message{Role: chat.Assistant, Parts: []chat.Part{calling("e", "Edit", `{"file_path":"lease.go","old_string":"func lease() {\n\tkeepInMemory(lease)\n}","new_string":"func lease() {\n\tkeepInRedis(lease)\n}"}`)}}
	text := answer(t, codeSession(t, nil, edit, chat.NewResult("e", "ok")), Query{Text: "update lease in lease.go"})
	if !strings.Contains(text, "keepInRedis") {
		t.Errorf("the new text is not found:\n%s", text)
	} else if r, _ := codeSession(t, nil, edit, chat.NewResult("e", "ok")).Search(t.Context(), []string{"s"}, Query{Text: "update lease in lease.go", Max: 1}); strings.Contains(r.Text(), "keepInMemory") {
		t.Errorf("the replaced text is the best hit:\n%s", r.Text())
	}
}

func TestEachCallOfAMessageHasItsOwnFile(t *testing.T) {
	both := chat.Message{Role: chat.Assistant, Parts: []chat.Part{
		{Kind: chat.Text, Text: "I write both files."},
		calling("1", "Write", `{"file_path":"docs/install.md","content":"Install it with make.\nThen run it."}`),
		calling("2", "Write", `{"file_path":"src/parser.go","content":"package parser\n\nfunc Parse() {}\n"}`)}}
	store := codeSession(t, nil, both, chat.NewResult("1", "written"), chat.NewResult("2", "written"))
	r, err := store.Search(t.Context(), []string{"s"}, Query{Text: "Parse", File: "parser.go"})
	must(t, err)
	if len(r.Hits) == 0 || r.Hits[0].File != "src/parser.go" || !strings.Contains(r.Hits[0].Text, "func Parse") || strings.Contains(r.Hits[0].Text, "Install") {
		t.Errorf("hits of parser.go: %+v", r.Hits)
	}
}

// Of several passages with the words of a query, the one that the conversation is about
// is first.
func TestTheContextDecidesBetweenEqualPassages(t *testing.T) {
	region := func(name string) []string {
		var lines []string
		for i := range 40 {
			lines = append(lines, fmt.Sprintf("\t%s.step%d(ctx, options)", name, i))
		}
		return append([]string{"", "func run" + name + "() {"}, append(lines, "}")...)
	}
	file := append(append(append([]string{"package jobs"}, region("Invoice")...), region("Shipment")...), region("Refund")...)
	store := codeSession(t, chat.Transcript{chat.NewText(chat.User, "The Shipment steps have the wrong options.")}, readOf("a", "jobs.go", file...)...)
	text := answer(t, store, Query{Text: "Let me fix jobs.go", Tokens: 500})
	if !strings.Contains(text, "runShipment") {
		t.Errorf("the archive's conversation is about Shipment:\n%s", text)
	}
	if text := answer(t, store, Query{Text: "Let me fix jobs.go", Context: "Refund is wrong", Tokens: 500}); !strings.Contains(text, "runRefund") {
		t.Errorf("the context is about Refund:\n%s", text)
	}
}

func TestHitsOfOneMessageAreTogether(t *testing.T) {
	var file []string
	for i := range 12 {
		file = append(file, "", fmt.Sprintf("func part%d() {", i))
		for k := range 12 {
			file = append(file, fmt.Sprintf("\tlease.renew(%d, %d) // keeps the lease of the worker", i, k))
		}
		file = append(file, "}")
	}
	store := codeSession(t, nil, readOf("a", "lease.go", file...)...)
	r, err := store.Search(t.Context(), []string{"s"}, Query{Text: "lease of the worker", Tokens: 3000})
	must(t, err)
	if text := r.Text(); len(r.Hits) < 3 || strings.Count(text, "Read lease.go") > 2 {
		t.Errorf("%d hits, and the heading again and again:\n%s", len(r.Hits), text)
	}
	if n := (Query{}).count(r.Text()); n > 3000 {
		t.Errorf("%d tokens", n)
	}
}

func TestAPatchInALiteralHasLines(t *testing.T) {
	patch := `const patch = "*** Begin Patch\n*** Update File: src/main.rs\n@@\n-    let port = 8080;\n+    let port = config.port();\n*** End Patch\n"; text(await tools.apply_patch(patch));`
	m := chat.Message{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Call, ID: "1", Name: "exec", Args: patch}}}
	if text := textOf(m); !strings.Contains(text, "\n+    let port = config.port();\n") {
		t.Errorf("the patch is one line:\n%s", text)
	}
	m.Parts[0] = calling("1", "Write", `{"file_path":"a.go","content":"x := \"one\\ntwo\\nthree\\nfour\\nfive and a very long line, so that it would be taken for a patch if it were not the content of a file\""}`)
	if text := textOf(m); !strings.Contains(text, `one\ntwo`) {
		t.Errorf("the content of a file was changed:\n%s", text)
	}
}

func TestALongMessageIsPrintedToAWholeLine(t *testing.T) {
	var lines []string
	for i := range 200 {
		lines = append(lines, fmt.Sprintf("line %d of the log of the server", i+1))
	}
	e := Entry{ID: "00000001", Messages: []Message{{Number: 3, Title: "message 3, user", Message: chat.NewText(chat.User, strings.Join(lines, "\n"))}}}
	q := Query{Tokens: 100}
	text, more, err := e.PrintMessage(3, q, false)
	must(t, err)
	if !strings.HasPrefix(text, "== message 3, user\nline 1 of") || !strings.HasSuffix(text, "server\n") || !strings.HasSuffix(more, "of 200") || q.count(text) > 100 {
		t.Errorf("%q: %s", more, text)
	}
	if text, more, err := e.PrintMessage(3, q, true); err != nil || more != "" || !strings.Contains(text, "line 200 of") {
		t.Errorf("full: %q, %v", more, err)
	}
}

func TestTheBeginningOfAnIDIsEnough(t *testing.T) {
	store := searched(t, entry("3f9a1c2e", "one"), entry("3f9b0000", "two"))
	for prefix, want := range map[string]int{"3f9a": 1, "3f9": 2, "beef": 0} {
		if ids, err := store.IDsWith(t.Context(), []string{"s"}, prefix); err != nil || len(ids) != want {
			t.Errorf("%s: %v, %v", prefix, ids, err)
		}
	}
}
