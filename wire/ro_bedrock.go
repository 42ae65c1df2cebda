package wire

import (
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

// bedrock is Amazon's Converse API: blocks have no type, the key of each says
// what it is.
func bedrock() format {
	return format{
		name:   "bedrock",
		about:  "Bedrock Converse: a list of messages or a request body",
		match:  matchBedrock,
		decode: decodeBedrock,
	}
}

func matchBedrock(p probe) int {
	if p.shape == lines && slices.ContainsFunc(p.values, func(v peek) bool { return v.has("role") && isDialect(v.fields["content"], "bedrock") }) {
		return 88
	}
	return 2 * p.speaks("bedrock")
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

func decodeBedrock(src *source) ([]Conversation, error) {
	body, messages, err := messageObjects(src)
	if err != nil {
		return nil, err
	}
	c := Conversation{Format: "bedrock", Model: body.text("modelId"), Tools: bedrockTools(body.at("toolConfig").list("tools"))}
	var l log
	l.add(chat.Message{Role: chat.System, Parts: l.bedrockParts(chat.System, body.list("system"))})
	for i, m := range messages {
		role, err := roleOf(parse(m.raw))
		if err != nil {
			return nil, src.fail(ErrField, 0, messageField(i, "role"), strings.TrimPrefix(err.Error(), "role: "), "")
		}
		l.bedrockMessage(role, m)
	}
	return l.one(c), nil
}

func (l *log) bedrockMessage(role chat.Role, r peek) {
	m := chat.Message{Role: role}
	var rest []peek
	for _, b := range blocksIn(r.fields["content"]) {
		if result := b.at("toolResult"); role == chat.User && result.fields != nil {
			p := bedrockResult(result)
			p.part.ID = l.calls.result(p.part.ID, "")
			l.answer("", p.part, p.images)
			continue
		}
		rest = append(rest, b)
	}
	m.Parts = l.bedrockParts(role, rest)
	l.add(m)
}

func (l *log) bedrockParts(role chat.Role, blocks []peek) []chat.Part {
	var parts []chat.Part
	for _, b := range blocks {
		switch {
		case b.is("toolUse", "{"):
			call := b.at("toolUse")
			p := chat.Part{Kind: chat.Call, Name: call.text("name"), Args: argsIn(call.fields["input"]), ID: call.text("toolUseId")}
			if call.set("type") && call.text("type") != "tool_use" {
				p.Kind = chat.ServerCall
			} else {
				p.ID = l.calls.call(p.ID, p.Name)
			}
			parts = append(parts, p)
		case b.is("toolResult", "{"): // of a tool that ran on the server
			result := bedrockResult(b.at("toolResult"))
			result.part.Kind = chat.ServerResult
			parts = append(append(parts, result.part), result.images...)
		case b.is("reasoningContent", "{"): // redacted, nobody can read it
			parts = append(parts, chat.Part{Kind: chat.Thinking, Text: b.at("reasoningContent").at("reasoningText").text("text")})
		case b.is("cachePoint", "{"): // a mark
		default:
			parts = append(parts, bedrockPart(b))
		}
	}
	return parts
}

// bedrockPart returns the part of a block that any role may have.
func bedrockPart(b peek) chat.Part {
	switch {
	case b.is("text", `"`):
		return chat.Part{Kind: chat.Text, Text: b.text("text")}
	case b.at("guardContent").is("text", "{"):
		return chat.Part{Kind: chat.Text, Text: b.at("guardContent").at("text").text("text")}
	case b.is("citationsContent", "{"):
		var texts []string
		for _, t := range b.at("citationsContent").list("content") {
			texts = append(texts, t.text("text"))
		}
		return chat.Part{Kind: chat.Text, Text: strings.Join(texts, "")}
	case b.at("image").at("source").is("bytes", `"`):
		image := b.at("image")
		return chat.Part{Kind: chat.Image, Image: &chat.Picture{MediaType: "image/" + image.text("format"), Data: image.at("source").text("bytes")}}
	}
	for _, key := range []string{"document", "video", "audio"} {
		if in := b.at(key); in.fields != nil {
			if text := in.at("source").text("text"); text != "" {
				return chat.Part{Kind: chat.Opaque, Text: text}
			}
			return chat.Part{Kind: chat.Opaque, Text: strings.TrimSpace("["+key+" "+firstText(in.text("name"), in.text("format"))) + "]"}
		}
	}
	return chat.Part{Kind: chat.Opaque, Text: readable(b.raw)}
}

// A foundResult is a tool's result with the images behind its text.
type foundResult struct {
	part   chat.Part
	images []chat.Part
}

func bedrockResult(r peek) foundResult {
	f := foundResult{part: chat.Part{ID: r.text("toolUseId"), Error: r.text("status") == "error"}}
	var texts []string
	for _, b := range r.list("content") {
		if b.set("json") {
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
		spec := t.at("toolSpec")
		if !spec.is("name", `"`) {
			continue
		}
		schema := compactJSON(firstOf(spec.at("inputSchema").fields["json"], "{}"))
		list = append(list, objectOf(change{"name", spec.fields["name"]}, change{"description", spec.fields["description"]}, change{"parameters", schema}))
	}
	if list == nil {
		return nil
	}
	return []byte(toolsFor([]byte(listOf(list)), dialect{}))
}
