package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/wire"
)

// sessionFile returns a session file with the messages of a transcript.
func sessionFile(transcript string) string {
	folder, err := os.MkdirTemp("", "")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder)
	c, err := wire.DecodeBytes([]byte(transcript), wire.Options{})
	if err != nil {
		panic(err)
	}
	path := filepath.Join(folder, "talk.jsonl")
	f, err := archive.CreateSession(path, archive.Meta{Session: "talk"})
	if err != nil {
		panic(err)
	}
	if err := errors.Join(f.Load(c.Messages), f.Close()); err != nil {
		panic(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// A made conversation has everything that formats represent differently: thinking,
// two texts in one message, parallel calls, empty and failed results, repeated ids,
// images, several system messages, a message with thinking only.
type (
	turn struct {
		user     string
		think    string
		texts    []string
		calls    []toolCall
		done     string // the assistant's text after the results
		onlyHm   bool   // a message with thinking only comes before it
		image    bool   // the user shows one
		reminder string // of the client: a system or developer message
	}
	toolCall struct {
		id, name, path, result string
		failed                 bool
	}
	object = map[string]any
	array  = []any
)

// turns returns a conversation long enough for every level.
func turns() []turn {
	var all []turn
	for i := range 9 {
		var code strings.Builder
		for line := range 14 {
			fmt.Fprintf(&code, "def helper_%d_%d(value):\n    return value * %d + %d\n", i, line, line, i)
		}
		path := fmt.Sprintf("src/part%d.py", i)
		t := turn{
			user:  fmt.Sprintf("Part %d of the report is wrong: helper_%d_7 rounds too late. Look into %s.", i, i, path),
			think: fmt.Sprintf("The rounding of part %d must be in %s.", i, path),
			texts: []string{fmt.Sprintf("I read part %d.", i), "One moment."},
			calls: []toolCall{{id: fmt.Sprintf("call_%d", i), name: "read_file", path: path, result: code.String()}},
			done:  fmt.Sprintf("Part %d is right now: helper_%d_7 rounds first, and %s has a test for it.", i, i, path),
		}
		switch i {
		case 1, 7:
			t.calls = append(t.calls, toolCall{id: fmt.Sprintf("call_%d_b", i), name: "write_file", path: path, result: ""})
		case 2:
			t.calls[0].failed = true
			t.calls = append(t.calls, toolCall{id: "call.2:c", name: "read_file", path: "src/a.py", result: "a = 1"})
		case 3:
			t.reminder = "Keep the public names as they are."
		case 4:
			t.texts, t.onlyHm = nil, true
		case 5:
			t.image = true
		case 6:
			t.calls[0].id = "call_5" // again
		case 8:
			t.think, t.reminder = "", "Answer in short sentences."
		}
		all = append(all, t)
	}
	return all
}

// sessions returns the conversation in each format, in the shapes of the recorded
// testdata of package wire.
func sessions() map[string]string {
	return map[string]string{
		"openai list":            inline(openAIMessages("system")),
		"openai body":            inline(object{"model": "m", "messages": openAIMessages("developer"), "temperature": 0.5, "tools": array{object{"type": "function", "function": object{"name": "read_file"}}}}),
		"openai blocks":          indented(openAIBlocks()),
		"openai functions":       inline(openAIFunctions()),
		"anthropic body":         inline(object{"model": "claude-x", "max_tokens": 100, "system": array{textBlock("You are a coding assistant."), textBlock("Use the tools.")}, "messages": anthropicMessages(true)}),
		"anthropic list":         indented(anthropicMessages(false)),
		"anthropic plain":        inline(plainMessages()),
		"ollama body":            inline(object{"model": "llama3.2", "messages": ollamaMessages(), "options": object{"num_ctx": 4096}, "stream": false}),
		"ollama list":            inline(ollamaMessages()),
		"jsonl":                  lines(openAIMessages("system")...),
		"session":                sessionFile(inline(openAIMessages("system"))),
		"jsonl blocks":           lines(anthropicMessages(true)...),
		"claudecode":             claudeCodeSession(),
		"codex":                  codexSession(),
		"responses":              inline(object{"model": "m", "instructions": "Be brief.", "input": responseItems(false)}),
		"bedrock":                inline(object{"modelId": "m", "system": array{object{"text": "Be brief."}}, "messages": bedrockMessages()}),
		"bedrock list":           indented(bedrockMessages()),
		"aisdk":                  indented(aiSDKMessages()),
		"aisdk ui":               inline(object{"id": "chat", "messages": aiSDKUIMessages()}),
		"langchain":              inline(langChainMessages(func(kind string, data object) object { return object{"type": kind, "data": data} })),
		"langchain dumps":        indented(langChainMessages(langChainDump)),
		"gemini":                 inline(object{"systemInstruction": object{"parts": array{object{"text": "Be brief."}}}, "contents": geminiContents()}),
		"geminicli":              geminiCLISession(),
		"geminicli qwen":         qwenSession(),
		"opencode":               openCodeSession(),
		"pi":                     piSession(),
		"openhands events":       openHandsV0(),
		"openhands typed events": openHandsV1(),
		"sweagent":               sweAgentSession(),
		"minisweagent":           inline(object{"info": object{"exit_status": "Submitted"}, "messages": miniSWEMessages(), "trajectory_format": "mini-swe-agent-1"}),
		"cline":                  clineTask(),
		"aider":                  aiderLog(),
		"cassette":               "version: 2\ninteractions:\n- request:\n    body: " + inline(inline(object{"model": "m", "messages": openAIMessages("system")})) + "\n",
	}
}

func inline(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // texts, numbers, lists and objects
	}
	return string(text)
}

func indented(v any) string {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		panic(err)
	}
	return string(text) + "\n"
}

