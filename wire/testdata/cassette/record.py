#!/usr/bin/env python3
"""Records the vcrpy cassettes of this folder with vcrpy itself.

A server on the loopback interface answers; nothing leaves the machine.

    pip install vcrpy==9.4.2 requests==2.34.2
    python3 record.py
"""

import gzip
import io
import json
import pathlib
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import requests
import vcr

HERE = pathlib.Path(__file__).parent
CHAT = {
    "model": "m",
    "messages": [
        {"role": "system", "content": "Answer in one sentence."},
        {"role": "user", "content": "Why does the parser refuse “1.”? It is what the form 'number' gives: a digit, a point \\ and nothing.\nAnd then?"},
    ],
}
BLOCKS = {
    "model": "m",
    "max_tokens": 64,
    "system": "Be brief.",
    "messages": [{"role": "user", "content": [{"type": "text", "text": "hello\tyou"}]}],
}
CALLS = CHAT | {
    "messages": CHAT["messages"]
    + [
        {"role": "assistant", "content": None, "tool_calls": [{"id": "a", "type": "function", "function": {"name": "read", "arguments": '{"path":"a.go"}'}}]},
        {"role": "tool", "tool_call_id": "a", "content": "package a\n\nfunc A() {}\n"},
    ]
}


class Answer(BaseHTTPRequestHandler):
    def answer(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = gzip.compress(b'{"choices":[{"message":{"role":"assistant","content":"ok"}}]}', mtime=0)
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = answer

    def log_message(self, *_):
        pass

    def date_time_string(self, timestamp=None):
        return "Thu, 01 Jan 2026 00:00:00 GMT"


def record(name, *sends, **options):
    path = HERE / name
    path.unlink(missing_ok=True)
    with vcr.VCR(match_on=["method", "uri", "body"]).use_cassette(str(path), **options):
        for send in sends:
            send()


def main():
    server = HTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{server.server_port}"

    def fixed(request):
        request.uri = request.uri.replace(base, "http://localhost:8080")
        request.headers.pop("User-Agent", None)
        return request

    def chat(body, **kw):
        return lambda: requests.post(base + "/v1/chat/completions", data=body, timeout=5, headers={"Content-Type": "application/json"} | kw)

    text = json.dumps(CHAT, ensure_ascii=False).encode()
    options = {"before_record_request": fixed, "decode_compressed_response": True}
    record("vcrpy.yaml", chat(text), chat(json.dumps(BLOCKS).encode()), chat(json.dumps(CALLS, indent=2).encode()), **options)
    record("vcrpy.json", chat(text), serializer="json", **options)
    record("vcrpy_gzip.yaml", chat(gzip.compress(text, mtime=0), **{"Content-Encoding": "gzip"}), before_record_request=fixed)
    record("vcrpy_file.yaml", chat(io.BytesIO(text)), **options)
    record("vcrpy_no_chat.yaml", lambda: requests.get(base + "/v1/models", timeout=5), chat(b"temperature=1"), **options)
    server.shutdown()


if __name__ == "__main__":
    main()
