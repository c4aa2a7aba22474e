/**
 * Requests of one row to an OpenAI-compatible server: sent within the limits, repeated where that may help, and read with bounds.
 *
 * Busy and broken servers are asked again after a random pause that doubles, or after the pause that the server asks for, which holds all other rows back too. A refusal
 * of the key or of the path would be every row's, so it ends the run.
 */
import { messageOf } from "../../core/internal.ts";
import { DataError } from "../errors.ts";
import { MODEL_ANSWER_BYTES_MAX, RETRY_AFTER_MS_MAX, RETRY_MS, RETRY_MS_MAX } from "./limits.ts";
import type { RateLimit } from "./rate-limit.ts";
import { NO_USAGE, type Usage } from "../blocks/usage.ts";

export interface CompletionService {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** A text that no error shows. */
  readonly secret: string | undefined;
  readonly maxRetries: number;
  readonly timeoutMs: number;
  readonly price: { readonly promptTokens: number; readonly completionTokens: number } | undefined;
}

/** The time, pauses and chance of the client. */
interface ClientClock {
  now(): number;
  pause(ms: number): Promise<void>;
  random(): number;
}

export type JsonObject = Readonly<Record<string, unknown>>;

/** An answer, or the reason why there is none. */
type Outcome =
  | { readonly body: JsonObject; readonly error: undefined; readonly usage: Usage }
  | { readonly body: undefined; readonly error: string; readonly usage: Usage };

/** The outcome of an attempt: an answer, or a failure and whether another attempt may help. */
type Attempt =
  | { readonly kind: "answer"; readonly body: JsonObject }
  | { readonly kind: "failure"; readonly error: string; readonly isTransient: boolean; readonly retryAfterMs: number | undefined };

const TRANSIENT: ReadonlySet<number> = new Set([408, 409, 425, 429, 500, 502, 503, 504, 529]);
/** Refusals of the key, of the account and of the path. */
const FOR_ALL_ROWS: ReadonlySet<number> = new Set([401, 402, 403, 404, 405]);

export class CompletionClient {
  readonly #service: CompletionService;
  readonly #limit: RateLimit;
  readonly #clock: ClientClock;
  /** Requests take from the limit one after the other. */
  #turn: Promise<void> = Promise.resolve();

  constructor(service: CompletionService, limit: RateLimit, clock: ClientClock) {
    this.#service = service;
    this.#limit = limit;
    this.#clock = clock;
  }

  /** @throws DataError for a refusal that every row would meet */
  async ask(request: JsonObject): Promise<Outcome> {
    const { maxRetries } = this.#service;
    const text = JSON.stringify(request);
    const estimate = estimatedTokens(text, request);
    for (let retries = 0; ; retries += 1) {
      await this.#waitForTurn(estimate);
      const attempt = await this.#attempt(text);
      const counted = { ...NO_USAGE, requests: retries + 1, retries };
      if (attempt.kind === "answer") {
        const usage = { ...counted, ...this.#tokensOf(attempt.body) };
        this.#limit.settle(usage.promptTokens + usage.completionTokens - estimate);
        return { body: attempt.body, error: undefined, usage };
      }
      this.#limit.settle(-estimate);
      if (!attempt.isTransient || retries === maxRetries)
        return { body: undefined, error: attempt.error, usage: { ...counted, failures: 1 } };
      const { retryAfterMs } = attempt;
      if (retryAfterMs !== undefined) this.#limit.pauseUntil(this.#clock.now() + retryAfterMs);
      await this.#clock.pause((retryAfterMs ?? 0) + backoffMs(retries, this.#clock.random()));
    }
  }

  async #waitForTurn(tokens: number): Promise<void> {
    const turn = this.#turn.then(async () => {
      for (let waitMs = this.#limit.take(tokens, this.#clock.now()); waitMs > 0; waitMs = this.#limit.take(tokens, this.#clock.now()))
        await this.#clock.pause(waitMs);
    });
    this.#turn = turn;
    await turn;
  }

  async #attempt(body: string): Promise<Attempt> {
    const { url, headers, timeoutMs } = this.#service;
    try {
      const signal = AbortSignal.timeout(timeoutMs);
      // A redirect would take the key to another place.
      const response = await fetch(url, { method: "POST", headers, body, redirect: "error", signal });
      const text = await boundedText(response);
      if (response.ok) return answerIn(text);
      const error = this.#shown(`the server answered ${response.status}: ${reasonIn(text)}`);
      if (FOR_ALL_ROWS.has(response.status) || isOutOfQuota(text))
        throw new DataError(`Cannot ask ${hostOf(url)}: every row would fail: received ${error}`, {
          hint: "check the url, the model and the key of httpProcessor",
        });
      const isTransient = TRANSIENT.has(response.status);
      return {
        kind: "failure",
        error,
        isTransient,
        retryAfterMs: isTransient ? pauseAsked(response.headers, this.#clock.now()) : undefined,
      };
    } catch (error) {
      if (error instanceof DataError) throw error;
      const { name, cause } = error as Error;
      const reason = name === "TimeoutError" ? `no answer within ${timeoutMs} ms` : messageOf(cause ?? error);
      return { kind: "failure", error: this.#shown(reason), isTransient: true, retryAfterMs: undefined };
    }
  }

  #tokensOf({ usage }: JsonObject): Pick<Usage, "promptTokens" | "completionTokens" | "cost"> {
    const { prompt_tokens, completion_tokens } = (typeof usage === "object" && usage !== null ? usage : {}) as JsonObject;
    const [promptTokens, completionTokens] = [countIn(prompt_tokens), countIn(completion_tokens)];
    const { price } = this.#service;
    const cost = price === undefined ? 0 : (promptTokens * price.promptTokens + completionTokens * price.completionTokens) / 1_000_000;
    return { promptTokens, completionTokens, cost };
  }

  #shown(text: string): string {
    const { secret } = this.#service;
    return secret === undefined ? text : text.replaceAll(secret, "…");
  }
}

