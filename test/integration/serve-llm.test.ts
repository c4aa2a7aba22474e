/**
 * Models behind OpenAI's API, asked by clients that others wrote: `openai` from npm and Vercel's AI SDK. The engines are deterministic, or another such app behind `upstream`.
 */
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { embedMany, generateText, streamText } from "ai";
import OpenAI from "openai";
import * as serve from "shoal/serve";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ask } from "./serve-client.ts";
import { failureOf, Log, until, useFolder, useSession } from "./session.ts";

const folder = useFolder();
useSession({ numCpus: 8 });

const log = new Log(folder);
let address = "";
let client: OpenAI;

/** Writes down each request and when its reader leaves, fails when told, and counts how many embeddings come together. */
function observedEngine(file: string): () => Promise<serve.llm.LLMEngine> {
  return async () => {
    const { appendFileSync } = await import("node:fs");
    const note = (line: string): void => appendFileSync(file, `${line}\n`);
    const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 2));
    return {
      async *chat({ messages, extra }, signal) {
        const text = messages.at(-1)?.content;
        if (text === "tools") {
          yield { delta: { tool_calls: [{ index: 0, id: "call_1", type: "function", function: { name: "weather", arguments: "" } }] } };
          for (const piece of ['{"city":', '"Rome"}']) yield { delta: { tool_calls: [{ index: 0, function: { arguments: piece } }] } };
          yield { finishReason: "tool_calls" };
          return;
        }
        if (text === "think and call") {
          for (const reasoning_content of ["let me", " see"]) yield { delta: { reasoning_content } };
          yield { text: "Two cities." };
          for (const index of [0, 1])
            yield {
              delta: { tool_calls: [{ index, id: `call_${index}`, type: "function", function: { name: "weather", arguments: "" } }] },
            };
          // Pieces of both calls are mixed.
          for (const piece of ['{"n":', "7}"])
            for (const index of [1, 0]) yield { delta: { tool_calls: [{ index, function: { arguments: piece } }] } };
          yield { finishReason: "tool_calls", usage: { promptTokens: 11, completionTokens: 7 } };
          return;
        }
        if (text === "messages") yield { text: JSON.stringify(messages) };
        if (text === "refuse") throw serve.llm.LLMRequestError.of("I take no such thing", { param: "messages", code: "refused" });
        if (text === "extra") yield { text: JSON.stringify(extra) };
        if (text === "break") {
          yield { text: "so far" };
          throw new Error("a secret of the server");
        }
        if (text === "for ever") {
          note("begun");
          try {
            for (let n = 0; !signal.aborted; n += 1) {
              yield { text: ` ${n}` };
              await pause();
            }
          } finally {
            note("left");
          }
        }
      },
      async *embed({ inputs }) {
        note(`embed ${inputs.length}`);
        for (const input of inputs) yield { vector: [input.length, 1], promptTokens: 1 };
      },
    };
  };
}

beforeAll(async () => {
  ({ address = "" } = await serve.start({ httpOptions: { port: 0 } }));
  const app = serve.llm.buildOpenAIApp({
    models: [
      { id: "echo", engine: serve.llm.deterministic(), deployment: { numReplicas: 2 } },
      {
        id: "lab/slow",
        engine: serve.llm.deterministic({ tokenDelayMs: 60 }),
        deployment: { maxOngoingRequests: 1, maxQueuedRequests: 1, backpressureConfig: { statusCode: 429, retryAfterMs: 2000 } },
      },
      { id: "observed", engine: observedEngine(log.file) },
    ],
  });
  await serve.run(app, { name: "llm" });
  client = new OpenAI({ baseURL: `${address}/v1`, apiKey: "none", maxRetries: 0 });
}, 60_000);
afterAll(() => serve.shutdown());

