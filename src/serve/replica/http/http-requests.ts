/**
 * Passes a request from the wire to the user's `fetch`, and turns the handler's result or error into a response; streams go piece by piece.
 *
 * Decides which results count as responses, and how much a client learns of an error (an id; the text only in development). A client that leaves ends the
 * handler's signal and its stream. The replica calls this file for each admitted stream; it calls `over` once no part of the request runs.
 */
import type { LibraryCall } from "../../../core/internal.ts";
import { describeValue, isThenable } from "../../../core/internal.ts";
import { RequestCancelledError } from "../../errors.ts";
import type { ResponseHead } from "../../wire/frames.ts";
import { STREAM_WINDOW_BYTES } from "../../limits.ts";
import type { ServedStream } from "../../wire/request-server.ts";
import { currentRequest } from "../context/request-context.ts";
import { lazyRequest } from "./lazy-request.ts";
import { flatHeaders, wholeOf } from "./lazy-response.ts";
import { sourceOf } from "./stream-source.ts";

type FetchFunction = (request: Request) => unknown;

/** Settings and callbacks for answers to failed requests. */
export interface RequestFailures {
  /** Requests that are under way, for those who choose among replicas. */
  readonly ongoing: () => number;
  /** Clients see what went wrong, with its stack. */
  readonly showsErrors: boolean;
  readonly onError: (error: unknown, stream: ServedStream) => void;
}

interface HttpRequestOptions extends RequestFailures {
  /** `fetch` of the user's object, bound. */
  readonly fetch: FetchFunction;
}

const TEXT = ["content-type", "text/plain;charset=UTF-8"];
const JSON_TYPE = ["content-type", "application/json"];
const BYTES = ["content-type", "application/octet-stream"];

export class HttpRequests {
  readonly #options: HttpRequestOptions;

  constructor(options: HttpRequestOptions) {
    this.#options = options;
  }

  /** @param over called once, when the request is over; whether user code failed */
  serve(stream: ServedStream, call: LibraryCall, over: (isFailed: boolean) => void): void {
    stream.onCancel = (reason) =>
      call.cancel(new RequestCancelledError(`Request ${stream.head.requestId} was cancelled: ${reason}`, { reason }));
    const request = lazyRequest(stream.head, stream.body, () => call.signal);
    let returned: unknown;
    try {
      returned = call.run(() => this.#options.fetch(request));
    } catch (error) {
      this.#thrown(stream, call, error, over);
      return;
    }
    if (!isThenable(returned)) {
      this.#respond(stream, call, returned, over);
      return;
    }
    returned.then(
      (value) => this.#respond(stream, call, value, over),
      (error: unknown) => this.#thrown(stream, call, error, over),
    );
  }

  /** A response may be thrown, as in frameworks where a function below the handler ends the request. */
  #thrown(stream: ServedStream, call: LibraryCall, error: unknown, over: (isFailed: boolean) => void): void {
    if (error instanceof Response) {
      this.#respond(stream, call, error, over);
      return;
    }
    this.#fail(stream, error);
    over(true);
  }

