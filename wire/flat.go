package wire

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

// flatDialect returns a dialect of the OpenAI family, in which each message is one
// object, with its calls under a separate key. bare gives Ollama's form: contents
// are plain strings, arguments are objects, images are beside the content.
func flatDialect(name string, bare bool) dialect {
	w := flatWriter{bare: bare, meta: name == "jsonl"}
	return dialect{name: name, read: readFlat, rewrite: w.rewriteObject, fresh: w.newObject}
}

// reasoningKeys are the keys for thinking in the family. The first one with a
// string is read.
var reasoningKeys = [...]string{"reasoning_content", "reasoning", "thinking", "reasoning_details"}

// readFlat reads a message of any member of the family, so that files with mixed
// forms can be read too.
func readFlat(o jsonObject) ([]chat.Message, error) {
	role, err := messageRole(o)
	if err != nil {
		return nil, err
	}
	m := chat.Message{ID: o.textValue("id"), Role: role, Protected: protectedBy(o)}
	content, err := readContent(o.rawValue("content"))
	if err != nil {
		return nil, err
	}
	content = append(content, readImages(o.rawValue("images"))...)
	if role == chat.Tool {
		m.Parts = asResult(o, content)
		classify(&m)
		return []chat.Message{m}, nil
	}
	for _, key := range reasoningKeys {
		if text := o.textValue(key); text != "" {
			m.Parts = append(m.Parts, chat.Part{Kind: chat.Thinking, Text: text})
			break
		}
	}
	m.Parts = append(m.Parts, content...)
	calls, err := readCalls(o)
	if err != nil {
		return nil, err
	}
	m.Parts = append(m.Parts, calls...)
	classify(&m)
	return []chat.Message{m}, nil
}

// asResult returns the parts of a tool message: one result, then its images and
// opaque content.
func asResult(o jsonObject, content []chat.Part) []chat.Part {
	result := chat.Part{
		Kind: chat.Result, ID: o.textValue("tool_call_id"), Name: cmp.Or(o.textValue("name"), o.textValue("tool_name")),
		Text: joinedTexts(partsOfKinds(content, chat.Text)), Error: o.rawValue("is_error") == "true",
	}
	return append([]chat.Part{result}, partsOfKinds(content, chat.Image, chat.Opaque)...)
}

// readContent reads the content of a message: a string, a list of blocks, or
// nothing.
func readContent(raw string) ([]chat.Part, error) {
	switch {
	case raw == "" || raw == "null" || raw == `""`:
		return nil, nil
	case raw[0] == '"':
		return []chat.Part{{Kind: chat.Text, Text: unquoteText(raw)}}, nil
	case raw[0] != '[':
		return nil, &fieldError{"content", "is " + jsonKindName(raw) + ", not a string or a list"}
	}
	var parts []chat.Part
	for start, end := range elements(raw) {
		parts = append(parts, readBlock(raw[start:end]))
	}
	return parts, nil
}

// readBlock reads one block of a content list. An unknown block becomes an opaque
// part.
func readBlock(raw string) chat.Part {
	if raw[0] == '"' {
		return chat.Part{Kind: chat.Text, Text: unquoteText(raw), Raw: raw}
	}
	o := parseObject(raw)
	p := chat.Part{Kind: chat.Text, Raw: raw}
	kind := o.textValue("type")
	switch {
	case (kind == "text" || kind == "input_text" || kind == "output_text") && o.valueHasKind("text", `"`):
		p.Text = o.textValue("text")
	case kind == "refusal":
		p.Text = o.textValue("refusal")
	case kind == "thinking", kind == "reasoning", kind == "redacted_thinking":
		p.Kind, p.Text = chat.Thinking, o.textValue("thinking")+o.textValue("text")
	case kind == "image_url", kind == "input_image" && o.valueHasKind("image_url", `"{`):
		p.Kind, p.Image = chat.Image, imageURL(o)
	default:
		p.Kind, p.Text = chat.Opaque, opaqueText(raw)
	}
	return p
}

// imageURL reads {image_url: {url, detail}} and {image_url: url, detail}.
func imageURL(o jsonObject) *chat.Picture {
	if o.valueHasKind("image_url", "{") {
		in := parseObject(o.rawValue("image_url"))
		return pictureAt(in.textValue("url"), in.textValue("detail"))
	}
	return pictureAt(o.textValue("image_url"), o.textValue("detail"))
}

