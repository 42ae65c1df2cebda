// Package chattest generates random conversations for tests: with parallel calls,
// calls without results, results without calls, repeated ids, tools of the API's
// server, unknown blocks, empty contents, images and thinking.
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
		g.addMessage(chat.NewText(chat.System, g.drawText(200)))
	}
	for len(g.out) < n {
		g.drawStep()
	}
	return g.out
}

type generator struct {
	t     *rapid.T
	out   chat.Transcript
	calls int
}

func (g *generator) drawOne(label string, of ...int) int {
	return rapid.SampledFrom(of).Draw(g.t, label)
}

func (g *generator) drawChance(percent int) bool {
	return rapid.IntRange(1, 100).Draw(g.t, "chance") <= percent
}

func (g *generator) addMessage(m chat.Message) {
	m.Protected = m.Protected || g.drawChance(3)
	g.out = append(g.out, m)
}

func (g *generator) drawStep() {
	switch g.drawOne("kind", 0, 0, 1, 1, 1, 2, 2, 2, 2, 2, 3, 4, 5, 6, 7, 8) {
	case 0:
		m := chat.NewText(chat.User, g.drawText(300))
		if g.drawChance(10) {
			m.Parts = append(m.Parts, g.drawImage())
		}
		g.addMessage(m)
	case 1:
		m := chat.Message{Role: chat.Assistant}
		if g.drawChance(20) {
			m.Parts = append(m.Parts, chat.Part{Kind: chat.Thinking, Text: g.drawText(200)})
		}
		m.Parts = append(m.Parts, chat.Part{Kind: chat.Text, Text: g.drawText(300)})
		g.addMessage(m)
	case 2:
		g.drawCallGroup()
	case 3:
		m := chat.NewText(chat.User, "<system-reminder>"+g.drawText(80)+"</system-reminder>")
		m.Machine = true
		g.addMessage(m)
	case 4: // a result without a call
		g.addMessage(chat.NewResult(fmt.Sprintf("lost%d", g.calls), g.drawText(100)))
	case 5:
		g.addMessage(chat.NewText(rapid.SampledFrom([]chat.Role{chat.System, chat.Developer, chat.User, chat.Assistant}).Draw(g.t, "role"), ""))
	case 6:
		m := chat.NewText(chat.User, "<file path=\"a/b.go\">\n"+g.drawCode(400)+"\n</file>")
		m.Machine = true
		g.addMessage(m)
	case 7:
		g.drawServerCall()
	case 8:
		m := chat.NewText(rapid.SampledFrom([]chat.Role{chat.User, chat.Assistant}).Draw(g.t, "role"), g.drawText(600))
		m.Parts = append(m.Parts, chat.Part{Kind: chat.Opaque, Text: g.drawText(300), Raw: `{"type":"new_block"}`})
		g.addMessage(m)
	}
}

// drawServerCall draws an assistant message with a call to a tool of the server.
// Its result is beside it, or in the next assistant message if the turn was paused
// or code on the server called a tool of the client; or it is missing.
func (g *generator) drawServerCall() {
	g.calls++
	id := fmt.Sprintf("s%d", g.calls)
	result := chat.Part{Kind: chat.ServerResult, ID: id, Text: g.drawResult(), Raw: `{"type":"web_search_tool_result"}`}
	m := chat.Message{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.ServerCall, ID: id, Name: "web_search", Args: `{"query":"a"}`, Raw: `{"type":"server_tool_use"}`}}}
	switch g.drawOne("way", 0, 0, 0, 1, 2, 3, 4) {
	case 0:
		m.Parts = append(m.Parts, result, chat.Part{Kind: chat.Text, Text: g.drawText(300)})
		g.addMessage(m)
	case 1:
		g.addMessage(m)
		g.addMessage(chat.Message{Role: chat.Assistant, Parts: []chat.Part{result, {Kind: chat.Text, Text: g.drawText(300)}}})
	case 2:
		call := g.drawCall(id + "t")
		m.Parts = append(m.Parts, call)
		g.addMessage(m)
		g.addMessage(chat.NewResult(call.ID, g.drawResult()))
		g.addMessage(chat.Message{Role: chat.Assistant, Parts: []chat.Part{result}})
	case 3:
		g.addMessage(m)
	case 4:
		g.addMessage(chat.Message{Role: chat.Assistant, Parts: []chat.Part{result}})
	}
}