test("keys are asked for where the application has some, browsers of named origins may call it, and /health is open", async () => {
  const app = serve.llm.buildOpenAIApp({
    models: [{ id: "echo", engine: serve.llm.deterministic() }],
    apiKeys: ["first-key", "second-key"],
    corsOrigins: ["https://chat.example"],
    ingress: { name: "KeyedIngress" },
  });
  await serve.run(app, { name: "keyed", routePrefix: "/keyed" });
  const keyed = (apiKey: string): OpenAI => new OpenAI({ baseURL: `${address}/keyed/v1`, apiKey, maxRetries: 0 });
  for (const key of ["first-key", "second-key"]) expect((await keyed(key).models.list()).data).toHaveLength(1);
  expect(await failureOf(keyed("other").models.list() as unknown as Promise<unknown>)).toMatchObject({
    status: 401,
    code: "invalid_api_key",
  });
  const call = (path: string, init: RequestInit = {}): Promise<Response> => fetch(`${address}/keyed${path}`, init);
  expect((await call("/v1/models")).status).toBe(401);
  expect(await (await call("/health")).json()).toEqual({ status: "ok" });
  const preflight = (origin: string): Promise<Response> =>
    call("/v1/models", {
      method: "OPTIONS",
      headers: { origin, "access-control-request-method": "POST", "access-control-request-headers": "authorization" },
    });
  const allowed = await preflight("https://chat.example");
  expect([allowed.status, allowed.headers.get("access-control-allow-origin"), allowed.headers.get("access-control-allow-headers")]).toEqual(
    [204, "https://chat.example", "authorization"],
  );
  expect((await preflight("https://evil.example")).status).toBe(403);
  const refused = await call("/v1/models", { headers: { origin: "https://chat.example" } });
  expect([refused.status, refused.headers.get("access-control-allow-origin")]).toEqual([401, "https://chat.example"]);
  await serve.delete("keyed");
});

test("openai's client lists models, chats, completes and embeds", async () => {
  const listed = [];
  for await (const { id, owned_by } of client.models.list()) listed.push([id, owned_by]);
  expect(listed).toEqual([
    ["echo", "shoal"],
    ["lab/slow", "shoal"],
    ["observed", "shoal"],
  ]);
  expect((await client.models.retrieve("lab/slow")).id).toBe("lab/slow");

  const messages = [
    { role: "system" as const, content: "be short" },
    { role: "user" as const, content: "hello there" },
  ];
  const chat = await client.chat.completions.create({ model: "echo", messages });
  expect(chat.choices).toEqual([
    { index: 0, message: { role: "assistant", content: "You said: hello there" }, logprobs: null, finish_reason: "stop" },
  ]);
  expect(chat.usage).toEqual({ prompt_tokens: 4, completion_tokens: 4, total_tokens: 8 });
  const two = await client.chat.completions.create({ model: "echo", messages, n: 2, max_completion_tokens: 3, seed: 7 });
  expect(two.choices.map(({ index, message, finish_reason }) => [index, message.content, finish_reason])).toEqual([
    [0, "You said: hello", "length"],
    [1, "You said: hello", "length"],
  ]);
  expect(two.usage).toMatchObject({ prompt_tokens: 4, completion_tokens: 6 });
  const stopped = await client.chat.completions.create({ model: "echo", messages, stop: ["lo th"] });
  expect(stopped.choices[0]?.message.content).toBe("You said: hel");

  const completed = await client.completions.create({ model: "echo", prompt: ["a b c", "d e"], echo: true });
  expect(completed.choices.map(({ text }) => text)).toEqual(["a b c c b a", "d e e d"]);
  expect(completed.usage).toMatchObject({ prompt_tokens: 5, completion_tokens: 5 });

  // The client asks for base64 by itself.
  const { data, usage } = await client.embeddings.create({ model: "echo", input: ["red fish", "red fish", "blue sky"], dimensions: 32 });
  const [a = [], b = [], c = []] = data.map(({ embedding }) => embedding);
  const dot = (left: number[], right: number[]): number => left.reduce((sum, value, index) => sum + value * (right[index] ?? 0), 0);
  expect([a.length, usage.total_tokens]).toEqual([32, 6]);
  expect(dot(a, b)).toBeCloseTo(1, 5);
  expect(dot(a, c)).toBeLessThan(0.9);
});

