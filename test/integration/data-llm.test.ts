/** `data.llm.httpProcessor` against a server process that refuses, breaks and stalls, and against Shoal's own OpenAI application. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import * as data from "shoal/data";
import * as serve from "shoal/serve";
import { afterAll, beforeAll, expect, test } from "vitest";
import { failureOf, useFolder, useSession } from "./session.ts";

const folder = useFolder();
useSession({ numCpus: 4 });

/** A server whose answers follow the words of the prompt: `429x2 hello` is refused twice, and answered then. */
const SERVER = `
import { createServer } from "node:http";
const seen = new Map();
let [inFlight, most, total] = [0, 0, 0];
const server = createServer(async (request, response) => {
  let text = "";
  for await (const chunk of request) text += chunk;
  if (request.method === "GET") return response.end(JSON.stringify({ most, total }));
  inFlight += 1;
  total += 1;
  most = Math.max(most, inFlight);
  response.on("close", () => (inFlight -= 1));
  const { model, messages } = JSON.parse(text);
  const prompt = messages[0].content;
  const times = (seen.get(prompt) ?? 0) + 1;
  seen.set(prompt, times);
  const send = (status, body, headers = {}) => {
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(JSON.stringify(body));
  };
  const [fault, count] = prompt.split(" ")[0].split("x");
  const isFaulty = count !== undefined && times <= Number(count);
  if (isFaulty && fault === "429") return send(429, { error: { message: "slow down" } }, { "retry-after-ms": "20" });
  if (isFaulty && fault === "500") return send(500, { error: { message: "it broke" } });
  if (isFaulty && fault === "reset") return request.socket.destroy();
  if (isFaulty && fault === "garbage") return response.end("<html>");
  if (isFaulty && fault === "stall") return;
  if (fault === "400") return send(400, { error: { message: "the prompt is too long: " + request.headers.authorization } });
  if (fault === "401") return send(401, { error: { message: "wrong key " + request.headers.authorization } });
  if (fault === "redirect") return send(302, {}, { location: "http://127.0.0.1:1/" });
  await new Promise((resolve) => setTimeout(resolve, 5));
  send(200, {
    model,
    choices: [{ message: { content: "echo " + prompt }, finish_reason: "stop" }],
    usage: { prompt_tokens: prompt.length, completion_tokens: 2 },
    header: request.headers["x-team"] ?? null,
  });
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
`;

let url = "";
const program = { end: (): Promise<unknown> => Promise.resolve() };

beforeAll(async () => {
  const file = join(folder, "server.mjs");
  writeFileSync(file, SERVER);
  const child = spawn(process.execPath, [file], { stdio: ["ignore", "pipe", "inherit"] });
  const [port] = (await once(child.stdout, "data")) as [Buffer];
  url = `http://127.0.0.1:${port.toString().trim()}/v1/chat/completions`;
  program.end = () => {
    const closed = once(child, "close");
    child.kill();
    return closed;
  };
});

afterAll(() => program.end());

const KEY = "sk-a-secret-of-the-test";

interface Prompt {
  readonly id: number;
  readonly prompt: string;
}

type Options = Partial<data.llm.HttpProcessorOptions<Prompt, Prompt & { answer: string | null }>>;

function asked(prompts: readonly string[], options: Options = {}): data.Dataset<any> {
  const process = data.llm.httpProcessor({
    url,
    model: "small",
    apiKey: KEY,
    maxRetries: 3,
    preprocess: (row: Prompt) => row.prompt,
    postprocess: (row: Prompt, answer) => ({ ...row, answer: answer.text }),
    ...options,
  });
  return process(data.fromItems(prompts.map((prompt, id) => ({ id, prompt }))));
}

test("rows are answered in their order, many at a time, and stats() has requests, tokens and cost", async () => {
  const prompts = Array.from({ length: 200 }, (_, i) => `question ${i}`);
  const answers = asked(prompts, { concurrency: 16, price: { promptTokens: 2, completionTokens: 10 } });
  expect(await answers.takeAll()).toEqual(prompts.map((prompt, id) => ({ id, prompt, answer: `echo ${prompt}`, error: null })));
  const { most } = (await (await fetch(url)).json()) as { most: number };
  expect(most).toBeGreaterThan(4);
  expect(most).toBeLessThanOrEqual(16);
  const statistics = await answers.stats();
  const promptTokens = prompts.join("").length;
  expect(statistics?.usage).toEqual({
    requests: 200,
    retries: 0,
    failures: 0,
    promptTokens,
    completionTokens: 400,
    cost: expect.closeTo((2 * promptTokens + 10 * 400) / 1e6, 10) as number,
  });
  expect(String(statistics)).toContain("sent 200 requests, 0 of them again; 0 rows without an answer");
  expect(answers.explain() + String(statistics)).not.toContain(KEY);
});