func lines(values ...any) string {
	var b strings.Builder
	for _, v := range values {
		b.WriteString(inline(v) + "\n")
	}
	return b.String()
}

func textBlock(s string) object { return object{"type": "text", "text": s} }

const onePixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

func args(c toolCall) object { return object{"path": c.path, "n": 1.50} }

func openAIMessages(system string) (all array) {
	all = append(all, object{"role": system, "content": "You are a coding assistant."})
	for i, t := range turns() {
		if t.reminder != "" {
			all = append(all, object{"role": system, "content": t.reminder})
		}
		all = append(all, object{"role": "user", "content": t.user})
		var calls array
		for _, c := range t.calls {
			calls = append(calls, object{"id": c.id, "type": "function", "function": object{"name": c.name, "arguments": inline(args(c))}})
		}
		m := object{"role": "assistant", "content": strings.Join(t.texts, "\n"), "tool_calls": calls}
		if i%2 == 0 {
			m["reasoning_content"] = t.think
		}
		all = append(all, m)
		for _, c := range t.calls {
			all = append(all, object{"role": "tool", "tool_call_id": c.id, "name": c.name, "content": c.result})
		}
		if t.onlyHm {
			all = append(all, object{"role": "assistant", "content": "", "reasoning_content": "Hm."})
		}
		all = append(all, object{"role": "assistant", "content": t.done})
	}
	return all
}

// openAIBlocks returns lists of blocks, as OpenHands logs them, and an image.
func openAIBlocks() (all array) {
	for _, t := range turns() {
		user := array{textBlock(t.user)}
		if t.image {
			user = append(user, object{"type": "image_url", "image_url": object{"url": "data:image/png;base64," + onePixel, "detail": "low"}},
				object{"type": "image_url", "image_url": object{"url": "https://example.com/a.png"}})
		}
		all = append(all, object{"role": "user", "content": user})
		var texts, calls array
		for _, text := range t.texts {
			texts = append(texts, textBlock(text))
		}
		for _, c := range t.calls {
			calls = append(calls, object{"id": c.id, "type": "function", "function": object{"name": c.name, "arguments": "not JSON: " + c.path}})
		}
		all = append(all, object{"role": "assistant", "content": texts, "tool_calls": calls})
		for _, c := range t.calls {
			all = append(all, object{"role": "tool", "tool_call_id": c.id, "content": array{textBlock(c.result), textBlock("(end)")}})
		}
		all = append(all, object{"role": "assistant", "content": array{textBlock(t.done), textBlock("Next?")}})
	}
	return all
}

// openAIFunctions returns the calls of the first API, which have no ids.
func openAIFunctions() (all array) {
	for _, t := range turns() {
		c := t.calls[0]
		all = append(all, object{"role": "user", "content": t.user},
			object{"role": "assistant", "content": nil, "function_call": object{"name": c.name, "arguments": inline(args(c))}},
			object{"role": "function", "name": c.name, "content": c.result},
			object{"role": "assistant", "content": t.done})
	}
	return all
}

