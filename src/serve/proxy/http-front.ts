/**
 * HTTP/1.1 in front of an exchange: `node:http` requests in, answers out, bodies piece by piece in both directions.
 *
 * Decides what of a request goes on (its URL without the prefix of the application, its headers as they came, an id), what a proxy answers by itself
 * (`/-/healthz`, `/-/routes`, paths that nobody has, bodies that are too large), and how errors look to a client. Small bodies of known size are read first, so that a slow
 * client holds no replica; others stream. Nothing here knows of replicas.
 *
 * Clients may be hostile: what is no HTTP (two lengths, chunks without a size, headers without end, null bytes) `node:http` refuses with 400, 408 or 431 and closes; this file
 * bounds the rest: sizes, pauses, hosts, pipelined requests. A body that is refused is read and dropped for a moment, or the client would not see why.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { errorBody } from "../replica/http-requests.ts";
import type { BodyReceiver } from "../wire/body-receiver.ts";
import type { RequestHead, ResponseHead } from "../wire/frames.ts";
import { GATHERED_BODY_BYTES, JOINED_BODY_BYTES, LINGER_MS, PIPELINED_MAX } from "../limits.ts";
import type { Exchange, IncomingRequest, ReplyPort } from "./exchange.ts";
import type { ResolvedHttpOptions } from "./http-options.ts";
import { originForm, readHeaders } from "./request-headers.ts";

/** Functions of the proxy that a front calls. */
export interface HttpPorts {
  /** The application of a path: what begins an exchange there, and the path without the prefix. */
  route(target: string): RoutedTarget | undefined;
  routes(): Readonly<Record<string, string>>;
  isDraining(): boolean;
  /** Called at the end of each request. */
  served(entry: AccessEntry): void;
}

export interface RoutedTarget {
  readonly prefix: string;
  readonly rest: string;
  readonly app: string;
  begin(request: IncomingRequest, reply: ReplyPort): Exchange;
}

/** For the access log and the metrics. */
export interface AccessEntry {
  readonly method: string;
  readonly target: string;
  readonly app: string;
  /** The prefix of the application; empty where there was none. */
  readonly route: string;
  readonly status: number;
  readonly durationMs: number;
  readonly requestId: string;
}

const NO_BYTES = new Uint8Array(0);
/** Requests that a connection has brought and that are not answered yet. */
const openRequests = Symbol("open requests");
type CountingSocket = Socket & { [openRequests]?: number };

export function createHttpFront(options: ResolvedHttpOptions, ports: HttpPorts): Server {
  const server = createServer({
    keepAliveTimeout: options.keepAliveTimeoutMs,
    headersTimeout: options.headersTimeoutMs,
    requestTimeout: 0,
    maxHeaderSize: options.maxHeaderBytes,
    // A connection whose head stays incomplete is closed at most one interval after `headersTimeout`.
    connectionsCheckingInterval: Math.min(5_000, Math.max(100, options.headersTimeoutMs / 4)),
    // Others, such as h2c, may be ignored: the request is answered as it is. Before Node 24.9 they are refused.
    shouldUpgradeCallback: (request: IncomingMessage) => request.headers.upgrade?.toLowerCase() === "websocket",
  });
  server.maxConnections = options.maxConnections;
  server.maxRequestsPerSocket = options.maxRequestsPerConnection;
  server.on("request", (request, response) => new HttpExchange(request, response, { options, ports }).start());
  // The client sends its body once it is told to: not before the request is known to be taken.
  server.on("checkContinue", (request, response) => server.emit("request", request, response));
  return server;
}

/** A client's request and its response, over HTTP/1.1. */
class HttpExchange implements ReplyPort {
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #options: ResolvedHttpOptions;
  readonly #ports: HttpPorts;
  readonly #startMs = performance.now();
  #requestId = "";
  #app = "";
  #route = "";
  #exchange: Exchange | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isAnswered = false;
  #isServed = false;
  #hasBody = false;

  constructor(request: IncomingMessage, response: ServerResponse, { options, ports }: { options: ResolvedHttpOptions; ports: HttpPorts }) {
    this.#request = request;
    this.#response = response;
    this.#options = options;
    this.#ports = ports;
  }

