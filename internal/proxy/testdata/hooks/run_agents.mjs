// Carries a session of the OpenAI Agents SDK past the window: run_agents.mjs MODEL_URL
import { createRequire } from "node:module"
import { pathToFileURL } from "node:url"
const require = createRequire(process.env.SDK_MODULES + "/x.js")
const { Agent, run, tool, setDefaultOpenAIClient, setTracingDisabled } = require("@openai/agents")
const { OpenAI } = require("openai")
const { z } = require("zod")
const { compact } = await import(pathToFileURL(process.env.HOOKS + "/openai_agents.mjs"))

setTracingDisabled(true)
setDefaultOpenAIClient(new OpenAI({ baseURL: process.argv[2] + "/v1", apiKey: "local", maxRetries: 0 }))
const readFile = tool({ name: "read_file", description: "Read a file.", parameters: z.object({ path: z.string() }), execute: ({ path }) => path })
const agent = new Agent({ name: "helper", instructions: "You help.", model: "m", tools: [readFile] })
let items = []
for (let i = 0; i < 24; i++) {
  items.push(
    { role: "user", content: `What is in file_${i}.go?` },
    { type: "function_call", callId: `call_${i}`, name: "read_file", status: "completed", arguments: JSON.stringify({ path: `file_${i}.go` }) },
    { type: "function_call_result", callId: `call_${i}`, name: "read_file", status: "completed", output: { type: "text", text: `func part_${i}() int { return ${i} }\n`.repeat(30) } })
  const result = await run(agent, items, { callModelInputFilter: compact })
  if (!result.finalOutput) throw new Error(`empty answer ${i}`)
  items = result.history
}
