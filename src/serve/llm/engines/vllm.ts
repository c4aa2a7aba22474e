/**
 * An engine on vLLM, which runs in a Python actor beside the replica and needs a GPU. `python/shoal/llm.py` is its other half.
 *
 * Owns the actor, which ends with the replica.
 * vLLM itself batches simultaneous requests, so the replica passes every request on at once.
 */
import { type ActorHandle, kill } from "../../../core/index.ts";
import { python } from "../../../python/python.ts";
import { LLMRequestError } from "../llm-errors.ts";
import type { ChatRequest, CompletionRequest, Embedding, EmbedRequest, LLMEngine, SamplingOptions, Token } from "../engine.ts";

export interface VllmOptions {
  /** A name on the hub or a folder. */
  readonly model: string;
  /** Arguments of vLLM's `AsyncEngineArgs`, by their Python names: `{ max_model_len: 8192 }`. */
  readonly engineArgs?: Readonly<Record<string, unknown>> | undefined;
  /** GPUs of the actor, for as many as `tensor_parallel_size` says. Default: 1. */
  readonly numGpus?: number | undefined;
  /** The Python that has vLLM, or packages to install, as `runtimeEnv.python` takes them: `["vllm==0.11.0"]`. Default: `python3` in PATH. */
  readonly python?: string | readonly string[] | undefined;
}

/** A token, or why the request is refused. */
type VllmToken = Token & { readonly refused?: string };

interface VllmActor {
  ready(): string;
  generate(kind: "chat" | "completion", request: object): AsyncGenerator<VllmToken>;
  embed(inputs: readonly (string | readonly number[])[], dimensions: number | null): { vector: number[]; promptTokens: number }[];
}

export class VllmEngine implements LLMEngine {
  readonly #actor: ActorHandle<VllmActor>;

  private constructor(actor: ActorHandle<VllmActor>) {
    this.#actor = actor;
  }

  /** @throws what Python throws for the model, and where vLLM is not installed */
  static async load({ model, engineArgs = {}, numGpus = 1, python: environment }: VllmOptions): Promise<LLMEngine> {
    const Actor = python.actor<VllmActor, [model: string, engineArgs: object]>("shoal.llm", "VllmEngine", {
      numGpus,
      maxConcurrency: CONCURRENCY,
      methods: { generate: { numReturns: "streaming" } },
      ...(environment !== undefined && { runtimeEnv: { python: environment } }),
    });
    const actor = Actor.remote(model, engineArgs) as unknown as ActorHandle<VllmActor>;
    await actor.ready.remote();
    return new VllmEngine(actor);
  }

  chat({ messages, ...sampling }: ChatRequest, signal: AbortSignal): AsyncIterable<Token> {
    return this.#generate("chat", { messages, tools: sampling.extra["tools"] ?? null, ...pythonSampling(sampling) }, signal);
  }

  complete({ prompt, ...sampling }: CompletionRequest, signal: AbortSignal): AsyncIterable<Token> {
    return this.#generate("completion", { prompt, ...pythonSampling(sampling) }, signal);
  }

  async *embed({ inputs, dimensions }: EmbedRequest): AsyncGenerator<Embedding, void, undefined> {
    yield* await this.#actor.embed.remote(inputs, dimensions ?? null);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await kill(this.#actor);
  }

  async *#generate(kind: "chat" | "completion", request: object, signal: AbortSignal): AsyncGenerator<Token, void, undefined> {
    const tokens = this.#actor.generate.remote(kind, request) as unknown as AsyncIterableIterator<VllmToken>;
    // Python's generator is closed, which takes the request out of vLLM's batch.
    const leave = (): void => void tokens.return?.();
    signal.addEventListener("abort", leave, { once: true });
    try {
      for await (const token of { [Symbol.asyncIterator]: () => tokens }) {
        if (token.refused !== undefined) throw LLMRequestError.of(token.refused);
        yield token;
      }
      signal.throwIfAborted();
    } finally {
      signal.removeEventListener("abort", leave);
    }
  }
}

/** Limit on simultaneous requests in one vLLM, which has its own limits and queues. */
const CONCURRENCY = 1_000;

/** Python takes of `extra` what vLLM knows. */
function pythonSampling({ maxTokens, temperature, topP, stop, seed, presencePenalty, frequencyPenalty, extra }: SamplingOptions): object {
  const given = {
    max_tokens: maxTokens,
    temperature,
    top_p: topP,
    seed,
    presence_penalty: presencePenalty,
    frequency_penalty: frequencyPenalty,
    stop: stop.length === 0 ? undefined : stop,
  };
  return { sampling: Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)), extra };
}
