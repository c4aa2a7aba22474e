/**
 * HTTP/2 in front of an exchange: the connections that chose it in the handshake of TLS, and their streams.
 *
 * Bounds a connection: simultaneous streams (as many as pipelined requests of HTTP/1.1), size of a head, settings, pings, streams that the client resets at once
 * ("rapid reset"), and the idle time before its close. `node:http2` itself refuses breaches of the protocol (heads, lengths, frames, floods of settings and
 * pings). Owns the sessions; a stream is an exchange like a request of HTTP/1.1.
 */
import {
  constants,
  createServer,
  type Http2Server,
  type OutgoingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { Server } from "node:http";
import type { TLSSocket } from "node:tls";
import type { ResponseHead } from "../../wire/frames.ts";
import { BROKEN_STREAMS_MAX, HTTP2_SETTINGS_MAX, PIPELINED_MAX, STREAM_WINDOW_BYTES } from "../../limits.ts";
import { ClientExchange, type HttpPorts } from "./client-exchange.ts";
import type { ResolvedHttpOptions } from "../options/http-options.ts";
import { type Http2Head, readHeaders, readHttp2Head } from "./request-headers.ts";

/** Headers that belong to a connection of HTTP/1.1 and are no part of an answer (RFC 9113, 8.2.2). */
const OF_CONNECTIONS: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "transfer-encoding",
  "upgrade",
  "http2-settings",
]);

export class Http2Front {
  /** Called for each stream. */
  onRequest: () => void = () => {};
  readonly #options: ResolvedHttpOptions;
  readonly #ports: HttpPorts;
  readonly #sessions = new Set<ClientSession>();
  readonly #sweep: NodeJS.Timeout;

