"""A hook for the OpenAI Agents SDK in Python: what the model gets is compacted first.

    Runner.run(agent, question, run_config=RunConfig(call_model_input_filter=compact))
"""

import json, os, urllib.request

url = os.environ.get("TIERCOMPACT_URL", "http://127.0.0.1:11435")


def compact(call):
    data = call.model_data
    body = json.dumps({"model": str(call.agent.model), "instructions": data.instructions or "", "input": data.input})
    request = urllib.request.Request(url + "/v1/compact", body.encode(), {"Content-Type": "application/json"})
    data.input = json.load(urllib.request.urlopen(request))["input"]
    return data
