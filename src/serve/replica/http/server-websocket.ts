/**
 * The WebSocket that `websocket(socket, request)` of an ingress gets: the events and methods of the web's `WebSocket`, and messages as an async iterable.
 *
 * Owns the order of sent messages, and the end: the side that closes first decides the code. The first use (a listener, an iteration, `send`, `accept`) answers the
 * client's handshake; until then user code can refuse it by throwing. Messages are taken from the wire one by one, so a slow handler holds up its client.
 */
import { custom, describeValue, isThenable, readOptions } from "../../../core/internal.ts";
import { SOCKET_BUFFER_BYTES_MAX } from "../../limits.ts";
import { Message } from "../../wire/frames.ts";
import type { ServedStream } from "../../wire/request-server.ts";
import { flatHeaders } from "./lazy-response.ts";

/** Content of a message: text, or bytes. */
export type WebSocketMessage = string | Uint8Array;

/** The event `close`. */
export class SocketCloseEvent extends Event {
  readonly code: number;
  readonly reason: string;
  /** The end was agreed on. */
  readonly wasClean: boolean;

  constructor(code: number, reason: string) {
    super("close");
    this.code = code;
    this.reason = reason;
    this.wasClean = code !== 1006;
  }
}

/** The event `message`. */
export interface SocketMessageEvent extends Event {
  readonly data: WebSocketMessage;
}

interface SocketEvents {
  message: SocketMessageEvent;
  close: SocketCloseEvent;
  error: Event & { readonly error?: unknown };
}

interface SocketPorts {
  readonly stream: ServedStream;
  /** Answers the client's handshake. @param headers names and values in turn */
  accepted(protocol: string, headers: readonly string[]): void;
  /** Runs a listener as part of the request. */
  run(body: () => void): void;
  /** Protocols that the client offers. */
  readonly protocols: readonly string[];
}

/** Options of `accept`. */
export interface SocketAcceptOptions {
  /** Headers of the answer to the handshake, such as cookies. Those of the handshake itself are not among them. */
  headers?: ConstructorParameters<typeof Headers>[0];
}

const ACCEPT = {
  of: "accept()",
  options: {
    headers: custom<SocketAcceptOptions["headers"]>(
      "names and values of headers are needed, as for new Headers(), without those of the handshake itself (connection, upgrade, sec-websocket-*)",
      undefined,
      (value) => headersVerdict(value as SocketAcceptOptions["headers"]),
    ),
  },
};
/** Headers that belong to the handshake and to its connection. */
const OWN_HEADER = /^(?:connection|upgrade|sec-websocket-.*|content-length|transfer-encoding|keep-alive|trailer)$/u;

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const REASON_BYTES_MAX = 123;

export class ServerWebSocket extends EventTarget implements AsyncIterable<WebSocketMessage> {
  static readonly CONNECTING = 0;
  static readonly OPEN = 1;
  static readonly CLOSING = 2;
  static readonly CLOSED = 3;
  onmessage: ((event: SocketMessageEvent) => void) | null = null;
  onclose: ((event: SocketCloseEvent) => void) | null = null;
  onerror: ((event: Event) => void) | null = null;
  readonly #ports: SocketPorts;
  #protocol = "";
  #state = 0;
  #bufferedBytes = 0;
  #sending: Promise<unknown> | undefined;
  #hasListener = false;
  #isDispatching = false;
  #onClosed: (() => void)[] = [];

  /** @internal made by the replica */
  constructor(ports: SocketPorts) {
    super();
    this.#ports = ports;
  }

  /** 0 until the handshake is answered, 1 while open, 2 while it closes, 3 at the end. */
  get readyState(): number {
    return this.#state === 1 && this.#ports.stream.cancelled !== undefined ? 2 : this.#state;
  }

  /** The protocol that `accept` chose. */
  get protocol(): string {
    return this.#protocol;
  }

  /** Bytes that were sent and that the client has no room for yet. */
  get bufferedAmount(): number {
    return this.#bufferedBytes;
  }

  /** @internal how the client has closed it; 1006 where it is gone without a word */
  get closeOfClient(): readonly [code: number, reason: string] {
    const [code = "1006", reason = ""] = this.#ports.stream.messages?.trailers ?? [];
    return [Number(code), reason];
  }

  /** @internal whether the end of the user's method is not the end of the socket */
  get isHeardByListeners(): boolean {
    return this.#hasListener || this.onmessage !== null || this.onclose !== null;
  }

