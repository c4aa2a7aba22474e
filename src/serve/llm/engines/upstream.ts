/**
 * An engine that is another server with OpenAI's API: vLLM, Ollama, llama.cpp's server, or OpenAI itself.
 *
 * Answers are always streamed, so that a cancelled answer ends at the server, too. Errors of the server are passed on where the client can mend them (400, 404, 413, 422, 429);
 * refused credentials are no fault of the client, and are reported as a failed engine.
 */
import type {
  ChatRequest,
  CompletionRequest,
  Embedding,
  EmbedRequest,
  FinishReason,
  LLMEngine,
  SamplingOptions,
  Token,
} from "../engine.ts";
import { LLMEngineError, LLMRequestError } from "../llm-errors.ts";
import { serverSentEvents } from "./server-sent-events.ts";

export interface UpstreamOptions {
  /** Up to and with `/v1`: `http://127.0.0.1:11434/v1`. */
  readonly url: string;
  /** Name of the model at the server. Default: the model's `id`. */
  readonly model?: string | undefined;
  /** The environment variable in which replicas find the key. Default: none is sent. */
  readonly apiKeyEnv?: string | undefined;
  /** Headers besides; they are kept with the application, so keys do not belong here. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

interface UpstreamChoice {
  readonly index?: number;
  readonly text?: string;
  readonly delta?: Readonly<Record<string, unknown>> & { readonly content?: string | null };
  readonly finish_reason?: FinishReason | null;
  readonly logprobs?: unknown;
}
interface UpstreamChunk {
  readonly choices?: readonly UpstreamChoice[];
  readonly usage?: { readonly prompt_tokens?: number; readonly completion_tokens?: number } | null;
  readonly error?: { readonly message?: string };
}

/** Statuses that say something of the request, which the client can change. */
const OF_THE_REQUEST: ReadonlySet<number> = new Set([400, 404, 413, 422, 429]);
const ERROR_TEXT_MAX = 2_000;

export class UpstreamEngine implements LLMEngine {
  readonly #url: string;
  readonly #model: string;
  readonly #headers: Readonly<Record<string, string>>;

  /** @throws LLMEngineError where the variable with the key is not set */
  constructor(id: string, { url, model, apiKeyEnv, headers }: UpstreamOptions) {
    this.#url = url.replace(/\/+$/, "");
    this.#model = model ?? id;
    const key = apiKeyEnv === undefined ? undefined : process.env[apiKeyEnv];
    if (apiKeyEnv !== undefined && (key === undefined || key === ""))
      throw new LLMEngineError(`Cannot reach the server of model ${id}: the environment variable ${apiKeyEnv} is not set in its replica`, {
        reason: "there is no key",
        hint: "Set it where the node runs, or by actorOptions.runtimeEnv.envVars of the model's deployment.",
      });
    this.#headers = { "content-type": "application/json", ...headers, ...(key !== undefined && { authorization: `Bearer ${key}` }) };
  }

