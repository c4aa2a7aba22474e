/**
 * Requests over HTTP that are repeated where that may help: throttling, errors of the server, broken and silent connections.
 *
 * Node's own client hands over the bytes as they are on the wire; `fetch` would decompress bodies with a content encoding, and ranges count
 * compressed bytes. Connections are kept by Node's global agents, which also obey `NODE_USE_ENV_PROXY`. Every request here may be made
 * twice: it gives or stores the same.
 */
import { request as requestHttp, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import { request as requestHttps } from "node:https";
import { setTimeout as pause } from "node:timers/promises";
import { messageOf } from "../../core/internal.ts";
import { storageError, StorageError } from "../errors.ts";
import { ANSWER_BYTES_MAX, CONNECTION_IDLE_MS, REQUEST_ATTEMPTS_MAX, RETRY_PAUSE_MS, RETRY_PAUSE_MS_MAX } from "../limits.ts";

export interface HttpRequest {
  readonly method: "GET" | "HEAD" | "PUT" | "POST" | "DELETE";
  readonly url: URL;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
}

/** An answer: the body of a successful request as a stream if requested, else as text. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly stream?: IncomingMessage;
}

interface SendOptions {
  /** The operation and the path for error messages: `Cannot read https://host/a.csv`. */
  readonly attempt: string;
  /** Whether the body of a success is wanted as a stream. Default: false. */
  readonly isStreamed?: boolean;
  readonly idleMs?: number | undefined;
  /** Ends the request, the pause before the next one, and the stream. */
  readonly signal?: AbortSignal | undefined;
}

const TRANSIENT_STATUS: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504]);
/** Codes of S3 that come with other statuses, even with 200, if the work began well. */
const TRANSIENT_CODE = /<Code>(?:RequestTimeout|SlowDown|InternalError|ServiceUnavailable|OperationAborted)<\/Code>/;
const TRANSIENT_ERRORS: ReadonlySet<string> = new Set([
  "EAI_AGAIN",
  "ECONNABORTED",
  "ECONNREFUSED",
  "ECONNRESET",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EPIPE",
  "ETIMEDOUT",
]);

/** Whether a connection broke or fell silent, so that a new one may do better. */
export function isBrokenConnection(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code !== undefined && TRANSIENT_ERRORS.has(code);
}

/**
 * Returns the answer to a request after its transient failures have been retried.
 *
 * @param prepare - makes the request again for each attempt, as signatures expire
 * @throws StorageError where the last attempt fails, too, or the server cannot be reached at all
 */
export async function send(prepare: () => HttpRequest | Promise<HttpRequest>, options: SendOptions): Promise<HttpAnswer> {
  for (let failures = 1; ; failures += 1) {
    const request = await prepare();
    let problem: string;
    let cause: unknown;
    let retryAfter: string | undefined;
    try {
      const answer = await sendOnce(request, options);
      const isTransient = TRANSIENT_STATUS.has(answer.status) || TRANSIENT_CODE.test(answer.text);
      if (!isTransient) return answer;
      problem = `the server answered ${answer.status}${codeOf(answer.text)}`;
      retryAfter = answer.headers["retry-after"];
    } catch (error) {
      if (!isBrokenConnection(error)) throw connectionError(options.attempt, request.url, error);
      problem = messageOf(error);
      cause = error;
    }
    if (failures === REQUEST_ATTEMPTS_MAX)
      throw new StorageError(`${options.attempt}: ${problem}, ${failures} times`, {
        cause,
        hint: `see whether ${request.url.host} is reachable and not overloaded`,
      });
    await pauseBeforeRetry(failures, options.signal, retryAfter);
  }
}

/** Longer after each failure, and of random length, so that clients turned away together do not come back together. */
export async function pauseBeforeRetry(failures: number, signal: AbortSignal | undefined, retryAfter?: string): Promise<void> {
  const most = Math.min(RETRY_PAUSE_MS * 2 ** (failures - 1), RETRY_PAUSE_MS_MAX);
  const asked = Math.min((Number(retryAfter) || 0) * 1000, RETRY_PAUSE_MS_MAX);
  await pause(Math.max(asked, Math.random() * most), undefined, { signal });
}

function codeOf(text: string): string {
  const code = /<Code>(\w+)<\/Code>/.exec(text)?.[1];
  return code === undefined ? "" : ` (${code})`;
}

function connectionError(attempt: string, url: URL, error: unknown): StorageError {
  const { code, message } = error as NodeJS.ErrnoException;
  if (error instanceof StorageError) return error;
  if (code !== "ENOTFOUND") return storageError(attempt, new Error(message));
  return new StorageError(`${attempt}: there is no host ${url.hostname}`, { hint: "see whether its name is right and DNS knows it" });
}

async function sendOnce(
  request: HttpRequest,
  { isStreamed = false, idleMs = CONNECTION_IDLE_MS, signal }: SendOptions,
): Promise<HttpAnswer> {
  const response = await responseTo(request, idleMs, signal);
  const { statusCode: status = 0, headers } = response;
  if (isStreamed && status < 300) return { status, headers, text: "", stream: response };
  return { status, headers, text: await bodyText(response) };
}

function responseTo({ method, url, headers = {}, body }: HttpRequest, idleMs: number, signal?: AbortSignal): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const start = url.protocol === "https:" ? requestHttps : requestHttp;
    const length =
      body === undefined
        ? method === "GET" || method === "HEAD"
          ? {}
          : { "content-length": "0" }
        : { "content-length": `${body.length}` };
    const request = start(url, { method, headers: { "accept-encoding": "identity", ...headers, ...length }, signal });
    // Applies to the body of the answer, too. A body that nobody reads for this long is dropped as well, and fetched again from there.
    request.setTimeout(idleMs, () => {
      request.destroy(Object.assign(new Error(`nothing came from ${url.host} for ${idleMs} ms`), { code: "ETIMEDOUT" }));
    });
    request.once("response", resolve);
    request.on("error", reject);
    request.end(body);
  });
}

async function bodyText(response: IncomingMessage): Promise<string> {
  const chunks: Uint8Array[] = [];
  let total = 0;
  for await (const chunk of response as AsyncIterable<Uint8Array>) {
    total += chunk.length;
    if (total > ANSWER_BYTES_MAX) break;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}
