package wire

import (
	"io"
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
	return format{}, s.sourceError(ErrUnknown, 0, "", "unknown format; looked for "+strings.Join(names, ", "), "name one with --from")
}
