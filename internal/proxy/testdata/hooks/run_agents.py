# Carries a session of the OpenAI Agents SDK past the window: run_agents.py MODEL_URL
import asyncio, os, sys

sys.path.insert(0, os.environ["HOOKS"])
from agents import Agent, ModelSettings, RunConfig, Runner, function_tool, set_default_openai_client, set_tracing_disabled
from openai import AsyncOpenAI
from openai_agents import compact

set_tracing_disabled(True)
set_default_openai_client(AsyncOpenAI(base_url=sys.argv[1] + "/v1", api_key="local", max_retries=0))


@function_tool
def read_file(path: str) -> str:
    """Read a file."""
    return path


async def main():
    agent = Agent(name="helper", instructions="You help.", model="m", tools=[read_file], model_settings=ModelSettings(tool_choice="auto"))
    items = []
    for i in range(24):
        items += [
            {"role": "user", "content": f"What is in file_{i}.go?"},
            {"type": "function_call", "call_id": f"call_{i}", "name": "read_file", "arguments": '{"path":"file_%d.go"}' % i},
            {"type": "function_call_output", "call_id": f"call_{i}", "output": f"func part_{i}() int {{ return {i} }}\n" * 30},
        ]
        result = await Runner.run(agent, items, run_config=RunConfig(call_model_input_filter=compact))
        assert result.final_output, i
        items = result.to_input_list()


asyncio.run(main())