// readImages reads Ollama's list of base64 images.
func readImages(raw string) []chat.Part {
	var parts []chat.Part
	for start, end := range elements(raw) {
		p := pictureAt(unquoteText(raw[start:end]), "")
		if p.Data == "" {
			p = &chat.Picture{Data: p.URL}
		}
		p.MediaType = mediaType(p)
		parts = append(parts, chat.Part{Kind: chat.Image, Image: p, Raw: raw[start:end]})
	}
	return parts
}

// readCalls reads tool_calls, and function_call of the old form.
func readCalls(o jsonObject) ([]chat.Part, error) {
	raw := o.rawValue("tool_calls")
	if raw != "" && raw != "null" && raw[0] != '[' {
		return nil, &fieldError{"tool_calls", "is " + jsonKindName(raw) + ", not a list"}
	}
	var calls []chat.Part
	for start, end := range elements(raw) {
		call := parseObject(raw[start:end])
		p := readFunction(functionIn(call))
		p.ID, p.Raw = call.textValue("id"), call.raw
		calls = append(calls, p)
	}
	if len(calls) == 0 && o.valueHasKind("function_call", "{") {
		p := readFunction(parseObject(o.rawValue("function_call")))
		if p.Raw = o.rawValue("function_call"); p.Name != "" || p.Args != "" { // an SDK writes an empty one
			calls = append(calls, p)
		}
	}
	return calls, nil
}

// functionKey returns the key of the name and arguments of a call, "" if they are
// in the call itself. The type decides: SDKs write all variants of a call, with the
// others empty.
func functionKey(call jsonObject) string {
	keys := [...]string{"function", "custom"}
	for _, key := range keys {
		if call.textValue("type") == key && call.valueHasKind(key, "{") {
			return key
		}
	}
	for _, key := range keys {
		if call.valueHasKind(key, "{") && parseObject(call.rawValue(key)).textValue("name") != "" {
			return key
		}
	}
	for _, key := range keys {
		if call.valueHasKind(key, "{") {
			return key
		}
	}
	return ""
}

// functionIn returns the object with the name and the arguments of a call.
func functionIn(call jsonObject) jsonObject {
	if key := functionKey(call); key != "" {
		return parseObject(call.rawValue(key))
	}
	return call
}

// readFunction reads the name of a call, and its arguments: JSON text as a
// string, or the value itself.
func readFunction(o jsonObject) chat.Part {
	args := o.rawValue("arguments")
	switch {
	case beginsWithAny(args, `"`):
		args = unquoteText(args)
	case args == "null":
		args = ""
	case args == "" && o.valueHasKind("input", `"`): // free text of a custom tool
		args = objectOf(change{"input", o.rawValue("input")})
	}
	return chat.Part{Kind: chat.Call, Name: o.textValue("name"), Args: args}
}

// A flatWriter writes messages of the OpenAI family.
type flatWriter struct {
	bare bool // Ollama's form
	meta bool // protection is written
}

// shown are the kinds of part that are in the content.
var shown = []chat.Kind{chat.Text, chat.Summary, chat.Result, chat.Image, chat.ServerResult, chat.Opaque}

// rewriteObject writes the changes of a message into its object. Everything else
// keeps its bytes.
func (w flatWriter) rewriteObject(o jsonObject, group []chat.Message) string {
	m := group[0]
	read, err := readFlat(o)
	if err != nil { // cannot happen: it was read before
		return o.raw
	}
	was := read[0]
	changes := w.contentChanges(o, was.Parts, m.Parts)
	before, now := partsOfKinds(was.Parts, chat.Call), partsOfKinds(m.Parts, chat.Call)
	if !slices.EqualFunc(before, now, w.sameCall) {
		changes = append(changes, w.callChanges(o, before, now)...)
	}
	if len(partsOfKinds(m.Parts, chat.Thinking)) == 0 {
		// If all of it was removed, none of its other forms may stay.
		for _, key := range reasoningKeys {
			changes = append(changes, change{key: key})
		}
	}
	return o.withChanges(changes...)
}

// sameCall ignores the ids, which are invented if the source has none.
func (w flatWriter) sameCall(a, b chat.Part) bool {
	return a.Name == b.Name && a.Args == b.Args
}

