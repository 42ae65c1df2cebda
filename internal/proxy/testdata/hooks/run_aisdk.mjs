// Carries a session of the Vercel AI SDK past the window: run_aisdk.mjs PROXY_URL
import { createRequire } from "node:module"
const require = createRequire(process.env.SDK_MODULES + "/x.js")
const { generateText, streamText, tool } = require("ai")
const { createOpenAICompatible } = require("@ai-sdk/openai-compatible")
const { z } = require("zod")
const model = createOpenAICompatible({ name: "local", baseURL: process.argv[2] + "/v1" })("m")
const tools = { read_file: tool({ description: "Read a file.", inputSchema: z.object({ path: z.string() }) }) }
const messages = []
for (let i = 0; i < 24; i++) {
  const call = { toolCallId: `call_${i}`, toolName: "read_file" }
  messages.push(
    { role: "user", content: `What is in file_${i}.go?` },
    { role: "assistant", content: [{ type: "tool-call", ...call, input: { path: `file_${i}.go` } }] },
    { role: "tool", content: [{ type: "tool-result", ...call, output: { type: "text", value: `func part_${i}() int { return ${i} }\n`.repeat(30) } }] })
  const text = i % 2 ? await streamText({ model, messages, tools, maxRetries: 0 }).text : (await generateText({ model, messages, tools, maxRetries: 0 })).text
  if (!text) throw new Error(`empty answer ${i}`)
  messages.push({ role: "assistant", content: text })
}
