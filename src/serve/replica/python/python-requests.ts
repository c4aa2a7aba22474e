/**
 * Passes HTTP requests and WebSockets to a deployment in Python, and its answers back.
 *
 * An object with `__call__` answers in one call, and a second call reads its stream. For an ASGI application each request is one streaming call, which ends with
 * the application's own call: background tasks continue behind the answer. Calls are made within the request, so a client that leaves ends them.
 */
import { outsideCalls } from "../../../core/internal.ts";
import { bodyOf, headOf } from "../http/lazy-request.ts";
import {
  type AsgiHead,
  type AsgiItem,
  itemsOf,
  metaNow,
  ofPython,
  type PythonActor,
  type PythonOffers,
  type PythonRequest,
  type SocketItem,
} from "./python-actor.ts";
import type { PythonFeeds } from "./python-feeds.ts";
import type { ServerWebSocket, WebSocketMessage } from "../http/server-websocket.ts";

/** Statuses whose answer has no body. */
const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304]);
/** The status of a handshake that an application refuses by a close, as ASGI has it. */
const FORBIDDEN = 403;

interface PythonRequestsOptions {
  readonly feeds: PythonFeeds;
  readonly offers: PythonOffers;
  /** An application has failed behind its answer, which is whole: frameworks answer an error themselves, and raise it then for the server. */
  readonly onLateFailure: () => void;
}

export class PythonRequests {
  readonly #actor: PythonActor;
  readonly #feeds: PythonFeeds;
  readonly #offers: PythonOffers;
  readonly #onLateFailure: () => void;

  constructor(actor: PythonActor, { feeds, offers, onLateFailure }: PythonRequestsOptions) {
    this.#actor = actor;
    this.#feeds = feeds;
    this.#offers = offers;
    this.#onLateFailure = onLateFailure;
  }

  /** Answers a request. @throws the error that Python raises before it answers */
  async fetch(request: Request): Promise<Response> {
    const given = await this.#given(request);
    const over = (): void => this.#feeds.delete(given.feed);
    try {
      return await (this.#offers.isAsgi ? this.#asgi(given, over) : this.#called(given, over));
    } catch (error) {
      over();
      throw error;
    }
  }

  /** A WebSocket of an ASGI application. @throws a response where the application refuses it */
  async websocket(socket: ServerWebSocket, request: Request): Promise<void> {
    const accepted = Promise.withResolvers<void>();
    accepted.promise.catch(() => {});
    let messages: AsyncIterator<WebSocketMessage, undefined> | undefined;
    const feed = this.#feeds.add(async () => {
      await accepted.promise;
      messages ??= socket[Symbol.asyncIterator]();
      const { value } = await messages.next();
      return value ?? socket.closeOfClient;
    });
    // Before the call is cancelled: the application is to hear with which code its client has left.
    const tell = (): void => outsideCalls(() => void this.#actor.closed.remote(feed, ...socket.closeOfClient).then(undefined, () => {}));
    request.signal.addEventListener("abort", tell, { once: true });
    const { method, url, headers, client } = headOf(request);
    try {
      const items = this.#actor.socket.remote(metaNow(), { method, url, headers, client, body: null, feed });
      for await (const item of itemsOf<SocketItem>(items)) {
        if (typeof item === "string" || item instanceof Uint8Array) await socket.send(item);
        else if (item[0] === "accept") {
          socket.accept(item[1], { headers: headersOf(item[2]) });
          accepted.resolve();
        } else if (item[0] === "refuse") throw responseOf(item[1], item[2], item[3]);
        else if (item[0] === "close" && socket.readyState === 0) throw new Response(null, { status: FORBIDDEN });
        else if (item[0] === "close") socket.end(item[1], item[2]);
        else this.#onLateFailure();
      }
    } finally {
      accepted.reject(new Error("the WebSocket was not accepted"));
      this.#feeds.delete(feed);
    }
  }

