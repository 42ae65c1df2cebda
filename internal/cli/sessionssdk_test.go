package cli

import (
	"fmt"
	"strings"
)

// bedrockMessages returns the conversation as boto3 takes it for Converse: blocks
// have one key and no type, and results are in the user's message. A tool result
// holds the image.
func bedrockMessages() (all array) {
	add := func(role string, blocks array) {
		all = append(all, object{"role": role, "content": blocks})
	}
	for _, t := range turns() {
		add("user", array{object{"text": t.user}})
		var said, results array
		if t.think != "" {
			said = append(said, object{"reasoningContent": object{"reasoningText": object{"text": t.think, "signature": "c2ln"}}})
		}
		for _, text := range t.texts {
			said = append(said, object{"text": text})
		}
		for _, c := range t.calls {
			said = append(said, object{"toolUse": object{"toolUseId": c.id, "name": c.name, "input": args(c)}})
			status, content := "success", array{object{"text": c.result}}
			switch {
			case c.failed:
				status = "error"
			case c.result == "":
				content = array{object{"json": object{"written": true}}}
			case t.image:
				content = append(content, object{"image": object{"format": "png", "source": object{"bytes": onePixel}}})
			}
			results = append(results, object{"toolResult": object{"toolUseId": c.id, "status": status, "content": content}})
		}
		add("assistant", append(said, object{"cachePoint": object{"type": "default"}}))
		add("user", results)
		if t.onlyHm {
			add("assistant", array{object{"reasoningContent": object{"reasoningText": object{"text": "Hm."}}}})
		}
		add("assistant", array{object{"text": t.done}})
	}
	return all
}

// aiSDKMessages returns the AI SDK's messages for a model. Each result has the name
// of its tool.
func aiSDKMessages() (all array) {
	add := func(role string, content any) {
		all = append(all, object{"role": role, "content": content})
	}
	add("system", "You are a coding assistant.")
	for _, t := range turns() {
		if t.reminder != "" {
			add("system", t.reminder)
		}
		user := array{textBlock(t.user)}
		if t.image {
			user = append(user, object{"type": "file", "mediaType": "image/png", "data": onePixel})
		}
		add("user", user)
		var said, results array
		if t.think != "" {
			said = append(said, object{"type": "reasoning", "text": t.think})
		}
		for _, text := range t.texts {
			said = append(said, textBlock(text))
		}
		for _, c := range t.calls {
			said = append(said, object{"type": "tool-call", "toolCallId": c.id, "toolName": c.name, "input": args(c)})
			output := object{"type": "text", "value": c.result}
			switch {
			case c.failed:
				output["type"] = "error-text"
			case c.result == "":
				output = object{"type": "json", "value": object{"written": true}}
			}
			results = append(results, object{"type": "tool-result", "toolCallId": c.id, "toolName": c.name, "output": output})
		}
		add("assistant", said)
		add("tool", results)
		if t.onlyHm {
			add("assistant", array{object{"type": "reasoning", "text": "Hm."}})
		}
		add("assistant", t.done)
	}
	return all
}

// aiSDKUIMessages returns the AI SDK's messages for a page: calls are parts that
// hold their results, and one message has all steps of an answer.
func aiSDKUIMessages() (all array) {
	for i, t := range turns() {
		all = append(all, object{"id": fmt.Sprint("u", i), "role": "user", "parts": array{textBlock(t.user)}})
		step := object{"type": "step-start"}
		parts := array{step}
		if t.think != "" {
			parts = append(parts, object{"type": "reasoning", "text": t.think, "state": "done"})
		}
		for _, text := range t.texts {
			parts = append(parts, textBlock(text))
		}
		for _, c := range t.calls {
			part := object{"type": "tool-" + c.name, "toolCallId": c.id, "state": "output-available", "input": args(c), "output": c.result}
			if c.failed {
				delete(part, "output")
				part["state"], part["errorText"] = "output-error", c.result
			}
			parts = append(parts, part)
		}
		all = append(all, object{"id": fmt.Sprint("a", i), "role": "assistant", "parts": append(parts, step, textBlock(t.done))})
	}
	return all
}

// langChainMessages returns LangChain's messages, each in the form of a dump.
func langChainMessages(dumped func(kind string, data object) object) (all array) {
	add := func(kind string, data object) {
		data["additional_kwargs"], data["response_metadata"] = object{}, object{}
		if thought := data["thought"]; thought != nil {
			data["additional_kwargs"] = object{"reasoning_content": thought}
			delete(data, "thought")
		}
		data["type"] = kind
		all = append(all, dumped(kind, data))
	}
	add("system", object{"content": "You are a coding assistant."})
	for i, t := range turns() {
		if t.reminder != "" {
			add("system", object{"content": t.reminder})
		}
		user := array{textBlock(t.user)}
		if t.image {
			user = append(user, object{"type": "image", "base64": onePixel, "mime_type": "image/png"})
		}
		add("human", object{"content": user})
		var calls array
		for _, c := range t.calls {
			calls = append(calls, object{"type": "tool_call", "id": c.id, "name": c.name, "args": args(c)})
		}
		said := object{"id": fmt.Sprint("run-", i), "content": strings.Join(t.texts, "\n"), "tool_calls": calls, "invalid_tool_calls": array{}}
		if t.think != "" {
			said["thought"] = t.think
		}
		add("ai", said)
		for _, c := range t.calls {
			status := "success"
			if c.failed {
				status = "error"
			}
			add("tool", object{"content": c.result, "tool_call_id": c.id, "name": c.name, "status": status})
		}
		if t.onlyHm {
			add("ai", object{"content": "", "thought": "Hm."})
		}
		add("ai", object{"content": t.done})
	}
	return all
}

// langChainDump returns the form that LangChain's dumps writes: a constructor with
// its arguments.
func langChainDump(kind string, data object) object {
	class := map[string]string{"system": "SystemMessage", "human": "HumanMessage", "ai": "AIMessage", "tool": "ToolMessage"}[kind]
	return object{"lc": 1, "type": "constructor", "id": array{"langchain", "schema", "messages", class}, "kwargs": data}
}
