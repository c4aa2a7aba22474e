/**
 * The engine of a model: a description that travels to the model's replicas, where it becomes the engine.
 *
 * Options are checked where the application is built, before anything is started.
 * Made by `upstream`, `deterministic`, `nodeLlamaCpp`, `transformersJs` and `vllm`, or by users: a class without parameters, or a function that gives an engine.
 */
import { count, custom, describeValue, isClass, oneOf, readOptions, text, timeLimit } from "../../core/internal.ts";
import type { LLMEngine } from "./engine.ts";
import { DeterministicEngine, type DeterministicOptions } from "./engines/deterministic.ts";
import { LLAMA_PARALLEL, NodeLlamaCppEngine, type NodeLlamaCppOptions } from "./engines/node-llama-cpp.ts";
import { TransformersJsEngine, type TransformersJsOptions } from "./engines/transformers-js.ts";
import { UpstreamEngine, type UpstreamOptions } from "./engines/upstream.ts";
import { VllmEngine, type VllmOptions } from "./engines/vllm.ts";

/** An engine that comes with Shoal, with its options. */
export type BuiltInEngine = {
  readonly [K in keyof EngineOptions]: { readonly kind: K; readonly options: EngineOptions[K] };
}[keyof EngineOptions];

interface EngineOptions {
  readonly upstream: UpstreamOptions;
  readonly deterministic: DeterministicOptions;
  readonly nodeLlamaCpp: NodeLlamaCppOptions;
  readonly transformersJs: TransformersJsOptions;
  readonly vllm: VllmOptions;
}

/** Values of a model's option `engine`. */
export type EngineSource = BuiltInEngine | (new () => LLMEngine) | (() => LLMEngine | PromiseLike<LLMEngine>);

const record = custom<Readonly<Record<string, any>> | undefined>("an object is needed", undefined, (value) =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? "ok" : "wrong type",
);
const environment = custom<string | readonly string[] | undefined>("a path, or an array of packages, is needed", undefined, (value) =>
  typeof value === "string" || (Array.isArray(value) && value.every((item) => typeof item === "string")) ? "ok" : "wrong type",
);
const url = custom<string | undefined>("a URL of http or https is needed", undefined, (value) =>
  typeof value !== "string" ? "wrong type" : /^https?:\/\//.test(value) && URL.canParse(value) ? "ok" : "out of range",
);

/** Makes an engine of another server that speaks OpenAI's API. */
export function upstream(options: UpstreamOptions): BuiltInEngine {
  const otherNames = { apiKey: "it is apiKeyEnv, the environment variable that has the key", baseURL: "it is url" };
  const read = readOptions(options, {
    of: "an upstream engine",
    otherNames,
    options: { url, model: text(undefined), apiKeyEnv: text(undefined), headers: record },
  });
  return { kind: "upstream", options: { ...read, url: needed(read.url, "url", "an upstream engine") } };
}

/** The same answer for the same request, without a model: for tests. */
export function deterministic(options: DeterministicOptions = {}): BuiltInEngine {
  const read = readOptions(options, {
    of: "a deterministic engine",
    options: { reply: text(undefined), tokenDelayMs: timeLimit(), dimensions: count({ min: 1, max: 65_536 }, undefined) },
  });
  return { kind: "deterministic", options: read };
}

/** llama.cpp in the replica's process, through the package `node-llama-cpp`. */
export function nodeLlamaCpp(options: NodeLlamaCppOptions): BuiltInEngine {
  const gpu = custom<"auto" | false>('"auto" or false is needed', "auto", (value) =>
    value === "auto" || value === false ? "ok" : "out of range",
  );
  const read = readOptions(options, {
    of: "a node-llama-cpp engine",
    options: {
      model: text(undefined),
      parallel: count({ min: 1, max: 256 }, LLAMA_PARALLEL),
      contextSize: count({ min: 8 }, undefined),
      threads: count({ min: 1 }, undefined),
      gpu,
    },
  });
  return { kind: "nodeLlamaCpp", options: { ...read, model: needed(read.model, "model", "a node-llama-cpp engine") } };
}

/** ONNX models in the replica's process, through the package `@huggingface/transformers`. */
export function transformersJs(options: TransformersJsOptions): BuiltInEngine {
  const read = readOptions(options, {
    of: "a transformers.js engine",
    options: {
      model: text(undefined),
      task: oneOf(["text-generation", "feature-extraction"], "text-generation"),
      dtype: text(undefined),
      device: text(undefined),
      pooling: oneOf(["mean", "cls", "none"], "mean"),
      maxTokens: count({ min: 1 }, undefined),
    },
  });
  return { kind: "transformersJs", options: { ...read, model: needed(read.model, "model", "a transformers.js engine") } };
}

/** vLLM in a Python actor, which needs a GPU. */
export function vllm(options: VllmOptions): BuiltInEngine {
  const read = readOptions(options, {
    of: "a vLLM engine",
    options: { model: text(undefined), engineArgs: record, numGpus: count({ min: 0 }, 1), python: environment },
  });
  return { kind: "vllm", options: { ...read, model: needed(read.model, "model", "a vLLM engine") } };
}

function needed<T>(value: T | undefined, name: string, of: string): T {
  if (value === undefined) throw new TypeError(`Cannot make ${of}: the option ${name} is missing`);
  return value;
}

export function isBuiltIn(source: EngineSource): source is BuiltInEngine {
  return typeof source === "object";
}

/** Requests that one replica takes at a time, where the deployment does not say. */
export function ongoingRequestsOf(source: EngineSource): number {
  if (!isBuiltIn(source)) return ONGOING;
  if (source.kind === "nodeLlamaCpp") return source.options.parallel ?? LLAMA_PARALLEL;
  // Text generation takes one request at a time; requests that wait outside the replica can go to another one.
  return source.kind === "transformersJs" && source.options.task !== "feature-extraction" ? 1 : ONGOING;
}

const ONGOING = 128;

/** Creates an engine. @throws the error that keeps it from running */
export async function createEngine(model: string, source: EngineSource): Promise<LLMEngine> {
  if (isBuiltIn(source)) return builtIn(model, source);
  const engine = isClass(source as () => unknown)
    ? new (source as new () => LLMEngine)()
    : await (source as () => LLMEngine | PromiseLike<LLMEngine>)();
  if (typeof engine !== "object" || engine === null)
    throw new TypeError(`Cannot run model ${model}: its engine is no object: received ${describeValue(engine)}`);
  return engine;
}

function builtIn(model: string, source: BuiltInEngine): LLMEngine | Promise<LLMEngine> {
  switch (source.kind) {
    case "upstream":
      return new UpstreamEngine(model, source.options);
    case "deterministic":
      return new DeterministicEngine(source.options);
    case "nodeLlamaCpp":
      return NodeLlamaCppEngine.load(source.options);
    case "transformersJs":
      return TransformersJsEngine.load(source.options);
    case "vllm":
      return VllmEngine.load(source.options);
  }
}
