package wire

import (
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

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