func anthropicMessages(signed bool) (all array) {
	var user array // results go into the message of the user
	for _, t := range turns() {
		if t.image {
			user = append(user, object{"type": "image", "source": object{"type": "base64", "media_type": "image/png", "data": onePixel}})
		}
		all = append(all, object{"role": "user", "content": append(user, textBlock(t.user))})
		var said array
		if t.think != "" && signed {
			said = append(said, object{"type": "thinking", "thinking": t.think, "signature": "c2ln"})
		}
		for _, text := range t.texts {
			said = append(said, textBlock(text))
		}
		user = nil
		for _, c := range t.calls {
			id := strings.NewReplacer(".", "_", ":", "_").Replace(c.id)
			said = append(said, object{"type": "tool_use", "id": id, "name": c.name, "input": args(c)})
			result := object{"type": "tool_result", "tool_use_id": id, "content": c.result}
			if c.failed {
				result["is_error"] = true
				result["content"] = array{textBlock(c.result), textBlock("(end)")}
			}
			user = append(user, result)
		}
		all = append(all, object{"role": "assistant", "content": said}, object{"role": "user", "content": user}, object{"role": "assistant", "content": t.done})
		user = nil
	}
	return all
}

// plainMessages returns texts alone: nothing shows the API that they belong to.
func plainMessages() (all array) {
	for _, t := range turns() {
		all = append(all, object{"role": "user", "content": t.user + "\n\n" + t.calls[0].result}, object{"role": "assistant", "content": t.done})
	}
	return all
}

func ollamaMessages() (all array) {
	all = append(all, object{"role": "system", "content": "You are a coding assistant."})
	for _, t := range turns() {
		user := object{"role": "user", "content": t.user}
		if t.image {
			user["images"] = array{onePixel}
		}
		var calls array
		for _, c := range t.calls {
			calls = append(calls, object{"function": object{"name": c.name, "arguments": args(c)}})
		}
		all = append(all, user, object{"role": "assistant", "content": strings.Join(t.texts, "\n"), "thinking": t.think, "tool_calls": calls})
		for _, c := range t.calls {
			all = append(all, object{"role": "tool", "tool_name": c.name, "content": c.result})
		}
		all = append(all, object{"role": "assistant", "content": t.done})
	}
	return all
}

func claudeCodeSession() string {
	var all array
	add := func(kind string, message object, more ...string) {
		n := len(all)
		o := object{"uuid": fmt.Sprint("u", n), "parentUuid": nil, "sessionId": "s", "isSidechain": false, "version": "2.1.0", "type": kind, "message": message}
		if n > 0 {
			o["parentUuid"] = fmt.Sprint("u", n-1)
		}
		for _, key := range more {
			o[key] = true
		}
		all = append(all, o)
	}
	for i, t := range turns() {
		if t.reminder != "" {
			add("user", object{"role": "user", "content": "<system-reminder>\n" + t.reminder + "\n</system-reminder>"}, "isMeta")
		}
		add("user", object{"role": "user", "content": t.user})
		part := func(block object) {
			add("assistant", object{"id": fmt.Sprint("m", i), "type": "message", "role": "assistant", "model": "model-x", "content": array{block}})
		}
		if t.think != "" {
			part(object{"type": "thinking", "thinking": t.think, "signature": "c2ln"})
		}
		for _, text := range t.texts {
			part(textBlock(text))
		}
		for _, c := range t.calls {
			part(object{"type": "tool_use", "id": c.id, "name": c.name, "input": args(c)})
		}
		for _, c := range t.calls {
			add("user", object{"role": "user", "content": array{object{"type": "tool_result", "tool_use_id": c.id, "content": c.result, "is_error": c.failed}}})
		}
		add("assistant", object{"id": fmt.Sprint("d", i), "type": "message", "role": "assistant", "model": "model-x", "content": array{textBlock(t.done)}})
	}
	return lines(all...)
}

