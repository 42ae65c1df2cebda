package wire

import (
	"io"
	"iter"
	"strings"
)

// allFormats returns every format, in the order of listings. If two match equally
// well, the first is used.
func allFormats() []format {
	return []format{
		chatFormat(flatDialect("openai", false), "OpenAI chat: a list of messages or a request body; also several chats in a file"),
		chatFormat(anthropicDialect(), "Anthropic Messages: a list of messages or a request body"),
		chatFormat(flatDialect("ollama", true), "Ollama /api/chat: a list of messages or a request body"),
		lineFormat("JSON lines of {role, content}, with meta.protected"),
		{"claudecode", "Claude Code session (JSON lines)", matchClaudeCode, decodeClaudeCode, nil},
		{"codex", "Codex CLI rollout (JSON lines)", matchCodex, decodeCodex, nil},
		{"responses", "OpenAI Responses items or request body", matchResponses, decodeResponses, nil},
		{"gemini", "Gemini contents or request body", matchGemini, decodeGemini, nil},
		{"geminicli", "Gemini CLI chat (JSON or JSON lines), Qwen Code session", matchGeminiCLI, decodeGeminiCLI, nil},
		{"opencode", "OpenCode export (JSON)", matchOpenCode, decodeOpenCode, nil},
		{"pi", "pi session (JSON lines), or JSON with pi messages", matchPiSession, decodePi, nil},
		{"openhands", "OpenHands trajectory (V0 list, V1 events as JSON lines or list)", matchOpenHands, decodeOpenHands, nil},
		{"sweagent", "SWE-agent trajectory (.traj)", matchSWEAgent, decodeSWEAgent, nil},
		{"minisweagent", "mini-swe-agent trajectory", matchMiniSWEAgent, decodeMiniSWEAgent, nil},
		{"cline", "Cline or Roo task (api_conversation_history.json)", matchCline, decodeCline, nil},
		{"aider", "aider chat history (Markdown)", matchAider, decodeAider, nil},
		{"cassette", "HTTP requests recorded by go-vcr or vcrpy: the body of each is a chat", matchCassette, decodeCassette, nil},
		{"bedrock", "Bedrock Converse: a list of messages or a request body", matchBedrock, decodeBedrock, nil},
		{"aisdk", "AI SDK: model messages, or UI messages with their parts", matchAISDK, decodeAISDK, nil},
		{"langchain", "LangChain messages: dumps, messages_to_dict, model_dump", matchLangChain, decodeLangChain, nil},
		{"session", "session file of tiercompact chat (JSON lines): the current conversation", matchSession, decodeSessionFile, nil},
	}
}

// chatFormat returns a format of lists of messages and of request bodies.
func chatFormat(d dialect, about string) format {
	return format{
		d.name, about,
		func(p probe) int { return p.formatScore(d.name) },
		func(src *source) ([]Conversation, error) { return readChats(src, d) },
		func(w io.Writer, c Conversation) error { return encodeChat(w, c, d) },
	}
}

// A shape is the layout of a source.
type shape int

// The shapes.
const (
	plain  shape = iota // not JSON
	object              // one JSON object
	array               // one JSON list
	lines               // several JSON values, at least one of them on the first line
)

// A probe is the input of format detection: the outline of a source, never all of
// it.
type probe struct {
	shape  shape
	head   string // the first 4 KiB of the text
	values []peek // the object, the first elements of the list, or the first lines; at most 20, without broken ones
	// dialect is the name of the messages' format, if they are a list with roles
	// and contents, or one or several bodies with such a list.
	dialect string
}

// likely is the score of a format that is recognised only by roles and contents.
// Formats with features of their own have a higher score.
const likely = 40

// formatScore returns how well the messages match the named format.
func (p probe) formatScore(name string) int {
	if p.dialect == name {
		return likely
	}
	return 0
}

// A peek is one JSON value whose outline was read.
type peek struct {
	raw    string
	fields map[string]string // of an object: the raw values of its keys
}

const probed = 20

func (v peek) hasMember(key string) bool { _, ok := v.fields[key]; return ok }

// stringValue returns the string under key, "" if it is none.
func (v peek) stringValue(key string) string { return unquoteText(v.fields[key]) }

// hasValueKind reports whether the value under key begins with one of the bytes in
// kinds: { [ " for objects, lists and strings.
func (v peek) hasValueKind(key, kinds string) bool { return beginsWithAny(v.fields[key], kinds) }

// probeSource returns the probe of a source.
func probeSource(s *source) probe {
	p := probe{head: s.text[:min(len(s.text), 4096)]}
	start, end, err := s.firstValue()
	text := s.text[start:]
	switch {
	case text[0] == '[':
		p.shape = array
		p.values = peekElements(text)
	case text[0] != '{':
		return p
	case err == nil && skipSpace(s.text, end) == len(s.text):
		p.shape = object
		p.values = []peek{peekValue(s.text[start:end])}
	case err == nil && !strings.Contains(s.text[start:end], "\n") || len(peekLines(text, s.lenient)) > 0: // one of the first lines is a whole object
		p.shape = lines
		p.values = peekLines(text, s.lenient)
	default: // a broken object; its readable part identifies the format
		p.shape = object
		p.values = []peek{peekValue(text)}
	}
	p.dialect = dialectOf(p, text, err == nil)
	return p
}

func peekLines(text string, lenient bool) []peek {
	var found []peek
	n := 0
	for line := range strings.Lines(text) {
		if n++; n > probed {
			break
		}
		for i := skipSpace(line, 0); i < len(line) && len(found) < probed; i = skipSpace(line, i) {
			end, err := scanValue(line, i)
			if err != nil {
				if i = nextRecord(line, i, brokenAt(err)); lenient && i >= 0 {
					continue
				}
				break
			}
			if line[i] == '{' {
				found = append(found, peekValue(line[i:end]))
			}
			i = end
		}
	}
	return found
}

func peekElements(text string) []peek {
	var found []peek
	for start := range elements(text) {
		if len(found) == probed {
			break
		}
		end, err := scanValue(text, start)
		if err != nil {
			break
		}
		found = append(found, peekValue(text[start:end]))
	}
	return found
}

func peekValue(raw string) peek {
	v := peek{raw: raw}
	for m := range objectMembers(raw) {
		if v.fields == nil {
			v.fields = make(map[string]string)
		}
		v.fields[m.key] = raw[m.start:m.end]
	}
	return v
}

// chooseFormat returns the named format, or the one that matches best.
func chooseFormat(s *source, name string) (format, error) {
	all := allFormats()
	names := make([]string, len(all))
	for i, f := range all {
		if names[i] = f.name; f.name == name {
			return f, nil
		}
	}
	if name != "" {
		return format{}, s.sourceError(ErrUnknown, 0, "", "unknown format "+name, "--from takes one of "+strings.Join(names, ", "))
	}
	p := probeSource(s)
	best, surest := -1, 0
	for i, f := range all {
		if n := f.match(p); n > surest {
			best, surest = i, n
		}
	}
	if best >= 0 {
		return all[best], nil
	}
	if p.shape == array || p.shape == object {
		if _, err := s.document(); err != nil {
			return format{}, err
		}
	}
	return format{}, s.sourceError(ErrUnknown, 0, "", "unknown format; known are "+strings.Join(names, ", "), "name one with --from")
}

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
