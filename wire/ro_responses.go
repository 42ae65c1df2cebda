package wire

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

func matchResponses(p probe) int {
	switch {
	case p.shape == object && len(p.values) > 0:
		v := p.values[0]
		if v.hasValueKind("input", `["`) && !v.hasMember("messages") && (v.hasMember("model") || v.hasMember("instructions") || v.hasValueKind("input", "[")) {
			return 85
		}
		if v.stringValue("object") == "response" && v.hasValueKind("output", "[") {
			return 85
		}
	case p.shape == array:
		if slices.ContainsFunc(p.values, func(v peek) bool {
			return isResponsesItem(v) || v.stringValue("type") == "reasoning" && v.hasValueKind("summary", "[")
		}) {
			return 85
		}
	}
	return 0
}

// isResponsesItem reports whether v is of a kind that only the Responses API has.
func isResponsesItem(v peek) bool {
	switch kind := v.stringValue("type"); kind {
	case "function_call", "custom_tool_call", "local_shell_call":
		return !v.hasMember("message")
	case "function_call_output", "custom_tool_call_output", "local_shell_call_output",
		"web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call",
		"computer_call", "computer_call_output", "shell_call_output", "apply_patch_call", "apply_patch_call_output",
		"mcp_call", "mcp_list_tools", "mcp_approval_request", "mcp_approval_response", "tool_search_output":
		return true
	case "shell_call":
		return v.hasMember("call_id") && v.hasValueKind("action", "{")
	case "tool_search_call":
		return v.hasMember("execution") || v.hasMember("status")
	case "message":
		return v.hasMember("role") && v.hasMember("content")
	case "compaction":
		return v.hasValueKind("encrypted_content", `"`)
	}
	for _, b := range v.listValue("content") {
		if kind := b.stringValue("type"); kind == "input_text" || kind == "output_text" {
			return true
		}
	}
	return false
}

func decodeResponses(src *source) ([]Conversation, error) {
	doc, err := src.document()
	if err != nil {
		return nil, err
	}
	body := peekValue(doc.raw)
	c := Conversation{Format: "responses", Model: body.stringValue("model"), Tools: functionsOf(body.fields["tools"])}
	var s itemLog
	s.appendText("", chat.System, body.stringValue("instructions"))
	history := body.fields["input"]
	switch {
	case body.fields == nil:
		history = body.raw
	case history == "":
		history = body.fields["output"]
	}
	for _, it := range blocksIn(history) {
		s.addResponseItem(it)
	}
	s.flushItems()
	return s.singleConversation(c), nil
}

// An itemLog collects items of the Responses API: consecutive output of the model
// (reasoning, text, calls) is one message.
type itemLog struct {
	messageLog
	turn     chat.Message      // the model's current output; no parts if there is none
	callOf   map[string]string // the id of an item → the id that pairs its call
	hosted   int               // calls that the API ran without an id
	searches []string          // calls of the newest tool searches, without a result and without an id to pair them
}

func (s *itemLog) addOutput(id string, parts ...chat.Part) {
	if s.turn.ID == "" {
		s.turn.ID = id
	}
	s.turn.Parts = append(s.turn.Parts, parts...)
}

func (s *itemLog) flushItems() {
	s.turn.Role = chat.Assistant
	s.appendMessage(s.turn)
	s.turn = chat.Message{}
}

// addResponseItem adds one item.
func (s *itemLog) addResponseItem(it peek) {
	it = withoutVariants(it)
	kind := it.stringValue("type")
	if kind != "tool_search_call" && kind != "tool_search_output" {
		s.searches = nil
	}
	switch {
	case kind == "", kind == "message":
		s.addMessageItem(it)
	case kind == "reasoning":
		s.addOutput(it.stringValue("id"), chat.Part{Kind: chat.Thinking, Text: reasoningText(it)})
	case kind == "agent_message": // from another agent
		s.flushItems()
		s.appendMessage(chat.Message{ID: it.stringValue("id"), Role: chat.User, Machine: true, Parts: textParts(it.fields["content"])})
	case isOutputItem(kind):
		s.flushItems()
		s.addResultItem(kind, it)
	case isCallItem(kind):
		s.addCallItem(kind, it)
	case kind == "ghost_snapshot": // internal to Codex
	default:
		s.addOpaqueItem(it)
	}
}

// addOpaqueItem adds an item that is unknown or not readable, unchanged. Without a
// role it is the model's.
func (s *itemLog) addOpaqueItem(it peek) {
	switch role := chat.Role(it.stringValue("role")); role {
	case chat.System, chat.Developer, chat.User:
		s.flushItems()
		s.appendMessage(chat.Message{ID: it.stringValue("id"), Role: role, Machine: true, Parts: opaqueParts(it)})
	default:
		s.addOutput(it.stringValue("id"), opaqueParts(it)...)
	}
}