test("streams come token by token, end with their usage and with [DONE]", async () => {
  const stream = await client.chat.completions.create({
    model: "echo",
    messages: [{ role: "user", content: "one two" }],
    stream: true,
    stream_options: { include_usage: true },
  });
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  expect(chunks.map(({ choices }) => choices[0]?.delta.content)).toEqual(["You", " said:", " one", " two", undefined, undefined]);
  expect(chunks[0]?.choices[0]?.delta.role).toBe("assistant");
  expect(chunks.map(({ choices }) => choices[0]?.finish_reason)).toEqual([null, null, null, null, "stop", undefined]);
  expect(chunks.at(-1)?.usage).toEqual({ prompt_tokens: 2, completion_tokens: 4, total_tokens: 6 });
  const raw = await ask(address, "/v1/completions", {
    method: "POST",
    body: JSON.stringify({ model: "echo", prompt: "x", stream: true, n: 2 }),
  });
  expect(raw.headers["content-type"]).toBe("text/event-stream; charset=utf-8");
  expect(raw.body.split("\n\n").slice(-2)).toEqual(["data: [DONE]", ""]);
  expect(raw.body.match(/"finish_reason":"stop"/g)).toHaveLength(2);
  const tools = await client.chat.completions.create({ model: "observed", messages: [{ role: "user", content: "tools" }] });
  expect(tools.choices[0]?.message).toEqual({
    role: "assistant",
    content: null,
    tool_calls: [{ id: "call_1", type: "function", function: { name: "weather", arguments: '{"city":"Rome"}' } }],
  });
});

test("responses: openai's client gets whole ones and streams, of a text and of a conversation", async () => {
  const whole = await client.responses.create({
    model: "echo",
    instructions: "be short",
    input: "hello there",
    metadata: { topic: "greeting" },
  });
  expect([whole.status, whole.output_text, whole.instructions, whole.metadata, whole.usage]).toMatchObject([
    "completed",
    "You said: hello there",
    "be short",
    { topic: "greeting" },
    { input_tokens: 4, output_tokens: 4, total_tokens: 8 },
  ]);
  const cut = await client.responses.create({ model: "echo", input: [{ role: "user", content: "a b c d" }], max_output_tokens: 3 });
  expect([cut.status, cut.incomplete_details, cut.output_text, cut.output[0]]).toMatchObject([
    "incomplete",
    { reason: "max_output_tokens" },
    "You said: a",
    { type: "message", role: "assistant", status: "incomplete" },
  ]);
  const stream = client.responses.stream({ model: "echo", input: "one two" });
  const events = [];
  for await (const event of stream) events.push(event);
  expect(events.map(({ type }) => type.replace("response.", ""))).toEqual([
    "created",
    "in_progress",
    "output_item.added",
    "content_part.added",
    ...Array.from({ length: 4 }, () => "output_text.delta"),
    "output_text.done",
    "content_part.done",
    "output_item.done",
    "completed",
  ]);
  expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, index) => index));
  const last = await stream.finalResponse();
  expect([last.output_text, last.status, last.usage?.output_tokens]).toEqual(["You said: one two", "completed", 4]);

  // A client sends back a whole conversation.
  const sent = await client.responses.create({
    model: "observed",
    instructions: "obey",
    input: [
      {
        role: "developer",
        content: [
          { type: "input_text", text: "a" },
          { type: "input_text", text: "b" },
        ],
      },
      {
        type: "message",
        role: "user",
        content: [
          { type: "input_text", text: "look" },
          { type: "input_image", image_url: "data:,x", detail: "low" },
        ],
      },
      { type: "reasoning", id: "rs_1", summary: [] },
      {
        type: "message",
        id: "msg_1",
        role: "assistant",
        status: "completed",
        content: [{ type: "output_text", text: "so", annotations: [] }],
      },
      { type: "function_call", call_id: "c1", name: "f", arguments: "{}" },
      { type: "function_call", call_id: "c2", name: "g", arguments: "{}" },
      { type: "function_call_output", call_id: "c1", output: "1" },
      { role: "user", content: "messages" },
    ],
  });
  const call = (id: string, name: string): object => ({ id, type: "function", function: { name, arguments: "{}" } });
  expect(JSON.parse(sent.output_text)).toEqual([
    { role: "system", content: "obey" },
    { role: "developer", content: "ab" },
    {
      role: "user",
      content: [
        { type: "text", text: "look" },
        { type: "image_url", image_url: { url: "data:,x", detail: "low" } },
      ],
    },
    { role: "assistant", content: "so", tool_calls: [call("c1", "f"), call("c2", "g")] },
    { role: "tool", tool_call_id: "c1", content: "1" },
    { role: "user", content: "messages" },
  ]);
  const extra = await client.responses.create({
    model: "observed",
    input: "extra",
    tools: [{ type: "function", name: "f", parameters: { type: "object" }, strict: true }],
    tool_choice: { type: "function", name: "f" },
    parallel_tool_calls: false,
    reasoning: { effort: "low" },
    text: { format: { type: "json_schema", name: "answer", schema: { type: "object" } } },
    store: false,
    ...({ top_k: 5 } as object),
  });
  expect(JSON.parse(extra.output_text)).toEqual({
    tools: [{ type: "function", function: { name: "f", parameters: { type: "object" }, strict: true } }],
    tool_choice: { type: "function", function: { name: "f" } },
    parallel_tool_calls: false,
    reasoning_effort: "low",
    response_format: { type: "json_schema", json_schema: { name: "answer", schema: { type: "object" } } },
    top_k: 5,
  });
});

