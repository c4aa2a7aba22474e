/**
 * HTTP/1.1 in front of an exchange: `node:http` requests in, answers out, bodies piece by piece in both directions.
 *
 * Decides what of a request goes on (its URL without the prefix of the application, its headers as they came, an id), what a proxy answers by itself
 * (`/-/healthz`, `/-/routes`, paths that nobody has, bodies that are too large), and how errors look to a client. Small bodies of known size are read first, so that a slow
 * client holds no replica; others stream. Nothing here knows of replicas.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { randomBytes } from "node:crypto";
import { errorBody } from "../replica/http-requests.ts";
import type { BodyReceiver } from "../wire/body-receiver.ts";
import type { RequestHead, ResponseHead } from "../wire/frames.ts";
import { GATHERED_BODY_BYTES, JOINED_BODY_BYTES } from "../limits.ts";
import type { Exchange, IncomingRequest, ReplyPort } from "./exchange.ts";
import type { ResolvedHttpOptions } from "./http-options.ts";

/** What the front asks of the proxy. */
interface HttpPorts {
  /** The application of a path: what begins an exchange there, and the path without the prefix. */
  route(target: string): RoutedTarget | undefined;
  routes(): Readonly<Record<string, string>>;
  isDraining(): boolean;
  /** One request is over. */
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
const REQUEST_ID = /^[\x21-\x7e]{1,128}$/;
const MODEL_HEADER = "serve_multiplexed_model_id";
const MODEL_HEADER_AS_WELL = "serve-multiplexed-model-id";

export function createHttpFront(options: ResolvedHttpOptions, ports: HttpPorts): Server {
  const server = createServer({
    keepAliveTimeout: options.keepAliveTimeoutMs,
    headersTimeout: options.headersTimeoutMs,
    requestTimeout: 0,
    maxHeaderSize: options.maxHeaderBytes,
    connectionsCheckingInterval: 5_000,
  });
  server.maxConnections = options.maxConnections;
  server.on("request", (request, response) => new HttpExchange(request, response, { options, ports }).start());
  return server;
}

const idPrefix = randomBytes(6).toString("hex");
let idNumber = 0;

function newRequestId(): string {
  idNumber += 1;
  return `${idPrefix}-${idNumber.toString(36)}`;
}

/** One request of a client. */
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

  constructor(request: IncomingMessage, response: ServerResponse, { options, ports }: { options: ResolvedHttpOptions; ports: HttpPorts }) {
    this.#request = request;
    this.#response = response;
    this.#options = options;
    this.#ports = ports;
  }

  start(): void {
    const request = this.#request;
    const target = request.url ?? "/";
    const read = readHeaders(request.rawHeaders);
    this.#requestId = read.requestId;
    this.#response.on("close", () => this.#closed());
    if (target.startsWith("/-/") && this.#answerItself(target)) return;
    const routed = this.#ports.route(target);
    if (routed === undefined) return this.refuse(404, { detail: "no application has this path" });
    this.#app = routed.app;
    this.#route = routed.prefix;
    const length = read.length;
    if (length !== undefined && length > this.#options.maxBodyBytes) return this.refuse(413, {});
    const head: RequestHead = {
      method: request.method ?? "GET",
      url: `http://${read.host}${routed.rest}`,
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
        limited(request, this.#options.maxBodyBytes, () => this.#tooLarge()),
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
    if (this.#ports.isDraining()) out.push("connection", "close");
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
    // What is left of the request's body is not read: the connection cannot be used again.
    if (!this.#request.complete) headers.push("connection", "close");
    this.#response.writeHead(status, headers);
    this.#response.end(this.#request.method === "HEAD" ? undefined : body);
    this.#served(status);
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
    this.#request.on("data", (piece: Buffer) => pieces.push(piece));
    this.#request.on("end", () => {
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

  #tooLarge(): void {
    this.#exchange?.cancel("the request's body is too large");
    if (this.#isAnswered) this.#response.destroy();
    else this.refuse(413, {});
  }

  #closed(): void {
    clearTimeout(this.#timer);
    if (!this.#response.writableFinished) this.#exchange?.cancel("the client is gone");
  }

  #served(status: number): void {
    const { method = "", url = "" } = this.#request;
    const durationMs = performance.now() - this.#startMs;
    this.#ports.served({ method, target: url, app: this.#app, route: this.#route, status, durationMs, requestId: this.#requestId });
  }
}

interface ReadHeaders {
  /** As the client sent them, with an id. */
  headers: string[];
  requestId: string;
  host: string;
  modelId: string;
  length: number | undefined;
  isChunked: boolean;
}

/** Names are compared by their length first: most headers are none of these. */
function readHeaders(raw: string[]): ReadHeaders {
  const read: ReadHeaders = { headers: raw, requestId: "", host: "localhost", modelId: "", length: undefined, isChunked: false };
  for (let index = 0; index < raw.length; index += 2) {
    const name = raw[index] as string;
    const value = raw[index + 1] as string;
    switch (name.length) {
      case 4:
        if (name.toLowerCase() === "host") read.host = value;
        break;
      case 12:
        if (name.toLowerCase() === "x-request-id" && REQUEST_ID.test(value)) read.requestId = value;
        break;
      case 14:
        if (name.toLowerCase() === "content-length") read.length = Number(value);
        break;
      case 17:
        if (name.toLowerCase() === "transfer-encoding") read.isChunked = true;
        break;
      case MODEL_HEADER.length: {
        const lower = name.toLowerCase();
        if (lower === MODEL_HEADER || lower === MODEL_HEADER_AS_WELL) read.modelId = value;
        break;
      }
    }
  }
  if (read.requestId === "") {
    read.requestId = newRequestId();
    read.headers = [...raw, "x-request-id", read.requestId];
  }
  return read;
}

/** The pieces of a body, up to a size. */
async function* limited(request: IncomingMessage, bytesMax: number, onTooLarge: () => void): AsyncGenerator<Uint8Array, void, undefined> {
  let size = 0;
  for await (const piece of request as AsyncIterable<Buffer>) {
    size += piece.byteLength;
    if (size > bytesMax) {
      onTooLarge();
      return;
    }
    yield piece;
  }
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