// responseItems returns the items of the Responses API; Codex keeps the same.
func responseItems(types bool) (all array) {
	message := func(role string, texts ...string) {
		kind := "input_text"
		if role == "assistant" {
			kind = "output_text"
		}
		var blocks array
		for _, text := range texts {
			blocks = append(blocks, object{"type": kind, "text": text})
		}
		all = append(all, object{"type": "message", "role": role, "content": blocks})
	}
	for i, t := range turns() {
		if t.reminder != "" {
			message("developer", t.reminder)
		}
		message("user", t.user)
		if t.think != "" {
			all = append(all, object{"type": "reasoning", "id": fmt.Sprint("rs_", i), "summary": array{object{"type": "summary_text", "text": t.think}}, "encrypted_content": "gAAA"})
		}
		if len(t.texts) > 0 {
			message("assistant", t.texts...)
		}
		for _, c := range t.calls {
			all = append(all, object{"type": "function_call", "id": "fc_" + c.id, "call_id": c.id, "name": c.name, "arguments": inline(args(c))})
		}
		for _, c := range t.calls {
			all = append(all, object{"type": "function_call_output", "call_id": c.id, "output": c.result})
		}
		message("assistant", t.done)
	}
	return all
}

func codexSession() string {
	record := func(kind string, payload any) object {
		return object{"timestamp": "2026-01-01T00:00:00Z", "type": kind, "payload": payload}
	}
	all := array{record("session_meta", object{"id": "x", "cwd": "/w", "cli_version": "0.144.1", "base_instructions": object{"text": "You are a coding agent."}}),
		record("turn_context", object{"cwd": "/w", "model": "model-x"})}
	for _, item := range responseItems(true) {
		all = append(all, record("response_item", item))
	}
	return lines(all...)
}

func geminiContents() (all array) {
	for _, t := range turns() {
		user := array{object{"text": t.user}}
		if t.image {
			user = append(user, object{"inlineData": object{"mimeType": "image/png", "data": onePixel}})
		}
		var said, results array
		if t.think != "" {
			said = append(said, object{"text": t.think, "thought": true})
		}
		for _, text := range t.texts {
			said = append(said, object{"text": text})
		}
		for _, c := range t.calls {
			said = append(said, object{"functionCall": object{"name": c.name, "args": args(c)}})
			key := "output"
			if c.failed {
				key = "error"
			}
			results = append(results, object{"functionResponse": object{"name": c.name, "response": object{key: c.result}}})
		}
		all = append(all, object{"role": "user", "parts": user}, object{"role": "model", "parts": said},
			object{"role": "user", "parts": results}, object{"role": "model", "parts": array{object{"text": t.done}}})
	}
	return all
}

func geminiCLISession() string {
	var all array
	add := func(kind string, content any, more object) {
		o := object{"id": fmt.Sprint("m", len(all)), "timestamp": "t", "type": kind, "content": content}
		maps.Copy(o, more)
		all = append(all, o)
	}
	for _, t := range turns() {
		add("user", t.user, nil)
		var calls array
		for _, c := range t.calls {
			status := "success"
			if c.failed {
				status = "error"
			}
			response := object{"functionResponse": object{"id": c.id, "name": c.name, "response": object{"output": c.result}}}
			calls = append(calls, object{"id": c.id, "name": c.name, "args": args(c), "status": status, "result": array{response}})
		}
		add("gemini", strings.Join(t.texts, "\n"), object{"thoughts": array{object{"subject": "Plan", "description": t.think}}, "model": "model-x", "toolCalls": calls})
		add("gemini", array{object{"text": t.done}}, object{"model": "model-x"})
	}
	return indented(object{"sessionId": "s", "projectHash": "h", "startTime": "t", "lastUpdated": "t", "messages": all})
}

func qwenSession() string {
	var all array
	for i, c := range geminiContents() {
		content := c.(object)
		kind := "user"
		switch {
		case content["role"] == "model":
			kind = "assistant"
		case content["parts"].(array)[0].(object)["functionResponse"] != nil:
			kind = "tool_result"
		}
		o := object{"uuid": fmt.Sprint(i + 1), "parentUuid": nil, "sessionId": "s", "type": kind, "message": content}
		if i > 0 {
			o["parentUuid"] = fmt.Sprint(i)
		}
		all = append(all, o)
	}
	return lines(all...)
}