test("responses: thoughts and calls of functions are items, the same whole and as events", async () => {
  const input = "think and call";
  const whole = await client.responses.create({ model: "observed", input });
  const stream = client.responses.stream({ model: "observed", input });
  const deltas: string[] = [];
  for await (const event of stream)
    if (event.type.endsWith(".delta")) deltas.push(`${event.type} ${String((event as { delta?: unknown }).delta)}`);
  for (const { output, usage } of [whole, await stream.finalResponse()]) {
    expect(output.map(({ id: _id, ...item }) => item)).toMatchObject([
      { type: "reasoning", content: [{ type: "reasoning_text", text: "let me see" }] },
      { type: "message", status: "completed", content: [{ type: "output_text", text: "Two cities." }] },
      { type: "function_call", call_id: "call_0", name: "weather", arguments: '{"n":7}', status: "completed" },
      { type: "function_call", call_id: "call_1", name: "weather", arguments: '{"n":7}', status: "completed" },
    ]);
    expect(usage).toMatchObject({ input_tokens: 11, output_tokens: 7 });
  }
  expect(deltas).toHaveLength(7);
});

test("responses: what is not offered is refused by its field, and a failure is an event", async () => {
  const refusals: [body: object, param: string][] = [
    [{}, "input"],
    [{ input: [] }, "input"],
    [{ input: [{ type: "item_reference", id: "msg_1" }] }, "input[0].type"],
    [{ input: [{ role: "tool", content: "x" }] }, "input[0].role"],
    [{ input: [{ role: "user", content: [{ type: "input_audio" }] }] }, "input[0].content[0].type"],
    [{ input: [{ role: "user", content: [{ type: "input_image", file_id: "f" }] }] }, "input[0].content[0].image_url"],
    [{ input: "a", previous_response_id: "resp_1" }, "previous_response_id"],
    [{ input: "a", conversation: "c" }, "conversation"],
    [{ input: "a", background: true }, "background"],
    [{ input: "a", tools: [{ type: "web_search" }] }, "tools[0].type"],
    [{ input: "a", tool_choice: { type: "mcp" } }, "tool_choice"],
    [{ input: "a", text: { format: { type: "grammar" } } }, "text.format"],
    [{ input: "a", include: ["message.output_text.logprobs"] }, "include"],
    [{ input: "a", n: 1e9 }, "n"],
    [{ input: "a", best_of: 1e9 }, "best_of"],
    [{ input: "a", max_output_tokens: 0 }, "max_output_tokens"],
    [{ input: "a", metadata: { a: "x".repeat(513) } }, "metadata"],
    [{ input: "refuse", model: "observed" }, "messages"],
    [{ input: "refuse", model: "observed", stream: true }, "messages"],
  ];
  for (const [body, param] of refusals) {
    const { status, body: text } = await ask(address, "/v1/responses", {
      method: "POST",
      body: JSON.stringify({ model: "echo", ...body }),
    });
    expect([status, JSON.parse(text)]).toMatchObject([400, { error: { type: "invalid_request_error", param } }]);
  }
  expect((await ask(address, "/v1/responses/resp_1")).status).toBe(404);
  const broken = await ask(address, "/v1/responses", {
    method: "POST",
    body: JSON.stringify({ model: "observed", stream: true, input: "break" }),
  });
  expect(broken.body).toContain("so far");
  expect(broken.body).toMatch(/event: response.failed\ndata: .*"status":"failed".*"code":"server_error"/);
  expect(broken.body).not.toContain("secret");
  const before = log.lines.filter((line) => line === "left").length;
  const stream = client.responses.stream({ model: "observed", input: "for ever" });
  for await (const { type } of stream) if (type === "response.output_text.delta") break;
  await until(() => log.lines.filter((line) => line === "left").length > before, "the engine to be left");
});

