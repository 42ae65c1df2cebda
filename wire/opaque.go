package wire

import (
	"slices"
	"strconv"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

// Blocks of unknown types, and those of tools that run on the API's server, become
// parts of their own kinds. They are written back unchanged if the format is the
// same, and as text, or as ordinary calls and results, in any other.

// isToolUse reports whether an Anthropic block of this type is a call. All except
// tool_use itself run on the server.
func isToolUse(kind string) bool { return kind == "tool_use" || strings.HasSuffix(kind, "_tool_use") }

// isToolResult reports whether an Anthropic block of this type is a result.
func isToolResult(kind string) bool {
	return kind == "tool_result" || strings.HasSuffix(kind, "_tool_result")
}

// readServerTool returns the part of an Anthropic block that is a call to a
// server's tool or the result of one. The kind is "" for another block.
func readServerTool(o jsonObject) chat.Part {
	switch kind := o.textValue("type"); {
	case isToolUse(kind):
		return chat.Part{Kind: chat.ServerCall, ID: o.textValue("id"), Name: o.textValue("name"), Args: o.rawValue("input"), Raw: o.raw}
	case isToolResult(kind):
		p := chat.Part{Kind: chat.ServerResult, ID: o.textValue("tool_use_id"), Raw: o.raw}
		content := variantIn(o.rawValue("content"))
		p.Error = o.rawValue("is_error") == "true" || strings.HasSuffix(parseObject(content).textValue("type"), "_error")
		p.Text = serverResultText(content)
		return p
	}
	return chat.Part{}
}

// serverResultText returns the readable content of a server tool's result: its
// texts, titles and addresses, and the output of its commands.
func serverResultText(content string) string {
	if beginsWithAny(content, `"`) {
		return unquoteText(content)
	}
	if !beginsWithAny(content, "[") {
		return serverPieceText(content)
	}
	var texts []string
	for start, end := range elements(content) {
		if text := serverPieceText(content[start:end]); text != "" {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n")
}

func serverPieceText(raw string) string {
	o := parseObject(raw)
	lines := func(texts ...string) string {
		return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), "\n")
	}
	switch {
	case o.textValue("type") == "text":
		return o.textValue("text")
	case o.valueHasKind("encrypted_content", `"`):
		return lines(o.textValue("title"), o.textValue("url"), o.textValue("page_age"))
	case o.valueHasKind("stdout", `"`) || o.valueHasKind("stderr", `"`):
		code := o.rawValue("return_code")
		if code == "" || code == "0" {
			return lines(o.textValue("stdout"), o.textValue("stderr"))
		}
		return lines(o.textValue("stdout"), o.textValue("stderr"), "exit code "+code)
	case o.valueHasKind("content", "{"): // of a fetched page: a document
		document := parseObject(o.rawValue("content"))
		if source := parseObject(document.rawValue("source")); source.textValue("type") == "text" {
			return lines(o.textValue("url"), document.textValue("title"), source.textValue("data"))
		}
	}
	return readable(raw)
}

// anthropicOnly are the types of Anthropic's blocks, other than calls and results,
// that become opaque parts.
var anthropicOnly = []string{"document", "search_result", "container_upload", "compaction"}

// openAIOnly are those of OpenAI's.
var openAIOnly = []string{"input_audio", "file", "audio", "video_url", "input_file", "refusal"}

// isAnthropicBlock reports whether p is the original of a block that the Anthropic
// API accepts unchanged, and that has no other form there.
func isAnthropicBlock(p chat.Part) bool {
	if p.Raw == "" {
		return false
	}
	kind := parseObject(p.Raw).textValue("type")
	switch p.Kind {
	case chat.ServerCall:
		return isToolUse(kind)
	case chat.ServerResult:
		return isToolResult(kind)
	case chat.Opaque:
		return slices.Contains(anthropicOnly, kind)
	case chat.Text: // citations refer to results of a server's tools
		return kind == "text" && beginsWithAny(parseObject(p.Raw).rawValue("citations"), "[")
	}
	return false
}

// isOpenAIBlock reports whether p is an opaque block that OpenAI's chat API accepts
// unchanged.
func isOpenAIBlock(p chat.Part) bool {
	return p.Kind == chat.Opaque && p.Raw != "" && slices.Contains(openAIOnly, parseObject(p.Raw).textValue("type"))
}

// holdsAnthropicBlocks reports whether m has blocks that only Anthropic's format
// supports: documents, server calls and their results.
func holdsAnthropicBlocks(m chat.Message) bool {
	any := m.Role != chat.System && slices.ContainsFunc(m.Parts, func(p chat.Part) bool {
		return p.Kind == chat.Opaque && isAnthropicBlock(p)
	})
	for _, p := range m.Parts {
		if isServerTool(p) {
			if any = true; !isAnthropicBlock(p) {
				return false
			}
		}
	}
	return any
}

func isServerTool(p chat.Part) bool { return p.Kind == chat.ServerCall || p.Kind == chat.ServerResult }

// withOwnTools returns t with ordinary tools in place of server tools that d does
// not support: calls of the assistant, with results of the role tool after them.
func withOwnTools(t chat.Transcript, d dialect) chat.Transcript {
	foreign := func(m chat.Message) bool {
		if wasReadIn(m, d) || (d.system || d.name == "jsonl") && holdsAnthropicBlocks(m) {
			return false
		}
		return slices.ContainsFunc(m.Parts, isServerTool)
	}
	if !slices.ContainsFunc(t, foreign) {
		return t
	}
	var out chat.Transcript
	for _, m := range t {
		if foreign(m) {
			out = append(out, ownTools(m)...)
		} else {
			out = append(out, m)
		}
	}
	return out
}

// ownTools returns the messages of one that uses a server's tools. The calls for
// the client go into the last of them, because their results follow.
func ownTools(m chat.Message) []chat.Message {
	var out []chat.Message
	var calls []chat.Part
	said := m
	said.Parts, said.Source = nil, nil
	flush := func() {
		if len(said.Parts) > 0 {
			out = append(out, said)
			said.Parts, said.ID = nil, ""
		}
	}
	for _, p := range m.Parts {
		switch p.Kind {
		case chat.ServerResult:
			flush()
			p.Kind, p.Raw = chat.Result, ""
			out = append(out, chat.Message{Role: chat.Tool, Parts: []chat.Part{p}, Protected: m.Protected})
			continue
		case chat.ServerCall:
			p.Kind, p.Raw = chat.Call, ""
		case chat.Call:
			calls = append(calls, p)
			continue
		}
		said.Parts = append(said.Parts, p)
	}
	said.Parts = append(said.Parts, calls...)
	flush()
	return out
}

// opaqueText returns the text of an opaque block, for counts and for other formats:
// the name of a file, or the block itself.
func opaqueText(raw string) string {
	o := parseObject(raw)
	kind := o.textValue("type")
	switch kind {
	case "input_audio", "audio", "file", "document", "video_url", "input_file":
		source := parseObject(o.rawValue("source"))
		if source.textValue("type") == "text" {
			return source.textValue("data")
		}
		inner := parseObject(o.rawValue(kind))
		for _, name := range []string{o.textValue("title"), o.textValue("filename"), inner.textValue("filename"), inner.textValue("file_id"), inner.textValue("url"), source.textValue("media_type"), source.textValue("url")} {
			if name != "" && len(name) < encodedLength {
				return "[" + kind + " " + name + "]"
			}
		}
		return "[" + kind + "]"
	}
	return readable(raw)
}

// encodedLength is the minimum length of a string without blanks that counts as
// encoded bytes, which are not readable.
const encodedLength = 1024

// readable returns a JSON value without white space between its tokens, and with a
// note in place of each string of encoded bytes.
func readable(raw string) string {
	raw = compactJSON(raw)
	var out strings.Builder
	for i := 0; i < len(raw); {
		if raw[i] != '"' {
			out.WriteByte(raw[i])
			i++
			continue
		}
		end := skipString(raw, i)
		if text := raw[i:end]; len(text) > encodedLength && !strings.ContainsAny(text, " \\") {
			out.WriteString(quotedJSON(strconv.Itoa(len(text)-2) + " characters"))
		} else {
			out.WriteString(text)
		}
		i = end
	}
	return out.String()
}
