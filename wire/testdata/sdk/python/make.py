"""Writes the fixtures of the Python SDKs: histories to which the objects that an
SDK returned were appended, dumped in the ways that its users dump them."""
import importlib
import json
import pathlib

import anthropic
import boto3
import httpx
import ollama
import openai
from botocore.awsrequest import AWSResponse
from google import genai
from google.genai import types
from langchain_core.load import dumps
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage, messages_to_dict

root = pathlib.Path(__file__).parent.parent
s = json.loads((root / "session.json").read_text())
calls, custom, later = s["calls"], s["custom"], s["next"]


def write(name, value):
    text = value if isinstance(value, str) else json.dumps(value, indent=1, ensure_ascii=False)
    (root / name).write_text(text + "\n")


def answers(stem, http=httpx):
    """A transport that gives the recorded answers of an API, one after the other."""
    n = 0

    def answer(request):
        nonlocal n
        n += 1
        return http.Response(200, headers={"content-type": "application/json"}, content=(root / f"api/{stem}-{n}.json").read_bytes())

    return http.MockTransport(answer)


def openai_chat():
    for name, dump in {
        "openai-python-model_dump": lambda m: m.model_dump(),
        "openai-python-model_dump_json": lambda m: json.loads(m.model_dump_json(exclude_unset=True)),
    }.items():
        client = openai.OpenAI(api_key="none", http_client=client_of(openai, "openai-chat"))
        messages = [{"role": "system", "content": s["system"]}, {"role": "user", "content": s["user"]}]
        for n in (1, 2, 3):
            m = client.chat.completions.create(model="gpt-5-mini", messages=messages).choices[0].message
            messages.append(dump(m))
            if n == 1:
                messages += [{"role": "tool", "tool_call_id": c["id"], "content": c["result"]} for c in calls]
            if n == 2:
                messages.append({"role": "tool", "tool_call_id": custom["id"], "content": custom["result"]})
        write(f"{name}.json", messages + small_talk("content"))


def client_of(sdk, stem):
    """The HTTP client class of the SDK's own base, with recorded answers."""
    for module in ("httpx2", "httpx"):
        try:
            http = importlib.import_module(module)
            client = http.Client(transport=answers(stem, http))
            sdk.OpenAI(api_key="none", http_client=client) if hasattr(sdk, "OpenAI") else sdk.Anthropic(api_key="none", http_client=client)
            return client
        except (ImportError, TypeError):
            continue
    raise SystemExit("no HTTP client fits")


def small_talk(key):
    return [{"role": ("user", "assistant")[i % 2], key: text} for i, text in enumerate(later)]


def openai_responses():
    client = openai.OpenAI(api_key="none", http_client=client_of(openai, "openai-responses"))
    history = [{"role": "user", "content": s["user"]}]
    for n in (1, 2, 3):
        history += [item.model_dump() for item in client.responses.create(model="gpt-5-mini", input=history).output]
        if n == 1:
            history += [{"type": "function_call_output", "call_id": c["id"], "output": c["result"]} for c in calls]
        if n == 2:
            history.append({"type": "custom_tool_call_output", "call_id": custom["id"], "output": custom["result"]})
    write("openai-python-responses.json", {"model": "gpt-5-mini", "instructions": s["system"], "input": history + small_talk("content")})


def anthropic_messages():
    for name, dump in {
        "anthropic-python-content": lambda m: {"role": m.role, "content": [b.model_dump() for b in m.content]},
        "anthropic-python-message": lambda m: m.model_dump(),
    }.items():
        client = anthropic.Anthropic(api_key="none", http_client=client_of(anthropic, "anthropic"))
        messages = [{"role": "user", "content": s["user"]}]
        for n in (1, 2):
            messages.append(dump(client.messages.create(model="claude-x", max_tokens=1024, messages=messages)))
            if n == 1:
                messages.append({"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": c["id"], "content": c["result"]} for c in calls]})
        write(f"{name}.json", {"model": "claude-x", "max_tokens": 1024, "system": s["system"], "messages": messages + small_talk("content")})


