// Package chattest makes random conversations for tests: with parallel calls,
// calls without results, results without calls, ids that repeat, tools of the
// API's server, blocks that are not understood, empty contents, images and
// thinking.
package chattest

import (
	"encoding/json"
	"fmt"
	"strings"

	"pgregory.net/rapid"

	"github.com/tiercompact/tiercompact/chat"
)

// Transcript draws a conversation of at most max messages.
func Transcript(t *rapid.T, max int) chat.Transcript {
	g := &generator{t: t}
	n := rapid.IntRange(1, max).Draw(t, "messages")
	if rapid.Bool().Draw(t, "system") {
		g.add(chat.NewText(chat.System, g.text(200)))
	}
	for len(g.out) < n {
		g.step()
	}
	return g.out
}

type generator struct {
	t     *rapid.T
	out   chat.Transcript
	calls int
}

func (g *generator) one(label string, of ...int) int { return rapid.SampledFrom(of).Draw(g.t, label) }

func (g *generator) chance(percent int) bool {
	return rapid.IntRange(1, 100).Draw(g.t, "chance") <= percent
}

func (g *generator) add(m chat.Message) {
	m.Protected = m.Protected || g.chance(3)
	g.out = append(g.out, m)
}

func (g *generator) step() {
	switch g.one("kind", 0, 0, 1, 1, 1, 2, 2, 2, 2, 2, 3, 4, 5, 6, 7, 8) {
	case 0:
		m := chat.NewText(chat.User, g.text(300))
		if g.chance(10) {
			m.Parts = append(m.Parts, g.image())
		}
		g.add(m)
	case 1:
		m := chat.Message{Role: chat.Assistant}
		if g.chance(20) {
			m.Parts = append(m.Parts, chat.Part{Kind: chat.Thinking, Text: g.text(200)})
		}
		m.Parts = append(m.Parts, chat.Part{Kind: chat.Text, Text: g.text(300)})
		g.add(m)
	case 2:
		g.group()
	case 3:
		m := chat.NewText(chat.User, "<system-reminder>"+g.text(80)+"</system-reminder>")
		m.Machine = true
		g.add(m)
	case 4: // a result that nothing asked for
		g.add(chat.NewResult(fmt.Sprintf("lost%d", g.calls), g.text(100)))
	case 5:
		g.add(chat.NewText(rapid.SampledFrom([]chat.Role{chat.System, chat.Developer, chat.User, chat.Assistant}).Draw(g.t, "role"), ""))
	case 6:
		m := chat.NewText(chat.User, "<file path=\"a/b.go\">\n"+g.code(400)+"\n</file>")
		m.Machine = true
		g.add(m)
	case 7:
		g.server()
	case 8:
		m := chat.NewText(rapid.SampledFrom([]chat.Role{chat.User, chat.Assistant}).Draw(g.t, "role"), g.text(600))
		m.Parts = append(m.Parts, chat.Part{Kind: chat.Opaque, Text: g.text(300), Raw: `{"type":"new_block"}`})
		g.add(m)
	}
}

// server draws an assistant message with a call to a tool of the server. Its
// result stands beside it, or in the next assistant message where the turn was
// paused or code on the server called a tool of the client; or it is missing.
func (g *generator) server() {
	g.calls++
	id := fmt.Sprintf("s%d", g.calls)
	result := chat.Part{Kind: chat.ServerResult, ID: id, Text: g.result(), Raw: `{"type":"web_search_tool_result"}`}
	m := chat.Message{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.ServerCall, ID: id, Name: "web_search", Args: `{"query":"a"}`, Raw: `{"type":"server_tool_use"}`}}}
	switch g.one("way", 0, 0, 0, 1, 2, 3, 4) {
	case 0:
		m.Parts = append(m.Parts, result, chat.Part{Kind: chat.Text, Text: g.text(300)})
		g.add(m)
	case 1:
		g.add(m)
		g.add(chat.Message{Role: chat.Assistant, Parts: []chat.Part{result, {Kind: chat.Text, Text: g.text(300)}}})
	case 2:
		call := g.call(id + "t")
		m.Parts = append(m.Parts, call)
		g.add(m)
		g.add(chat.NewResult(call.ID, g.result()))
		g.add(chat.Message{Role: chat.Assistant, Parts: []chat.Part{result}})
	case 3:
		g.add(m)
	case 4:
		g.add(chat.Message{Role: chat.Assistant, Parts: []chat.Part{result}})
	}
}

