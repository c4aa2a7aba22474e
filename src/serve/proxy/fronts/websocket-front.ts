/**
 * WebSockets in front of an exchange: `ws` does the handshake and the frames, and each message is one frame on the wire.
 *
 * Reads the client's socket while the replica takes messages, and writes as fast as the client reads. The closing code is the replica's own; 1012 if the replica
 * ends by plan; 1001 if this proxy ends; 1011 if the replica died. The handshake is answered once the replica has accepted the socket, so user code can refuse it
 * with an HTTP status. Clients without an answer to a ping are cut off. Messages are never compressed, because a small message could unpack to a large one.
 */
import type { IncomingMessage, Server } from "node:http";
import type { Duplex } from "node:stream";
import type { RawData, WebSocket } from "ws";
import { Fifo } from "../../../core/internal.ts";
import { PING_EVERY_MS, SOCKET_CLOSE_WITHIN_MS, STREAM_WINDOW_BYTES } from "../../limits.ts";
import { errorBody } from "../../replica/http/http-requests.ts";
import type { BodyReceiver } from "../../wire/body-receiver.ts";
import { FRAME, Message, type ResponseHead } from "../../wire/frames.ts";
import type { Exchange, ReplyPort, StreamedBody } from "../exchange.ts";
import type { HttpPorts } from "./client-exchange.ts";
import { type ResolvedHttpOptions, timeoutOf } from "../options/http-options.ts";
import { allowsOrigin } from "../options/allowed-hosts.ts";
import { FOREIGN_HOST, PREFIX_HEADER, readHeaders, readTarget } from "./request-headers.ts";

/** The closing code of a socket that ended without its client's close. */
const ABNORMAL = 1006;

export class WebSocketFront {
  readonly #options: ResolvedHttpOptions;
  readonly #ports: HttpPorts;
  readonly #sockets = new Set<ClientSocket>();
  #isClosed = false;
  #pings: NodeJS.Timeout | undefined;

  constructor(server: Pick<Server, "on">, options: ResolvedHttpOptions, ports: HttpPorts) {
    this.#options = options;
    this.#ports = ports;
    server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      const client = new ClientSocket(request, socket, { head, options: this.#options, ports: this.#ports, isLate: this.#isClosed });
      this.#sockets.add(client);
      client.onOver = () => this.#sockets.delete(client);
      this.#pings ??= setInterval(() => this.#ping(), PING_EVERY_MS).unref();
      client.start();
    });
  }

  get size(): number {
    return this.#sockets.size;
  }