  /** @param server of `node:https`; its connections that speak HTTP/1.1 stay its own */
  constructor(server: Server, options: ResolvedHttpOptions, ports: HttpPorts) {
    this.#options = options;
    this.#ports = ports;
    const http2 = createHttp2Server(options);
    http2.on("session", (session) => this.#opened(session));
    const [serveHttp1] = server.listeners("secureConnection");
    server.removeAllListeners("secureConnection");
    server.on("secureConnection", (socket: TLSSocket) => {
      if (socket.alpnProtocol === "h2") http2.emit("connection", socket);
      else serveHttp1?.call(server, socket);
    });
    const everyMs = Math.min(5_000, Math.max(100, options.keepAliveTimeoutMs / 4));
    this.#sweep = setInterval(() => this.#closeIdle(performance.now() - options.keepAliveTimeoutMs), everyMs).unref();
    server.on("close", () => clearInterval(this.#sweep));
  }

  /** The proxy is to end: clients hear that no further stream is taken, and open ones are finished. */
  close(): void {
    for (const { session } of this.#sessions) session.close();
  }

  #opened(session: ServerHttp2Session): void {
    const client = new ClientSession(session);
    this.#sessions.add(client);
    session.on("close", () => this.#sessions.delete(client));
    // A protocol violation, or a connection that broke: the session has ended, and its streams with it.
    session.on("error", () => {});
    session.on("stream", (stream, _headers, _flags, raw: unknown) => {
      this.onRequest();
      client.opened();
      const { maxRequestsPerConnection } = this.#options;
      if (maxRequestsPerConnection > 0 && client.requestCount >= maxRequestsPerConnection) session.close();
      new Http2Exchange(stream, readHttp2Head(raw as string[]), { options: this.#options, ports: this.#ports, client }).start();
    });
  }

  #closeIdle(beforeMs: number): void {
    for (const client of this.#sessions) if (client.streamCount === 0 && client.idleSinceMs < beforeMs) client.session.close();
  }
}

function createHttp2Server({ maxHeaderBytes }: ResolvedHttpOptions): Http2Server {
  return createServer({
    settings: {
      enablePush: false,
      maxConcurrentStreams: PIPELINED_MAX,
      maxHeaderListSize: maxHeaderBytes,
      initialWindowSize: STREAM_WINDOW_BYTES,
    },
    maxSettings: HTTP2_SETTINGS_MAX,
    maxOutstandingPings: HTTP2_SETTINGS_MAX,
    maxSessionInvalidFrames: PIPELINED_MAX,
    maxSessionRejectedStreams: PIPELINED_MAX,
  });
}

/** A client's connection. */
class ClientSession {
  readonly session: ServerHttp2Session;
  requestCount = 0;
  streamCount = 0;
  idleSinceMs = performance.now();
  #brokenCount = 0;

  constructor(session: ServerHttp2Session) {
    this.session = session;
  }

  opened(): void {
    this.requestCount += 1;
    this.streamCount += 1;
  }

  /** @param isBroken the client did not wait for the answer */
  closed(isBroken: boolean): void {
    this.streamCount -= 1;
    if (this.streamCount === 0) this.idleSinceMs = performance.now();
    this.#brokenCount = Math.max(0, this.#brokenCount + (isBroken ? 1 : -1));
    if (this.#brokenCount <= BROKEN_STREAMS_MAX || this.session.destroyed) return;
    // Destroyed with an error, the session would close its socket before the client hears of the reason.
    this.session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    this.session.destroy();
  }
}

class Http2Exchange extends ClientExchange {
  protected readonly source: ServerHttp2Stream;
  protected readonly sink: ServerHttp2Stream;
  readonly #head: Http2Head;
  readonly #client: ClientSession;
  readonly #isEmpty: boolean;
  #trailers: readonly string[] = [];

  constructor(
    stream: ServerHttp2Stream,
    head: Http2Head,
    { options, ports, client }: { options: ResolvedHttpOptions; ports: HttpPorts; client: ClientSession },
  ) {
    super(options, ports);
    this.source = stream;
    this.sink = stream;
    this.#head = head;
    this.#client = client;
    this.#isEmpty = stream.endAfterHeaders;
  }

  start(): void {
    const { sink } = this;
    const { method, target, headers, mistake } = this.#head;
    // An error is followed by `close`, which handles it.
    sink.on("error", () => {});
    sink.on("close", () => {
      this.#client.closed(!this.isDelivered);
      this.closed();
    });
    sink.on("wantTrailers", () => sink.sendTrailers(headersOf(this.#trailers)));
    const read = readHeaders(headers);
    read.mistake ??= mistake;
    read.isChunked = !this.#isEmpty && read.length === undefined;
    this.begin({ method, target, read, client: sink.session?.socket?.remoteAddress ?? "", isCrowded: false });
  }

  get connection(): unknown {
    return this.#client;
  }

  protected get isRead(): boolean {
    return this.#isEmpty || this.source.readableEnded;
  }

  /** Node ends a stream that its client has reset, which looks as if its answer had gone out. */
  protected get isDelivered(): boolean {
    return this.sink.writableFinished && this.sink.rstCode === constants.NGHTTP2_NO_ERROR;
  }

  protected get isWhole(): boolean {
    return !this.source.aborted && this.source.rstCode === constants.NGHTTP2_NO_ERROR;
  }

  protected writeHead({ status }: ResponseHead, headers: string[]): void {
    this.sink.respond({ ...headersOf(headers), ":status": status }, { waitForTrailers: true });
  }

  protected writeContinue(): void {
    if (this.#head.expectsContinue && !this.sink.headersSent) this.sink.additionalHeaders({ ":status": 100 });
  }

  /** `respond` has sent it. */
  protected flushHead(): void {}

  protected end(trailers: readonly string[]): void {
    this.#trailers = trailers;
    this.sink.end();
  }

  protected endRefusal(status: number, headers: string[], body: string): void {
    const { sink } = this;
    sink.respond({ ...headersOf(headers), ":status": status });
    if (this.method === "HEAD") return;
    // The answer is complete. Later bytes of the client are unwanted, but no error.
    sink.end(body, () => {
      if (this.isRead) return;
      sink.close(constants.NGHTTP2_NO_ERROR);
      // A stream with unread bytes is never over, and keeps its connection from being read.
      sink.resume();
    });
  }

  protected breakOff(): void {
    this.sink.close(constants.NGHTTP2_INTERNAL_ERROR);
  }

  readonly isQueued = false;
}

/** Repeated headers are lists. */
function headersOf(flat: readonly string[]): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = {};
  for (let index = 0; index < flat.length; index += 2) {
    const name = (flat[index] as string).toLowerCase();
    const value = flat[index + 1] as string;
    if (OF_CONNECTIONS.has(name)) continue;
    const known = headers[name];
    headers[name] = known === undefined ? value : Array.isArray(known) ? [...known, value] : [known as string, value];
  }
  return headers;
}