func (w flatWriter) contentChanges(o jsonObject, was, now []chat.Part) []change {
	before, after := inContent(was), inContent(now)
	if slices.EqualFunc(before, after, sameShown) {
		return nil
	}
	if o.valueHasKind("content", "[") && !w.bare {
		return []change{{"content", rewriteBlocks(o.rawValue("content"), after)}}
	}
	return w.contentMembers(after, len(partsOfKinds(now, chat.Call)) > 0)
}

// inContent returns the parts of the content: those that are shown, and thinking
// that was a block of it.
func inContent(parts []chat.Part) []chat.Part {
	blocks := slices.DeleteFunc(slices.Clone(parts), func(p chat.Part) bool {
		return p.Kind == chat.Thinking && p.Raw == ""
	})
	return partsOfKinds(blocks, append(slices.Clone(shown), chat.Thinking)...)
}

// sameShown ignores ids and names, which are not in the content.
func sameShown(a, b chat.Part) bool {
	a.ID, a.Name, b.ID, b.Name = "", "", "", ""
	return samePart(a, b)
}

// rewriteBlocks returns a content list for parts; list is the former one.
func rewriteBlocks(list string, parts []chat.Part) string {
	before, _ := readContent(list)
	free := replacedParts(before, parts)
	var blocks []string
	for _, p := range parts {
		if p.Raw != "" {
			blocks = append(blocks, p.Raw)
			continue
		}
		if p.Kind == chat.Image {
			blocks = append(blocks, imageBlock(p.Image))
			continue
		}
		blocks = append(blocks, free.textBlockFor(p))
	}
	return rawList(blocks)
}

func imageBlock(p *chat.Picture) string {
	in := []change{{"url", quotedJSON(addressOf(p))}}
	if p.Detail != "" {
		in = append(in, change{"detail", quotedJSON(p.Detail)})
	}
	return objectOf(change{"type", `"image_url"`}, change{"image_url", objectOf(in...)})
}

// contentMembers returns the members with parts: text and images.
func (w flatWriter) contentMembers(parts []chat.Part, calls bool) []change {
	text := joinedTexts(parts)
	images := partsOfKinds(parts, chat.Image)
	if w.bare {
		return w.bareContent(text, images)
	}
	if len(images) > 0 || slices.ContainsFunc(parts, isOpenAIBlock) {
		return []change{{"content", rewriteBlocks("", parts)}}
	}
	if text == "" && calls {
		return []change{{"content", "null"}}
	}
	return []change{{"content", quotedJSON(text)}}
}

// bareContent puts the bytes of images beside the text, and addresses, which Ollama
// does not accept, into it.
func (w flatWriter) bareContent(text string, images []chat.Part) []change {
	var data []string
	for _, p := range images {
		if p.Image.Data != "" {
			data = append(data, quotedJSON(p.Image.Data))
			continue
		}
		if text != "" {
			text += "\n"
		}
		text += "[image: " + p.Image.URL + "]"
	}
	if len(data) == 0 {
		return []change{{"content", quotedJSON(text)}, {"images", ""}}
	}
	return []change{{"content", quotedJSON(text)}, {"images", rawList(data)}}
}

// callChanges returns the member with the calls, in its former form.
func (w flatWriter) callChanges(o jsonObject, before, now []chat.Part) []change {
	old := !o.valueHasKind("tool_calls", "[") && o.valueHasKind("function_call", "{")
	if len(now) == 0 {
		return []change{{key: "tool_calls"}, {key: "function_call"}}
	}
	if old && len(now) == 1 {
		return []change{{"function_call", w.function(parseObject(o.rawValue("function_call")), now[0])}}
	}
	free := replacedParts(before, now)
	var calls []string
	for _, p := range now {
		if p.Raw != "" {
			calls = append(calls, p.Raw)
			continue
		}
		calls = append(calls, w.callObject(free.takeOriginal(p), p))
	}
	return []change{{"tool_calls", rawList(calls)}}
}

