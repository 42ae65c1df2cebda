package wire

import (
	"iter"
	"strings"
)

// dialectOf returns the dialect of the messages of a source (openai, anthropic,
// ollama, bedrock or aisdk), or "". text begins at the first value of the source;
// valid says that it is valid JSON.
//
//	calls whose arguments are objects, images, tool_name, thinking   → ollama
//	blocks tool_use, tool_result, signed thinking, image with source → anthropic
//	blocks without a type, of one key that Converse has              → bedrock
//	blocks tool-call, tool-result                                    → aisdk
//	a body with system, input_schema, or a claude model              → anthropic
//	a body with options or keep_alive                                → ollama
//	anything else with roles and contents                            → openai
func dialectOf(p probe, text string, valid bool) string {
	if len(p.values) == 0 {
		if p.shape == array && valid {
			return "openai"
		}
		return ""
	}
	first := p.values[0]
	body := first.hasValueKind("messages", "[") && !first.hasMember("role")
	if p.shape != array {
		if !body {
			return ""
		}
		return dialectOfBody(first, p.shape == lines || valid)
	}
	list := text
	switch {
	case beginsWithAny(first.raw, "[") || body || first.hasValueKind("traj", "["):
		list = firstList(first)
	case !valid:
		raws := make([]string, len(p.values))
		for i, v := range p.values {
			raws[i] = v.raw
		}
		list = rawList(raws)
	}
	name, _ := dialectIn(list)
	return name
}

// firstList returns the messages of the first chat of several.
func firstList(v peek) string {
	for _, key := range []string{"traj", "messages"} {
		if v.hasValueKind(key, "[") {
			return v.fields[key]
		}
	}
	return v.raw
}

func dialectOfBody(body peek, valid bool) string {
	messages := body.fields["messages"]
	if !valid { // of the part before the break, by the first message
		messages = "[]"
		for _, v := range peekElements(body.fields["messages"]) {
			messages = rawList([]string{v.raw})
			break
		}
	}
	name, sure := dialectIn(messages)
	if sure || name == "" {
		return name
	}
	tools, _ := firstOfList(body.fields["tools"])
	switch {
	case body.hasValueKind("system", `"[`), body.hasMember("anthropic_version"), parseObject(tools).rawValue("input_schema") != "",
		strings.HasPrefix(body.stringValue("model"), "claude") && body.hasMember("max_tokens"):
		return "anthropic"
	case body.hasValueKind("options", "{"), body.hasMember("keep_alive"):
		return "ollama"
	}
	return name
}

func firstOfList(list string) (string, bool) {
	for start, end := range elements(list) {
		return list[start:end], true
	}
	return "", false
}

// dialectIn returns the dialect of a list of messages, "" if one is not a message.
// It is certain if a message is possible in no other dialect.
func dialectIn(list string) (name string, sure bool) {
	name = "openai"
	n := 0
	for m := range objectsIn(list) {
		if n++; n <= probed && !isMessage(m) {
			return "", false
		}
		if !sure {
			if told, is := messageDialect(m); is {
				name, sure = told, true
			}
		}
		if sure && n >= probed {
			break
		}
	}
	return name, sure
}

// isMessage reports whether an object has a role and a content.
func isMessage(m jsonObject) bool {
	_, err := messageRole(m)
	return err == nil && (m.rawValue("content") != "" || m.rawValue("tool_calls") != "" || m.rawValue("function_call") != "")
}

func messageDialect(m jsonObject) (string, bool) {
	if m.valueHasKind("images", "[") || m.valueHasKind("tool_name", `"`) || m.valueHasKind("thinking", `"`) {
		return "ollama", true
	}
	if call, is := firstOfList(m.rawValue("tool_calls")); is {
		if parseObject(parseObject(call).rawValue("function")).valueHasKind("arguments", "{") {
			return "ollama", true
		}
		return "openai", true
	}
	return blockDialect(m.rawValue("content"))
}

// blockDialect returns the only dialect that can have a content, and whether there
// is one.
func blockDialect(content string) (string, bool) {
	for b := range objectsIn(content) {
		kind := b.textValue("type")
		if isBedrockBlock(b) {
			return "bedrock", true
		}
		if isToolUse(kind) || isToolResult(kind) {
			return "anthropic", true
		}
		switch kind {
		case "redacted_thinking", "search_result", "container_upload":
			return "anthropic", true
		case "tool-call", "tool-result", "tool-approval-request", "tool-approval-response":
			return "aisdk", true
		case "thinking":
			if b.valueHasKind("signature", `"`) {
				return "anthropic", true
			}
		case "image", "document", "file":
			switch {
			case b.valueHasKind("source", "{"):
				return "anthropic", true
			case b.valueHasKind("image", `"`), b.valueHasKind("mediaType", `"`):
				return "aisdk", true
			}
		}
	}
	return "", false
}

// objectsIn yields the elements of a list; one that is not an object has no
// members.
func objectsIn(list string) iter.Seq[jsonObject] {
	return func(yield func(jsonObject) bool) {
		for start, end := range elements(list) {
			if !yield(parseObject(list[start:end])) {
				return
			}
		}
	}
}
