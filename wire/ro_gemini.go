package wire

import (
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

func gemini() format {
	return format{
		name:   "gemini",
		about:  "Gemini contents or request body",
		match:  matchGemini,
		decode: decodeGemini,
	}
}

func matchGemini(p probe) int {
	if len(p.values) == 0 {
		return 0
	}
	switch p.shape {
	case object:
		v := geminiBody(p.values[0])
		if v.is("contents", "[{") || len(v.list("history")) > 0 && v.list("history")[0].is("parts", "[") {
			return 85
		}
	case array:
		for _, v := range p.values {
			if v.is("parts", "[") && v.has("role") {
				return 85
			}
		}
	}
	return 0
}

// geminiBody returns the request proper, which Code Assist wraps.
func geminiBody(v peek) peek {
	if inner := v.at("request"); inner.has("contents") {
		return inner
	}
	return v
}

func decodeGemini(src *source) ([]Conversation, error) {
	doc, err := src.document()
	if err != nil {
		return nil, err
	}
	outer := peekAt(doc.raw)
	body := geminiBody(outer)
	c := Conversation{Format: "gemini", Model: outer.text("model"), Tools: functionsOf(body.fields["tools"])}
	contents := body.raw
	for _, key := range []string{"contents", "history"} {
		if body.has(key) {
			contents = body.fields[key]
			break
		}
	}
	var l log
	for _, in := range []peek{body, body.at("config")} { // what SDKs take beside the contents
		for _, key := range []string{"systemInstruction", "system_instruction"} {
			system := in.at(key)
			l.add(chat.Message{Role: chat.System, Parts: textParts(firstOf(system.fields["parts"], system.raw))})
		}
		if c.Tools == nil {
			c.Tools = functionsOf(in.fields["tools"])
		}
	}
	for _, content := range blocksIn(contents) {
		l.content(chat.Message{ID: content.text("id")}, content.text("role"), content.list("parts"))
	}
	return l.one(c), nil
}

func firstOf(raw ...string) string {
	for _, r := range raw {
		if r != "" {
			return r
		}
	}
	return ""
}

// content appends a Gemini content. Its calls and results may have no ids:
// then they pair by their order and tool, within the turn.
func (l *log) content(m chat.Message, role string, parts []peek) {
	m.Role = chat.User
	for i, p := range parts {
		parts[i] = camelCased(p)
	}
	switch calls := func(p peek) bool { return p.is("functionCall", "{") }; {
	case role == "model", role == "assistant", role == "gemini", slices.ContainsFunc(parts, calls):
		m.Role = chat.Assistant
		l.calls.turn()
	case role == "system":
		m.Role = chat.System
	}
	for _, p := range parts {
		switch {
		case p.is("functionCall", "{"):
			call := p.at("functionCall")
			id := l.calls.call(call.text("id"), call.text("name"))
			m.Parts = append(m.Parts, chat.Part{Kind: chat.Call, ID: id, Name: call.text("name"), Args: argsIn(call.fields["args"])})
		case p.is("functionResponse", "{"):
			l.response(m.ID, p.at("functionResponse"))
		case p.is("toolCall", "{"):
			call := p.at("toolCall")
			m.Parts = append(m.Parts, chat.Part{Kind: chat.ServerCall, ID: call.text("id"), Name: strings.ToLower(call.text("toolType")), Args: argsIn(call.fields["args"])})
		case p.is("toolResponse", "{"):
			r := p.at("toolResponse")
			m.Parts = append(m.Parts, chat.Part{Kind: chat.ServerResult, ID: r.text("id"), Text: valueText(r.fields["response"])})
		case p.flag("thought"):
			m.Parts = append(m.Parts, chat.Part{Kind: chat.Thinking, Text: p.text("text")})
		default:
			m.Parts = append(m.Parts, geminiPart(p)...)
		}
	}
	l.add(m)
}

// camelCased returns a part with the keys of the API, where the SDK for Python
// has written it with underscores, and its keys without a value left out.
func camelCased(p peek) peek {
	if !strings.Contains(p.raw, "_") && !strings.Contains(p.raw, "null") {
		return p
	}
	var fields map[string]string
	for m := range members(p.raw) {
		key, raw := m.key, p.raw[m.start:m.end]
		if raw == "null" {
			continue
		}
		if strings.Contains(key, "_") {
			key = camelCase(key)
			if begins(raw, "{") {
				raw = camelKeys(raw)
			}
		}
		if fields == nil {
			fields = make(map[string]string)
		}
		fields[key] = raw
	}
	return peek{raw: p.raw, fields: fields}
}

// camelKeys returns an object with its own keys in camel case; what is inside
// arguments and responses is the tools' own.
func camelKeys(raw string) string {
	o := parse(raw)
	out := []byte{'{'}
	for _, m := range o.members {
		if v := o.raw[m.start:m.end]; v != "null" {
			out = appendMember(out, camelCase(m.key), v)
		}
	}
	return string(append(out, '}'))
}

func camelCase(key string) string {
	words := strings.Split(key, "_")
	for i, w := range words[1:] {
		if w != "" {
			words[i+1] = strings.ToUpper(w[:1]) + w[1:]
		}
	}
	return strings.Join(words, "")
}

func geminiPart(p peek) []chat.Part {
	p = camelCased(p)
	if text, ok := plainText(p); ok {
		return []chat.Part{{Kind: chat.Text, Text: text}}
	}
	if picture := pictureIn(p); picture != nil {
		return []chat.Part{{Kind: chat.Image, Image: picture}}
	}
	for _, key := range []string{"executableCode", "codeExecutionResult"} {
		if p.is(key, "{") {
			return []chat.Part{{Kind: chat.Text, Text: firstOf(p.at(key).text("code"), p.at(key).text("output"))}}
		}
	}
	for _, key := range []string{"inlineData", "fileData"} {
		if p.is(key, "{") {
			return []chat.Part{{Kind: chat.Text, Text: "[document " + p.at(key).text("mimeType") + "]"}}
		}
	}
	for key := range p.fields {
		if key != "thoughtSignature" && key != "partMetadata" && key != "thought" {
			return opaqueParts(p)
		}
	}
	return nil
}

func (l *log) response(id string, r peek) {
	text, failed := responseText(r.at("response"))
	p := chat.Part{ID: l.calls.result(r.text("id"), r.text("name")), Name: r.text("name"), Text: text, Error: failed}
	_, images := resultParts(r.fields["parts"])
	l.answer(id, p, images)
}

// responseText returns what a function response says: the string under the one
// key it has, else its JSON.
func responseText(r peek) (text string, failed bool) {
	failed = r.set("error")
	for _, key := range []string{"output", "error", "result", "content"} {
		if len(r.fields) == 1 && r.is(key, `"`) {
			return r.text(key), failed
		}
	}
	if len(r.fields) == 0 {
		return strings.TrimSpace(unquote(r.raw)), false
	}
	return compactJSON(r.raw), failed
}
