# Carries sessions of LangChain past the window: with the middleware, run_langchain.py
# MODEL_URL; as a plain client of the proxy, run_langchain.py PROXY_URL plain.
import os, sys

sys.path.insert(0, os.environ["HOOKS"])
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langchain_middleware import Compact


@tool
def read_file(path: str) -> str:
    """Read a file."""
    return path


plain = sys.argv[2:] == ["plain"]
model = ChatOpenAI(model="m", base_url=sys.argv[1] + "/v1", api_key="local", max_retries=0)
agent = create_agent(model, [read_file], middleware=[] if plain else [Compact()])
history = []
for i in range(24):
    history += [
        HumanMessage(f"What is in file_{i}.go?"),
        AIMessage("", tool_calls=[{"name": "read_file", "args": {"path": f"file_{i}.go"}, "id": f"call_{i}"}]),
        ToolMessage(f"func part_{i}() int {{ return {i} }}\n" * 30, tool_call_id=f"call_{i}"),
    ]
    if plain and i % 2:
        text = "".join(chunk.text for chunk in model.bind_tools([read_file]).stream(history))
        assert text, i
        history.append(AIMessage(text))
        continue
    history = agent.invoke({"messages": history})["messages"]
    assert history[-1].content, i
