/** The engine on vLLM, with a module of that name that has no model (`python/hollow/vllm`): what travels between the replica, the actor of Python and the client. */
import { fileURLToPath } from "node:url";
import OpenAI from "openai";
import * as serve from "shoal/serve";
import { afterAll, beforeAll, expect, test } from "vitest";
import { failureOf, Log, until, useFolder, useSession } from "./session.ts";

const folder = useFolder();
useSession({ numCpus: 8 });

const log = new Log(folder);
let client: OpenAI;

beforeAll(async () => {
  const { address } = await serve.start({ httpOptions: { port: 0 } });
  const envVars = { PYTHONPATH: fileURLToPath(new URL("python/hollow", import.meta.url)) };
  const engine = serve.llm.vllm({ model: "hollow", numGpus: 0, engineArgs: { log: log.file } });
  const app = serve.llm.buildOpenAIApp({ models: [{ id: "hollow", engine, deployment: { actorOptions: { runtimeEnv: { envVars } } } }] });
  await serve.run(app);
  client = new OpenAI({ baseURL: `${address}/v1`, apiKey: "none", maxRetries: 0 });
});
afterAll(() => serve.shutdown());

test("chats and completions are generated, with their usage and reason of the end", async () => {
  const chat = await client.chat.completions.create({ model: "hollow", messages: [{ role: "user", content: "to be or not" }] });
  expect(chat.choices[0]).toMatchObject({ finish_reason: "stop", message: { content: "to be or not " } });
  expect(chat.usage).toMatchObject({ prompt_tokens: 4, completion_tokens: 4 });
  const cut = await client.completions.create({ model: "hollow", prompt: "one two three", max_tokens: 2 });
  expect(cut.choices[0]).toMatchObject({ finish_reason: "length", text: "one two " });
  const tokens = await client.completions.create({ model: "hollow", prompt: [7, 8] });
  expect(tokens.choices[0]?.text).toBe("7 8 ");
});

test("what vLLM knows of a request goes to it, and what it refuses is the client's to change", async () => {
  const messages = [{ role: "user" as const, content: "params" }];
  const response_format = { type: "json_schema" as const, json_schema: { name: "answer", schema: { type: "object" } } };
  const more = { top_k: 7, unknown_to_vllm: 1, logit_bias: { "50": 2 }, response_format, max_tokens: 20 };
  const chat = await client.chat.completions.create({ model: "hollow", messages, ...more });
  expect(chat.choices[0]?.message.content).toBe("top_k=7 logit_bias={50: 2.0} structured={'type': 'object'} ");
  const refused: [fields: object, message: string][] = [
    [{ top_k: -5 }, "top_k must be 0"],
    [{ response_format: { type: "grammar" } }, "Invalid response_format: text, json_object, or json_schema with a schema is needed"],
  ];
  for (const [fields, message] of refused) {
    const failure = (await failureOf(client.chat.completions.create({ model: "hollow", messages, ...fields }))) as InstanceType<
      typeof OpenAI.APIError
    >;
    expect([failure.status, failure.message]).toEqual([400, expect.stringContaining(message)]);
  }
});

test("embeddings of several texts come in order", async () => {
  const { data } = await client.embeddings.create({ model: "hollow", input: ["one", "one two"], dimensions: 2, encoding_format: "float" });
  expect(data.map(({ embedding }) => embedding)).toEqual([
    [1, 1],
    [2, 2],
  ]);
});

test("a client that goes takes its request out of vLLM", async () => {
  const gone = new AbortController();
  const content = `slow ${"word ".repeat(500)}`;
  const request = { model: "hollow", messages: [{ role: "user" as const, content }], stream: true as const };
  const stream = await client.chat.completions.create(request, { signal: gone.signal });
  for await (const _chunk of stream) break;
  gone.abort();
  await until(() => log.lines.includes("aborted"), "vLLM to be told");
});