  async models(signal: AbortSignal): Promise<readonly string[] | undefined> {
    const response = await this.#fetch("/models", undefined, signal);
    // Not every server has the list.
    if (response.status === 404 || response.status === 405) return undefined;
    if (!response.ok) throw await this.#failure(response);
    const { data } = (await response.json()) as { data?: readonly { id: string }[] };
    const ids = data?.map(({ id }) => id);
    if (ids !== undefined && !ids.includes(this.#model) && !ids.includes(`${this.#model}:latest`))
      throw new LLMEngineError(`The server at ${this.#url} has no model ${this.#model}: it has ${ids.slice(0, 20).join(", ") || "none"}`, {
        reason: "there is no such model",
        hint: "Give the server's own name of it as the option model.",
      });
    return ids;
  }

  chat({ messages, ...sampling }: ChatRequest, signal: AbortSignal): AsyncIterable<Token> {
    return this.#stream("/chat/completions", { messages, ...samplingBody(sampling) }, signal);
  }

  complete({ prompt, ...sampling }: CompletionRequest, signal: AbortSignal): AsyncIterable<Token> {
    return this.#stream("/completions", { prompt, ...samplingBody(sampling) }, signal);
  }

  async *embed({ inputs, dimensions }: EmbedRequest, signal: AbortSignal): AsyncGenerator<Embedding, void, undefined> {
    const response = await this.#fetch(
      "/embeddings",
      { input: inputs, encoding_format: "float", ...(dimensions !== undefined && { dimensions }) },
      signal,
    );
    if (!response.ok) throw await this.#failure(response);
    const { data, usage } = (await response.json()) as { data: readonly { embedding: number[] }[]; usage?: { prompt_tokens?: number } };
    if (data.length !== inputs.length)
      throw new LLMEngineError(`The server at ${this.#url} gave ${data.length} embeddings for ${inputs.length} texts`, {
        reason: "wrong answer",
      });
    // The server tells their sum alone.
    const total = usage?.prompt_tokens ?? 0;
    for (const [index, { embedding }] of data.entries()) yield { vector: embedding, promptTokens: index === 0 ? total : 0 };
  }

  async *#stream(path: string, body: object, signal: AbortSignal): AsyncGenerator<Token, void, undefined> {
    const response = await this.#fetch(path, { ...body, stream: true, stream_options: { include_usage: true } }, signal);
    if (!response.ok || response.body === null) throw await this.#failure(response);
    for await (const data of serverSentEvents(response.body)) {
      if (data === "[DONE]") return;
      const { choices, usage, error } = JSON.parse(data) as UpstreamChunk;
      if (error !== undefined)
        throw new LLMEngineError(`The server at ${this.#url} failed: ${error.message ?? data}`, { reason: "it failed" });
      const token = tokenOf(choices?.[0]);
      if (usage !== undefined && usage !== null)
        yield { ...token, usage: { promptTokens: usage.prompt_tokens ?? 0, completionTokens: usage.completion_tokens ?? 0 } };
      else if (token !== undefined) yield token;
    }
  }

  async #fetch(path: string, body: object | undefined, signal: AbortSignal): Promise<Response> {
    const request = body === undefined ? {} : { method: "POST", body: JSON.stringify({ model: this.#model, ...body }) };
    try {
      return await fetch(`${this.#url}${path}`, { ...request, headers: this.#headers, signal });
    } catch (error) {
      if (signal.aborted) throw error;
      throw new LLMEngineError(`The server at ${this.#url} cannot be reached`, { reason: "it cannot be reached", cause: error });
    }
  }

  async #failure(response: Response): Promise<Error> {
    const text = (await response.text().catch(() => "")).slice(0, ERROR_TEXT_MAX);
    const error = errorIn(text);
    const message = error.message ?? (text === "" ? `status ${response.status}` : text);
    if (!OF_THE_REQUEST.has(response.status))
      return new LLMEngineError(`The server at ${this.#url} failed with status ${response.status}: ${message}`, {
        reason: `status ${response.status}`,
      });
    const { param, code } = error;
    return LLMRequestError.of(message, {
      status: response.status,
      ...(typeof param === "string" && { param }),
      ...(typeof code === "string" && { code }),
    });
  }
}

function errorIn(text: string): { message?: string; param?: unknown; code?: unknown } {
  try {
    const { error } = JSON.parse(text) as { error?: { message?: string } | string };
    return typeof error === "string" ? { message: error } : (error ?? {});
  } catch {
    return {};
  }
}

function tokenOf(choice: UpstreamChoice | undefined): Token | undefined {
  if (choice === undefined) return undefined;
  const { role: _role, content, ...delta } = choice.delta ?? {};
  const text = choice.text ?? content ?? undefined;
  return {
    ...(text !== undefined && { text }),
    ...(Object.keys(delta).length > 0 && { delta }),
    ...(choice.logprobs !== undefined && choice.logprobs !== null && { logprobs: choice.logprobs }),
    ...(choice.finish_reason !== undefined && choice.finish_reason !== null && { finishReason: choice.finish_reason }),
  };
}

/** The names of OpenAI's API again; `extra` as it came. */
function samplingBody({ maxTokens, temperature, topP, stop, seed, presencePenalty, frequencyPenalty, extra }: SamplingOptions): object {
  const given = {
    max_tokens: maxTokens,
    temperature,
    top_p: topP,
    stop: stop.length === 0 ? undefined : stop,
    seed,
    presence_penalty: presencePenalty,
    frequency_penalty: frequencyPenalty,
  };
  return { ...extra, ...given };
}