  /**
   * Answers the client's handshake now, with one of the protocols that it offered.
   *
   * @throws RangeError for a protocol that it did not offer, and for headers of the handshake itself; TypeError for invalid headers
   */
  accept(protocol = "", options: SocketAcceptOptions = {}): void {
    const { headers } = readOptions(options, ACCEPT);
    if (protocol !== "" && !this.#ports.protocols.includes(protocol))
      throw new RangeError(
        `Cannot accept a WebSocket: the client offers ${this.#ports.protocols.join(", ") || "no protocol"}: received ${describeValue(protocol)}`,
      );
    if (this.#state !== 0) return;
    this.#state = 1;
    this.#protocol = protocol;
    this.#ports.accepted(protocol, headers === undefined ? [] : flatHeaders(new Headers(headers)));
  }

  /**
   * Sends a message. Does nothing if the socket is closed.
   *
   * @returns resolves once there is room for the next message; await it when you send many
   * @throws TypeError for anything but text and bytes; RangeError if the client is too far behind
   */
  send(data: WebSocketMessage | ArrayBuffer): Promise<void> {
    const isText = typeof data === "string";
    if (!isText && !(data instanceof Uint8Array) && !(data instanceof ArrayBuffer))
      throw new TypeError(`Cannot send a message: text or bytes are needed: received ${describeValue(data)}`);
    this.accept();
    // A turn later: a program that sends in a loop must not keep the news of the end from itself.
    if (this.readyState !== 1) return new Promise((resolve) => setImmediate(resolve));
    // A copy, so that later changes by the sender do not alter a waiting message.
    const bytes = isText ? encoder.encode(data) : new Uint8Array(data instanceof ArrayBuffer ? data : Uint8Array.from(data));
    if (this.#bufferedBytes + bytes.byteLength > SOCKET_BUFFER_BYTES_MAX)
      throw new RangeError(
        `Cannot send a message: the client has not taken ${this.#bufferedBytes} bytes yet; await send() to wait for it: received ${bytes.byteLength} bytes`,
      );
    return this.#write(new Message(bytes, isText));
  }

  /**
   * Closes the socket after all sent messages.
   *
   * @param code 1000, or 3000 to 4999
   * @throws RangeError for another code, or a reason of more than 123 bytes
   */
  close(code = 1000, reason = ""): void {
    if (!(code === 1000 || (Number.isInteger(code) && code >= 3000 && code <= 4999)))
      throw new RangeError(`Cannot close a WebSocket: the code is 1000 or from 3000 to 4999: received ${describeValue(code)}`);
    if (encoder.encode(reason).byteLength > REASON_BYTES_MAX)
      throw new RangeError(`Cannot close a WebSocket: the reason has at most ${REASON_BYTES_MAX} bytes: received ${describeValue(reason)}`);
    this.end(code, reason);
  }

  /** @internal with any code */
  end(code: number, reason: string): void {
    this.accept();
    if (this.#state !== 1) return;
    this.#state = 2;
    const finish = (): void => {
      this.#ports.stream.end([String(code), reason]);
      this.closed(code, reason);
    };
    if (this.#sending === undefined) finish();
    else this.#sending.then(finish, finish);
  }

  /** @internal nothing more comes */
  closed(code: number, reason: string): void {
    if (this.#state === 3) return;
    this.#state = 3;
    // A loop that waits for a message comes to its end.
    this.#ports.stream.messages?.ended([String(code), reason]);
    for (const resolve of this.#onClosed.splice(0)) resolve();
    this.#dispatch(new SocketCloseEvent(code, reason));
  }

  /** @internal resolves at the end */
  whenClosed(): Promise<void> {
    return this.#state === 3 ? Promise.resolve() : new Promise((resolve) => this.#onClosed.push(resolve));
  }

  /** @internal messages go to listeners from now on, where there are any */
  listen(): void {
    if (this.#isDispatching || (!this.#hasListener && this.onmessage === null)) return;
    this.#isDispatching = true;
    this.accept();
    void (async () => {
      for (let data = await this.#next(); data !== undefined; data = await this.#next())
        this.#dispatch(new MessageEvent("message", { data }));
    })();
  }

  /** An error that a listener throws, or its promise rejects with, is the event `error`, as with `onmessage`. */
  override addEventListener<K extends keyof SocketEvents>(
    type: K,
    listener: (event: SocketEvents[K]) => unknown,
    options?: Parameters<EventTarget["addEventListener"]>[2],
  ): void {
    super.addEventListener(type, guardedListener(listener as Listener), options);
    if (type !== "message" && type !== "close") return;
    this.#hasListener = true;
    this.accept();
    // Listeners that are added in the same turn hear the first message, too.
    if (type === "message") queueMicrotask(() => this.listen());
  }

  override removeEventListener<K extends keyof SocketEvents>(
    type: K,
    listener: (event: SocketEvents[K]) => unknown,
    options?: Parameters<EventTarget["removeEventListener"]>[2],
  ): void {
    super.removeEventListener(type, guardedListener(listener as Listener), options);
  }

  /** Messages as they come, until the socket is closed by either side. Leaving the loop does not close it. */
  [Symbol.asyncIterator](): AsyncIterator<WebSocketMessage, undefined, undefined> {
    if (this.#isDispatching) throw new TypeError("Cannot iterate over a WebSocket: its messages go to listeners");
    this.accept();
    return {
      next: async () => {
        const value = await this.#next();
        return value === undefined ? { done: true, value: undefined } : { done: false, value };
      },
    };
  }

  async #next(): Promise<WebSocketMessage | undefined> {
    const { messages } = this.#ports.stream;
    if (messages === undefined || this.#state === 2) return undefined;
    try {
      const message = await messages.next();
      if (message !== undefined) return message.isText ? decoder.decode(message.bytes) : message.bytes;
      const [code = "1005", reason = ""] = messages.trailers;
      this.closed(Number(code), reason);
    } catch {
      // The client is gone: for a loop over its messages that is the end.
      this.closed(1006, "");
    }
    return undefined;
  }

  async #write(message: Message): Promise<void> {
    const { stream } = this.#ports;
    const before = this.#sending;
    if (before === undefined) {
      const sent = stream.writeMessage(message);
      if (typeof sent === "boolean") return;
      await this.#waitFor(message, sent);
    } else
      await this.#waitFor(
        message,
        before.then(() => stream.writeMessage(message)),
      );
  }

  async #waitFor(message: Message, sent: Promise<unknown>): Promise<void> {
    this.#bufferedBytes += message.byteLength;
    this.#sending = sent;
    await sent;
    this.#bufferedBytes -= message.byteLength;
    if (this.#sending === sent) this.#sending = undefined;
  }

  #dispatch(event: Event): void {
    this.#ports.run(() => {
      const handler = event.type === "message" ? this.onmessage : event.type === "close" ? this.onclose : null;
      this.dispatchEvent(event);
      if (handler !== null) guarded(this, event, handler as (event: Event) => unknown);
    });
  }
}

/** A function, or an object with `handleEvent`. */
type Listener = ((event: Event) => unknown) | { handleEvent(event: Event): unknown };

/** The guard of each listener, so that it can be removed, and is added once. */
const guardedListeners = new WeakMap<object, (this: ServerWebSocket, event: Event) => void>();

/** Guards a listener: Node ends the process when one throws, so a single client's message would end all other requests. */
function guardedListener(listener: Listener | null | undefined): (event: Event) => void {
  // The web takes it for none, and so does the class of Node.
  if (listener === null || listener === undefined) return listener as never;
  const known = guardedListeners.get(listener);
  if (known !== undefined) return known;
  const made = function (this: ServerWebSocket, event: Event): void {
    guarded(this, event, typeof listener === "function" ? listener : (given) => listener.handleEvent(given));
  };
  guardedListeners.set(listener, made);
  return made;
}

function guarded(socket: ServerWebSocket, event: Event, handler: (event: Event) => unknown): void {
  const failed = (error: unknown): void => reportError(socket, event, error);
  try {
    const returned = handler.call(socket, event);
    if (isThenable(returned)) returned.then(undefined, failed);
  } catch (error) {
    failed(error);
  }
}

function headersVerdict(given: SocketAcceptOptions["headers"]): "ok" | "wrong type" | "out of range" {
  try {
    return [...new Headers(given).keys()].some((name) => OWN_HEADER.test(name)) ? "out of range" : "ok";
  } catch {
    return "wrong type";
  }
}

/** Dispatches a handler's exception as the event `error` and logs it, because no caller receives it. That of a handler of `error` itself is logged alone. */
function reportError(socket: ServerWebSocket, event: Event, error: unknown): void {
  console.error("A handler of a WebSocket failed:", error);
  if (event.type === "error") return;
  const told = Object.assign(new Event("error"), { error });
  socket.dispatchEvent(told);
  const { onerror } = socket;
  if (onerror !== null) guarded(socket, told, onerror);
}