// group draws an assistant message with calls, and results for most of them.
func (g *generator) group() {
	m := chat.Message{Role: chat.Assistant}
	if g.chance(30) {
		m.Parts = append(m.Parts, chat.Part{Kind: chat.Thinking, Text: g.text(100)})
	}
	if g.chance(50) {
		m.Parts = append(m.Parts, chat.Part{Kind: chat.Text, Text: g.text(100)})
	}
	var ids []string
	for range g.one("parallel", 1, 1, 1, 2, 3) {
		g.calls++
		id := fmt.Sprintf("c%d", g.calls)
		if g.chance(15) {
			id = "c1" // ids repeat in real logs
		}
		ids = append(ids, id)
		m.Parts = append(m.Parts, g.call(id))
	}
	g.add(m)
	if g.chance(20) { // results come in the order of completion
		ids[0], ids[len(ids)-1] = ids[len(ids)-1], ids[0]
	}
	for _, id := range ids {
		if g.chance(4) {
			continue // it was never answered
		}
		r := chat.NewResult(id, g.result())
		if g.chance(5) {
			r.Parts = append(r.Parts, g.image())
		}
		g.add(r)
	}
}

func (g *generator) call(id string) chat.Part {
	p := chat.Part{Kind: chat.Call, ID: id}
	path := fmt.Sprintf("pkg/file%d.go", g.one("file", 1, 2, 3, 4))
	var args any
	switch g.one("tool", 0, 0, 1, 2, 3) {
	case 0:
		p.Name, args = "read", map[string]any{"path": path}
	case 1:
		p.Name, args = "write", map[string]any{"path": path, "content": g.code(400)}
	case 2:
		p.Name, args = "edit", map[string]any{"file_path": path, "old_string": g.code(100), "new_string": g.code(100)}
	case 3:
		p.Name, args = "bash", map[string]any{"command": "go test ./..."}
	}
	raw, err := json.Marshal(args)
	if err != nil {
		g.t.Fatal(err)
	}
	p.Args = string(raw)
	if g.chance(3) {
		p.Args = p.Args[:len(p.Args)/2] // a model was cut off
	}
	return p
}

func (g *generator) result() string {
	switch g.one("result", 0, 1, 1, 2, 3) {
	case 0:
		return ""
	case 1:
		return g.code(g.one("size", 50, 400, 2000))
	case 2:
		return "--- FAIL: TestThing (0.00s)\n" + g.text(300) + "\nFAIL\tpkg/thing\t0.01s"
	}
	return g.text(g.one("size", 20, 200, 3000))
}

func (g *generator) image() chat.Part {
	return chat.Part{Kind: chat.Image, Image: &chat.Picture{MediaType: "image/png", Data: strings.Repeat("iVBORw0K", g.one("bytes", 1, 400))}}
}

var words = strings.Fields("the parser reads a_token from src/parse.go and getNextToken fails with error 42 because cfg.Window is 日本語 🙂 naïve `loadConfig` TODO must never drop deadbeef1234 PROJ-17 done")

// text draws about n bytes of words.
func (g *generator) text(n int) string {
	var b strings.Builder
	n = rapid.IntRange(1, n).Draw(g.t, "bytes")
	k := rapid.IntRange(0, len(words)-1).Draw(g.t, "word")
	for b.Len() < n {
		b.WriteString(words[k])
		b.WriteByte(' ')
		k = (k*7 + 3) % len(words)
	}
	return b.String()
}

// code draws about n bytes of Go.
func (g *generator) code(n int) string {
	var b strings.Builder
	b.WriteString("package thing\n\nimport \"fmt\"\n")
	for k := rapid.IntRange(0, 50).Draw(g.t, "function"); b.Len() < n; k++ {
		fmt.Fprintf(&b, "\n// doThing%d does thing %d.\nfunc doThing%d(in string) error {\n\tif in == \"\" {\n\t\treturn fmt.Errorf(\"thing %d\")\n\t}\n\treturn nil\n}\n", k, k, k, k)
	}
	return b.String()
}
