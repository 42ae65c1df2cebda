// A hook for the OpenAI Agents SDK in JavaScript: what the model gets is compacted first.
//
//     await run(agent, question, { callModelInputFilter: compact })
const url = process.env.TIERCOMPACT_URL ?? "http://127.0.0.1:11435"

// The SDK's items differ from those of the API in the names of results.
const toAPI = i => i.type === "function_call_result" ? { ...i, type: "function_call_output", call_id: i.callId, output: i.output?.text ?? i.output } : { ...i, call_id: i.callId }
const fromAPI = i => i.type === "function_call_output" ? { ...i, type: "function_call_result" } : i.role === "assistant" && typeof i.content === "string" ? { ...i, type: "message", status: "completed", content: [{ type: "output_text", text: i.content }] } : i

export async function compact({ modelData, agent }) {
  const body = JSON.stringify({ model: String(agent.model), instructions: modelData.instructions, input: modelData.input.map(toAPI) })
  const answer = await fetch(url + "/v1/compact", { method: "POST", headers: { "Content-Type": "application/json" }, body })
  if (!answer.ok) throw new Error(await answer.text())
  return { ...modelData, input: (await answer.json()).input.map(fromAPI) }
}
