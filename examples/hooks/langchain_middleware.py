"""A middleware for LangChain: what the model gets is compacted first.

    create_agent(model, tools, middleware=[Compact()])
"""

import json, os, urllib.request

from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import convert_to_messages, convert_to_openai_messages

url = os.environ.get("TIERCOMPACT_URL", "http://127.0.0.1:11435")


class Compact(AgentMiddleware):
    def wrap_model_call(self, request, handler):
        name = getattr(request.model, "model_name", "") or request.model.model
        body = json.dumps({"model": name, "messages": convert_to_openai_messages(request.messages)})
        call = urllib.request.Request(url + "/v1/compact", body.encode(), {"Content-Type": "application/json"})
        return handler(request.override(messages=convert_to_messages(json.load(urllib.request.urlopen(call))["messages"])))