func (s *itemLog) addMessageItem(it peek) {
	content := it.fields["content"]
	if content == "" {
		content = it.fields["message"] // a client of 2025
	}
	if content == "" && strings.HasPrefix(it.raw, `"`) {
		content = it.raw
	}
	parts := textParts(content)
	role := chat.Role(it.stringValue("role"))
	switch role {
	case chat.Assistant:
		s.addOutput(it.stringValue("id"), parts...)
		return
	case chat.System, chat.Developer:
	default:
		role = chat.User
	}
	s.flushItems()
	s.appendMessage(chat.Message{ID: it.stringValue("id"), Role: role, Parts: parts})
}

func reasoningText(it peek) string {
	var texts []string
	for _, key := range []string{"summary", "content"} {
		for _, b := range blocksIn(it.fields[key]) {
			if text, ok := plainText(b); ok && text != "" {
				texts = append(texts, text)
			}
		}
	}
	return strings.Join(texts, "\n")
}

// Calls in the Responses API have one of two forms: the result is an item of its
// own or, if the API ran the tool itself, it is in the same item once the call has
// finished.

// hostedCalls are the items of the second form, with the keys of their result.
var hostedCalls = map[string][]string{
	"web_search_call":       {"results"},
	"file_search_call":      {"results"},
	"code_interpreter_call": {"outputs"},
	"image_generation_call": {"result"},
	"mcp_call":              {"output", "error"},
	"mcp_list_tools":        {"tools", "error"},
}

// anyResult are the possible keys of the result in a call of a new type.
var anyResult = []string{"output", "outputs", "result", "results", "error"}

// resultKeys returns the keys of the result of a call in its own item.
func resultKeys(kind string) (keys []string, hosted bool) {
	if keys, hosted = hostedCalls[kind]; hosted {
		return keys, true
	}
	return anyResult, false
}

// isCallItem reports whether an item of this type is a call.
func isCallItem(kind string) bool {
	switch kind {
	case "function_call", "tool_call", "mcp_list_tools", "mcp_approval_request", "program":
		return true
	}
	return strings.HasSuffix(kind, "_call")
}

// isOutputItem reports whether an item of this type is the result of a call.
func isOutputItem(kind string) bool {
	switch kind {
	case "tool_search_output", "program_output", "tool_result", "function_result", "mcp_approval_response":
		return true
	}
	return strings.HasSuffix(kind, "_call_output")
}

// finished reports whether a call has its result in its own item. If neither the
// type nor the status decides, a result must be present.
func finished(kind string, it peek) bool {
	keys, hosted := resultKeys(kind)
	switch status := it.stringValue("status"); {
	case hosted && (status == "completed" || status == "failed"):
		return true
	case hosted && status != "" && status != "incomplete":
		return false
	}
	return slices.ContainsFunc(keys, it.hasNonNull)
}

// addCallItem adds a call, and its result if that is in the same item.
func (s *itemLog) addCallItem(kind string, it peek) {
	name, args := callOfItem(kind, it)
	p := chat.Part{Kind: chat.Call, Name: name, Args: args}
	id := cmp.Or(it.stringValue("call_id"), it.stringValue("id"))
	if id == "" && hostedCalls[kind] != nil {
		s.hosted++
		id = "hosted_" + strconv.Itoa(s.hosted)
	}
	p.ID = s.calls.assignCallID(id, name)
	if id := it.stringValue("id"); id != "" && id != p.ID {
		if s.callOf == nil {
			s.callOf = make(map[string]string)
		}
		s.callOf[id] = p.ID
	}
	s.addOutput(it.stringValue("id"), p)
	if kind == "tool_search_call" && !it.hasNonNull("call_id") {
		s.searches = append(s.searches, p.ID)
	}
	if finished(kind, it) {
		s.flushItems()
		s.hostedResult(kind, p, it)
	}
}

// callOfItem returns the tool name and the arguments of an item.
func callOfItem(kind string, it peek) (name, args string) {
	name = cmp.Or(it.stringValue("name"), it.memberValue("function").stringValue("name"))
	keys, _ := resultKeys(kind)
	switch kind {
	case "function_call", "tool_call", "mcp_call":
		return name, argumentsText(it.fields["arguments"])
	case "custom_tool_call":
		return name, inputArgs(it.stringValue("input"))
	case "tool_search_call":
		return "tool_search", argumentsText(it.fields["arguments"])
	case "local_shell_call", "shell_call", "web_search_call":
		return strings.TrimSuffix(kind, "_call"), argumentsText(it.fields["action"])
	case "apply_patch_call":
		return "apply_patch", argumentsText(it.fields["operation"])
	}
	return cmp.Or(strings.TrimSuffix(kind, "_call"), name), otherFields(it, keys)
}

