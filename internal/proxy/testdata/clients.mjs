// Runs the real SDKs against a proxy: node clients.mjs ADDRESS. Each carries a session
// on past the window, and prints how it ended.
import { createRequire } from "node:module"
const require = createRequire(process.env.SDK_MODULES + "/x.js")
const { OpenAI } = require("openai")
const Anthropic = require("@anthropic-ai/sdk").default ?? require("@anthropic-ai/sdk")
const { Ollama } = require("ollama")
const base = process.argv[2]
const long = i => `Step ${i}: ` + `function_${i} calls helper_${i} in file_${i}.go; `.repeat(30)

async function session(name, ask) {
  const history = []
  for (let i = 0; i < 30; i++) {
    history.push({ role: "user", content: long(i) })
    const text = await ask(history)
    if (!text) throw new Error(`${name}: empty answer ${i}`)
    history.push({ role: "assistant", content: text })
  }
  console.log(name, "ok")
}

const openai = new OpenAI({ baseURL: base + "/v1", apiKey: "local", maxRetries: 0 })
await session("openai chat", async messages => (await openai.chat.completions.create({ model: "m", messages })).choices[0].message.content)
await session("openai chat stream", async messages => {
  let text = ""
  for await (const c of await openai.chat.completions.create({ model: "m", messages, stream: true, stream_options: { include_usage: true } })) text += c.choices[0]?.delta?.content ?? ""
  return text
})
await session("openai responses", async input => (await openai.responses.create({ model: "m", input })).output_text)
const anthropic = new Anthropic({ baseURL: base, apiKey: "local", maxRetries: 0 })
await session("anthropic", async messages => (await anthropic.messages.create({ model: "m", max_tokens: 100, messages })).content[0].text)
await session("anthropic stream", async messages => (await anthropic.messages.stream({ model: "m", max_tokens: 100, messages }).finalMessage()).content[0].text)
const count = await anthropic.messages.countTokens({ model: "m", messages: [{ role: "user", content: "hello" }] })
if (!(count.input_tokens > 0)) throw new Error("no count")
const ollama = new Ollama({ host: base })
await session("ollama", async messages => (await ollama.chat({ model: "m", messages })).message.content)
await session("ollama stream", async messages => {
  let text = ""
  for await (const c of await ollama.chat({ model: "m", messages, stream: true })) text += c.message.content
  return text
})

// With the tool recall, whose calls the proxy answers.
if (process.argv[3] === "recall") {
  const ask = { model: "m", input: "What is in main.go?", tools: [{ type: "function", name: "read_file", strict: false, parameters: { type: "object", properties: {} } }] }
  const recalled = r => r.output.every(i => i.type === "message") && r.output_text.includes("so glad") && r.tools.every(t => t.name !== "recall")
  if (!recalled(await openai.responses.create(ask))) throw new Error("openai responses recall")
  const stream = openai.responses.stream(ask)
  let text = ""
  stream.on("response.output_text.delta", e => { text += e.delta })
  const whole = await stream.finalResponse()
  if (!recalled(whole) || whole.output.flatMap(i => i.content).map(c => c.text).join("") !== text) throw new Error("openai responses recall stream: " + text)
  console.log("openai responses recall ok")
  process.exit(0)
}

// Tools, thinking and errors, with an upstream that calls read_file.
const tool = { name: "read_file", description: "Read a file", parameters: { type: "object", properties: { path: { type: "string" } } } }
const question = [{ role: "user", content: "What is in main.go?" }]
const expect = (what, ok) => { if (!ok) throw new Error(what); console.log(what, "ok") }
const withTool = { model: "m", messages: question, tools: [{ type: "function", function: tool }] }
const called = c => c.choices[0].finish_reason === "tool_calls" && c.choices[0].message.tool_calls[0].function.name === "read_file" && JSON.parse(c.choices[0].message.tool_calls[0].function.arguments).path === "main.go"
expect("openai call", called(await openai.chat.completions.create(withTool)))
expect("openai call stream", called(await openai.chat.completions.stream(withTool).finalChatCompletion()))
expect("openai error", (await openai.chat.completions.create({ ...withTool, model: "absent" }).catch(e => e)) instanceof OpenAI.NotFoundError)
expect("ollama call", (await ollama.chat(withTool)).message.tool_calls[0].function.arguments.path === "main.go")
expect("anthropic error", (await anthropic.messages.create({ model: "absent", max_tokens: 9, messages: question }).catch(e => e)) instanceof Anthropic.NotFoundError)
if (process.argv[3] === "native") {
  const withTool = { model: "m", max_tokens: 99, messages: question, tools: [{ name: tool.name, input_schema: tool.parameters }] }
  const called = m => m.stop_reason === "tool_use" && m.content.at(-1).type === "tool_use" && m.content.at(-1).input.path === "main.go"
  expect("anthropic call", called(await anthropic.messages.create(withTool)))
  expect("anthropic call stream", called(await anthropic.messages.stream(withTool).finalMessage()))
  expect("anthropic thinking and call", called(await anthropic.messages.stream({ ...withTool, model: "thinks" }).finalMessage()))
  const stream = openai.chat.completions.stream({ ...withTool, model: "breaks", stream: true, messages: question, tools: undefined })
  expect("openai error in a stream", (await stream.finalChatCompletion().catch(e => e)) instanceof OpenAI.APIError)
  const broken = anthropic.messages.stream({ ...withTool, model: "breaks" })
  expect("anthropic error in a stream", (await broken.finalMessage().catch(e => e)) instanceof Anthropic.APIError)
}
