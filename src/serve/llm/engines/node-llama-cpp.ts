/**
 * An engine on llama.cpp through the package `node-llama-cpp`: models in GGUF files, on the processor or a GPU.
 *
 * The engine has one context with `parallel` sequences. llama.cpp batches the requests that run at the same time; further requests wait for a free sequence. The package is loaded
 * by the first engine in a process.
 */
import type { ChatMessage, ChatRequest, CompletionRequest, Embedding, EmbedRequest, LLMEngine, SamplingOptions, Token } from "../engine.ts";
import { LLMRequestError } from "../llm-errors.ts";
import { requireTextFormat } from "./answer-format.ts";
import { optionalPackage } from "./optional-package.ts";
import { TokenQueue } from "./token-queue.ts";

export interface NodeLlamaCppOptions {
  /** A GGUF file, or what `resolveModelFile` of the package takes, such as `hf:user/model:Q4_K_M`. */
  readonly model: string;
  /** Requests that run at a time. Default: 4. */
  readonly parallel?: number | undefined;
  /** Tokens of one request, its prompt included. Default: 4096. */
  readonly contextSize?: number | undefined;
  /** "auto": a GPU where there is one. Default: "auto". */
  readonly gpu?: "auto" | false | undefined;
  /** Threads that compute. Default: the package's, which takes all cores. */
  readonly threads?: number | undefined;
}

export const LLAMA_PARALLEL = 4;
const CONTEXT_TOKENS = 4096;

/** The used part of the package's API. The package is optional, so its published types cannot be named here. */
interface LlamaSequence {
  clearHistory(): Promise<void>;
}
interface LlamaContext {
  getSequence(): LlamaSequence;
  dispose(): Promise<void>;
}
interface LlamaEmbeddingContext {
  getEmbeddingFor(text: string | number[]): Promise<{ vector: readonly number[] }>;
}
interface LlamaModel {
  tokenize(text: string): number[];
  createContext(options: object): Promise<LlamaContext>;
  createEmbeddingContext(): Promise<LlamaEmbeddingContext>;
  dispose(): Promise<void>;
}
/** Progress of a generation, as the package reports it. */
interface Heard {
  onTextChunk(text: string): void;
  onToken(tokens: readonly number[]): void;
}
interface LlamaAnswer {
  readonly stopReason: string;
}
interface LlamaPackage {
  getLlama(options: object): Promise<{ loadModel(options: object): Promise<LlamaModel> }>;
  resolveModelFile(model: string): Promise<string>;
  LlamaChat: new (
    options: object,
  ) => { generateResponse(history: object[], options: object): Promise<{ metadata: LlamaAnswer }>; dispose(): void };
  LlamaCompletion: new (
    options: object,
  ) => {
    generateCompletionWithMeta(prompt: string | number[], options: object): Promise<{ metadata: LlamaAnswer }>;
    dispose(): void;
  };
}

export class NodeLlamaCppEngine implements LLMEngine {
  readonly #llama: LlamaPackage;
  readonly #model: LlamaModel;
  readonly #context: LlamaContext;
  /** A disposed sequence is given back later than its context says, so all are kept. */
  readonly #free: LlamaSequence[];
  readonly #waiting: (() => void)[] = [];
  #embeddings: Promise<LlamaEmbeddingContext> | undefined;

  private constructor(llama: LlamaPackage, model: LlamaModel, context: LlamaContext, parallel: number) {
    this.#llama = llama;
    this.#model = model;
    this.#context = context;
    this.#free = Array.from({ length: parallel }, () => context.getSequence());
  }

  /** @throws LLMEngineError where the package is not installed; what llama.cpp throws for the model */
  static async load({
    model,
    parallel = LLAMA_PARALLEL,
    contextSize = CONTEXT_TOKENS,
    gpu = "auto",
    threads,
  }: NodeLlamaCppOptions): Promise<LLMEngine> {
    // A name in a variable: compilers and bundlers do not look for it.
    const name = "node-llama-cpp";
    const llama = (await optionalPackage(name, ">=3 <4", () => import(name))) as LlamaPackage;
    const modelPath = await llama.resolveModelFile(model);
    const loaded = await (await llama.getLlama({ gpu })).loadModel({ modelPath });
    const context = await loaded.createContext({ sequences: parallel, contextSize, ...(threads !== undefined && { threads }) });
    return new NodeLlamaCppEngine(llama, loaded, context, parallel);
  }