test("errors have OpenAI's form, and name the field", async () => {
  const messages = [{ role: "user" as const, content: "hi" }];
  const unknown = (await failureOf(client.chat.completions.create({ model: "none", messages }))) as InstanceType<
    typeof OpenAI.NotFoundError
  >;
  expect(unknown).toBeInstanceOf(OpenAI.NotFoundError);
  expect([unknown.status, unknown.code, unknown.param]).toEqual([404, "model_not_found", "model"]);
  const refusals: [body: object | string, param: string | null, message: string][] = [
    [{ model: "echo" }, "messages", "Invalid messages: an array with at least one message is needed: it is missing"],
    [{ model: "echo", messages, temperature: 3 }, "temperature", "Invalid temperature: a number from 0 to 2 is needed: received 3"],
    [
      { model: "echo", messages: [{ role: "king", content: "" }] },
      "messages[0].role",
      'Invalid messages[0].role: one of system, developer, user, assistant, tool, function is needed: received "king"',
    ],
    [{ messages }, "model", "Invalid model: the id of a model is needed: it is missing or no text"],
    ["{", null, "The body is no JSON"],
    [{ model: "observed", messages: [{ role: "user", content: "refuse" }] }, "messages", "I take no such thing"],
    [{ model: "observed", stream: true, messages: [{ role: "user", content: "refuse" }] }, "messages", "I take no such thing"],
  ];
  for (const [body, param, message] of refusals) {
    const answer = await ask(address, "/v1/chat/completions", {
      method: "POST",
      body: typeof body === "string" ? body : JSON.stringify(body),
    });
    expect([answer.status, JSON.parse(answer.body)]).toMatchObject([400, { error: { type: "invalid_request_error", param, message } }]);
  }
  expect((await ask(address, "/v1/chat/completions")).status).toBe(405);
  expect((await ask(address, "/v1/nothing")).status).toBe(404);
  const failed = await ask(address, "/v1/completions", { method: "POST", body: JSON.stringify({ model: "observed", prompt: "x" }) });
  expect(JSON.parse(failed.body)).toMatchObject({ error: { code: "unsupported_endpoint" } });
  // The head has gone: an event tells it, without what only the log is to have.
  const broken = await ask(address, "/v1/chat/completions", {
    method: "POST",
    body: JSON.stringify({ model: "observed", stream: true, messages: [{ role: "user", content: "break" }] }),
  });
  expect(broken.body).toContain('"content":"so far"');
  expect(broken.body).toContain('"code":"internal_error"');
  expect(broken.body).not.toContain("secret");
  expect(broken.body).not.toContain("[DONE]");
});