test("busy, broken and silent servers are asked again, and rows that stay without an answer come with the error", async () => {
  const prompts = ["429x2 a", "500x1 b", "resetx1 c", "garbagex1 d", "stallx1 e", "500x9 f", "400 g", "redirect h", "plain i"];
  const answers = asked(prompts, { timeoutMs: 2000, workers: 2 });
  const rows = (await answers.takeAll()) as { id: number; answer: string | null; error: string | null }[];
  expect(rows.map(({ answer }) => answer)).toEqual(
    prompts.map((prompt) => (/^(500x9|400|redirect)/.test(prompt) ? null : `echo ${prompt}`)),
  );
  expect(rows.filter(({ error }) => error !== null).map(({ id }) => id)).toEqual([5, 6, 7]);
  expect(rows[5]?.error).toBe("the server answered 500: it broke");
  expect(rows[6]?.error).toBe("the server answered 400: the prompt is too long: Bearer …");
  const usage = (await answers.stats())?.usage;
  expect(usage).toMatchObject({ failures: 3, retries: 2 + 1 + 1 + 1 + 1 + 3 + 3 });
  expect(usage?.requests).toBe((usage?.retries ?? 0) + prompts.length);
});

test("a refusal of the key ends the run without showing the key, and so does a failed row on demand", async () => {
  const refused = String(await failureOf(asked(["401 a"]).takeAll()));
  expect(refused).toContain("every row would fail: received the server answered 401: wrong key Bearer …");
  expect(refused).not.toContain(KEY);
  expect(String(await failureOf(asked(["400 b"], { errorColumn: false as never }).takeAll()))).toContain(
    "Cannot answer a row: the server answered 400",
  );
  const [row] = await asked(["fine"], { errorColumn: false as never }).takeAll();
  expect(Object.keys(row as object)).toEqual(["id", "prompt", "answer"]);
});

test("requests take bodies, models, headers and keys of the environment", async () => {
  const withBody = asked(["own"], {
    preprocess: async ({ prompt }) => ({ model: "large", messages: [{ role: "user", content: prompt }] }),
    postprocess: (row, answer) => ({
      ...row,
      answer: `${answer.body["model"] as string} ${answer.body["header"] as string} ${answer.finishReason}`,
    }),
    headers: { "x-team": "blue" },
  });
  expect((await withBody.takeAll())[0]).toMatchObject({ answer: "large blue stop" });
  const failed = async (options: Options): Promise<string> => String(await failureOf(asked(["x"], options).takeAll()));
  expect(await failed({ apiKey: undefined, apiKeyEnv: "NO_SUCH_VARIABLE" })).toContain("no environment variable NO_SUCH_VARIABLE");
  expect(await failed({ preprocess: () => 7 as never })).toContain("preprocess gives a text or a request: received 7");
  expect(await failed({ preprocess: () => ({ stream: true }) })).toContain("received stream: true");
  expect(await failed({ postprocess: () => 7 as never })).toContain("postprocess gives a row: received 7");
});

test("wrong options are told, and no message shows the key", () => {
  const make = (options: object) => () => asked(["x"], options);
  expect(make({ url: "ftp://x" })).toThrow(RangeError);
  expect(make({ url: undefined })).toThrow("it takes the options url, preprocess and postprocess");
  expect(make({ apiKeyEnv: "A" })).toThrow("it takes one of the options apiKey and apiKeyEnv: received both");
  expect(make({ requestsPerMinute: 0 })).toThrow(RangeError);
  expect(make({ price: { promptTokens: -1, completionTokens: 0 } })).toThrow(TypeError);
  expect(make({ qps: 5 })).toThrow("it is requestsPerMinute");
  expect(make({ concurrency: 0 })).toThrow(RangeError);
  expect(() => data.llm.httpProcessor({} as never)).toThrow(TypeError);
});

test("Shoal's own OpenAI application answers the rows of a dataset", async () => {
  const { address } = await serve.start({ httpOptions: { port: 0 } });
  await serve.run(serve.llm.buildOpenAIApp({ models: [{ id: "echo", engine: serve.llm.deterministic() }] }), {
    name: "llm",
    routePrefix: "/",
  });
  try {
    const rows = asked(["hello", "world"], { url: `${String(address)}/v1/chat/completions`, model: "echo" });
    const answers = (await rows.takeAll()) as { answer: string; error: string | null }[];
    expect(answers.map(({ error }) => error)).toEqual([null, null]);
    for (const { answer } of answers) expect(answer.length).toBeGreaterThan(0);
    const usage = (await rows.stats())?.usage;
    expect(usage?.promptTokens).toBeGreaterThan(0);
    expect(usage?.completionTokens).toBeGreaterThan(0);
  } finally {
    await serve.shutdown();
  }
});