  chat(request: ChatRequest, signal: AbortSignal): AsyncIterable<Token> {
    requireTextFormat(request);
    const history = request.messages.map(historyItem);
    const promptTokens = request.messages.reduce((sum, { content }) => sum + this.#count(plain(content)), 0);
    return this.#generate(promptTokens, signal, async (sequence, heard, stop) => {
      const chat = new this.#llama.LlamaChat({ contextSequence: sequence });
      try {
        // An empty turn of the model comes last, so that it answers.
        return await chat.generateResponse([...history, { type: "model", response: [] }], generationOptions(request, stop, heard));
      } finally {
        chat.dispose();
      }
    });
  }

  complete(request: CompletionRequest, signal: AbortSignal): AsyncIterable<Token> {
    const { prompt } = request;
    const promptTokens = typeof prompt === "string" ? this.#count(prompt) : prompt.length;
    return this.#generate(promptTokens, signal, async (sequence, heard, stop) => {
      const completion = new this.#llama.LlamaCompletion({ contextSequence: sequence });
      try {
        return await completion.generateCompletionWithMeta(
          typeof prompt === "string" ? prompt : [...prompt],
          generationOptions(request, stop, heard),
        );
      } finally {
        completion.dispose();
      }
    });
  }

  async *embed({ inputs, dimensions }: EmbedRequest, signal: AbortSignal): AsyncGenerator<Embedding, void, undefined> {
    if (dimensions !== undefined) throw LLMRequestError.of("Invalid dimensions: this model has a fixed number", { param: "dimensions" });
    const context = await (this.#embeddings ??= this.#model.createEmbeddingContext());
    for (const input of inputs) {
      signal.throwIfAborted();
      const { vector } = await context.getEmbeddingFor(typeof input === "string" ? input : [...input]);
      yield { vector, promptTokens: typeof input === "string" ? this.#count(input) : input.length };
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#context.dispose();
    await this.#model.dispose();
  }

  #count(text: string): number {
    return this.#model.tokenize(text).length;
  }

  async *#generate(
    promptTokens: number,
    signal: AbortSignal,
    run: (sequence: LlamaSequence, heard: Heard, signal: AbortSignal) => Promise<{ metadata: LlamaAnswer }>,
  ): AsyncGenerator<Token, void, undefined> {
    const sequence = await this.#sequence(signal);
    try {
      const left = new AbortController();
      const queue = new TokenQueue();
      let completionTokens = 0;
      let running: Promise<void> | undefined;
      try {
        const heard: Heard = {
          onTextChunk: (text) => queue.push({ text }),
          // A character may be several tokens, so texts are not counted.
          onToken: (tokens) => {
            completionTokens += tokens.length;
          },
        };
        running = run(sequence, heard, AbortSignal.any([signal, left.signal])).then(({ metadata }) => {
          const finishReason = metadata.stopReason === "maxTokens" ? "length" : "stop";
          queue.push({ finishReason, usage: { promptTokens, completionTokens } });
          queue.end();
        }, queue.fail);
        yield* queue;
      } finally {
        // The consumer of the tokens may stop before the end: the sequence is free only once llama.cpp has stopped.
        left.abort();
        await running;
        await sequence.clearHistory();
      }
    } finally {
      this.#free.push(sequence);
      this.#waiting.shift()?.();
    }
  }

  /** Waits for a free sequence and takes it. */
  async #sequence(signal: AbortSignal): Promise<LlamaSequence> {
    for (;;) {
      signal.throwIfAborted();
      const sequence = this.#free.pop();
      if (sequence !== undefined) return sequence;
      await new Promise<void>((resolve) => {
        const done = (): void => {
          signal.removeEventListener("abort", aborted);
          resolve();
        };
        const aborted = (): void => {
          this.#waiting.splice(this.#waiting.indexOf(done), 1);
          done();
        };
        this.#waiting.push(done);
        signal.addEventListener("abort", aborted, { once: true });
      });
    }
  }
}

function historyItem({ role, content }: ChatMessage): object {
  const text = plain(content);
  if (role === "assistant") return { type: "model", response: [text] };
  if (role === "system" || role === "developer") return { type: "system", text };
  if (role === "user") return { type: "user", text };
  throw LLMRequestError.of(`Invalid messages: this model has no role ${role}`, { param: "messages" });
}

function plain(content: ChatMessage["content"]): string {
  if (typeof content === "string") return content;
  const parts = content ?? [];
  const other = parts.find(({ type }) => type !== "text");
  if (other !== undefined) throw LLMRequestError.of(`Invalid messages: this model takes text, and no ${other.type}`, { param: "messages" });
  return parts.map(({ text }) => text ?? "").join("");
}

function generationOptions(request: SamplingOptions, signal: AbortSignal, heard: Heard): object {
  const { maxTokens, temperature, topP, stop, seed, presencePenalty, frequencyPenalty } = request;
  return {
    signal,
    ...heard,
    ...(maxTokens !== undefined && { maxTokens }),
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { topP }),
    ...(seed !== undefined && { seed }),
    ...(stop.length > 0 && { customStopTriggers: stop }),
    repeatPenalty: {
      ...(presencePenalty !== undefined && { presencePenalty }),
      ...(frequencyPenalty !== undefined && { frequencyPenalty }),
    },
  };
}