// drawCallGroup draws an assistant message with calls, and results for most of them.
func (g *generator) drawCallGroup() {
	m := chat.Message{Role: chat.Assistant}
	if g.drawChance(30) {
		m.Parts = append(m.Parts, chat.Part{Kind: chat.Thinking, Text: g.drawText(100)})
	}
	if g.drawChance(50) {
		m.Parts = append(m.Parts, chat.Part{Kind: chat.Text, Text: g.drawText(100)})
	}
	var ids []string
	for range g.drawOne("parallel", 1, 1, 1, 2, 3) {
		g.calls++
		id := fmt.Sprintf("c%d", g.calls)
		if g.drawChance(15) {
			id = "c1" // ids repeat in real logs
		}
		ids = append(ids, id)
		m.Parts = append(m.Parts, g.drawCall(id))
	}
	g.addMessage(m)
	if g.drawChance(20) { // results are in the order of completion
		ids[0], ids[len(ids)-1] = ids[len(ids)-1], ids[0]
	}
	for _, id := range ids {
		if g.drawChance(4) {
			continue // it was never answered
		}
		r := chat.NewResult(id, g.drawResult())
		if g.drawChance(5) {
			r.Parts = append(r.Parts, g.drawImage())
		}
		g.addMessage(r)
	}
}

func (g *generator) drawCall(id string) chat.Part {
	p := chat.Part{Kind: chat.Call, ID: id}
	path := fmt.Sprintf("pkg/file%d.go", g.drawOne("file", 1, 2, 3, 4))
	var args any
	switch g.drawOne("tool", 0, 0, 1, 2, 3) {
	case 0:
		p.Name, args = "read", map[string]any{"path": path}
	case 1:
		p.Name, args = "write", map[string]any{"path": path, "content": g.drawCode(400)}
	case 2:
		p.Name, args = "edit", map[string]any{"file_path": path, "old_string": g.drawCode(100), "new_string": g.drawCode(100)}
	case 3:
		p.Name, args = "bash", map[string]any{"command": "go test ./..."}
	}
	raw, err := json.Marshal(args)
	if err != nil {
		g.t.Fatal(err)
	}
	p.Args = string(raw)
	if g.drawChance(3) {
		p.Args = p.Args[:len(p.Args)/2] // a model was cut off
	}
	return p
}

func (g *generator) drawResult() string {
	switch g.drawOne("result", 0, 1, 1, 2, 3) {
	case 0:
		return ""
	case 1:
		return g.drawCode(g.drawOne("size", 50, 400, 2000))
	case 2:
		return "--- FAIL: TestThing (0.00s)\n" + g.drawText(300) + "\nFAIL\tpkg/thing\t0.01s"
	}
	return g.drawText(g.drawOne("size", 20, 200, 3000))
}

func (g *generator) drawImage() chat.Part {
	return chat.Part{Kind: chat.Image, Image: &chat.Picture{MediaType: "image/png", Data: strings.Repeat("iVBORw0K", g.drawOne("bytes", 1, 400))}}
}

var sampleWords = strings.Fields("the parser reads a_token from src/parse.go and getNextToken fails with error 42 because cfg.Window is 日本語 🙂 naïve `loadConfig` TODO must never drop deadbeef1234 PROJ-17 done")

// drawText draws about n bytes of words.
func (g *generator) drawText(n int) string {
	var b strings.Builder
	n = rapid.IntRange(1, n).Draw(g.t, "bytes")
	k := rapid.IntRange(0, len(sampleWords)-1).Draw(g.t, "word")
	for b.Len() < n {
		b.WriteString(sampleWords[k])
		b.WriteByte(' ')
		k = (k*7 + 3) % len(sampleWords)
	}
	return b.String()
}

// drawCode draws about n bytes of Go.
func (g *generator) drawCode(n int) string {
	var b strings.Builder
	b.WriteString("package thing\n\nimport \"fmt\"\n")
	for k := rapid.IntRange(0, 50).Draw(g.t, "function"); b.Len() < n; k++ {
		fmt.Fprintf(&b, "\n// doThing%d does thing %d.\nfunc doThing%d(in string) error {\n\tif in == \"\" {\n\t\treturn fmt.Errorf(\"thing %d\")\n\t}\n\treturn nil\n}\n", k, k, k, k)
	}
	return b.String()
}
