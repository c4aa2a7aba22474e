/**
 * `nodeHandler(listener)`: a listener of `node:http` (Express, Fastify, Koa's callback, a plain function) as a `fetch` function.
 *
 * The listener gets a real `IncomingMessage` and a real `ServerResponse`, as frameworks put their own prototypes in place of those of the pair, and anything
 * that only looks like one would lose its methods. Below them lies no connection but an `AnswerSocket`, which reads the head that `ServerResponse` writes and hands the
 * body on. Owns nothing beyond one request; a client that is gone looks to the listener like a connection that broke.
 */
import { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import { asError, describeValue } from "../../../core/internal.ts";
import { getClientAddress } from "./lazy-request.ts";

type Listener = (request: IncomingMessage, response: ServerResponse) => unknown;
/** A Fastify instance: `routing` is a listener once `ready()` has resolved. */
interface FastifyLike {
  ready(): PromiseLike<unknown>;
  readonly routing: (request: IncomingMessage, response: ServerResponse) => unknown;
}
/** A listener of `node:http`, an Express application or a Fastify instance. */
export type NodeListener = Listener | FastifyLike;

/** Headers that say how a connection is used, which each connection says anew. */
const OF_CONNECTION = new Set(["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"]);
const WITHOUT_BODY = new Set([204, 205, 304]);
const HEAD_END = "\r\n\r\n";

/**
 * Makes a function for `fetch` of a listener.
 *
 * @throws TypeError unless given a listener
 * @example
 * class Api {
 *   fetch = serve.nodeHandler(express().get("/", (request, response) => response.json({ ok: true })));
 * }
 */
export function nodeHandler(listener: NodeListener): (request: Request) => Promise<Response> {
  if (typeof listener === "function") return (request) => answer(listener, request);
  const { routing } = listener ?? {};
  if (typeof routing !== "function")
    throw new TypeError(
      `Cannot make a handler: a listener (request, response) or a Fastify instance is needed: received ${describeValue(listener)}`,
    );
  return async (request) => {
    await listener.ready();
    return answer(routing, request);
  };
}

function answer(listener: Listener, request: Request): Promise<Response> {
  return new Promise((resolve, reject) => {
    const socket = new AnswerSocket(request, { resolve, reject });
    const incoming = incomingOf(request, socket);
    const response = new ServerResponse(incoming);
    // The pieces of a body are told apart on the wire already.
    Object.defineProperty(response, "chunkedEncoding", { get: () => false, set: () => {} });
    response.sendDate = false;
    response.assignSocket(socket as unknown as Socket);
    socket.on("drain", () => {
      if (response.writableNeedDrain) response.emit("drain");
    });
    response.on("finish", () => socket.answered());
    const fail = (error: unknown): void => {
      reject(error);
      socket.destroy(error instanceof Error ? error : undefined);
    };
    try {
      const returned = listener(incoming, response);
      if (returned instanceof Promise) returned.catch(fail);
    } catch (error) {
      fail(error);
    }
  });
}

function incomingOf(request: Request, socket: AnswerSocket): IncomingMessage {
  const incoming = new IncomingMessage(socket as unknown as Socket);
  const url = new URL(request.url);
  incoming.method = request.method;
  incoming.url = `${url.pathname}${url.search}`;
  incoming.httpVersion = "1.1";
  incoming.httpVersionMajor = 1;
  incoming.httpVersionMinor = 1;
  const headers: IncomingMessage["headers"] = {};
  const distinct: Record<string, string[]> = {};
  for (const [name, value] of request.headers) {
    incoming.rawHeaders.push(name, value);
    headers[name] = value;
    distinct[name] = [value];
  }
  // Frameworks tell by these whether there is a body.
  if (request.body !== null && headers["content-length"] === undefined) headers["transfer-encoding"] = "chunked";
  incoming.headers = headers;
  incoming.headersDistinct = distinct;
  const reader =
    request.method === "GET" || request.method === "HEAD"
      ? undefined
      : (request.body?.getReader() as ReadableStreamDefaultReader<Uint8Array> | undefined);
  // Own properties: they stay when a framework changes the prototype.
  incoming._read = (size) => {
    // Marks the message as read; without that a stream of this class asks for one piece and no more.
    IncomingMessage.prototype._read.call(incoming, size);
    void pull(incoming, reader);
  };
  socket.on("close", () => {
    void reader?.cancel().catch(() => {});
    // A request that has been answered ends, read or not. Only one that was broken off counts as aborted.
    if (socket.isWhole) incoming.resume();
    else incoming.destroy();
  });
  return incoming;
}

async function pull(incoming: IncomingMessage, reader: ReadableStreamDefaultReader<Uint8Array> | undefined): Promise<void> {
  try {
    const { done, value } = reader === undefined ? { done: true as const, value: undefined } : await reader.read();
    if (incoming.destroyed) return;
    if (done) incoming.complete = true;
    incoming.push(done ? null : value);
  } catch (error) {
    incoming.destroy(asError(error));
  }
}

interface Outcome {
  resolve(response: Response): void;
  reject(error: Error): void;
}

/** Replaces the connection: turns the written bytes into a `Response`, which is complete at once if they were written together. */
class AnswerSocket extends Duplex {
  readonly remoteAddress: string | undefined;
  readonly remotePort = undefined;
  readonly encrypted: boolean;
  /** The listener has ended its response. */
  isWhole = false;
  readonly #request: Request;
  readonly #outcome: Outcome;
  readonly #gone: () => void;
  #head = "";
  #hasHead = false;
  #init: ResponseInit & { status: number; headers: Headers } = { status: 200, headers: new Headers() };
  /** Pieces of the body that were written before the answer is whole or starts to stream. */
  readonly #pieces: Uint8Array[] = [];
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  #isAnswered = false;
  #isOver = false;
  #onRoom: (() => void) | undefined;

  constructor(request: Request, outcome: Outcome) {
    super({ decodeStrings: true, emitClose: true });
    this.#request = request;
    this.#outcome = outcome;
    this.remoteAddress = getClientAddress(request);
    this.encrypted = request.url.startsWith("https:");
    this.#gone = () => this.destroy();
    // A listener may break its connection off; the `Response` tells it.
    this.on("error", () => {});
    if (request.signal.aborted) queueMicrotask(this.#gone);
    else request.signal.addEventListener("abort", this.#gone, { once: true });
  }

  /** Connections have these; there is nothing to set. */
  setTimeout(): this {
    return this;
  }
  setKeepAlive(): this {
    return this;
  }
  setNoDelay(): this {
    return this;
  }
  ref(): this {
    return this;
  }
  unref(): this {
    return this;
  }
  destroySoon(): void {
    this.end();
  }

  /** The listener has ended its response. */
  answered(): void {
    this.isWhole = true;
    this.#isOver = true;
    if (this.#controller !== undefined) this.#controller.close();
    else if (!this.#isAnswered && this.#hasHead) {
      this.#isAnswered = true;
      const { status } = this.#init;
      this.#settle(WITHOUT_BODY.has(status) || this.#request.method === "HEAD" ? null : Buffer.concat(this.#pieces));
    }
    this.destroy();
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    const body = this.#hasHead ? chunk : this.#readHead(chunk);
    if (body !== undefined && body.length > 0) this.#take(body, done);
    else done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#request.signal.removeEventListener("abort", this.#gone);
    this.#onRoom?.();
    if (!this.#isOver) {
      const broken = error ?? new Error("the listener closed its connection before the answer was whole");
      if (this.#isAnswered) this.#controller?.error(broken);
      else this.#outcome.reject(broken);
    }
    done(error);
  }

  /** Reads the head. @returns the bytes behind it, once it is complete */
  #readHead(chunk: Buffer): Buffer | undefined {
    this.#head += chunk.toString("latin1");
    for (let end = this.#head.indexOf(HEAD_END); end >= 0; end = this.#head.indexOf(HEAD_END)) {
      const [first = "", ...lines] = this.#head.slice(0, end).split("\r\n");
      const rest = this.#head.slice(end + HEAD_END.length);
      this.#head = rest;
      const [, status = "500", text = ""] = /^HTTP\/1\.1 (\d+) ?(.*)$/.exec(first) ?? [];
      // 100 and 103 stand before the head.
      if (Number(status) < 200) continue;
      this.#hasHead = true;
      this.#head = "";
      this.#init = { status: Number(status), statusText: text, headers: headersOf(lines) };
      // A body that ends within this turn of the event loop is answered whole; any other body is streamed.
      setImmediate(() => this.#stream());
      return Buffer.from(rest, "latin1");
    }
    return undefined;
  }

  #take(piece: Buffer, done: () => void): void {
    const controller = this.#controller;
    if (controller === undefined) {
      this.#pieces.push(piece);
      this.#bufferOrWait(done);
      return;
    }
    controller.enqueue(piece);
    if ((controller.desiredSize ?? 1) > 0) done();
    else this.#onRoom = done;
  }

  /** Buffers a piece or waits. Before the answer begins, the response's own buffer bounds these bytes. */
  #bufferOrWait(done: () => void): void {
    const size = this.#pieces.reduce((sum, { byteLength }) => sum + byteLength, 0);
    if (size < this.writableHighWaterMark * 16) done();
    else this.#onRoom = done;
  }

  /** The body comes bit by bit. */
  #stream(): void {
    if (this.#isAnswered || this.destroyed) return;
    this.#isAnswered = true;
    const { status } = this.#init;
    if (WITHOUT_BODY.has(status) || this.#request.method === "HEAD") {
      this.#settle(null);
      return;
    }
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.#controller = controller;
        for (const piece of this.#pieces.splice(0)) controller.enqueue(piece);
      },
      pull: () => {
        const onRoom = this.#onRoom;
        this.#onRoom = undefined;
        onRoom?.();
      },
      cancel: () => {
        this.#isOver = true;
        this.destroy();
      },
    });
    this.#settle(body);
  }

  #settle(body: Uint8Array | ReadableStream<Uint8Array> | null): void {
    try {
      this.#outcome.resolve(new Response(body as Uint8Array<ArrayBuffer>, this.#init));
    } catch (error) {
      this.#outcome.reject(asError(error));
    }
  }
}

function headersOf(lines: readonly string[]): Headers {
  const headers = new Headers();
  for (const line of lines) {
    const colon = line.indexOf(":");
    const name = line.slice(0, colon).toLowerCase();
    if (!OF_CONNECTION.has(name)) headers.append(name, line.slice(colon + 1).trim());
  }
  return headers;
}