func openCodeSession() string {
	var all array
	add := func(role string, parts array) {
		all = append(all, object{"info": object{"id": fmt.Sprint("m", len(all)), "sessionID": "ses", "role": role, "modelID": "model-x"}, "parts": parts})
	}
	for _, t := range turns() {
		user := array{textBlock(t.user)}
		if t.image {
			user = append(user, object{"type": "file", "mime": "image/png", "url": "data:image/png;base64," + onePixel})
		}
		add("user", user)
		parts := array{object{"type": "step-start"}}
		if t.think != "" {
			parts = append(parts, object{"type": "reasoning", "text": t.think})
		}
		for _, text := range t.texts {
			parts = append(parts, textBlock(text))
		}
		for _, c := range t.calls {
			state := object{"status": "completed", "input": args(c), "output": c.result}
			if c.failed {
				state = object{"status": "error", "input": args(c), "error": "denied"}
			}
			parts = append(parts, object{"type": "tool", "callID": c.id, "tool": c.name, "state": state})
		}
		add("assistant", append(parts, object{"type": "step-finish"}, object{"type": "step-start"}, textBlock(t.done)))
	}
	return indented(object{"info": object{"id": "ses", "title": "Report", "projectID": "p", "directory": "/w"}, "messages": all})
}

func piSession() string {
	all := array{object{"type": "session", "version": 3, "id": "s", "timestamp": "t", "cwd": "/w"}}
	add := func(message object) {
		o := object{"type": "message", "id": fmt.Sprint("e", len(all)), "parentId": nil, "timestamp": "t", "message": message}
		if len(all) > 1 {
			o["parentId"] = fmt.Sprint("e", len(all)-1)
		}
		all = append(all, o)
	}
	for _, t := range turns() {
		add(object{"role": "user", "content": array{textBlock(t.user)}})
		if t.reminder != "" {
			add(object{"role": "bashExecution", "command": "git status", "output": t.reminder, "exitCode": 0})
		}
		var said array
		if t.think != "" {
			said = append(said, object{"type": "thinking", "thinking": t.think, "thinkingSignature": "reasoning"})
		}
		for _, text := range t.texts {
			said = append(said, textBlock(text))
		}
		for _, c := range t.calls {
			said = append(said, object{"type": "toolCall", "id": c.id, "name": c.name, "arguments": args(c)})
		}
		add(object{"role": "assistant", "content": said, "model": "model-x", "stopReason": "toolUse"})
		for _, c := range t.calls {
			content := array{textBlock(c.result)}
			if t.image {
				content = append(content, object{"type": "image", "data": onePixel, "mimeType": "image/png"})
			}
			add(object{"role": "toolResult", "toolCallId": c.id, "toolName": c.name, "content": content, "isError": c.failed})
		}
		if t.onlyHm {
			add(object{"role": "assistant", "content": array{object{"type": "thinking", "thinking": "Hm."}}, "model": "model-x", "stopReason": "aborted"})
		}
		add(object{"role": "assistant", "content": array{textBlock(t.done)}, "model": "model-x", "stopReason": "stop"})
	}
	return lines(all...)
}

func openHandsV0() string {
	var all array
	event := func(more object) {
		o := object{"id": len(all), "timestamp": "t", "source": "agent", "message": ""}
		maps.Copy(o, more)
		all = append(all, o)
	}
	event(object{"action": "system", "args": object{"content": "You are an agent."}})
	for i, t := range turns() {
		event(object{"source": "user", "action": "message", "args": object{"content": t.user}})
		var calls array
		for _, c := range t.calls {
			calls = append(calls, object{"id": c.id, "type": "function", "function": object{"name": c.name, "arguments": inline(args(c))}})
		}
		said := object{"role": "assistant", "content": strings.Join(t.texts, "\n"), "tool_calls": calls}
		for _, c := range t.calls {
			meta := object{"function_name": c.name, "tool_call_id": c.id, "total_calls_in_response": len(calls), "model_response": object{"id": fmt.Sprint("r", i), "model": "model-x", "choices": array{object{"message": said}}}}
			event(object{"action": "read", "args": object{"path": c.path, "thought": t.think}, "tool_call_metadata": meta})
			kind := "read"
			if c.failed {
				kind = "error"
			}
			event(object{"observation": kind, "cause": len(all) - 1, "content": c.result, "extras": object{}, "tool_call_metadata": meta})
		}
		event(object{"action": "message", "args": object{"content": t.done}})
	}
	return inline(all)
}

