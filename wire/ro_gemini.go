package wire

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

func matchGemini(p probe) int {
	if len(p.values) == 0 {
		return 0
	}
	switch p.shape {
	case object:
		v := geminiBody(p.values[0])
		if v.hasValueKind("contents", "[{") || len(v.listValue("history")) > 0 && v.listValue("history")[0].hasValueKind("parts", "[") {
			return 85
		}
	case array:
		for _, v := range p.values {
			if v.hasValueKind("parts", "[") && v.hasMember("role") {
				return 85
			}
		}
	}
	return 0
}

// geminiBody returns the request, without the envelope of Code Assist.
func geminiBody(v peek) peek {
	if inner := v.memberValue("request"); inner.hasMember("contents") {
		return inner
	}
	return v
}

func decodeGemini(src *source) ([]Conversation, error) {
	doc, err := src.document()
	if err != nil {
		return nil, err
	}
	outer := peekValue(doc.raw)
	body := geminiBody(outer)
	c := Conversation{Format: "gemini", Model: outer.stringValue("model"), Tools: functionsOf(body.fields["tools"])}
	contents := body.raw
	for _, key := range []string{"contents", "history"} {
		if body.hasMember(key) {
			contents = body.fields[key]
			break
		}
	}
	var l messageLog
	for _, in := range []peek{body, body.memberValue("config")} { // members that SDKs accept beside the contents
		for _, key := range []string{"systemInstruction", "system_instruction"} {
			system := in.memberValue(key)
			l.appendMessage(chat.Message{Role: chat.System, Parts: textParts(cmp.Or(system.fields["parts"], system.raw))})
		}
		if c.Tools == nil {
			c.Tools = functionsOf(in.fields["tools"])
		}
	}
	for _, content := range blocksIn(contents) {
		l.appendContent(chat.Message{ID: content.stringValue("id")}, content.stringValue("role"), content.listValue("parts"))
	}
	return l.singleConversation(c), nil
}

// appendContent appends a Gemini content. Calls and results without ids are paired
// by their order and tool, within the turn.
func (l *messageLog) appendContent(m chat.Message, role string, parts []peek) {
	m.Role = chat.User
	for i, p := range parts {
		parts[i] = camelCased(p)
	}
	switch calls := func(p peek) bool { return p.hasValueKind("functionCall", "{") }; {
	case role == "model", role == "assistant", role == "gemini", slices.ContainsFunc(parts, calls):
		m.Role = chat.Assistant
		l.calls.beginTurn()
	case role == "system":
		m.Role = chat.System
	}
	for _, p := range parts {
		switch {
		case p.hasValueKind("functionCall", "{"):
			call := p.memberValue("functionCall")
			id := l.calls.assignCallID(call.stringValue("id"), call.stringValue("name"))
			m.Parts = append(m.Parts, chat.Part{Kind: chat.Call, ID: id, Name: call.stringValue("name"), Args: argumentsText(call.fields["args"])})
		case p.hasValueKind("functionResponse", "{"):
			l.response(m.ID, p.memberValue("functionResponse"))
		case p.hasValueKind("toolCall", "{"):
			call := p.memberValue("toolCall")
			m.Parts = append(m.Parts, chat.Part{Kind: chat.ServerCall, ID: call.stringValue("id"), Name: strings.ToLower(call.stringValue("toolType")), Args: argumentsText(call.fields["args"])})
		case p.hasValueKind("toolResponse", "{"):
			r := p.memberValue("toolResponse")
			m.Parts = append(m.Parts, chat.Part{Kind: chat.ServerResult, ID: r.stringValue("id"), Text: valueText(r.fields["response"])})
		case p.boolValue("thought"):
			m.Parts = append(m.Parts, chat.Part{Kind: chat.Thinking, Text: p.stringValue("text")})
		default:
			m.Parts = append(m.Parts, geminiPart(p)...)
		}
	}
	l.appendMessage(m)
}

// camelCased returns a part with the keys of the API: the SDK for Python writes
// them with underscores, and includes keys without a value.
func camelCased(p peek) peek {
	if !strings.Contains(p.raw, "_") && !strings.Contains(p.raw, "null") {
		return p
	}
	var fields map[string]string
	for m := range objectMembers(p.raw) {
		key, raw := m.key, p.raw[m.start:m.end]
		if raw == "null" {
			continue
		}
		if strings.Contains(key, "_") {
			key = camelCase(key)
			if beginsWithAny(raw, "{") {
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

// camelKeys returns an object with its own keys in camel case; keys inside
// arguments and responses belong to the tools.
func camelKeys(raw string) string {
	o := parseObject(raw)
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
		if p.hasValueKind(key, "{") {
			return []chat.Part{{Kind: chat.Text, Text: cmp.Or(p.memberValue(key).stringValue("code"), p.memberValue(key).stringValue("output"))}}
		}
	}
	for _, key := range []string{"inlineData", "fileData"} {
		if p.hasValueKind(key, "{") {
			return []chat.Part{{Kind: chat.Text, Text: "[document " + p.memberValue(key).stringValue("mimeType") + "]"}}
		}
	}
	for key := range p.fields {
		if key != "thoughtSignature" && key != "partMetadata" && key != "thought" {
			return opaqueParts(p)
		}
	}
	return nil
}

func (l *messageLog) response(id string, r peek) {
	text, failed := responseText(r.memberValue("response"))
	p := chat.Part{ID: l.calls.resultCallID(r.stringValue("id"), r.stringValue("name")), Name: r.stringValue("name"), Text: text, Error: failed}
	_, images := resultParts(r.fields["parts"])
	l.appendResult(id, p, images)
}

// responseText returns the content of a function response: the string under its
// only key, else its JSON.
func responseText(r peek) (text string, failed bool) {
	failed = r.hasNonNull("error")
	for _, key := range []string{"output", "error", "result", "content"} {
		if len(r.fields) == 1 && r.hasValueKind(key, `"`) {
			return r.stringValue(key), failed
		}
	}
	if len(r.fields) == 0 {
		return strings.TrimSpace(unquoteText(r.raw)), false
	}
	return compactJSON(r.raw), failed
}
