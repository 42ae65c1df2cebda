package wire

import (
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

func anthropicDialect() dialect {
	return dialect{
		name: "anthropic", read: readAnthropic, rewrite: rewriteAnthropic, fresh: freshAnthropic,
		joins: joinsResults, id: sanitizeCallID, system: true,
	}
}

// readSystem returns the message in the system field of a body.
func readSystem(body jsonObject) []chat.Message {
	raw := body.rawValue("system")
	if !beginsWithAny(raw, `"[`) {
		return nil
	}
	m := chat.Message{Role: chat.System, Source: &chat.Source{Format: "anthropic", JSON: raw, Count: 1}}
	m.Parts, _ = readContent(raw) // a string or a list, so it can be read
	classify(&m)
	return []chat.Message{m}
}

// readAnthropic returns the messages of an object: one for each tool result, and
// one for the rest.
func readAnthropic(o jsonObject) ([]chat.Message, error) {
	role, err := messageRole(o)
	if err != nil {
		return nil, err
	}
	rest := chat.Message{Role: role, Protected: protectedBy(o)}
	raw := o.rawValue("content")
	if !beginsWithAny(raw, "[") {
		if rest.Parts, err = readContent(raw); err != nil {
			return nil, err
		}
	}
	var messages []chat.Message
	for start, end := range elements(raw) {
		parts := readAnthropicBlock(raw[start:end])
		if parts[0].Kind == chat.Result {
			messages = append(messages, chat.Message{Role: chat.Tool, Parts: parts, Protected: rest.Protected})
			classify(&messages[len(messages)-1])
			continue
		}
		rest.Parts = append(rest.Parts, parts...)
	}
	if len(rest.Parts) > 0 || len(messages) == 0 {
		classify(&rest)
		messages = append(messages, rest)
	}
	if len(messages) == 1 {
		messages[0].ID = o.textValue("id")
	}
	return messages, nil
}

// readAnthropicBlock returns the parts of a block: one, or, for a tool result, one
// followed by its images and opaque content.
func readAnthropicBlock(raw string) []chat.Part {
	if raw[0] != '{' {
		return []chat.Part{readBlock(raw)}
	}
	o := parseObject(raw)
	p := chat.Part{Raw: raw}
	switch o.textValue("type") {
	case "thinking":
		p.Kind, p.Text = chat.Thinking, o.textValue("thinking")
	case "redacted_thinking":
		p.Kind = chat.Thinking
	case "tool_use":
		p.Kind, p.ID, p.Name, p.Args = chat.Call, o.textValue("id"), o.textValue("name"), o.rawValue("input")
	case "image":
		p.Kind, p.Image = chat.Image, imageSource(parseObject(o.rawValue("source")))
	case "tool_result":
		return readResult(o)
	default:
		if p = readServerTool(o); p.Kind == "" {
			p = readBlock(raw)
		}
	}
	return []chat.Part{p}
}

func imageSource(o jsonObject) *chat.Picture {
	return &chat.Picture{MediaType: o.textValue("media_type"), Data: o.textValue("data"), URL: o.textValue("url")}
}

func readResult(o jsonObject) []chat.Part {
	p := chat.Part{Kind: chat.Result, ID: o.textValue("tool_use_id"), Error: o.rawValue("is_error") == "true", Raw: o.raw}
	content := o.rawValue("content")
	if beginsWithAny(content, `"`) {
		p.Text = unquoteText(content)
		return []chat.Part{p}
	}
	var texts []string
	parts := []chat.Part{p}
	for start, end := range elements(content) {
		in := readAnthropicBlock(content[start:end])[0]
		switch {
		case in.Kind == chat.Image || in.Kind == chat.Opaque:
			parts = append(parts, in)
		case in.Text != "":
			texts = append(texts, in.Text)
		}
	}
	parts[0].Text = strings.Join(texts, "\n")
	return parts
}

// sanitizeCallID returns id with an underscore for every character that the API
// rejects.
func sanitizeCallID(id string) string {
	return strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, id)
}

// joinsResults puts the results of one assistant message, and the user message
// after them, into one object.
func joinsResults(group []chat.Message, next chat.Message) bool {
	return group[len(group)-1].Role == chat.Tool && (next.Role == chat.Tool || next.Role == chat.User)
}

// rewriteAnthropic writes the remaining messages of an object into it, results
// first. Unchanged blocks keep their bytes.
func rewriteAnthropic(o jsonObject, group []chat.Message) string {
	read, err := readAnthropic(o)
	if err != nil { // cannot happen: it was read before
		return o.raw
	}
	if slices.EqualFunc(read, group, sameParts) {
		return o.raw
	}
	content := blocksContent(o.rawValue("content"), replacedParts(allParts(read), allParts(group)), group)
	if content == "" {
		return ""
	}
	return o.withChanges(change{"content", content})
}

func sameParts(a, b chat.Message) bool { return slices.EqualFunc(a.Parts, b.Parts, samePart) }

func allParts(messages []chat.Message) []chat.Part {
	var all []chat.Part
	for _, m := range messages {
		all = append(all, m.Parts...)
	}
	return all
}

// blocksContent returns the content with messages, in place of before: a string if
// before was one, or nothing, and there is only text. It returns "" for empty
// content.
func blocksContent(before string, free *originalBlocks, messages []chat.Message) string {
	if len(messages) == 1 && !beginsWithAny(before, "[") {
		if parts := messages[0].Parts; len(parts) == 1 && isTextPart(parts[0]) && parts[0].Text != "" {
			return quotedJSON(parts[0].Text)
		}
	}
	var blocks []string
	for _, m := range messages {
		blocks = append(blocks, anthropicBlocks(free, m.Parts)...)
	}
	if len(blocks) == 0 {
		return ""
	}
	return rawList(blocks)
}

