// Writes the fixtures of the JavaScript SDKs: histories to which the objects
// that an SDK returned were appended, dumped with JSON.stringify.
import { readFileSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import OpenAI from 'openai';
import Anthropic from '@anthropic-ai/sdk';
import { Ollama } from 'ollama';
import { GoogleGenAI } from '@google/genai';
import { AIMessage, HumanMessage, SystemMessage, ToolMessage, mapChatMessagesToStoredMessages } from '@langchain/core/messages';
import { convertToModelMessages, generateText, jsonSchema, readUIMessageStream, simulateReadableStream, stepCountIs, streamText, tool } from 'ai';
import { MockLanguageModelV3 } from 'ai/test';

const root = pathToFileURL(process.argv[2] + '/'); // the folder with session.json
const s = JSON.parse(readFileSync(new URL('session.json', root)));
const later = (role, key = 'content') => s.next.map((text, i) => ({ role: i % 2 ? role : 'user', [key]: text }));
const write = (name, value) => writeFileSync(new URL(name, root), JSON.stringify(value, null, 1) + '\n');
const api = (name) => readFileSync(new URL(`api/${name}.json`, root), 'utf8');

// answers is a fetch that gives the recorded answers of an API, one after the other.
function answers(stem) {
  let n = 0;
  return async () => new Response(api(`${stem}-${++n}`), { status: 200, headers: { 'content-type': 'application/json' } });
}

async function openaiChat() {
  const client = new OpenAI({ apiKey: 'none', fetch: answers('openai-chat') });
  const messages = [{ role: 'system', content: s.system }, { role: 'user', content: s.user }];
  for (let n = 1; n <= 3; n++) {
    const { choices } = await client.chat.completions.create({ model: 'gpt-5-mini', messages });
    messages.push(choices[0].message);
    if (n === 1) for (const c of s.calls) messages.push({ role: 'tool', tool_call_id: c.id, content: c.result });
    if (n === 2) messages.push({ role: 'tool', tool_call_id: s.custom.id, content: s.custom.result });
  }
  write('openai-js.json', [...messages, ...later('assistant')]);
}

async function openaiResponses() {
  const client = new OpenAI({ apiKey: 'none', fetch: answers('openai-responses') });
  const input = [{ role: 'user', content: s.user }];
  for (let n = 1; n <= 3; n++) {
    input.push(...(await client.responses.create({ model: 'gpt-5-mini', input })).output);
    if (n === 1) for (const c of s.calls) input.push({ type: 'function_call_output', call_id: c.id, output: c.result });
    if (n === 2) input.push({ type: 'custom_tool_call_output', call_id: s.custom.id, output: s.custom.result });
  }
  write('openai-js-responses.json', { model: 'gpt-5-mini', instructions: s.system, input: [...input, ...later('assistant')] });
}

async function anthropicMessages() {
  const client = new Anthropic({ apiKey: 'none', fetch: answers('anthropic') });
  const messages = [{ role: 'user', content: s.user }];
  for (let n = 1; n <= 2; n++) {
    const { role, content } = await client.messages.create({ model: 'claude-x', max_tokens: 1024, messages });
    messages.push({ role, content });
    if (n === 1) messages.push({ role: 'user', content: s.calls.map((c) => ({ type: 'tool_result', tool_use_id: c.id, content: c.result })) });
  }
  write('anthropic-js.json', { model: 'claude-x', max_tokens: 1024, system: s.system, messages: [...messages, ...later('assistant')] });
}

async function ollamaChat() {
  const client = new Ollama({ host: 'http://localhost:1', fetch: answers('ollama') });
  const messages = [{ role: 'system', content: s.system }, { role: 'user', content: s.user }];
  for (let n = 1; n <= 2; n++) {
    messages.push((await client.chat({ model: 'qwen3:8b', messages })).message);
    if (n === 1) for (const c of s.calls) messages.push({ role: 'tool', tool_name: c.name, content: c.result });
  }
  write('ollama-js.json', [...messages, ...later('assistant')]);
}

async function gemini() {
  globalThis.fetch = answers('gemini');
  const client = new GoogleGenAI({ apiKey: 'none' });
  const contents = [{ role: 'user', parts: [{ text: s.user }] }];
  for (let n = 1; n <= 2; n++) {
    contents.push((await client.models.generateContent({ model: 'gemini-2.5-flash', contents })).candidates[0].content);
    if (n === 1) contents.push({ role: 'user', parts: s.calls.map((c) => ({ functionResponse: { id: c.id, name: c.name, response: { result: c.result } } })) });
  }
  contents.push(...s.next.map((text, i) => ({ role: i % 2 ? 'model' : 'user', parts: [{ text }] })));
  write('gemini-js.json', { model: 'gemini-2.5-flash', contents, config: { systemInstruction: s.system } });
}

function langchain() {
  const messages = [
    new SystemMessage(s.system), new HumanMessage(s.user),
    new AIMessage({ content: s.say, id: 'run-1', tool_calls: s.calls.map((c) => ({ name: c.name, args: c.args, id: c.id, type: 'tool_call' })) }),
    ...s.calls.map((c) => new ToolMessage({ content: c.result, tool_call_id: c.id, name: c.name })),
    new AIMessage({ content: [{ type: 'text', text: s.answer }], id: 'run-2' }),
    ...s.next.map((text, i) => (i % 2 ? new AIMessage(text) : new HumanMessage(text))),
  ];
  write('langchain-js-stringify.json', messages);
  write('langchain-js-stored.json', mapChatMessagesToStoredMessages(messages));
}

// model is a language model of the AI SDK that says what the session says.
function model() {
  const usage = { inputTokens: { total: 20 }, outputTokens: { total: 30 } };
  const turns = [
    [{ type: 'reasoning', text: 'Both files matter.', providerMetadata: { anthropic: { signature: 'c2lnbmVk' } } }, { type: 'text', text: s.say },
      ...s.calls.map((c) => ({ type: 'tool-call', toolCallId: c.id, toolName: c.name, input: JSON.stringify(c.args) }))],
    [{ type: 'text', text: s.answer }],
  ];
  const reason = (n) => ({ unified: n ? 'stop' : 'tool-calls', raw: undefined });
  let n = 0;
  const chunks = (turn, at) => [
    { type: 'stream-start', warnings: [] },
    ...turn.flatMap((p, i) => p.type === 'tool-call' ? [p] : [
      { type: `${p.type}-start`, id: `${i}`, providerMetadata: p.providerMetadata }, { type: `${p.type}-delta`, id: `${i}`, delta: p.text }, { type: `${p.type}-end`, id: `${i}` }]),
    { type: 'finish', finishReason: reason(at), usage },
  ];
  return new MockLanguageModelV3({
    doGenerate: async () => ({ content: turns[n], finishReason: reason(n++), usage, warnings: [] }),
    doStream: async () => ({ stream: simulateReadableStream({ chunks: chunks(turns[n], n++) }) }),
  });
}

async function aisdk() {
  const read_file = tool({
    inputSchema: jsonSchema({ type: 'object', properties: { path: { type: 'string' } } }),
    execute: async ({ path }) => s.calls.find((c) => c.args.path === path).result,
  });
  const messages = [{ role: 'system', content: s.system }, { role: 'user', content: [{ type: 'text', text: s.user }] }];
  const options = () => ({ model: model(), messages, tools: { read_file }, stopWhen: stepCountIs(3) });
  const { response } = await generateText(options());
  write('aisdk-model.json', [...messages, ...response.messages, ...later('assistant')]);
  let last;
  for await (const m of readUIMessageStream({ stream: streamText(options()).toUIMessageStream({ generateMessageId: () => 'msg-2' }) })) last = m;
  const ui = [{ id: 'msg-0', role: 'system', parts: [{ type: 'text', text: s.system }] }, { id: 'msg-1', role: 'user', parts: [{ type: 'text', text: s.user }] }, last];
  s.next.forEach((text, i) => ui.push({ id: `msg-${i + 3}`, role: i % 2 ? 'assistant' : 'user', parts: [{ type: 'text', text }] }));
  write('aisdk-ui.json', { id: 'chat-1', messages: ui, trigger: 'submit-message' });
  write('aisdk-ui-converted.json', await convertToModelMessages(ui));
}

await openaiChat();
await openaiResponses();
await anthropicMessages();
await ollamaChat();
await gemini();
langchain();
await aisdk();