/** A token has four characters on average. An answer is as long as its request allows. */
function estimatedTokens(text: string, { max_tokens, max_completion_tokens }: JsonObject): number {
  return Math.ceil(text.length / 4) + (countIn(max_completion_tokens) || countIn(max_tokens));
}

function countIn(value: unknown): number {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : 0;
}

/** A random pause around a value that doubles with each failure, so that rows that failed together come back apart. */
export function backoffMs(failures: number, random: number): number {
  return Math.min(RETRY_MS_MAX, RETRY_MS * 2 ** failures) * (0.5 + random / 2);
}

/** The pause that the server asks for: in milliseconds, in seconds or until a date. */
export function pauseAsked(headers: Headers, nowMs: number): number | undefined {
  const ms = headers.get("retry-after-ms");
  const after = headers.get("retry-after");
  const asked =
    ms !== null && ms.trim() !== "" ? Number(ms) : after === null || after.trim() === "" ? Number.NaN : secondsOrDate(after, nowMs);
  return Number.isFinite(asked) ? Math.min(Math.max(0, asked), RETRY_AFTER_MS_MAX) : undefined;
}

function secondsOrDate(text: string, nowMs: number): number {
  const seconds = Number(text);
  return Number.isNaN(seconds) ? Date.parse(text) - nowMs : seconds * 1000;
}

async function boundedText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > MODEL_ANSWER_BYTES_MAX) throw new Error(`the answer has more than ${MODEL_ANSWER_BYTES_MAX} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function answerIn(text: string): Attempt {
  const body = parsed(text);
  if (typeof body === "object" && body !== null && !Array.isArray(body)) return { kind: "answer", body: body as JsonObject };
  return { kind: "failure", error: `the answer is no object of JSON: ${shortened(text)}`, isTransient: true, retryAfterMs: undefined };
}

/** The server's own words. */
function reasonIn(text: string): string {
  const { error } = (parsed(text) ?? {}) as { error?: unknown };
  const message = typeof error === "object" && error !== null ? (error as { message?: unknown }).message : error;
  return shortened(typeof message === "string" && message !== "" ? message : text);
}

function isOutOfQuota(text: string): boolean {
  const { error } = (parsed(text) ?? {}) as { error?: { code?: unknown } | null };
  return error?.code === "insufficient_quota";
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const SHOWN_CHARACTERS = 300;

function shortened(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > SHOWN_CHARACTERS ? `${line.slice(0, SHOWN_CHARACTERS)}…` : line;
}

function hostOf(url: string): string {
  return new URL(url).host;
}