  start(): void {
    const request = this.#request;
    const read = readHeaders(request.rawHeaders);
    const target = originForm(request.url ?? "/");
    this.#hasBody = read.isChunked || (read.length ?? 0) > 0;
    const socket = request.socket as CountingSocket;
    socket[openRequests] = (socket[openRequests] ?? 0) + 1;
    this.#requestId = read.requestId;
    this.#response.on("close", () => this.#closed());
    if (read.mistake !== undefined) return this.refuse(400, { detail: read.mistake });
    if (target === undefined) return this.refuse(400, { detail: "its target is no path" });
    if (socket[openRequests] > PIPELINED_MAX)
      return this.refuse(429, { detail: `one connection may have ${PIPELINED_MAX} requests under way` });
    if (target.path.startsWith("/-/") && this.#answerItself(target.path)) return;
    const routed = this.#ports.route(target.path);
    if (routed === undefined) return this.refuse(404, { detail: "no application has this path" });
    this.#app = routed.app;
    this.#route = routed.prefix;
    const length = read.length;
    if (length !== undefined && length > this.#options.maxBodyBytes) return this.refuse(413, {});
    const head: RequestHead = {
      method: request.method ?? "GET",
      url: `http://${target.host ?? read.host}${routed.rest}`,
      requestId: this.#requestId,
      timeoutMs: this.#options.requestTimeoutMs ?? 0,
      modelId: read.modelId,
      client: request.socket.remoteAddress ?? "",
      headers: routed.prefix === "/" ? read.headers : [...read.headers, "x-forwarded-prefix", routed.prefix],
    };
    if (this.#options.requestTimeoutMs !== undefined) this.#timer = setTimeout(() => this.#late(), this.#options.requestTimeoutMs).unref();
    if (length === undefined && !read.isChunked) this.#begin(routed, head, NO_BYTES);
    else if (length !== undefined && length <= GATHERED_BODY_BYTES) this.#gather(routed, head, length);
    else
      this.#begin(
        routed,
        head,
        uploaded(request, this.#options, {
          begun: () => this.#continue(),
          tooLarge: () => this.#breakOff(413),
          late: () => this.#breakOff(408),
        }),
      );
  }

  respond(head: ResponseHead, body: Uint8Array | BodyReceiver): void {
    if (this.#isAnswered || this.#response.destroyed) return;
    this.#isAnswered = true;
    clearTimeout(this.#timer);
    const headers = head.headers as string[];
    const isWhole = body instanceof Uint8Array;
    const out = isWhole && mayHaveLength(head.status, headers) ? [...headers, "content-length", String(body.byteLength)] : headers.slice();
    out.push("x-request-id", this.#requestId);
    // The rest of a body that nobody has read would be taken for the next request's.
    if (this.#ports.isDraining() || !this.#isRead) out.push("connection", "close");
    const response = this.#response;
    try {
      if (head.statusText === "") response.writeHead(head.status, out);
      else response.writeHead(head.status, head.statusText, out);
    } catch {
      // A header that HTTP cannot carry.
      this.#isAnswered = false;
      this.refuse(500, {});
      return;
    }
    if (!isWhole) {
      void this.#download(body);
      return;
    }
    const view = Buffer.from(body.buffer as ArrayBuffer, body.byteOffset, body.byteLength);
    if (view.length === 0 || this.#request.method === "HEAD") response.end();
    // As a string, in which each byte is a character: head and body leave in one write, and nothing keeps the view, which is valid now only.
    else if (view.length <= JOINED_BODY_BYTES) response.end(view.toString("latin1"), "latin1");
    else response.end(Buffer.from(view));
    this.#served(head.status);
  }

  refuse(status: number, { detail, retryAfterMs }: { detail?: string; retryAfterMs?: number | undefined }): void {
    if (this.#isAnswered || this.#response.destroyed) return;
    this.#isAnswered = true;
    clearTimeout(this.#timer);
    const body = errorBody(status, this.#requestId, detail);
    const headers = [
      "content-type",
      "application/json",
      "content-length",
      String(Buffer.byteLength(body)),
      "x-request-id",
      this.#requestId,
    ];
    if (retryAfterMs !== undefined) headers.push("retry-after", String(Math.ceil(retryAfterMs / 1000)));
    const isWhole = this.#isRead;
    if (!isWhole || status === 400 || status === 429) headers.push("connection", "close");
    this.#response.writeHead(status, headers);
    const sent = this.#request.method === "HEAD" ? "" : body;
    if (isWhole) this.#response.end(sent);
    else this.#linger(sent);
    this.#served(status);
  }

  /** Ends the connection once the client has had the time to read the answer: one that is closed while bytes come in loses what it has sent. */
  #linger(body: string): void {
    const response = this.#response;
    const end = (): void => {
      clearTimeout(timer);
      response.end();
    };
    const timer = setTimeout(end, LINGER_MS).unref();
    response.write(body);
    this.#request.on("end", end).on("close", end).resume();
  }

  /** Nothing of a body is to come any more. */
  get #isRead(): boolean {
    return !this.#hasBody || this.#request.complete;
  }

  #continue(): void {
    if (this.#request.headers.expect !== undefined && !this.#response.headersSent) this.#response.writeContinue();
  }

  abort(): void {
    this.#response.destroy();
    this.#served(500);
  }

  #answerItself(target: string): boolean {
    if (target === "/-/healthz") {
      const isDraining = this.#ports.isDraining();
      const body = Buffer.from(isDraining ? "draining" : "success");
      this.respond({ status: isDraining ? 503 : 200, statusText: "", ongoing: 0, headers: ["content-type", "text/plain"] }, body);
      return true;
    }
    if (target !== "/-/routes") return false;
    const body = Buffer.from(JSON.stringify(this.#ports.routes()));
    this.respond({ status: 200, statusText: "", ongoing: 0, headers: ["content-type", "application/json"] }, body);
    return true;
  }

  #begin(routed: RoutedTarget, head: RequestHead, body: IncomingRequest["body"]): void {
    if (this.#response.destroyed) return;
    this.#exchange = routed.begin({ head, body }, this);
    this.#exchange.start();
  }

  #gather(routed: RoutedTarget, head: RequestHead, length: number): void {
    const pieces: Buffer[] = [];
    const timer = setTimeout(() => this.refuse(408, {}), this.#options.bodyTimeoutMs).unref();
    this.#continue();
    this.#response.on("close", () => clearTimeout(timer));
    this.#request.on("data", (piece: Buffer) => pieces.push(piece));
    this.#request.on("end", () => {
      clearTimeout(timer);
      if (this.#isAnswered) return;
      const [first] = pieces;
      this.#begin(routed, head, pieces.length === 1 && first !== undefined ? first : length === 0 ? NO_BYTES : Buffer.concat(pieces));
    });
  }

  async #download(body: BodyReceiver): Promise<void> {
    const response = this.#response;
    // Clients of streams wait for the head.
    response.flushHeaders();
    const isWanted = this.#request.method !== "HEAD";
    try {
      for (let piece = await body.next(); piece !== undefined; piece = await body.next()) {
        if (response.destroyed) return;
        if (isWanted && !response.write(piece)) await drained(response);
      }
      if (body.trailers.length > 0) response.addTrailers(pairs(body.trailers));
      response.end();
      this.#served(response.statusCode);
    } catch {
      // The replica broke off: an end without the last chunk tells the client.
      response.destroy();
      this.#served(500);
    }
  }

  #late(): void {
    if (this.#isAnswered) return;
    this.#exchange?.cancel("the time for the request is over");
    this.refuse(504, {});
  }

  /** The body does not come as it should. */
  #breakOff(status: 408 | 413): void {
    this.#exchange?.cancel(status === 413 ? "the request's body is too large" : "the client paused in the middle of its body");
    if (this.#isAnswered) this.#response.destroy();
    else this.refuse(status, {});
  }

  #closed(): void {
    clearTimeout(this.#timer);
    const socket = this.#request.socket as CountingSocket;
    socket[openRequests] = (socket[openRequests] ?? 1) - 1;
    if (!this.#response.writableFinished) this.#exchange?.cancel("the client is gone");
    // The client left before its answer, unless the request is already recorded.
    this.#served(499);
  }

  #served(status: number): void {
    if (this.#isServed) return;
    this.#isServed = true;
    const { method = "", url = "" } = this.#request;
    const durationMs = performance.now() - this.#startMs;
    this.#ports.served({ method, target: url, app: this.#app, route: this.#route, status, durationMs, requestId: this.#requestId });
  }
}

/** The pieces of a body, up to a size, of a client that does not pause for too long. Read once the replica has begun. */
async function* uploaded(
  request: IncomingMessage,
  { maxBodyBytes, bodyTimeoutMs }: ResolvedHttpOptions,
  on: UploadEvents,
): AsyncGenerator<Uint8Array, void, undefined> {
  on.begun();
  let size = 0;
  const timer = setTimeout(() => on.late(), bodyTimeoutMs).unref();
  try {
    // The connection is not cut off where nobody wants the rest: the answer goes out by it.
    for await (const piece of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      size += piece.byteLength;
      if (size > maxBodyBytes) return on.tooLarge();
      yield piece;
      timer.refresh();
    }
  } finally {
    clearTimeout(timer);
  }
}

interface UploadEvents {
  begun(): void;
  tooLarge(): void;
  late(): void;
}

/** A response without a body, or one whose length the application has said itself. */
function mayHaveLength(status: number, headers: readonly string[]): boolean {
  if (status === 204 || status === 304 || status < 200) return false;
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index] as string;
    if (name.length === 14 && name.toLowerCase() === "content-length") return false;
    if (name.length === 17 && name.toLowerCase() === "transfer-encoding") return false;
  }
  return true;
}

function pairs(flat: readonly string[]): [string, string][] {
  const found: [string, string][] = [];
  for (let index = 0; index < flat.length; index += 2) found.push([flat[index] as string, flat[index + 1] as string]);
  return found;
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off("drain", done);
      response.off("close", done);
      resolve();
    };
    response.on("drain", done);
    response.on("close", done);
  });
}