def ollama_chat():
    client = ollama.Client(host="http://localhost:1", transport=answers("ollama"))
    messages = [{"role": "system", "content": s["system"]}, {"role": "user", "content": s["user"]}]
    for n in (1, 2):
        messages.append(client.chat(model="qwen3:8b", messages=messages).message.model_dump())
        if n == 1:
            messages += [{"role": "tool", "tool_name": c["name"], "content": c["result"]} for c in calls]
    write("ollama-python.json", messages + small_talk("content"))


def gemini():
    contents = [types.Content(role="user", parts=[types.Part(text=s["user"])])]
    for n in (1, 2):
        answer = types.GenerateContentResponse.model_validate_json((root / f"api/gemini-{n}.json").read_text())
        contents.append(answer.candidates[0].content)
        if n == 1:
            contents.append(types.Content(role="user", parts=[types.Part(function_response=types.FunctionResponse(
                id=c["id"], name=c["name"], response={"result": c["result"]})) for c in calls]))
    contents += [types.Content(role=("user", "model")[i % 2], parts=[types.Part(text=text)]) for i, text in enumerate(later)]
    write("gemini-python-model_dump.json", {
        "system_instruction": types.Content(parts=[types.Part(text=s["system"])]).model_dump(mode="json"),
        "contents": [c.model_dump(mode="json") for c in contents]})
    write("gemini-python-exclude_none.json", {
        "model": "gemini-2.5-flash", "contents": [c.model_dump(mode="json", exclude_none=True) for c in contents],
        "config": types.GenerateContentConfig(system_instruction=s["system"]).model_dump(mode="json", exclude_none=True)})


def langchain():
    messages = [SystemMessage(s["system"]), HumanMessage(s["user"])]
    messages.append(AIMessage(content=s["say"], id="run-1", tool_calls=[{"name": c["name"], "args": c["args"], "id": c["id"]} for c in calls],
                              usage_metadata={"input_tokens": 20, "output_tokens": 30, "total_tokens": 50}))
    messages += [ToolMessage(c["result"], tool_call_id=c["id"], name=c["name"]) for c in calls]
    messages.append(AIMessage(content=[{"type": "text", "text": s["answer"]}], id="run-2"))
    messages += [(HumanMessage, AIMessage)[i % 2](text) for i, text in enumerate(later)]
    write("langchain-python-dumps.json", dumps(messages, pretty=True))
    write("langchain-python-messages_to_dict.json", messages_to_dict(messages))
    write("langchain-python-model_dump.json", [m.model_dump() for m in messages])


def bedrock():
    client = boto3.client("bedrock-runtime", region_name="us-east-1", aws_access_key_id="none", aws_secret_access_key="none")
    sent, n = [], 0

    def answer(request, **_):
        nonlocal n
        n += 1
        sent.append(request.body)
        raw = (root / f"api/bedrock-{min(n, 2)}.json").read_bytes()
        http = AWSResponse(request.url, 200, {"content-type": "application/json"}, None)
        http._content = raw
        return http

    client.meta.events.register("before-send.bedrock-runtime.Converse", answer)
    messages = [{"role": "user", "content": [{"text": s["user"]}]}]
    ask = lambda: client.converse(modelId="anthropic.claude-x", system=[{"text": s["system"]}], messages=messages)
    for turn in (1, 2):
        messages.append(ask()["output"]["message"])
        if turn == 1:
            messages.append({"role": "user", "content": [{"toolResult": {
                "toolUseId": c["id"], "status": "success", "content": [{"text": c["result"]}]}} for c in calls]})
    messages += [{"role": m["role"], "content": [{"text": m["content"]}]} for m in small_talk("content")]
    ask()
    write("bedrock-boto3.json", json.loads(sent[-1]))


openai_chat()
openai_responses()
anthropic_messages()
ollama_chat()
gemini()
langchain()
bedrock()