func openHandsV1() string {
	var all array
	event := func(kind, source string, more object) string {
		id := fmt.Sprint(len(all))
		o := object{"id": id, "timestamp": "t", "source": source, "kind": kind}
		maps.Copy(o, more)
		all = append(all, o)
		return id
	}
	event("SystemPromptEvent", "agent", object{"system_prompt": textBlock("You are an agent."), "tools": array{object{"type": "function", "function": object{"name": "read_file"}}}})
	for i, t := range turns() {
		event("MessageEvent", "user", object{"llm_message": object{"role": "user", "content": array{textBlock(t.user)}}})
		ids := make([]string, len(t.calls))
		for n, c := range t.calls {
			thought := array{}
			if n == 0 {
				for _, text := range t.texts {
					thought = append(thought, textBlock(text))
				}
			}
			ids[n] = event("ActionEvent", "agent", object{"thought": thought, "reasoning_content": t.think, "action": object{"path": c.path, "kind": "FileAction"}, "tool_name": c.name, "tool_call_id": c.id,
				"tool_call": object{"id": c.id, "name": c.name, "arguments": inline(args(c))}, "llm_response_id": fmt.Sprint("r", i)})
		}
		for n, c := range t.calls {
			event("ObservationEvent", "environment", object{"observation": object{"content": array{textBlock(c.result)}, "is_error": c.failed}, "tool_name": c.name, "tool_call_id": c.id, "action_id": ids[n]})
		}
		event("MessageEvent", "agent", object{"llm_message": object{"role": "assistant", "content": array{textBlock(t.done)}}})
	}
	return lines(all...)
}

func sweAgentSession() string {
	all := array{object{"role": "system", "content": "You fix issues.", "agent": "main", "message_type": "system_prompt"}}
	for _, t := range turns() {
		c := t.calls[0]
		all = append(all, object{"role": "user", "content": t.user, "message_type": "observation"},
			object{"role": "assistant", "content": t.done, "thought": t.done, "action": "open " + c.path, "thinking_blocks": array{object{"type": "thinking", "thinking": t.think}},
				"tool_calls": array{object{"id": c.id, "type": "function", "function": object{"name": "open", "arguments": inline(args(c))}}}},
			object{"role": "tool", "content": "[File: " + c.path + "]\r\n" + c.result, "tool_call_ids": array{c.id}},
			object{"role": "assistant", "content": t.done})
	}
	return indented(object{"environment": "x", "trajectory": array{}, "history": all})
}

func miniSWEMessages() (all array) {
	all = array{object{"role": "system", "content": "You use bash."}}
	for i, t := range turns() {
		if i == 0 {
			all = append(all, object{"role": "user", "content": t.user})
		}
		all = append(all, object{"role": "assistant", "content": t.done + "\n```bash\ncat " + t.calls[0].path + "\n```"},
			object{"role": "user", "content": "<returncode>0</returncode>\n<output>\n" + t.calls[0].result + "\n</output>"})
	}
	return all
}

func clineTask() string {
	const details = "<environment_details>\n# Time\n12:00\n</environment_details>"
	var all array
	for i, t := range turns() {
		user := array{textBlock("<feedback>\n" + t.user + "\n</feedback>"), textBlock(details)}
		if i == 0 {
			user = array{textBlock("<task>\n" + t.user + "\n</task>"), textBlock(details)}
		}
		c := t.calls[0]
		var said array
		if t.think != "" {
			said = append(said, object{"type": "thinking", "thinking": t.think, "summary": array{}})
		}
		for _, text := range t.texts {
			said = append(said, textBlock(text))
		}
		said = append(said, object{"type": "tool_use", "id": fmt.Sprint("tu", i), "name": c.name, "input": args(c)})
		all = append(all, object{"role": "user", "content": user}, object{"role": "assistant", "content": said, "modelInfo": object{"modelId": "model-x"}},
			object{"role": "user", "content": array{textBlock("[read_file for '" + c.path + "'] Result:\n" + c.result), textBlock(details)}},
			object{"role": "assistant", "content": t.done})
	}
	return inline(all)
}

func aiderLog() string {
	var b strings.Builder
	b.WriteString("\n# aider chat started at 2026-01-01 10:00:00\n\n> Aider v1  \n")
	for _, t := range turns() {
		fmt.Fprintf(&b, "\n#### %s  \n\n%s\n\n%s\n```python\n%s```\n\n> Applied edit to %s  \n", t.user, t.done, t.calls[0].path, t.calls[0].result, t.calls[0].path)
	}
	return b.String()
}