  async #called(given: PythonRequest, over: () => void): Promise<Response> {
    const meta = metaNow();
    const [status, headers, whole, stream, isHeadChosen] = await ofPython(this.#actor.http.remote(meta, given));
    if (stream === 0) {
      over();
      return responseOf(status, headers, whole);
    }
    const read = (): AsyncGenerator<Uint8Array> => itemsOf(this.#actor.read.remote(meta, stream));
    const drop = async (): Promise<void> => {
      await this.#actor.drop.remote(stream);
    };
    if (isHeadChosen) return responseOf(status, headers, streamOf(read, { drop, over }));
    // The head of a generator waits for its first piece, so that its failure is a status.
    const pieces = read();
    const first = await pieces.next();
    const close = async (): Promise<void> => {
      await pieces.return(undefined);
    };
    return responseOf(
      status,
      headers,
      streamOf(() => withFirst(first, pieces, close), { drop: close, over }),
    );
  }

  async #asgi(given: PythonRequest, over: () => void): Promise<Response> {
    const items = itemsOf<AsgiItem>(this.#actor.asgi.remote(metaNow(), given));
    const { value: head } = await items.next();
    if (!Array.isArray(head)) throw new Error("The ASGI application ended without an answer");
    const [status, headers, body, hasMore] = head as unknown as AsgiHead;
    const finish = (): void => void this.#finish(items, over);
    if (hasMore)
      return responseOf(
        status,
        headers,
        streamOf(() => piecesOf(body, items, finish), { over }),
      );
    finish();
    return responseOf(status, headers, body);
  }

  /** Waits for the end of an application whose answer is whole. */
  async #finish(items: AsyncGenerator<AsgiItem>, over: () => void): Promise<void> {
    try {
      for await (const item of items) if (Array.isArray(item)) this.#onLateFailure();
    } catch {
      // The process has ended, or the client has left.
    }
    over();
  }

  async #given(request: Request): Promise<PythonRequest> {
    const { method, url, headers, client } = headOf(request);
    const body = bodyOf(request);
    if (body instanceof Uint8Array || !(this.#offers.isAsgi || this.#offers.awaitsBody)) {
      const whole = new Uint8Array(await request.arrayBuffer());
      return { method, url, headers, client, body: whole.byteLength === 0 ? null : whole, feed: 0 };
    }
    const feed = this.#feeds.add(async () => (await body.next()) ?? null);
    return { method, url, headers, client, body: null, feed };
  }
}

function responseOf(
  status: number,
  flat: readonly string[],
  body: string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | null,
): Response {
  return new Response(WITHOUT_BODY.has(status) ? null : body, { status, headers: headersOf(flat) });
}

function headersOf(flat: readonly string[]): Headers {
  const headers = new Headers();
  for (let index = 0; index < flat.length; index += 2) headers.append(flat[index] as string, flat[index + 1] as string);
  return headers;
}

/** Gives the pieces of a body up to its end; the application may continue behind it. */
async function* piecesOf(first: Uint8Array, items: AsyncGenerator<AsgiItem>, finish: () => void): AsyncGenerator<Uint8Array> {
  let isWhole = false;
  try {
    if (first.byteLength > 0) yield first;
    for (let next = await items.next(); next.done !== true; next = await items.next()) {
      isWhole = next.value === null;
      if (isWhole) return;
      yield next.value as Uint8Array;
    }
  } finally {
    if (isWhole) finish();
    else await items.return(undefined);
  }
}

async function* withFirst(
  first: IteratorResult<Uint8Array>,
  others: AsyncGenerator<Uint8Array>,
  close: () => Promise<void>,
): AsyncGenerator<Uint8Array> {
  try {
    if (first.done !== true) yield first.value;
    yield* others;
  } finally {
    await close();
  }
}

/** A body that Python gives piece by piece; it is closed where nobody reads on. */
function streamOf(
  read: () => AsyncGenerator<Uint8Array>,
  { drop, over }: { drop?: () => Promise<void>; over: () => void },
): ReadableStream<Uint8Array> {
  let pieces: AsyncGenerator<Uint8Array> | undefined;
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        pieces ??= read();
        const { done, value } = await pieces.next();
        if (done === true) {
          over();
          controller.close();
        } else controller.enqueue(value);
      },
      cancel: async () => {
        over();
        if (pieces === undefined && drop !== undefined) await drop();
        else await (pieces ?? read()).return(undefined);
      },
    },
    { highWaterMark: 0 },
  );
}