  #respond(stream: ServedStream, call: LibraryCall, value: unknown, over: (isFailed: boolean) => void): void {
    if (stream.cancelled !== undefined) {
      // The request was cancelled, so the answer is dropped; a body that was opened is closed.
      if (value instanceof Response) void value.body?.cancel(stream.cancelled).catch(() => {});
      over(false);
      return;
    }
    let plain: ReturnType<typeof plainResponse>;
    try {
      // An error as JSON would be an empty object, with the status of success.
      if (value instanceof Error) throw value;
      plain = value instanceof Response ? wholeOf(value) : plainResponse(value);
    } catch (error) {
      // The value is none that HTTP can have: big integers, circles and functions are no JSON.
      this.#fail(stream, error);
      over(true);
      return;
    }
    if (plain !== undefined) {
      const { status, statusText, headers, body } = plain;
      if (body !== undefined && body.length > STREAM_WINDOW_BYTES) {
        void this.#sendLarge(stream, { ...plain, body }).then(over);
        return;
      }
      stream.respond({ status, statusText, headers, ongoing: this.#options.ongoing() }, body);
      over(false);
      return;
    }
    call.run(() => void this.#stream(stream, value).then(over));
  }

  /** Sends a large body at its client's pace, so that the proxy need not hold it. Resolves when it is sent. */
  async #sendLarge(
    stream: ServedStream,
    { body, ...head }: { body: string | Uint8Array } & Omit<ResponseHead, "ongoing">,
  ): Promise<boolean> {
    const bytes = typeof body === "string" ? Buffer.from(body) : body;
    const own = head.headers.filter((_, index) => (head.headers[index - (index % 2)] as string).toLowerCase() !== "content-length");
    const headers = [...own, "content-length", String(bytes.byteLength)];
    stream.begin({ ...head, headers, ongoing: this.#options.ongoing() });
    if (await stream.write(bytes)) stream.end();
    return false;
  }

  /** Resolves when the body is over, however it ends, with whether user code failed. */
  async #stream(stream: ServedStream, value: unknown): Promise<boolean> {
    let isBegun = false;
    try {
      const response = value instanceof Response ? value : streamedResponse(value);
      const head: ResponseHead = {
        status: response.status,
        statusText: response.statusText,
        headers: headersOf(response),
        ongoing: this.#options.ongoing(),
      };
      if (response.body === null) {
        stream.respond(head, undefined);
        return false;
      }
      const length = stream.head.method === "HEAD" ? undefined : lengthSaid(head.headers);
      const begin = (): void => {
        isBegun = true;
        const request = currentRequest();
        if (request !== undefined) request.deadlineMs = undefined;
        stream.begin(head);
      };
      await pump(piecesOf(response, response.body), stream, { length, begin, isHeadChosen: value instanceof Response });
      return false;
    } catch (error) {
      if (stream.cancelled !== undefined) return false;
      if (!isBegun) {
        respondToError(error, stream, this.#options);
        return true;
      }
      this.#options.onError(error, stream);
      // The head has gone out: a broken body is the only way to tell.
      stream.abort("the response's body failed");
      return true;
    }
  }

  #fail(stream: ServedStream, error: unknown): void {
    if (stream.cancelled === undefined) respondToError(error, stream, this.#options);
  }
}

/** Answers with an error that user code threw before it answered. */
export function respondToError(error: unknown, stream: ServedStream, { onError, showsErrors, ongoing }: RequestFailures): void {
  const status = statusOf(error);
  // A status below 500 is the application's answer to a mistake of the client.
  if (status >= 500) onError(error, stream);
  const detail = showsErrors ? textOfError(error) : undefined;
  stream.respond({ status, statusText: "", ongoing: ongoing(), headers: JSON_TYPE }, errorBody(status, stream.head.requestId, detail));
}

/** Body of the answer to a failed request: the kind of failure, and the id by which the log has the rest. */
export function errorBody(status: number, requestId: string, detail?: string): string {
  return JSON.stringify({ error: ERROR_TEXTS[status] ?? "request failed", status, requestId, ...(detail === undefined ? {} : { detail }) });
}

const ERROR_TEXTS: Readonly<Record<number, string>> = {
  400: "bad request",
  404: "not found",
  408: "the request took too long",
  411: "length required",
  413: "the request's body is too large",
  429: "too many requests",
  431: "the request's headers are too large",
  500: "internal error",
  501: "not offered here",
  502: "the replica failed",
  503: "no replica is available",
  504: "the request took too long",
};

/** An error may say which status it stands for, as those of Hono, h3 and Express do. */
function statusOf(error: unknown): number {
  const status =
    (error as { status?: unknown } | null | undefined)?.status ?? (error as { statusCode?: unknown } | null | undefined)?.statusCode;
  if (typeof status === "number" && Number.isInteger(status) && status >= 400 && status <= 599) return status;
  const code = (error as { code?: unknown } | null | undefined)?.code;
  if (code === "BACK_PRESSURE" || code === "DEPLOYMENT_UNAVAILABLE") return 503;
  return code === "TASK_TIMEOUT" ? 504 : 500;
}

function textOfError(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : describeValue(error);
}

/** Answer for text, bytes or a value for JSON; undefined for a `Response` or a stream. */
function plainResponse(
  value: unknown,
): { status: number; statusText: string; headers: string[]; body: string | Uint8Array | undefined } | undefined {
  if (value === undefined || value === null) return { status: 200, statusText: "", headers: [], body: undefined };
  if (typeof value === "string") return { status: 200, statusText: "", headers: TEXT, body: value };
  if (value instanceof Uint8Array) return { status: 200, statusText: "", headers: BYTES, body: value };
  if (value instanceof ArrayBuffer) return { status: 200, statusText: "", headers: BYTES, body: new Uint8Array(value) };
  if (value instanceof Response || value instanceof ReadableStream || isStream(value)) return undefined;
  return { status: 200, statusText: "", headers: JSON_TYPE, body: jsonOf(value) };
}

/** @throws TypeError for a value that is none for JSON */
function jsonOf(value: unknown): string {
  const text = JSON.stringify(value) as string | undefined;
  if (text !== undefined && !isLostInJson(value)) return text;
  throw new TypeError(`Cannot answer a request: a Response, text, bytes or a value for JSON is needed: received ${describeValue(value)}`);
}

/** JSON would have null for NaN and an empty object for a map or a set, with the status of success. */
function isLostInJson(value: unknown): boolean {
  return (typeof value === "number" && !Number.isFinite(value)) || value instanceof Map || value instanceof Set;
}

function streamedResponse(value: unknown): Response {
  const body = value instanceof ReadableStream ? value : ReadableStream.from(encoded(value as AsyncIterable<unknown> | Iterable<unknown>));
  return new Response(body as ReadableStream<Uint8Array>, { headers: { "content-type": "text/plain;charset=UTF-8" } });
}

async function* encoded(values: AsyncIterable<unknown> | Iterable<unknown>): AsyncGenerator<Uint8Array, void, undefined> {
  const encoder = new TextEncoder();
  for await (const value of values) {
    const isPiece = typeof value === "string" || value instanceof ArrayBuffer || ArrayBuffer.isView(value);
    yield isPiece ? bytesOf(value) : encoder.encode(`${jsonOf(value)}\n`);
  }
}

/** An async iterable, or a generator or other iterator. Arrays are JSON. */
function isStream(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return Symbol.asyncIterator in value || (Symbol.iterator in value && typeof (value as { next?: unknown }).next === "function");
}

/** The pieces of a body, and what to do where nobody wants more. */
interface Pieces {
  next(): Promise<{ readonly done?: boolean | undefined; readonly value?: unknown }>;
  cancel(reason: string): Promise<unknown> | undefined;
}

/** Locks the body. */
function piecesOf(response: Response, body: ReadableStream<Uint8Array>): Pieces {
  if (body.locked)
    throw new TypeError(
      "Cannot answer a request: the body of its Response has been read, or somebody reads it. Return a copy made by clone().",
    );
  const source = response.bodyUsed ? undefined : sourceOf(body);
  const reader = body.getReader();
  if (source === undefined) return { next: () => reader.read(), cancel: (reason) => reader.cancel(reason) };
  return { next: () => source.next(), cancel: (reason) => source.return?.(reason) };
}

/** Sends each piece by itself, as soon as the client's side has room for it. Resolves when the body is over or cancelled, though its iterator may be in the middle of a step then. */
function pump(pieces: Pieces, stream: ServedStream, answer: StreamedAnswer): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const cancelled = stream.onCancel;
  stream.onCancel = (reason) => {
    cancelled?.(reason);
    void cancel(pieces, reason);
    resolve();
  };
  sendAll(pieces, stream, answer).then(resolve, (error: unknown) => {
    // A piece may be wrong while the generator waits to be read on.
    void cancel(pieces, "the answer failed");
    reject(error);
  });
  return promise;
}

interface StreamedAnswer {
  /** The length in the head; further bytes would be read as the next answer. */
  readonly length: number | undefined;
  /** Sends the head. */
  readonly begin: () => void;
  /** The handler returned a `Response`. Its client may wait for the head long before the first piece, as a page with an `EventSource` does. */
  readonly isHeadChosen: boolean;
}

/**
 * Sends a head and a body. A generator's head waits for its first piece, so that its failure is a status. A chosen head waits for one turn of the event loop, in
 * which a generator fails that checks its arguments.
 *
 * @throws RangeError for a body of another length
 */
async function sendAll(pieces: Pieces, stream: ServedStream, { length, begin, isHeadChosen }: StreamedAnswer): Promise<void> {
  const first = pieces.next().then(bytesOfStep);
  // Once the client has left, nobody handles its failure.
  first.catch(() => {});
  await (isHeadChosen ? Promise.race([first, nextTurn()]) : first);
  if (stream.cancelled !== undefined) return;
  begin();
  let size = 0;
  for (let bytes = await first; bytes !== undefined; bytes = bytesOfStep(await pieces.next())) {
    size += bytes.byteLength;
    if (length !== undefined && size > length) {
      void cancel(pieces, "it has more bytes than its content-length says");
      throw lengthError(length, `${size} or more`);
    }
    const sent = stream.write(bytes);
    // The stream was cancelled, and has told the body.
    if (!(sent === true || (await sent))) return;
  }
  if (length !== undefined && size < length) throw lengthError(length, size);
  stream.end();
}

function bytesOfStep({ done, value }: Awaited<ReturnType<Pieces["next"]>>): Uint8Array | undefined {
  return done === true ? undefined : bytesOf(value);
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Reads a piece of a body. @throws TypeError for anything but text and bytes */
function bytesOf(piece: unknown): Uint8Array {
  if (piece instanceof Uint8Array) return piece;
  if (typeof piece === "string") return new TextEncoder().encode(piece);
  if (piece instanceof ArrayBuffer) return new Uint8Array(piece);
  if (ArrayBuffer.isView(piece)) return new Uint8Array(piece.buffer, piece.byteOffset, piece.byteLength);
  throw new TypeError(`Cannot answer a request: the pieces of a body are text or bytes: received ${describeValue(piece)}`);
}

function lengthError(length: number, received: number | string): RangeError {
  return new RangeError(
    `Cannot answer a request: its content-length says ${length} bytes: received a body of ${received}. Leave content-length out, or give the length of the body as it is sent.`,
  );
}

/** The headers of a response. A body that `fetch` has read is no longer compressed, though its headers say so. */
function headersOf(response: Response): string[] {
  const flat = flatHeaders(response.headers);
  if (response.url === "" || response.body === null || !response.headers.has("content-encoding")) return flat;
  return flat.filter((_, index) => !OF_COMPRESSION.has(flat[index - (index % 2)] as string));
}

const OF_COMPRESSION: ReadonlySet<string> = new Set(["content-encoding", "content-length"]);

/** Reads `content-length`. @throws RangeError for an invalid length */
function lengthSaid(headers: readonly string[]): number | undefined {
  const index = headers.findIndex((name, place) => place % 2 === 0 && name.toLowerCase() === "content-length");
  if (index < 0) return undefined;
  const text = headers[index + 1] as string;
  if (!/^\d{1,15}$/.test(text))
    throw new RangeError(`Cannot answer a request: content-length is a number of bytes: received ${describeValue(text)}`);
  return Number(text);
}

async function cancel(pieces: Pieces, reason: string): Promise<void> {
  try {
    await pieces.cancel(reason);
  } catch {
    // The client has gone: nobody is left to be told.
  }
}