test("one request more than may wait gets 429, and a client that goes ends the engine's work", async () => {
  const create = (): Promise<unknown> => client.chat.completions.create({ model: "lab/slow", messages: [{ role: "user", content: "a" }] });
  // The ingress has met the model: until then it knows no limit.
  await create();
  const answers = await Promise.allSettled([create(), create(), create(), create()]);
  const refused = answers.flatMap((answer) =>
    answer.status === "rejected" ? [answer.reason as InstanceType<typeof OpenAI.RateLimitError>] : [],
  );
  expect(refused.length).toBeGreaterThanOrEqual(1);
  expect(refused.map(({ status, headers, code }) => [status, headers.get("retry-after"), code])).toEqual(
    refused.map(() => [429, "2", "overloaded"]),
  );
  expect(answers.some(({ status }) => status === "fulfilled")).toBe(true);

  for (const stream of [true, false]) {
    const before = log.lines.filter((line) => line === "left").length;
    const gone = new AbortController();
    const body = { model: "observed", messages: [{ role: "user" as const, content: "for ever" }], stream };
    const asked = client.chat.completions.create(body as never, { signal: gone.signal });
    asked.catch(() => {});
    await until(() => log.lines.filter((line) => line === "begun").length > before, "the engine to begin");
    gone.abort();
    await until(() => log.lines.filter((line) => line === "left").length > before, "the engine to be left");
  }
});

test("embeddings of several requests go to the engine together", async () => {
  // Requests that come within 2 ms of each other are together.
  const inputs = Array.from({ length: 20 }, (_, index) => "x".repeat(index + 1));
  const answers = await Promise.all(
    inputs.map((input) => client.embeddings.create({ model: "observed", input, encoding_format: "float" })),
  );
  expect(answers.map(({ data }) => data[0]?.embedding)).toEqual(inputs.map(({ length }) => [length, 1]));
  const sizes = log.lines.filter((line) => line.startsWith("embed ")).map((line) => Number(line.split(" ")[1]));
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(20);
  expect(sizes.length).toBeLessThan(20);
});

test("Vercel's AI SDK works, also through an upstream that is this very app", async () => {
  const app = serve.llm.buildOpenAIApp({ models: [{ id: "far", engine: serve.llm.upstream({ url: `${address}/v1`, model: "echo" }) }] });
  await serve.run(app, { name: "far", routePrefix: "/far" });
  const provider = createOpenAICompatible({ name: "shoal", baseURL: `${address}/far/v1`, includeUsage: true });
  const { text, usage, finishReason } = await generateText({ model: provider("far"), prompt: "good day", maxRetries: 0 });
  expect([text, usage.inputTokens, usage.outputTokens, finishReason]).toEqual(["You said: good day", 2, 4, "stop"]);
  const pieces = [];
  for await (const piece of streamText({ model: provider("far"), prompt: "good day", maxRetries: 0 }).textStream) pieces.push(piece);
  expect(pieces.join("")).toBe("You said: good day");
  expect(pieces.length).toBeGreaterThan(1);
  const { embeddings } = await embedMany({ model: provider.embeddingModel("far"), values: ["x", "y z"], maxRetries: 0 });
  expect(embeddings.map(({ length }) => length)).toEqual([64, 64]);
  // The upstream's errors about a request are passed on; a model that the upstream lacks keeps the app from running.
  const far = new OpenAI({ baseURL: `${address}/far/v1`, apiKey: "none", maxRetries: 0 });
  const refused = (await failureOf(far.embeddings.create({ model: "far", input: [1, 2] }))) as InstanceType<typeof OpenAI.APIError>;
  expect([refused.status, refused.param]).toEqual([400, "input"]);
  const none = serve.llm.buildOpenAIApp({
    models: [
      { id: "x", engine: serve.llm.upstream({ url: `${address}/v1`, model: "nowhere" }), deployment: { maxConstructorRetryCount: 1 } },
    ],
  });
  expect((await failureOf(serve.run(none, { name: "none", routePrefix: null }))).message).toContain(
    "has no model nowhere: it has echo, lab/slow, observed",
  );
});

