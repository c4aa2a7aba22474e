/**
 * An engine on transformers.js, which runs ONNX models on the processor: the package `@huggingface/transformers`.
 *
 * The engine has one pipeline: text generation, for chats and completions, or feature extraction, for embeddings. Generation takes one request at a time, as the package's
 * sessions do; embeddings of several requests go through the model together. The package is loaded by the first engine in a process.
 */
import type { ChatRequest, CompletionRequest, Embedding, EmbedRequest, LLMEngine, SamplingOptions, Token } from "../engine.ts";
import { LLMRequestError } from "../llm-errors.ts";
import { StopSequences } from "../stop-sequences.ts";
import { requireTextFormat } from "./answer-format.ts";
import { optionalPackage } from "./optional-package.ts";
import { TokenQueue } from "./token-queue.ts";

export interface TransformersJsOptions {
  /** A name on the hub or a folder: `onnx-community/Qwen2.5-0.5B-Instruct`. */
  readonly model: string;
  /** Default: "text-generation". */
  readonly task?: "text-generation" | "feature-extraction" | undefined;
  /** Numbers of the weights: "fp32", "fp16", "q8", "q4" and what else the model has. Default: the package's. */
  readonly dtype?: string | undefined;
  /** Default: the package's. */
  readonly device?: string | undefined;
  /** Pooling of the tokens' embeddings. Default: "mean". */
  readonly pooling?: "mean" | "cls" | "none" | undefined;
  /** Tokens of an answer, where the request does not say. Default: 512. */
  readonly maxTokens?: number | undefined;
}

const MAX_TOKENS = 512;

/** The used part of the package's API. The package is optional, so its published types cannot be named here. */
interface Tokenizer {
  (text: string): { input_ids: { size: number } };
  apply_chat_template(messages: readonly object[], options: object): string;
}
interface Tensor {
  tolist(): number[][];
}
interface Pipeline {
  (input: unknown, options: object): Promise<unknown>;
  readonly tokenizer: Tokenizer;
  dispose(): Promise<unknown>;
}
interface TransformersPackage {
  pipeline(task: string, model: string, options: object): Promise<Pipeline>;
  TextStreamer: new (tokenizer: Tokenizer, options: object) => object;
  InterruptableStoppingCriteria: new () => { interrupt(): void };
}

export class TransformersJsEngine implements LLMEngine {
  readonly #package: TransformersPackage;
  readonly #pipeline: Pipeline;
  readonly #options: TransformersJsOptions;
  /** The generation that runs, if any. */
  #last: Promise<unknown> = Promise.resolve();

  private constructor(transformers: TransformersPackage, pipeline: Pipeline, options: TransformersJsOptions) {
    this.#package = transformers;
    this.#pipeline = pipeline;
    this.#options = options;
  }

  /** Loads the model. @throws LLMEngineError if the package is not installed; the package's error for the model */
  static async load(options: TransformersJsOptions): Promise<LLMEngine> {
    // A name in a variable: compilers and bundlers do not look for it.
    const name = "@huggingface/transformers";
    const transformers = (await optionalPackage(name, ">=3 <5", () => import(name))) as TransformersPackage;
    const { model, task = "text-generation", dtype, device } = options;
    const pipeline = await transformers.pipeline(task, model, {
      ...(dtype !== undefined && { dtype }),
      ...(device !== undefined && { device }),
    });
    return new TransformersJsEngine(transformers, pipeline, options);
  }

  chat(request: ChatRequest, signal: AbortSignal): AsyncIterable<Token> {
    requireTextFormat(request);
    const { tools } = request.extra;
    const prompt = this.#pipeline.tokenizer.apply_chat_template(request.messages, {
      tokenize: false,
      add_generation_prompt: true,
      ...(tools !== undefined && { tools }),
    });
    return this.#generate(prompt, request, signal);
  }

  complete(request: CompletionRequest, signal: AbortSignal): AsyncIterable<Token> {
    if (typeof request.prompt !== "string")
      throw LLMRequestError.of("Invalid prompt: this model takes text, and no tokens", { param: "prompt" });
    return this.#generate(request.prompt, request, signal);
  }

  async *embed({ inputs, dimensions }: EmbedRequest): AsyncGenerator<Embedding, void, undefined> {
    if (this.#options.task !== "feature-extraction")
      throw LLMRequestError.of("This model generates text; it has no embeddings", { param: "model" });
    if (dimensions !== undefined) throw LLMRequestError.of("Invalid dimensions: this model has a fixed number", { param: "dimensions" });
    if (inputs.some((input) => typeof input !== "string"))
      throw LLMRequestError.of("Invalid input: this model takes text, and no tokens", { param: "input" });
    const tensor = (await this.#pipeline(inputs, { pooling: this.#options.pooling ?? "mean", normalize: true })) as Tensor;
    for (const [index, vector] of tensor.tolist().entries())
      yield { vector, promptTokens: this.#pipeline.tokenizer(inputs[index] as string).input_ids.size };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pipeline.dispose();
  }

  async *#generate(prompt: string, request: SamplingOptions, signal: AbortSignal): AsyncGenerator<Token, void, undefined> {
    if (this.#options.task === "feature-extraction")
      throw LLMRequestError.of("This model embeds text; it does not generate any", { param: "model" });
    const before = this.#last;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#last = promise;
    try {
      await before;
      signal.throwIfAborted();
      yield* this.#generateNow(prompt, request, signal);
    } finally {
      resolve();
    }
  }

  async *#generateNow(prompt: string, request: SamplingOptions, signal: AbortSignal): AsyncGenerator<Token, void, undefined> {
    const { TextStreamer, InterruptableStoppingCriteria } = this.#package;
    const queue = new TokenQueue();
    const stopping = new InterruptableStoppingCriteria();
    const interrupt = (): void => stopping.interrupt();
    signal.addEventListener("abort", interrupt, { once: true });
    const maxTokens = request.maxTokens ?? this.#options.maxTokens ?? MAX_TOKENS;
    let completionTokens = 0;
    const streamer = new TextStreamer(this.#pipeline.tokenizer, {
      skip_prompt: true,
      skip_special_tokens: true,
      callback_function: (text: string) => queue.push({ text }),
      token_callback_function: () => (completionTokens += 1),
    });
    const options = {
      ...generationOptions(request),
      max_new_tokens: maxTokens,
      streamer,
      stopping_criteria: stopping,
      return_full_text: false,
    };
    const running = this.#pipeline(prompt, options).then(() => queue.end(), queue.fail);
    const stops = new StopSequences(request.stop);
    let isStopped = false;
    try {
      for await (const { text = "" } of queue) {
        const next = stops.next(text);
        if (next.text !== "") yield { text: next.text };
        isStopped = next.isEnd;
        if (isStopped) break;
      }
      const rest = stops.rest();
      if (rest !== "") yield { text: rest };
      const promptTokens = this.#pipeline.tokenizer(prompt).input_ids.size;
      yield { finishReason: !isStopped && completionTokens >= maxTokens ? "length" : "stop", usage: { promptTokens, completionTokens } };
    } finally {
      signal.removeEventListener("abort", interrupt);
      // The next request has the model once this one has stopped.
      interrupt();
      await running;
    }
  }
}

function generationOptions({ temperature, topP }: SamplingOptions): object {
  const isSampled = temperature !== undefined && temperature > 0;
  return { do_sample: isSampled, ...(isSampled && { temperature }), ...(topP !== undefined && isSampled && { top_p: topP }) };
}