  /** The proxy is to end: clients connect again, to another one. */
  close(): void {
    this.#isClosed = true;
    clearInterval(this.#pings);
    for (const socket of this.#sockets) socket.close(1001, "the proxy ends");
  }

  #ping(): void {
    for (const socket of this.#sockets) socket.ping();
  }
}

/** A client's WebSocket, from the handshake to the close. */
class ClientSocket implements ReplyPort {
  readonly #request: IncomingMessage;
  readonly #raw: Duplex;
  readonly #head: Buffer;
  readonly #options: ResolvedHttpOptions;
  readonly #ports: HttpPorts;
  /** The proxy takes none any more. */
  readonly #isLate: boolean;
  readonly #startMs = performance.now();
  readonly #incoming = new ClientMessages();
  onOver: () => void = () => {};
  #requestId = "";
  #target = "";
  #app = "";
  #route = "";
  #exchange: Exchange | undefined;
  #socket: WebSocket | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isAlive = true;
  #isRetired = false;
  #isOver = false;

  constructor(
    request: IncomingMessage,
    raw: Duplex,
    { head, options, ports, isLate }: { head: Buffer; options: ResolvedHttpOptions; ports: HttpPorts; isLate: boolean },
  ) {
    this.#request = request;
    this.#raw = raw;
    this.#head = head;
    this.#options = options;
    this.#ports = ports;
    this.#isLate = isLate;
  }

  start(): void {
    const request = this.#request;
    this.#raw.on("error", () => this.#raw.destroy());
    this.#raw.on("close", () => this.#gone());
    const read = readHeaders(request.rawHeaders);
    this.#requestId = read.requestId;
    const target = readTarget(request.url ?? "/", read);
    this.#target = target ?? "";
    if (read.mistake !== undefined || target === undefined) return this.refuse(400, { detail: read.mistake ?? "its target is no path" });
    if (!this.#ports.hosts.allows(read.host)) return this.refuse(403, { detail: FOREIGN_HOST });
    if (!allowsOrigin(this.#options.allowedOrigins, request.headers.origin, read.host))
      return this.refuse(403, { detail: "its origin is none that allowedOrigins of httpOptions names" });
    if (request.method !== "GET" || request.headers.upgrade?.toLowerCase() !== "websocket")
      return this.refuse(400, { detail: "only WebSockets can be upgraded to" });
    if (this.#isLate) return this.refuse(503, { detail: "the proxy ends" });
    const routed = this.#ports.route(target);
    if (routed === undefined) return this.refuse(404, { detail: "no application has this path" });
    this.#app = routed.app;
    this.#route = routed.prefix;
    const head = {
      method: "WEBSOCKET",
      url: `${this.#options.tls === undefined ? "http" : "https"}://${read.host}${routed.rest}`,
      requestId: read.requestId,
      // The time is for the handshake alone.
      timeoutMs: 0,
      modelId: read.modelId,
      client: request.socket.remoteAddress ?? "",
      headers: routed.isStripped ? [...read.headers, PREFIX_HEADER, routed.prefix] : read.headers,
    };
    const limitMs = timeoutOf(this.#options.requestTimeoutMs);
    if (limitMs !== undefined) this.#timer = setTimeout(() => this.#late(), limitMs).unref();
    this.#exchange = routed.begin({ kind: FRAME.SOCKET, head, body: this.#incoming, sessionId: read.sessionId }, this);
    this.#exchange.start();
  }

  /** The replica does not take the socket. */
  respond(head: ResponseHead, body: Uint8Array | BodyReceiver): void {
    if (!(body instanceof Uint8Array)) this.#exchange?.cancel("the WebSocket was refused");
    this.#refuseWith(head.status, head.headers, body instanceof Uint8Array ? Buffer.from(body) : Buffer.alloc(0));
  }

  refuse(status: number, { detail, retryAfterMs }: { detail?: string; retryAfterMs?: number | undefined }): void {
    const headers = ["content-type", "application/json"];
    if (retryAfterMs !== undefined) headers.push("retry-after", String(Math.ceil(retryAfterMs / 1000)));
    this.#refuseWith(status, headers, Buffer.from(errorBody(status, this.#requestId, detail)));
  }

  upgrade(head: ResponseHead, messages: BodyReceiver<Message>): void {
    clearTimeout(this.#timer);
    void this.#upgrade(head, messages);
  }

  /** Loads `ws` with the first WebSocket: a proxy starts without it. */
  async #upgrade(head: ResponseHead, messages: BodyReceiver<Message>): Promise<void> {
    const { WebSocketServer } = await import("ws");
    if (this.#isOver) return;
    const { protocol, lines } = handshakeOf(head.headers);
    const server = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      maxPayload: this.#options.maxMessageBytes,
      perMessageDeflate: false,
      handleProtocols: () => protocol ?? false,
    });
    server.on("headers", (headers) => headers.push(...lines, `x-request-id: ${this.#requestId}`));
    server.on("wsClientError", () => this.#raw.destroy());
    // Headers are of one byte a character, as all heads are; `ws` writes frames as bytes, and this head as a text.
    this.#raw.setDefaultEncoding("latin1");
    // Answers requests that are no handshake with 400 by itself.
    server.handleUpgrade(this.#request, this.#raw, this.#head, (socket) => {
      this.#socket = socket;
      this.#read(socket);
      void this.#write(socket, messages);
      if (this.#isRetired) this.retired();
    });
  }

  abort(): void {
    this.close(1011, "the replica failed");
  }

  retired(): void {
    // The handshake may be under way still.
    this.#isRetired = true;
    if (this.#socket !== undefined) this.close(1012, "the service restarts");
  }

  close(code: number, reason: string): void {
    if (this.#socket === undefined) {
      this.refuse(503, { detail: reason });
      return;
    }
    this.#exchange?.cancel(reason);
    this.#end(this.#socket, code, reason);
  }

  ping(): void {
    const socket = this.#socket;
    // While the replica does not take messages the client's answers are not read either.
    if (socket === undefined || socket.isPaused) return;
    if (!this.#isAlive) return socket.terminate();
    this.#isAlive = false;
    socket.ping();
  }

  #read(socket: WebSocket): void {
    const incoming = this.#incoming;
    incoming.onRoom = () => socket.resume();
    socket.on("pong", () => (this.#isAlive = true));
    // A protocol violation, such as a message that is too large: `ws` closes with its code.
    socket.on("error", () => {});
    socket.on("message", (data: RawData, isBinary: boolean) => {
      this.#isAlive = true;
      if (!incoming.push(new Message(data as Buffer, !isBinary))) socket.pause();
    });
    socket.on("close", (code, reason) => {
      if (code === ABNORMAL) this.#exchange?.cancel("the client is gone");
      else incoming.end(code, reason.toString(), () => this.#exchange?.cancel("the client closed its WebSocket"));
    });
  }

  async #write(socket: WebSocket, messages: BodyReceiver<Message>): Promise<void> {
    try {
      for (let message = await messages.next(); message !== undefined; message = await messages.next()) {
        if (socket.readyState !== socket.OPEN) continue;
        const { bytes, isText } = message;
        if (socket.bufferedAmount < STREAM_WINDOW_BYTES) socket.send(bytes, { binary: !isText }, () => {});
        else await new Promise((resolve) => socket.send(bytes, { binary: !isText }, resolve));
      }
      const [code = "1000", reason = ""] = messages.trailers;
      this.#end(socket, Number(code), reason);
    } catch {
      // The replica died, which `abort` has told, or gave up.
      this.#end(socket, 1011, "the replica failed");
    }
  }

  #end(socket: WebSocket, code: number, reason: string): void {
    // The client's answer to the close has to be read.
    socket.resume();
    socket.close(code, reason);
    setTimeout(() => socket.terminate(), SOCKET_CLOSE_WITHIN_MS).unref();
  }

  #late(): void {
    this.#exchange?.cancel("the time for the request is over");
    this.refuse(504, {});
  }

  #refuseWith(status: number, headers: readonly string[], body: Buffer): void {
    clearTimeout(this.#timer);
    if (this.#isOver || this.#raw.destroyed) return;
    const lines = [`HTTP/1.1 ${status} Refused`, "connection: close", `content-length: ${body.length}`, `x-request-id: ${this.#requestId}`];
    for (let index = 0; index < headers.length; index += 2) {
      const name = (headers[index] as string).toLowerCase();
      if (name !== "connection" && name !== "content-length" && name !== "transfer-encoding") lines.push(`${name}: ${headers[index + 1]}`);
    }
    this.#raw.end(Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"), body]));
    this.#over(status);
  }

  /** The connection has ended, however it did. */
  #gone(): void {
    clearTimeout(this.#timer);
    if (this.#socket === undefined) this.#exchange?.cancel("the client is gone");
    this.#over(this.#socket === undefined ? 499 : 101);
  }

  #over(status: number): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.onOver();
    const durationMs = performance.now() - this.#startMs;
    this.#ports.served({
      method: "GET",
      target: this.#target,
      app: this.#app,
      route: this.#route,
      status,
      durationMs,
      requestId: this.#requestId,
    });
  }
}

/** Returns the replica's chosen protocol and the lines of its headers. */
function handshakeOf(headers: readonly string[]): { readonly protocol: string | undefined; readonly lines: readonly string[] } {
  let protocol: string | undefined;
  const lines: string[] = [];
  for (let index = 0; index < headers.length; index += 2) {
    const [name, value] = [headers[index] as string, headers[index + 1] as string];
    if (name === "sec-websocket-protocol") protocol = value;
    else lines.push(`${name}: ${value}`);
  }
  return { protocol, lines };
}

/** Messages of the client that the replica has no room for yet: what lay in one read of the socket, as it is paused then. */
class ClientMessages implements StreamedBody {
  trailers: readonly string[] = [];
  onRoom: () => void = () => {};
  sent: () => void = () => {};
  readonly #waiting = new Fifo<Message>();
  #isEnded = false;
  #wake: (() => void) | undefined;

  /** @returns false where the socket should not be read for a while */
  push(message: Message): boolean {
    this.#waiting.push(message);
    this.#wake?.();
    return this.#waiting.size < 2;
  }

  end(code: number, reason: string, sent: () => void): void {
    this.trailers = [String(code), reason];
    this.sent = sent;
    this.#isEnded = true;
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Message, void, undefined> {
    for (;;) {
      const message = this.#waiting.shift();
      if (message !== undefined) yield message;
      else if (this.#isEnded) return;
      else {
        this.onRoom();
        await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    }
  }
}
