/**
 * The deployment of one model: its engine, behind the methods that `OpenAIIngress` and other deployments call.
 *
 * Started by `buildOpenAIApp`, or bound by users where no API is wanted.
 * Owns the engine's life. Embeddings of several requests go to the engine together. A stream that is left, by a client that has gone or for any other reason, ends at the engine.
 */
import { getRuntimeContext } from "../../core/index.ts";
import { batch } from "../replica/batch.ts";
import type { ChatRequest, CompletionRequest, Embedding, EmbedRequest, LLMEngine, SamplingOptions, Token } from "./engine.ts";
import { createEngine, type EngineSource, isBuiltIn } from "./engine-source.ts";
import { LLMRequestError } from "./llm-errors.ts";
import { limitedTokens } from "./token-limits.ts";

/** Requests of embeddings that go to an engine together, and how long the first of them waits for others. */
const EMBED_BATCH = 32;
const EMBED_WAIT_MS = 2;

export class LLMServer {
  readonly #id: string;
  readonly #isBuiltIn: boolean;
  readonly #engine: Promise<LLMEngine>;
  readonly #ends = new AbortController();
  readonly #embedAll = batch<EmbedRequest, readonly Embedding[]>(
    (requests) => this.#embedBatch(requests) as Promise<(readonly Embedding[])[]>,
    {
      maxBatchSize: EMBED_BATCH,
      batchWaitTimeoutMs: EMBED_WAIT_MS,
    },
  );

  constructor(id: string, source: EngineSource) {
    this.#id = id;
    this.#isBuiltIn = isBuiltIn(source);
    this.#engine = this.#load(source);
    // `checkHealth` reports the failure.
    this.#engine.catch(() => {});
  }

  async *chat(request: ChatRequest): AsyncGenerator<Token, void, undefined> {
    const engine = await this.#engine;
    if (engine.chat === undefined) throw this.#lacks("chat");
    const chat = engine.chat.bind(engine);
    yield* whileWanted((signal) => this.#limited(chat(request, signal), request));
  }

  async *complete(request: CompletionRequest): AsyncGenerator<Token, void, undefined> {
    const engine = await this.#engine;
    if (engine.complete === undefined) throw this.#lacks("completions");
    const complete = engine.complete.bind(engine);
    yield* whileWanted((signal) => this.#limited(complete(request, signal), request));
  }

  embed(request: EmbedRequest): Promise<readonly Embedding[]> {
    return this.#embedAll(request);
  }

  /** A replica counts as started once its engine is there. */
  async checkHealth(): Promise<void> {
    await this.#engine;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ends.abort();
    const engine = await this.#engine.catch(() => undefined);
    await engine?.[Symbol.asyncDispose]?.();
  }

  /** Engines of Shoal end at their limits by themselves. */
  #limited(tokens: AsyncIterable<Token>, request: SamplingOptions): AsyncIterable<Token> {
    return this.#isBuiltIn ? tokens : limitedTokens(tokens, request);
  }

  async #load(source: EngineSource): Promise<LLMEngine> {
    const engine = await createEngine(this.#id, source);
    await engine.models?.(this.#ends.signal);
    return engine;
  }

  /** Requests for different numbers of dimensions cannot go together. */
  async #embedBatch(requests: readonly EmbedRequest[]): Promise<(readonly Embedding[] | Error)[]> {
    const engine = await this.#engine;
    if (engine.embed === undefined) throw this.#lacks("embeddings");
    const results: (readonly Embedding[] | Error)[] = [];
    const byDimensions = Map.groupBy(requests.keys(), (index) => requests[index]?.dimensions);
    for (const [dimensions, indexes] of byDimensions) {
      const inputs = indexes.flatMap((index) => requests[index]?.inputs ?? []);
      const found = await this.#embedTogether(engine, { inputs, dimensions });
      let from = 0;
      for (const index of indexes) {
        const { length } = requests[index]?.inputs ?? [];
        results[index] = found instanceof Error ? found : found.slice(from, from + length);
        from += length;
      }
      // A refused input must fail its own request only, so each request is tried again by itself.
      if (found instanceof Error && indexes.length > 1)
        for (const index of indexes) results[index] = await this.#embedTogether(engine, requests[index] as EmbedRequest);
    }
    return results;
  }

  async #embedTogether(engine: LLMEngine, request: EmbedRequest): Promise<readonly Embedding[] | Error> {
    const found: Embedding[] = [];
    try {
      for await (const embedding of (engine.embed as NonNullable<LLMEngine["embed"]>)(request, this.#ends.signal)) found.push(embedding);
      if (found.length === request.inputs.length) return found;
      return new TypeError(`Cannot embed: model ${this.#id} gave ${found.length} embeddings for ${request.inputs.length} inputs`);
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error));
    }
  }

  #lacks(what: string): LLMRequestError {
    return LLMRequestError.of(`Model ${this.#id} has no ${what}`, { param: "model", code: "unsupported_endpoint" });
  }
}

/** The signal aborts when the caller is gone and when it leaves the stream. */
async function* whileWanted(tokens: (signal: AbortSignal) => AsyncIterable<Token>): AsyncGenerator<Token, void, undefined> {
  const left = new AbortController();
  try {
    yield* tokens(AbortSignal.any([getRuntimeContext().signal, left.signal]));
  } finally {
    left.abort();
  }
}
