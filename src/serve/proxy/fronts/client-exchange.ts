/**
 * A client's request and its answer, in any version of HTTP: from the request's head, which a front has read, to the last byte of the answer.
 *
 * Decides which parts of a request are passed on (its URL without the application's prefix, its headers, an id), and how errors look to a client. The proxy itself
 * answers `/-/healthz`, `/-/routes`, unknown paths and oversized bodies. Small bodies of known size are read first, so that a slow client holds no replica; others
 * stream. Each version of HTTP has a subclass, which writes heads and breaks off requests. Nothing here knows of replicas.
 */
import { METHODS } from "node:http";
import type { Readable, Writable } from "node:stream";
import { errorBody } from "../../replica/http/http-requests.ts";
import type { BodyReceiver } from "../../wire/body-receiver.ts";
import { FRAME, type ReceivedHead, type RequestHead, type ResponseHead } from "../../wire/frames.ts";
import { GATHERED_BODY_BYTES, JOINED_BODY_BYTES, PIPELINED_MAX } from "../../limits.ts";
import type { AllowedHosts } from "../options/allowed-hosts.ts";
import type { Exchange, IncomingRequest, ReplyPort } from "../exchange.ts";
import { type ClientLimits, type ResolvedHttpOptions, timeoutOf } from "../options/http-options.ts";
import { FOREIGN_HOST, PREFIX_HEADER, type ReadHeaders, readTarget } from "./request-headers.ts";
import type { SlowClients, Transfer, TransferLimits } from "./slow-clients.ts";
import { Upload } from "./upload.ts";

/** Functions of the proxy that a front calls. */
export interface HttpPorts {
  /** Finds the application of a path: a function that begins the exchange, and the path without the prefix. */
  route(target: string): RoutedTarget | undefined;
  routes(): Readonly<Record<string, string>>;
  isDraining(): boolean;
  readonly clients: SlowClients;
  readonly limits: ClientLimits;
  readonly hosts: AllowedHosts;
  /** Called at the end of each request. */
  served(entry: AccessEntry): void;
}

export interface RoutedTarget {
  readonly prefix: string;
  /** The prefix is not in `rest`. */
  readonly isStripped: boolean;
  /** Path and query for the application. */
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
/** `node:http2` takes any text for a method, `node:http` these; a `Request` has neither CONNECT nor TRACE. */
const METHODS_TAKEN: ReadonlySet<string> = new Set(METHODS.filter((method) => method !== "CONNECT" && method !== "TRACE"));

/** Headers of an answer that only the proxy sets: those of its connection (RFC 9110, 7.6.1), and the request's id. */
const OWN_HEADERS: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "transfer-encoding",
  "upgrade",
  "x-request-id",
]);

/** The head of a request, as a front has read it. */
interface ClientRequest {
  readonly method: string;
  /** As the client sent it. */
  readonly target: string;
  readonly read: ReadHeaders;
  /** The address of the client. */
  readonly client: string;
  /** The connection has more requests under way than it may. */
  readonly isCrowded: boolean;
}

export abstract class ClientExchange implements ReplyPort, Transfer {
  protected readonly options: ResolvedHttpOptions;
  protected readonly ports: HttpPorts;
  readonly #startMs = performance.now();
  #request: ClientRequest | undefined;
  #requestId = "";
  #target = "";
  #app = "";
  #route = "";
  #exchange: Exchange | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isAnswered = false;
  #isServed = false;
  #status = 0;
  #writtenBytes = 0;
  /** The body of an answer that streams. */
  #body: BodyReceiver | undefined;

  constructor(options: ResolvedHttpOptions, ports: HttpPorts) {
    this.options = options;
    this.ports = ports;
  }

  /** Source of the request's body. */
  protected abstract readonly source: Readable;
  /** Destination of the answer's body. */
  protected abstract readonly sink: Writable;
  /** Nothing of the request's body is to come any more. */
  protected abstract readonly isRead: boolean;
  /** The body ended where it should, and not because the client left. */
  protected abstract readonly isWhole: boolean;
  /** All of the answer has gone out, and the client has not said that it does not want it. */
  protected abstract readonly isDelivered: boolean;
  /** @throws for headers that HTTP cannot carry */
  protected abstract writeHead(head: ResponseHead, headers: string[]): void;
  protected abstract writeContinue(): void;
  /** Sends the head now: clients of streams wait for it. */
  protected abstract flushHead(): void;
  /** Ends the answer, with headers behind its body. */
  protected abstract end(trailers: readonly string[]): void;
  /** Writes a refusal, and discards the rest of the request's body. */
  protected abstract endRefusal(status: number, headers: string[], body: string): void;
  /** The client has to see that the answer is not whole. */
  protected abstract breakOff(): void;
  abstract readonly isQueued: boolean;
  abstract readonly connection: unknown;

  get limits(): TransferLimits {
    return this.ports.limits.answer;
  }

  get app(): string {
    return this.#app;
  }

  get owedBytes(): number {
    return this.sink.writableLength;
  }

  get heldBytes(): number {
    return this.sink.writableLength;
  }

