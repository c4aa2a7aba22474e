/**
 * Model engines on the real packages: `@huggingface/transformers` on onnxruntime, and `node-llama-cpp` with the binaries that npm brings.
 * The models are tiny and written here: one in ONNX that says the next word in its vocabulary, one in GGUF with random weights.
 */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { REPOSITORY } from "../house/source-files.ts";
import { installed } from "../systems/installed.ts";

const PROGRAM = `
import { init, shutdown } from "shoal";
import * as serve from "shoal/serve";
await init({ numCpus: 4 });
const { address } = await serve.start({ httpOptions: { port: 0 } });
const models = process.argv.at(-1) + "/";
const { nodeLlamaCpp, transformersJs } = serve.llm;
await serve.run(serve.llm.buildOpenAIApp({ models: [
  { id: "words", engine: transformersJs({ model: models + "words", dtype: "fp32" }) },
  { id: "vectors", engine: transformersJs({ model: models + "vectors", task: "feature-extraction", dtype: "fp32" }) },
  { id: "llama", engine: nodeLlamaCpp({ model: models + "tiny.gguf", gpu: false, threads: 1, contextSize: 256, parallel: 2 }) },
] }));
const post = async (path, body) => {
  const answer = await fetch(address + "/v1/" + path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  return { status: answer.status, ...(await answer.json()) };
};
const messages = [{ role: "user", content: "one" }];
const complete = (model, more) => post("completions", { model, prompt: "one", temperature: 0, ...more });
const results = {
  chat: await post("chat/completions", { model: "words", messages }),
  cut: await complete("words", { max_tokens: 2 }),
  stopped: await complete("words", { stop: ["four"] }),
  vectors: await post("embeddings", { model: "vectors", input: ["one two", "three"] }),
  llamaChat: await post("chat/completions", { model: "llama", messages, max_tokens: 5 }),
  llamaAtOnce: await Promise.all([1, 2, 3, 4].map(() => complete("llama", { max_tokens: 4 }))),
  llamaVectors: await post("embeddings", { model: "llama", input: ["one", "one"] }),
};
await serve.shutdown();
await shutdown();
console.log("results " + JSON.stringify(results));
`;

let results: Record<string, any> = {};

beforeAll(() => {
  const venv = installed("serve-engines-python", (folder) => [
    ["python3", "-m", "venv", folder],
    [join(folder, "bin/pip"), "install", "-q", "onnx", "gguf", "numpy"],
  ]);
  const packages = installed("serve-engines", (folder) => {
    const npm = ["--prefix", folder, "--no-audit", "--no-fund", "--ignore-scripts"];
    return [["npm", "install", ...npm, "@huggingface/transformers@4", "node-llama-cpp@3"]];
  });
  // As users have it, below their own node_modules: the packages are found from there.
  execFileSync("npm", ["pack", "--ignore-scripts", "--pack-destination", packages], { cwd: REPOSITORY, stdio: "ignore" });
  execFileSync(
    "npm",
    ["install", "--prefix", packages, "--no-save", "--no-audit", "--no-fund", "--ignore-scripts", join(packages, "shoal-0.1.0.tgz")],
    { stdio: "ignore" },
  );
  const models = join(packages, "models");
  const python = join(venv, "bin/python");
  execFileSync(python, [join(REPOSITORY, "test/frameworks/python/tiny_onnx.py"), models]);
  execFileSync(python, [join(REPOSITORY, "test/frameworks/python/tiny_gguf.py"), join(models, "tiny.gguf")]);
  const output = execFileSync(process.execPath, ["--input-type=module", "-e", PROGRAM, "--", models], {
    cwd: packages,
    encoding: "utf8",
    timeout: 240_000,
  });
  const line = output.split("\n").find((text) => text.startsWith("results ")) as string;
  results = JSON.parse(line.slice("results ".length)) as typeof results;
}, 600_000);

test("transformers.js generates, stops and counts", () => {
  // The template ends with "four".
  expect(results["chat"]).toMatchObject({ status: 200, choices: [{ message: { content: "five" }, finish_reason: "stop" }] });
  expect(results["cut"]).toMatchObject({
    choices: [{ text: "two three", finish_reason: "length" }],
    usage: { prompt_tokens: 1, completion_tokens: 2 },
  });
  expect(results["stopped"]).toMatchObject({ choices: [{ text: "two three ", finish_reason: "stop" }] });
});

test("transformers.js embeds several texts together", () => {
  const [pair, single] = results["vectors"].data.map(({ embedding }: { embedding: number[] }) => embedding);
  expect(pair[4]).toBeCloseTo(Math.SQRT1_2, 5);
  expect(pair[5]).toBeCloseTo(Math.SQRT1_2, 5);
  expect(single[6]).toBeCloseTo(1, 5);
});

test("llama.cpp generates, more requests than it has sequences", () => {
  expect(results["llamaChat"]).toMatchObject({ status: 200, choices: [{ finish_reason: "length" }] });
  expect(results["llamaChat"].usage.completion_tokens).toBeGreaterThan(0);
  const answers: { status: number; choices: { text: string }[] }[] = results["llamaAtOnce"];
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  expect(new Set(answers.map(({ choices }) => choices[0]?.text)).size).toBe(1);
  const [first, second] = results["llamaVectors"].data.map(({ embedding }: { embedding: number[] }) => embedding);
  expect(first).toHaveLength(32);
  expect(second).toEqual(first);
});