func isTextPart(p chat.Part) bool { return p.Kind == chat.Text || p.Kind == chat.Summary }

// anthropicBlocks returns the blocks of parts. Images and opaque parts after a
// result are part of its block; empty texts, and thinking that the API did not
// sign, are omitted.
func anthropicBlocks(free *originalBlocks, parts []chat.Part) []string {
	var blocks []string
	for len(parts) > 0 {
		n := 1
		for parts[0].Kind == chat.Result && n < len(parts) && (parts[n].Kind == chat.Image || parts[n].Kind == chat.Opaque) {
			n++
		}
		if b := anthropicBlock(free, parts[0], parts[1:n]); b != "" {
			blocks = append(blocks, b)
		}
		parts = parts[n:]
	}
	return blocks
}

func anthropicBlock(free *originalBlocks, p chat.Part, images []chat.Part) string {
	switch {
	case p.Kind == chat.Result:
		return resultBlock(free, p, images)
	case p.Raw != "":
		return p.Raw
	case p.Kind == chat.Call:
		o := free.takeOriginal(p)
		return o.withChanges(change{"type", `"tool_use"`}, change{"id", quotedJSON(p.ID)}, change{"name", quotedJSON(p.Name)}, change{"input", argumentsObject(p)})
	case p.Kind == chat.Image && p.Image != nil:
		return sourceBlock(p.Image)
	case (isTextPart(p) || p.Kind == chat.Opaque || p.Kind == chat.ServerResult) && p.Text != "":
		return free.textBlockFor(p)
	}
	return ""
}

func sourceBlock(p *chat.Picture) string {
	source := objectOf(change{"type", `"url"`}, change{"url", quotedJSON(p.URL)})
	if p.Data != "" {
		source = objectOf(change{"type", `"base64"`}, change{"media_type", quotedJSON(mediaType(p))}, change{"data", quotedJSON(p.Data)})
	}
	return objectOf(change{"type", `"image"`}, change{"source", source})
}

// resultBlock returns the block of a result with its images. The original block is
// kept only if it still has all its images.
func resultBlock(free *originalBlocks, p chat.Part, images []chat.Part) string {
	if p.Raw != "" {
		before := readResult(parseObject(p.Raw))
		if slices.EqualFunc(before[1:], images, samePart) {
			return p.Raw
		}
	}
	o := free.takeOriginal(p)
	if p.Raw != "" {
		o = parseObject(p.Raw)
	}
	changes := []change{{"type", `"tool_result"`}, {"tool_use_id", quotedJSON(p.ID)}, {"content", resultContent(o, p, images)}}
	if p.Error != (o.rawValue("is_error") == "true") {
		changes = append(changes, change{"is_error", map[bool]string{true: "true", false: ""}[p.Error]})
	}
	return o.withChanges(changes...)
}

func resultContent(o jsonObject, p chat.Part, images []chat.Part) string {
	if len(images) == 0 && !o.valueHasKind("content", "[") {
		return quotedJSON(p.Text)
	}
	var blocks []string
	if p.Text != "" {
		text := jsonObject{raw: "{}"}
		list := o.rawValue("content")
		for start, end := range elements(list) { // keeps the other members of the first text block
			if b := parseObject(list[start:end]); b.textValue("type") == "text" {
				text = b
				break
			}
		}
		blocks = append(blocks, text.withChanges(change{"type", `"text"`}, change{"text", quotedJSON(p.Text)}))
	}
	for _, image := range images {
		if image.Raw != "" {
			blocks = append(blocks, image.Raw)
		} else if image.Image != nil {
			blocks = append(blocks, sourceBlock(image.Image))
		} else if image.Text != "" {
			blocks = append(blocks, objectOf(change{"type", `"text"`}, change{"text", quotedJSON(image.Text)}))
		}
	}
	if len(blocks) == 0 {
		return `""`
	}
	return rawList(blocks)
}

// freshAnthropic returns the object of a group of messages: of an assistant
// message, or of results and the user message after them. A system message becomes
// a user message, because the list has no role for it.
func freshAnthropic(group []chat.Message) string {
	role := chat.User
	bare := slices.Clone(group)
	for i, m := range group {
		bare[i].Parts = withoutOriginals(m.Parts)
		for j, p := range m.Parts {
			if p.Kind == chat.Thinking && isSignedThinking(p.Raw) || p.Kind != chat.Thinking && isAnthropicBlock(p) {
				bare[i].Parts[j].Raw = p.Raw
			}
		}
		if m.Role == chat.Assistant {
			role = chat.Assistant
			bare[i].Parts = noImages(bare[i].Parts)
		}
	}
	content := blocksContent("", &originalBlocks{}, bare)
	if content == "" {
		return ""
	}
	return objectOf(change{"role", quotedJSON(string(role))}, change{"content", content})
}

// isSignedThinking reports whether raw is a thinking block that the API accepts.
func isSignedThinking(raw string) bool {
	if raw == "" {
		return false
	}
	o := parseObject(raw)
	switch o.textValue("type") {
	case "thinking":
		return o.textValue("signature") != ""
	case "redacted_thinking":
		return o.textValue("data") != ""
	}
	return false
}

// systemField returns the value of a body's system field for messages, in place of
// before: before itself if nothing changed, "" if there are none.
func systemField(before string, messages []chat.Message) string {
	if len(messages) == 0 {
		return ""
	}
	if s := messages[0].Source; len(messages) == 1 && s != nil && !messages[0].Changed && s.JSON == before {
		return before
	}
	was, err := readContent(before)
	if err != nil {
		was = nil
	}
	return blocksContent(before, replacedParts(was, allParts(messages)), messages)
}
