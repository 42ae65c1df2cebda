"""Writes what each API answers, in its own form, for the session in ../session.json.

The SDKs parse these answers as they parse those of a server; what they make of
them when a program appends them to its history and dumps that is the fixture.
"""
import json
import pathlib

here = pathlib.Path(__file__).parent
s = json.loads((here.parent / "session.json").read_text())
one, two = s["calls"]


def write(name, value):
    (here / name).write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n")


def chat(n, message, reason):
    write(f"openai-chat-{n}.json", {
        "id": f"chatcmpl-{n}", "object": "chat.completion", "created": 1760000000 + n, "model": "gpt-5-mini-2025-08-07",
        "choices": [{"index": 0, "message": {"role": "assistant", "refusal": None, "annotations": [], **message},
                     "logprobs": None, "finish_reason": reason}],
        "usage": {"prompt_tokens": 20, "completion_tokens": 30, "total_tokens": 50},
        "service_tier": "default", "system_fingerprint": None})


def function(c):
    return {"id": c["id"], "type": "function", "function": {"name": c["name"], "arguments": json.dumps(c["args"])}}


custom = s["custom"]
chat(1, {"content": s["say"], "tool_calls": [function(one), function(two)]}, "tool_calls")
chat(2, {"content": None, "tool_calls": [
    {"id": custom["id"], "type": "custom", "custom": {"name": custom["name"], "input": custom["input"]}}]}, "tool_calls")
chat(3, {"content": s["answer"]}, "stop")


def responses(n, output):
    write(f"openai-responses-{n}.json", {
        "id": f"resp_{n}", "object": "response", "created_at": 1760000000 + n, "status": "completed", "error": None,
        "incomplete_details": None, "instructions": None, "max_output_tokens": None, "model": "gpt-5-mini-2025-08-07",
        "output": output, "parallel_tool_calls": True, "previous_response_id": None, "store": False, "temperature": 1.0,
        "reasoning": {"effort": "medium", "summary": None}, "text": {"format": {"type": "text"}}, "tool_choice": "auto",
        "tools": [], "top_p": 1.0, "truncation": "disabled", "user": None, "metadata": {},
        "usage": {"input_tokens": 20, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 30,
                  "output_tokens_details": {"reasoning_tokens": 8}, "total_tokens": 50}})


def said(i, text):
    return {"id": f"msg_{i}", "type": "message", "status": "completed", "role": "assistant",
            "content": [{"type": "output_text", "annotations": [], "logprobs": [], "text": text}]}


def item(i, c):
    return {"id": f"fc_{i}", "type": "function_call", "status": "completed", "call_id": c["id"], "name": c["name"],
            "arguments": json.dumps(c["args"])}


responses(1, [{"id": "rs_1", "type": "reasoning", "summary": [{"type": "summary_text", "text": "Both files matter."}],
               "encrypted_content": "Z0FBQUFBQm8="}, said(1, s["say"]), item(1, one), item(2, two)])
responses(2, [{"id": "ctc_1", "type": "custom_tool_call", "status": "completed", "call_id": custom["id"],
               "name": custom["name"], "input": custom["input"]}])
responses(3, [said(2, s["answer"])])


def anthropic(n, content, reason):
    write(f"anthropic-{n}.json", {
        "id": f"msg_{n}", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5-20250929", "content": content,
        "stop_reason": reason, "stop_sequence": None,
        "usage": {"input_tokens": 20, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 30,
                  "service_tier": "standard"}})


anthropic(1, [{"type": "thinking", "thinking": "Both files matter.", "signature": "c2lnbmVk"}, {"type": "text", "text": s["say"]}] + [
    {"type": "tool_use", "id": c["id"], "name": c["name"], "input": c["args"]} for c in s["calls"]], "tool_use")
anthropic(2, [
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "decimal rounding"}},
    {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [
        {"type": "web_search_result", "title": "Decimal", "url": "https://example.com/decimal", "page_age": None,
         "encrypted_content": "RW5jcnlwdGVkCg=="}]},
    {"type": "text", "text": s["answer"], "citations": [
        {"type": "web_search_result_location", "url": "https://example.com/decimal", "title": "Decimal",
         "encrypted_index": "SW5kZXg=", "cited_text": "Rounds half to even."}]}], "end_turn")


def ollama(n, message):
    write(f"ollama-{n}.json", {
        "model": "qwen3:8b", "created_at": "2025-10-09T08:53:20.000000Z", "message": {"role": "assistant", **message},
        "done": True, "done_reason": "stop", "total_duration": 1, "load_duration": 1, "prompt_eval_count": 20,
        "prompt_eval_duration": 1, "eval_count": 30, "eval_duration": 1})


ollama(1, {"content": s["say"], "thinking": "Both files matter.", "tool_calls": [
    {"id": c["id"], "function": {"index": i, "name": c["name"], "arguments": c["args"]}} for i, c in enumerate(s["calls"])]})
ollama(2, {"content": s["answer"]})


def gemini(n, parts):
    write(f"gemini-{n}.json", {
        "candidates": [{"content": {"parts": parts, "role": "model"}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 20, "candidatesTokenCount": 30, "totalTokenCount": 50},
        "modelVersion": "gemini-2.5-flash", "responseId": f"r{n}"})


gemini(1, [{"text": "Both files matter.", "thought": True}, {"text": s["say"], "thoughtSignature": "c2lnbmVk"}] + [
    {"functionCall": {"id": c["id"], "name": c["name"], "args": c["args"]}} for c in s["calls"]])
gemini(2, [{"text": s["answer"]}])
write("bedrock-1.json", {
    "metrics": {"latencyMs": 10}, "stopReason": "tool_use", "usage": {"inputTokens": 20, "outputTokens": 30, "totalTokens": 50},
    "output": {"message": {"role": "assistant", "content": [
        {"reasoningContent": {"reasoningText": {"text": "Both files matter.", "signature": "c2lnbmVk"}}}, {"text": s["say"]}] + [
        {"toolUse": {"toolUseId": c["id"], "name": c["name"], "input": c["args"]}} for c in s["calls"]]}}})
write("bedrock-2.json", {
    "metrics": {"latencyMs": 10}, "stopReason": "end_turn", "usage": {"inputTokens": 20, "outputTokens": 30, "totalTokens": 50},
    "output": {"message": {"role": "assistant", "content": [{"text": s["answer"]}]}}})
