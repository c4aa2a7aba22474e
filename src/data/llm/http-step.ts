/**
 * The class that answers the rows of `httpProcessor`, in an actor of a pool.
 *
 * Some requests are in flight at a time, and the rows keep their order.
 * The parts of the limits are those of this actor. A row whose request fails comes with the error in a column, unless the options let failures end the run.
 */
import { describeValue, isPlainObject, isThenable } from "../../core/internal.ts";
import { DataError } from "../errors.ts";
import type { AnyRow } from "../row-types.ts";
import { CompletionClient, type CompletionService, type JsonObject } from "./completion-client.ts";
import { RateLimit } from "./rate-limit.ts";
import { addUsage, NO_USAGE, type Usage, withUsage } from "../blocks/usage.ts";

/** The answer to a row. */
export interface LlmAnswer {
  /** The text of the first choice; null for answers without one, such as embeddings. */
  readonly text: string | null;
  readonly finishReason: string | null;
  readonly promptTokens: number;
  readonly completionTokens: number;
  /** The whole answer of the server. */
  readonly body: JsonObject;
}

/** Settings of the step, checked. */
export interface HttpStepOptions {
  readonly service: Omit<CompletionService, "headers" | "secret">;
  readonly model: string | undefined;
  readonly apiKey: string | undefined;
  /** A variable of the worker's environment with the key. */
  readonly apiKeyEnv: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly concurrency: number;
  readonly requestsPerMinute: number | undefined;
  readonly tokensPerMinute: number | undefined;
  readonly errorColumn: string | undefined;
}

type Preprocess = (row: never) => unknown;
type Postprocess = (row: never, answer: LlmAnswer) => unknown;

export class HttpStep {
  readonly #options: HttpStepOptions;
  readonly #preprocess: Preprocess;
  readonly #postprocess: Postprocess;
  readonly #client: CompletionClient;

  constructor(options: HttpStepOptions, preprocess: Preprocess, postprocess: Postprocess) {
    this.#options = options;
    this.#preprocess = preprocess;
    this.#postprocess = postprocess;
    const { apiKeyEnv, apiKey = apiKeyEnv === undefined ? undefined : process.env[apiKeyEnv] } = options;
    if (apiKey === undefined && apiKeyEnv !== undefined)
      throw new DataError(`Cannot ask the server: the worker has no key: received no environment variable ${apiKeyEnv}`, {
        hint: `set it before Shoal starts, or by init({ runtimeEnv: { envVars: { ${apiKeyEnv}: "…" } } })`,
      });
    const headers = {
      "content-type": "application/json",
      ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
      ...options.headers,
    };
    this.#client = new CompletionClient({ ...options.service, headers, secret: apiKey }, new RateLimit(options, Date.now()), {
      now: Date.now,
      pause: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
      random: Math.random,
    });
  }

  async call(rows: readonly AnyRow[]): Promise<AnyRow[]> {
    const results: AnyRow[] = [];
    let usage: Usage = NO_USAGE;
    let next = 0;
    let isFailed = false;
    const work = async (): Promise<void> => {
      while (next < rows.length && !isFailed) {
        const place = next;
        next += 1;
        try {
          const made = await this.#answered(rows[place] as AnyRow);
          results[place] = made.row;
          usage = addUsage(usage, made.usage) as Usage;
        } catch (error) {
          isFailed = true;
          throw error;
        }
      }
    };
    const workers = Array.from({ length: Math.min(this.#options.concurrency, rows.length) }, work);
    // All requests have ended before the error of one is told.
    for (const ended of await Promise.allSettled(workers)) if (ended.status === "rejected") throw ended.reason;
    return withUsage(results, usage);
  }

  async #answered(row: AnyRow): Promise<{ row: AnyRow; usage: Usage }> {
    const { errorColumn, model } = this.#options;
    const given = this.#preprocess(row as never);
    const request = requestOf(isThenable(given) ? await given : given, model);
    const { body, error, usage } = await this.#client.ask(request);
    if (body === undefined) {
      if (errorColumn === undefined)
        throw new DataError(`Cannot answer a row: ${error}`, { hint: "errorColumn keeps such rows, with the error" });
      return { row: { ...row, [errorColumn]: error }, usage };
    }
    const made = this.#postprocess(row as never, answerOf(body, usage));
    const result: unknown = isThenable(made) ? await made : made;
    if (!isPlainObject(result))
      throw new DataError(`Cannot answer a row: postprocess gives a row: received ${describeValue(result)}`, {
        hint: "return an object of columns, such as { ...row, answer: answer.text }",
      });
    return { row: errorColumn === undefined ? result : { ...result, [errorColumn]: null }, usage };
  }
}

/** A text is the message of a user. */
function requestOf(given: unknown, model: string | undefined): JsonObject {
  const body = typeof given === "string" ? { messages: [{ role: "user", content: given }] } : given;
  if (!isPlainObject(body))
    throw new DataError(`Cannot ask for a row: preprocess gives a text or a request: received ${describeValue(given)}`, {
      hint: 'return a prompt, or an object such as { messages: [{ role: "user", content: row.text }] }',
    });
  if (body["stream"] === true)
    throw new DataError("Cannot ask for a row: answers come whole: received stream: true", { hint: "leave stream out of the request" });
  return { ...(model === undefined ? {} : { model }), ...body };
}

function answerOf(body: JsonObject, { promptTokens, completionTokens }: Usage): LlmAnswer {
  const { choices } = body;
  const choice = (Array.isArray(choices) ? (choices[0] as unknown) : undefined) as
    | { text?: unknown; message?: { content?: unknown } | null; finish_reason?: unknown }
    | undefined;
  const text = choice?.message?.content ?? choice?.text;
  const reason = choice?.finish_reason;
  return {
    text: typeof text === "string" ? text : null,
    finishReason: typeof reason === "string" ? reason : null,
    promptTokens,
    completionTokens,
    body,
  };
}