// callObject returns the object of a call, based on the former one.
func (w flatWriter) callObject(o jsonObject, p chat.Part) string {
	switch {
	case len(o.members) == 0:
		parts := []change{{"function", w.function(jsonObject{raw: "{}"}, p)}}
		if p.ID != "" {
			parts = []change{{"id", quotedJSON(p.ID)}, {"type", `"function"`}, parts[0]}
		}
		return objectOf(parts...)
	case functionKey(o) == "custom":
		custom := parseObject(o.rawValue("custom"))
		return o.withChanges(change{"custom", custom.withChanges(change{"input", customToolInput(p)})})
	case functionKey(o) == "function":
		return o.withChanges(change{"function", w.function(parseObject(o.rawValue("function")), p)})
	}
	return w.function(o, p)
}

// function returns name and arguments; the arguments in their former form, or else
// in the dialect's.
func (w flatWriter) function(o jsonObject, p chat.Part) string {
	asObject := w.bare
	if o.rawValue("arguments") != "" {
		asObject = !o.valueHasKind("arguments", `"`)
	}
	args := argumentsObject(p)
	if !asObject {
		args = quotedJSON(args)
	}
	if len(o.members) > 0 && o.textValue("name") == p.Name {
		return o.withChanges(change{"arguments", args})
	}
	return o.withChanges(change{"name", quotedJSON(p.Name)}, change{"arguments", args})
}

// customToolInput returns the free text of a custom tool's call, as a JSON string.
func customToolInput(p chat.Part) string {
	if in := parseObject(p.Args).rawValue("input"); beginsWithAny(in, `"`) {
		return in
	}
	return quotedJSON(p.Args)
}

// newObject returns the object of one message.
func (w flatWriter) newObject(group []chat.Message) string {
	m := group[0]
	calls := partsOfKinds(m.Parts, chat.Call)
	content := withoutOriginals(partsOfKinds(m.Parts, shown...))
	if !w.bare && m.Role == chat.User {
		for i, p := range partsOfKinds(m.Parts, shown...) {
			if isOpenAIBlock(p) {
				content[i].Raw = p.Raw
			}
		}
	}
	if m.Role != chat.User && m.Role != chat.Tool {
		content = noImages(content)
	}
	members := []change{{"role", quotedJSON(string(w.dialectRole(m.Role)))}}
	members = append(members, w.contentMembers(content, len(calls) > 0)...)
	if thinking := thinkingOf(m.Parts); thinking != "" && m.Role == chat.Assistant {
		members = append(members, change{w.thinkingKey(), quotedJSON(thinking)})
	}
	if len(calls) > 0 {
		members = append(members, w.callChanges(jsonObject{}, nil, withoutOriginals(calls))...)
	}
	if results := partsOfKinds(m.Parts, chat.Result); m.Role == chat.Tool && len(results) > 0 {
		members = append(members, w.resultMembers(results[0])...)
	}
	if w.meta && m.Protected {
		members = append(members, change{"meta", `{"protected":true}`})
	}
	return objectOf(members...)
}

func (w flatWriter) resultMembers(p chat.Part) []change {
	key := "name"
	if w.bare {
		key = "tool_name"
	}
	var members []change
	if p.Name != "" && (w.bare || p.ID == "") {
		members = append(members, change{key, quotedJSON(p.Name)})
	}
	if p.ID != "" {
		members = append(members, change{"tool_call_id", quotedJSON(p.ID)})
	}
	return members
}

func (w flatWriter) thinkingKey() string {
	if w.bare {
		return "thinking"
	}
	return "reasoning_content"
}

// dialectRole returns the role in the dialect: Ollama has no developer.
func (w flatWriter) dialectRole(r chat.Role) chat.Role {
	if w.bare && r == chat.Developer {
		return chat.System
	}
	return r
}

// thinkingOf returns the texts of the thinking parts.
func thinkingOf(parts []chat.Part) string {
	var texts []string
	for _, p := range partsOfKinds(parts, chat.Thinking) {
		if p.Text != "" {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// noImages puts a placeholder in place of each image.
func noImages(parts []chat.Part) []chat.Part {
	out := slices.Clone(parts)
	for i, p := range out {
		if p.Kind == chat.Image {
			out[i] = chat.Part{Kind: chat.Text, Text: "[image]"}
		}
	}
	return out
}

// withoutOriginals returns parts without their original blocks, which are of
// another dialect.
func withoutOriginals(parts []chat.Part) []chat.Part {
	out := slices.Clone(parts)
	for i := range out {
		out[i].Raw = ""
	}
	return out
}