// otherFields returns the members of an item other than its type, ids, status and
// result, as an object.
func otherFields(it peek, result []string) string {
	changes := make([]change, 0, 8)
	for _, key := range append([]string{"type", "id", "call_id", "status"}, result...) {
		changes = append(changes, change{key: key})
	}
	o := parseObject(it.raw)
	for _, m := range o.members {
		if o.raw[m.start:m.end] == "null" {
			changes = append(changes, change{key: m.key})
		}
	}
	return readable(o.withChanges(changes...))
}

// hostedResult adds the result in the item of a call that the API ran.
func (s *itemLog) hostedResult(kind string, call chat.Part, it peek) {
	p := chat.Part{ID: s.calls.resultCallID(call.ID, call.Name)}
	p.Error = it.hasNonNull("error") || it.stringValue("status") == "failed"
	var texts []string
	var images []chat.Part
	keys, _ := resultKeys(kind)
	for _, key := range keys {
		if !it.hasNonNull(key) {
			continue
		}
		if kind == "image_generation_call" {
			format := cmp.Or(it.stringValue("output_format"), "png")
			images = append(images, chat.Part{Kind: chat.Image, Image: &chat.Picture{MediaType: "image/" + format, Data: it.stringValue(key)}})
			continue
		}
		for _, b := range blocksIn(it.fields[key]) {
			text, picture := hostedPiece(b)
			if picture != nil {
				images = append(images, chat.Part{Kind: chat.Image, Image: picture})
			} else {
				texts = append(texts, text)
			}
		}
	}
	if p.Text = strings.Join(texts, "\n"); p.Text == "" && len(images) == 0 {
		p.Text = it.stringValue("status")
	}
	s.appendResult("", p, images)
}

// hostedPiece returns a piece of a hosted tool's result: the output of code, an
// image, or the piece unchanged.
func hostedPiece(b peek) (text string, picture *chat.Picture) {
	switch {
	case strings.HasPrefix(b.raw, `"`):
		return b.ownString(), nil
	case b.stringValue("type") == "logs":
		return b.stringValue("logs"), nil
	case b.stringValue("type") == "image" && b.hasValueKind("url", `"`):
		return "", pictureFromURL(b.stringValue("url"), "")
	}
	return readable(b.raw), nil
}

// addResultItem adds an item that is the result of a call.
func (s *itemLog) addResultItem(kind string, it peek) {
	content := it.fields["output"]
	for _, key := range []string{"result", "tools", "error"} {
		if content == "" || content == "null" {
			content = it.fields[key]
		}
	}
	p := chat.Part{ID: s.answered(kind, it)}
	p.Error = it.hasNonNull("error") || it.stringValue("status") == "failed" || it.memberValue("output").fields["success"] == "false"
	if wrapped := it.memberValue("output"); wrapped.hasMember("content") { // {content, success}
		content = wrapped.fields["content"]
	}
	text, images := shellText(content), []chat.Part(nil)
	if text == "" {
		text, images = resultParts(content)
	}
	if kind == "mcp_approval_response" {
		text = otherFields(it, []string{"approval_request_id"})
	}
	if text == "" && len(images) == 0 && !it.hasMember("output") {
		text = it.stringValue("status")
	}
	p.Text = text
	s.appendResult("", p, images)
}

// answered returns the id of the call that a result answers. A tool search that the
// API ran has no id: its result follows the calls.
func (s *itemLog) answered(kind string, it peek) string {
	if kind == "tool_search_output" && !it.hasNonNull("call_id") && len(s.searches) > 0 {
		id := s.searches[0]
		s.searches = s.searches[1:]
		return s.calls.resultCallID(id, "")
	}
	id := cmp.Or(it.stringValue("call_id"), it.stringValue("approval_request_id"), it.stringValue("id"))
	if call, ok := s.callOf[id]; ok && !s.calls.known[id] {
		id = call
	}
	return s.calls.resultCallID(id, it.stringValue("name"))
}

// shellText returns the output of a shell's commands, "" if content is not such an
// output.
func shellText(content string) string {
	var texts []string
	for _, b := range blocksIn(content) {
		if !b.hasValueKind("stdout", `"`) && !b.hasValueKind("stderr", `"`) {
			return ""
		}
		outcome := b.memberValue("outcome")
		code := outcome.fields["exit_code"]
		if code == "0" || code == "" {
			code = ""
		} else {
			code = "exit code " + code
		}
		if outcome.stringValue("type") == "timeout" {
			code = "timeout"
		}
		texts = append(texts, joinTexts(b.stringValue("stdout"), b.stringValue("stderr"), code))
	}
	return strings.Join(texts, "\n")
}