  get movedBytes(): number {
    return this.#writtenBytes - this.sink.writableLength;
  }

  get holdsPlace(): boolean {
    return this.#body?.isEnded === false;
  }

  cutOff(): void {
    this.breakOff();
  }

  protected get method(): string {
    return this.#request?.method ?? "";
  }

  /** Routes the request, or answers it here. */
  protected begin(request: ClientRequest): void {
    this.#request = request;
    const { read, client } = request;
    this.#requestId = read.requestId;
    const target = readTarget(request.target, read);
    this.#target = target ?? request.target;
    if (read.mistake !== undefined) return this.refuse(400, { detail: read.mistake });
    if (target === undefined) return this.refuse(400, { detail: "its target is no path" });
    if (!this.ports.hosts.allows(read.host)) return this.refuse(403, { detail: FOREIGN_HOST });
    if (!METHODS_TAKEN.has(request.method)) return this.refuse(501, { detail: "its method is none that is offered" });
    if (request.isCrowded) return this.refuse(429, { detail: `one connection may have ${PIPELINED_MAX} requests under way` });
    if (target.startsWith("/-/") && this.#answerItself(target)) return;
    const routed = this.ports.route(target);
    if (routed === undefined) return this.refuse(404, { detail: "no application has this path" });
    this.#app = routed.app;
    this.#route = routed.prefix;
    const { length } = read;
    const { maxBodyBytes, requestTimeoutMs, tls } = this.options;
    if (length !== undefined && length > maxBodyBytes) return this.refuse(413, {});
    const head: RequestHead = {
      method: request.method,
      url: `${tls === undefined ? "http" : "https"}://${read.host}${routed.rest}`,
      requestId: this.#requestId,
      // Calls that the request makes end with a limit that was set. The default ends them as a client does that leaves.
      timeoutMs: requestTimeoutMs ?? 0,
      modelId: read.modelId,
      client,
      headers: routed.isStripped ? [...read.headers, PREFIX_HEADER, routed.prefix] : read.headers,
    };
    const limitMs = timeoutOf(requestTimeoutMs);
    if (limitMs !== undefined) this.#timer = setTimeout(() => this.#late(), limitMs).unref();
    if (length === undefined && !read.isChunked) this.#start(routed, head, NO_BYTES);
    else if (length !== undefined && length <= GATHERED_BODY_BYTES) this.#gather(routed, head, length);
    else this.#start(routed, head, this.#uploaded(routed.app));
  }

  respond(head: ReceivedHead, body: Uint8Array | BodyReceiver): void {
    if (this.#isAnswered || this.sink.destroyed) return;
    this.#isAnswered = true;
    this.#status = head.status;
    clearTimeout(this.#timer);
    const isWhole = body instanceof Uint8Array;
    const headers = this.#answerHeaders(head, isWhole ? body.byteLength : undefined);
    try {
      this.writeHead(head, headers);
    } catch {
      // A header that HTTP cannot carry.
      this.#isAnswered = false;
      this.refuse(500, {});
      return;
    }
    this.ports.clients.begin(this);
    if (!isWhole) {
      void this.#download(body);
      return;
    }
    const { sink } = this;
    this.#writtenBytes = body.byteLength;
    const view = Buffer.isBuffer(body) ? body : Buffer.from(body.buffer as ArrayBuffer, body.byteOffset, body.byteLength);
    if (!this.isRead && !sink.writableEnded) {
      if (view.length > 0 && this.method !== "HEAD") sink.write(Buffer.from(view));
      this.end([]);
    } else if (view.length === 0 || this.method === "HEAD" || sink.writableEnded) sink.end();
    // As a string, in which each byte is a character: head and body leave in one write, and nothing keeps the view, which is valid now only.
    else if (view.length <= JOINED_BODY_BYTES) sink.end(view.toString("latin1"), "latin1");
    else sink.end(Buffer.from(view));
    this.#served(head.status);
  }

  /** Returns the application's headers without those of the connection: an application must not decide where the next answer begins. */
  #answerHeaders({ status, headers }: ResponseHead, wholeBytes: number | undefined): string[] {
    const mayHaveLength = status !== 204 && status !== 304 && status >= 200;
    // The body of HEAD is left out by applications or here; its length is the application's matter then.
    const keepsLength = wholeBytes === undefined || (this.method === "HEAD" && wholeBytes === 0) || !mayHaveLength;
    const sent: string[] = [];
    for (let index = 0; index < headers.length; index += 2) {
      const name = headers[index] as string;
      if (name.length >= 7 && name.length <= 17) {
        const lower = name.toLowerCase();
        if (OWN_HEADERS.has(lower) || (lower === "content-length" && !keepsLength)) continue;
        // HTTP announces trailers of chunked bodies alone.
        if (lower === "trailer" && wholeBytes !== undefined) continue;
      }
      sent.push(name, headers[index + 1] as string);
    }
    if (wholeBytes !== undefined && mayHaveLength && !(this.method === "HEAD" && wholeBytes === 0))
      sent.push("content-length", String(wholeBytes));
    sent.push("x-request-id", this.#requestId);
    return sent;
  }

  refuse(status: number, { detail, retryAfterMs }: { detail?: string; retryAfterMs?: number | undefined }): void {
    if (this.#isAnswered || this.sink.destroyed) return;
    this.#isAnswered = true;
    clearTimeout(this.#timer);
    const body = errorBody(status, this.#requestId, detail);
    const length = String(Buffer.byteLength(body));
    const headers = ["content-type", "application/json", "content-length", length, "x-request-id", this.#requestId];
    if (retryAfterMs !== undefined) headers.push("retry-after", String(Math.ceil(retryAfterMs / 1000)));
    this.endRefusal(status, headers, this.method === "HEAD" ? "" : body);
    this.#served(status);
  }

  abort(): void {
    this.breakOff();
    this.#served(500);
  }

  /** The connection or the stream of the request has ended. */
  protected closed(): void {
    clearTimeout(this.#timer);
    this.ports.clients.end(this);
    if (!this.#isAnswered || !this.isDelivered) this.#exchange?.cancel("the client is gone");
    // The client left before its answer, unless the request is already recorded.
    this.#served(499);
  }

  #answerItself(target: string): boolean {
    if (target === "/-/healthz") {
      const isDraining = this.ports.isDraining();
      const body = Buffer.from(isDraining ? "draining" : "success");
      this.respond({ status: isDraining ? 503 : 200, statusText: "", ongoing: 0, headers: ["content-type", "text/plain"] }, body);
      return true;
    }
    if (target !== "/-/routes") return false;
    const body = Buffer.from(JSON.stringify(this.ports.routes()));
    this.respond({ status: 200, statusText: "", ongoing: 0, headers: ["content-type", "application/json"] }, body);
    return true;
  }

  #start(routed: RoutedTarget, head: RequestHead, body: IncomingRequest["body"]): void {
    if (this.sink.destroyed) return;
    this.#exchange = routed.begin({ kind: FRAME.REQUEST, head, body, sessionId: this.#request?.read.sessionId ?? "" }, this);
    this.#exchange.start();
  }

  #gather(routed: RoutedTarget, head: RequestHead, length: number): void {
    const pieces: Buffer[] = [];
    const timer = setTimeout(() => this.refuse(408, {}), this.options.bodyTimeoutMs).unref();
    this.writeContinue();
    this.sink.on("close", () => clearTimeout(timer));
    this.source.on("data", (piece: Buffer) => pieces.push(piece));
    this.source.on("end", () => {
      clearTimeout(timer);
      if (this.#isAnswered || !this.isWhole) return;
      const [first] = pieces;
      this.#start(routed, head, pieces.length === 1 && first !== undefined ? first : length === 0 ? NO_BYTES : Buffer.concat(pieces));
    });
  }

  /** The pieces of a body, which are read once the replica has begun. */
  #uploaded(app: string): Upload {
    const { maxBodyBytes } = this.options;
    this.writeContinue();
    return new Upload(this.source, this.ports.clients, {
      app,
      connection: this.connection,
      limits: this.ports.limits.body,
      maxBodyBytes,
      isWhole: () => this.isWhole,
      refuse: (status) => this.#refuseBody(status),
    });
  }

  async #download(body: BodyReceiver): Promise<void> {
    const { sink } = this;
    this.#body = body;
    this.flushHead();
    if (this.method === "HEAD") {
      // The body may have no end; until then its connection would answer nothing else.
      this.#exchange?.cancel("the client wants no body");
      this.end([]);
      this.#served(this.#status);
      return;
    }
    // A stream of HTTP/2 whose answer has no body has ended with its head, and one that its client has reset looks the same.
    const isWanted = !sink.writableEnded;
    try {
      for (let piece = await body.next(); piece !== undefined; piece = await body.next()) {
        if (sink.destroyed) return;
        this.#writtenBytes += piece.byteLength;
        if (isWanted && !sink.write(piece)) await drained(sink);
      }
      this.end(body.trailers);
      this.#served(this.#status);
    } catch {
      // The replica broke off: an end without the last chunk tells the client.
      this.breakOff();
      this.#served(500);
    }
  }

  #late(): void {
    if (this.#isAnswered) return;
    this.#exchange?.cancel("the time for the request is over");
    this.refuse(504, {});
  }

  /** The body does not come as it should. */
  #refuseBody(status: 408 | 413): void {
    this.#exchange?.cancel(status === 413 ? "the request's body is too large" : "the client was too slow with its body");
    if (this.#isAnswered) this.breakOff();
    else this.refuse(status, {});
  }

  #served(status: number): void {
    if (this.#isServed) return;
    this.#isServed = true;
    const durationMs = performance.now() - this.#startMs;
    const { method = "" } = this.#request ?? {};
    this.ports.served({ method, target: this.#target, app: this.#app, route: this.#route, status, durationMs, requestId: this.#requestId });
  }
}

function drained(sink: Writable): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      sink.off("drain", done);
      sink.off("close", done);
      resolve();
    };
    sink.on("drain", done);
    sink.on("close", done);
  });
}
