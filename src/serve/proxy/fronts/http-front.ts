/**
 * HTTP/1.1 in front of an exchange, and the server that clients connect to: `node:http`, or `node:https`, which hands the connections that speak HTTP/2 to `http2-front.ts`.
 *
 * Clients may be hostile. `node:http` refuses malformed HTTP (two lengths, chunks without a size, endless headers, null bytes) with 400, 408 or 431 and closes.
 * This file bounds the rest of a connection: pauses and pipelined requests. A refused body is read and dropped for a moment, or the client would not see the
 * refusal.
 */
import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { Socket } from "node:net";
import type { SecureContextOptions } from "node:tls";
import type { ResponseHead } from "../../wire/frames.ts";
import { LINGER_MS, PIPELINED_MAX } from "../../limits.ts";
import { ClientExchange, type HttpPorts } from "./client-exchange.ts";
import { Http2Front } from "./http2-front.ts";
import type { ResolvedHttpOptions } from "../options/http-options.ts";
import { connectionsAllowed, openFilesMax } from "../open-files.ts";
import { readHeaders } from "./request-headers.ts";
import { watchTlsFiles } from "../options/tls-options.ts";

/** Requests that a connection has brought and that are not answered yet. */
const openRequests = Symbol("open requests");
type CountingSocket = Socket & { [openRequests]?: number };

export interface HttpFront {
  readonly server: Server;
  /** Absent without TLS: browsers speak HTTP/2 over TLS alone. */
  readonly http2: Http2Front | undefined;
}

/** @param tls the certificate and its key; undefined for plain HTTP */
export function createHttpFront(options: ResolvedHttpOptions, ports: HttpPorts, tls: SecureContextOptions | undefined): HttpFront {
  const settings: ServerOptions = {
    keepAliveTimeout: options.keepAliveTimeoutMs,
    headersTimeout: options.headersTimeoutMs,
    requestTimeout: 0,
    maxHeaderSize: options.maxHeaderBytes,
    // A connection whose head stays incomplete is closed at most one interval after `headersTimeout`.
    connectionsCheckingInterval: Math.min(5_000, Math.max(100, options.headersTimeoutMs / 4)),
    // Other upgrades, such as h2c, may be ignored: the request itself is answered. Before Node 24.9 they are refused.
    shouldUpgradeCallback: (request: IncomingMessage) => request.headers.upgrade?.toLowerCase() === "websocket",
    // Most requests have no body, and need no stream for one. Before Node 24.12 there is no such option.
    optimizeEmptyRequests: true,
  };
  const server = tls === undefined ? createServer(settings) : secureServer(settings, tls, options);
  const { count, warning } = connectionsAllowed(options.maxConnections, openFilesMax());
  if (warning !== undefined) console.warn(warning);
  server.maxConnections = count;
  server.maxRequestsPerSocket = options.maxRequestsPerConnection;
  server.on("request", (request, response) => new Http1Exchange(request, response, { options, ports }).start());
  // The client sends its body once it is told to: not before the request is known to be taken.
  server.on("checkContinue", (request, response) => server.emit("request", request, response));
  return { server, http2: tls === undefined ? undefined : new Http2Front(server, options, ports) };
}

function secureServer(settings: ServerOptions, context: SecureContextOptions, { headersTimeoutMs, tls }: ResolvedHttpOptions): Server {
  const server = createSecureServer({
    ...settings,
    ...context,
    ALPNProtocols: ["h2", "http/1.1"],
    handshakeTimeout: headersTimeoutMs,
    requestCert: tls?.ca !== undefined,
  });
  if (tls !== undefined)
    server.on(
      "close",
      watchTlsFiles(tls, "httpOptions", (renewed) => server.setSecureContext(renewed)),
    );
  return server;
}

class Http1Exchange extends ClientExchange {
  protected readonly source: IncomingMessage;
  protected readonly sink: ServerResponse;
  #hasBody = false;

  constructor(request: IncomingMessage, response: ServerResponse, { options, ports }: { options: ResolvedHttpOptions; ports: HttpPorts }) {
    super(options, ports);
    this.source = request;
    this.sink = response;
  }

  start(): void {
    const { method = "GET", url = "/", rawHeaders, socket } = this.source;
    const read = readHeaders(rawHeaders);
    this.#hasBody = read.isChunked || (read.length ?? 0) > 0;
    const counting = socket as CountingSocket;
    const open = (counting[openRequests] ?? 0) + 1;
    counting[openRequests] = open;
    this.sink.on("close", () => {
      counting[openRequests] = (counting[openRequests] ?? 1) - 1;
      this.closed();
    });
    this.begin({ method, target: url, read, client: socket.remoteAddress ?? "", isCrowded: open > PIPELINED_MAX });
  }

  get connection(): unknown {
    return this.source.socket;
  }

  protected get isRead(): boolean {
    return !this.#hasBody || this.source.complete;
  }

  protected get isDelivered(): boolean {
    return this.sink.writableFinished;
  }

  protected get isWhole(): boolean {
    return this.source.complete;
  }

  protected writeHead({ status, statusText }: ResponseHead, headers: string[]): void {
    // The rest of a body that nobody has read would be taken for the next request's.
    if (this.ports.isDraining() || !this.isRead) headers.push("connection", "close");
    if (statusText === "") this.sink.writeHead(status, headers);
    else this.sink.writeHead(status, statusText, headers);
  }

  protected writeContinue(): void {
    if (this.source.headers.expect !== undefined && !this.sink.headersSent) this.sink.writeContinue();
  }

  protected flushHead(): void {
    this.sink.flushHeaders();
  }

  protected end(trailers: readonly string[]): void {
    if (trailers.length > 0) this.sink.addTrailers(pairs(trailers));
    if (this.isRead) this.sink.end();
    else this.#linger("");
  }

  protected endRefusal(status: number, headers: string[], body: string): void {
    const { isRead } = this;
    if (!isRead || status === 400 || status === 429) headers.push("connection", "close");
    this.sink.writeHead(status, headers);
    if (isRead) this.sink.end(body);
    else this.#linger(body);
  }

  protected breakOff(): void {
    this.sink.destroy();
  }

  /** A pipelined answer has the socket only once those before it have gone out. */
  get isQueued(): boolean {
    return this.sink.socket === null;
  }

  /** Ends the connection once the client has had time to read the answer: a close while bytes arrive would lose the answer. */
  #linger(body: string): void {
    const { sink, source } = this;
    const end = (): void => {
      clearTimeout(timer);
      sink.end();
    };
    const timer = setTimeout(end, LINGER_MS).unref();
    if (body !== "") sink.write(body);
    // The upload to the replica may still read the body: `resume` has no effect then, a listener has.
    source
      .on("data", () => {})
      .on("end", end)
      .on("close", end);
  }
}

function pairs(flat: readonly string[]): [string, string][] {
  const found: [string, string][] = [];
  for (let index = 0; index < flat.length; index += 2) found.push([flat[index] as string, flat[index + 1] as string]);
  return found;
}