test("what cannot be an app is refused by name", () => {
  const engine = serve.llm.deterministic();
  const refused: [() => unknown, string][] = [
    [
      () =>
        serve.llm.buildOpenAIApp({
          models: [
            { id: "a", engine },
            { id: "a", engine },
          ],
        }),
      'each model has an id of its own: received "a" twice',
    ],
    [() => serve.llm.buildOpenAIApp({ models: [] }), "models"],
    [() => serve.llm.buildOpenAIApp({ models: [{ id: "a" } as never] }), "the option engine is missing"],
    [() => serve.llm.upstream({ url: "localhost" }), "a URL of http or https is needed"],
    [() => serve.llm.upstream({ url: "http://h/v1", apiKey: "k" } as never), "apiKeyEnv"],
  ];
  for (const [make, message] of refused) expect(make).toThrow(message);
});

test("a request with more answers than one may have is refused before any begins, and others are answered meanwhile", async () => {
  const post = (path: string, body: object): ReturnType<typeof ask> =>
    ask(address, path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ model: "echo", ...body }),
    });
  const prompts = (count: number): string[] => Array.from({ length: count }, (_, index) => `p${index}`);
  const refused: [path: string, body: object, param: string][] = [
    ["/v1/completions", { prompt: prompts(2048), n: 128 }, "n"],
    ["/v1/completions", { prompt: prompts(2048), n: 2 }, "n"],
    ["/v1/completions", { prompt: prompts(2048), best_of: 128 }, "best_of"],
    ["/v1/completions", { prompt: "a", best_of: 1_000_000 }, "best_of"],
    ["/v1/chat/completions", { messages: [{ role: "user", content: "a" }], best_of: 1e9 }, "best_of"],
    ["/v1/embeddings", { input: prompts(2048), dimensions: 65_536 }, "dimensions"],
    ["/v1/embeddings", { input: "a", dimensions: 1e9 }, "dimensions"],
  ];
  const sinceMs = performance.now();
  for (const [path, body, param] of refused) {
    const { status, body: text } = await post(path, body);
    expect([status, JSON.parse(text)]).toMatchObject([400, { error: { param } }]);
  }
  const large = await post("/v1/chat/completions", { messages: [{ role: "user", content: "x".repeat(4_000_000) }], n: 128 });
  expect([large.status, JSON.parse(large.body)]).toMatchObject([413, { error: { param: "n" } }]);
  expect(performance.now() - sinceMs).toBeLessThan(20_000);
  // As many answers as there may be: all of them, in their order, while others get theirs.
  const whole = post("/v1/completions", { prompt: prompts(512), n: 2, max_tokens: 2, echo: true });
  const streamed = post("/v1/completions", { prompt: prompts(200), max_tokens: 1, stream: true });
  expect((await post("/v1/completions", { prompt: "hello", max_tokens: 1 })).status).toBe(200);
  const { choices } = JSON.parse((await whole).body) as { choices: { index: number; text: string }[] };
  expect(choices.map(({ index }) => index)).toEqual(Array.from({ length: 1024 }, (_, index) => index));
  expect(choices.every(({ index, text }) => text.startsWith(`p${Math.floor(index / 2)}`))).toBe(true);
  const events = (await streamed).body.trim().split("\n\n");
  expect(events.at(-1)).toBe("data: [DONE]");
  const ended = events
    .slice(0, -1)
    .flatMap((event) => (JSON.parse(event.slice(6)) as { choices: { index: number; finish_reason: string | null }[] }).choices);
  expect(
    ended
      .filter(({ finish_reason }) => finish_reason !== null)
      .map(({ index }) => index)
      .sort((a, b) => a - b),
  ).toEqual(Array.from({ length: 200 }, (_, index) => index));
});
