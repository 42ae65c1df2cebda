package wire

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

func matchBedrock(p probe) int {
	if p.shape == lines && slices.ContainsFunc(p.values, func(v peek) bool { return v.hasMember("role") && isDialect(v.fields["content"], "bedrock") }) {
		return 88
	}
	return 2 * p.formatScore("bedrock")
}

// bedrockKeys are the keys of Converse's content blocks.
var bedrockKeys = []string{
	"text", "toolUse", "toolResult", "image", "document", "video", "audio", "reasoningContent", "citationsContent",
	"guardContent", "cachePoint", "searchResult",
}

// isBedrockBlock reports whether a block is one of Converse's: an object of one
// key, without a type.
func isBedrockBlock(b jsonObject) bool {
	return len(b.members) == 1 && slices.Contains(bedrockKeys, b.members[0].key)
}

// decodeBedrock reads Amazon's Converse API: a block has no type; its key is its kind.
func decodeBedrock(src *source) ([]Conversation, error) {
	body, messages, err := messageObjects(src)
	if err != nil {
		return nil, err
	}
	c := Conversation{Format: "bedrock", Model: body.stringValue("modelId"), Tools: bedrockTools(body.memberValue("toolConfig").listValue("tools"))}
	var l messageLog
	l.appendMessage(chat.Message{Role: chat.System, Parts: l.bedrockParts(body.listValue("system"))})
	for i, m := range messages {
		role, err := messageRole(parseObject(m.raw))
		if err != nil {
			return nil, src.sourceError(ErrField, 0, messageField(i, "role"), strings.TrimPrefix(err.Error(), "role: "), "")
		}
		l.bedrockMessage(role, m)
	}
	return l.singleConversation(c), nil
}

func (l *messageLog) bedrockMessage(role chat.Role, r peek) {
	m := chat.Message{Role: role}
	var rest []peek
	for _, b := range blocksIn(r.fields["content"]) {
		if result := b.memberValue("toolResult"); role == chat.User && result.fields != nil {
			p := bedrockResult(result)
			p.part.ID = l.calls.resultCallID(p.part.ID, "")
			l.appendResult("", p.part, p.images)
			continue
		}
		rest = append(rest, b)
	}
	m.Parts = l.bedrockParts(rest)
	l.appendMessage(m)
}

func (l *messageLog) bedrockParts(blocks []peek) []chat.Part {
	var parts []chat.Part
	for _, b := range blocks {
		switch {
		case b.hasValueKind("toolUse", "{"):
			call := b.memberValue("toolUse")
			p := chat.Part{Kind: chat.Call, Name: call.stringValue("name"), Args: argumentsText(call.fields["input"]), ID: call.stringValue("toolUseId")}
			if call.hasNonNull("type") && call.stringValue("type") != "tool_use" {
				p.Kind = chat.ServerCall
			} else {
				p.ID = l.calls.assignCallID(p.ID, p.Name)
			}
			parts = append(parts, p)
		case b.hasValueKind("toolResult", "{"): // of a tool that ran on the server
			result := bedrockResult(b.memberValue("toolResult"))
			result.part.Kind = chat.ServerResult
			parts = append(append(parts, result.part), result.images...)
		case b.hasValueKind("reasoningContent", "{"): // redacted, not readable
			parts = append(parts, chat.Part{Kind: chat.Thinking, Text: b.memberValue("reasoningContent").memberValue("reasoningText").stringValue("text")})
		case b.hasValueKind("cachePoint", "{"): // a mark
		default:
			parts = append(parts, bedrockPart(b))
		}
	}
	return parts
}

// bedrockPart returns the part of a block that every role may have.
func bedrockPart(b peek) chat.Part {
	switch {
	case b.hasValueKind("text", `"`):
		return chat.Part{Kind: chat.Text, Text: b.stringValue("text")}
	case b.memberValue("guardContent").hasValueKind("text", "{"):
		return chat.Part{Kind: chat.Text, Text: b.memberValue("guardContent").memberValue("text").stringValue("text")}
	case b.hasValueKind("citationsContent", "{"):
		var texts []string
		for _, t := range b.memberValue("citationsContent").listValue("content") {
			texts = append(texts, t.stringValue("text"))
		}
		return chat.Part{Kind: chat.Text, Text: strings.Join(texts, "")}
	case b.memberValue("image").memberValue("source").hasValueKind("bytes", `"`):
		image := b.memberValue("image")
		return chat.Part{Kind: chat.Image, Image: &chat.Picture{MediaType: "image/" + image.stringValue("format"), Data: image.memberValue("source").stringValue("bytes")}}
	}
	for _, key := range []string{"document", "video", "audio"} {
		if in := b.memberValue(key); in.fields != nil {
			if text := in.memberValue("source").stringValue("text"); text != "" {
				return chat.Part{Kind: chat.Opaque, Text: text}
			}
			return chat.Part{Kind: chat.Opaque, Text: strings.TrimSpace("["+key+" "+cmp.Or(in.stringValue("name"), in.stringValue("format"))) + "]"}
		}
	}
	return chat.Part{Kind: chat.Opaque, Text: readable(b.raw)}
}

// A foundResult is a tool's result, followed by its images.
type foundResult struct {
	part   chat.Part
	images []chat.Part
}

func bedrockResult(r peek) foundResult {
	f := foundResult{part: chat.Part{ID: r.stringValue("toolUseId"), Error: r.stringValue("status") == "error"}}
	var texts []string
	for _, b := range r.listValue("content") {
		if b.hasNonNull("json") {
			texts = append(texts, compactJSON(b.fields["json"]))
		} else if p := bedrockPart(b); p.Kind == chat.Image {
			f.images = append(f.images, p)
		} else {
			texts = append(texts, p.Text)
		}
	}
	f.part.Text = strings.Join(texts, "\n")
	return f
}

// bedrockTools returns tool definitions in the form of OpenAI chat.
func bedrockTools(tools []peek) []byte {
	var list []string
	for _, t := range tools {
		spec := t.memberValue("toolSpec")
		if !spec.hasValueKind("name", `"`) {
			continue
		}
		schema := compactJSON(cmp.Or(spec.memberValue("inputSchema").fields["json"], "{}"))
		list = append(list, objectOf(change{"name", spec.fields["name"]}, change{"description", spec.fields["description"]}, change{"parameters", schema}))
	}
	if list == nil {
		return nil
	}
	return []byte(toolsFor([]byte(rawList(list)), dialect{}))
}
