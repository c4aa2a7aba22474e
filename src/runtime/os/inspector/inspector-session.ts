/**
 * A connection to the V8 inspector of a process on this machine.
 *
 * Speaks the Chrome DevTools protocol over a WebSocket. Every answer has a time limit, as the process may end or stand still at any moment.
 * The package `ws` is loaded with the first session, since few daemons ever have one.
 */
import type { WebSocket } from "ws";
import {
  INSPECTOR_ANSWERS_WITHIN_MS,
  INSPECTOR_CLOSES_WITHIN_MS,
  INSPECTOR_MESSAGE_BYTES_MAX,
  INSPECTOR_OPENS_WITHIN_MS,
} from "./limits.ts";

type Fields = Readonly<Record<string, unknown>>;

interface Waiting {
  readonly resolve: (result: Fields) => void;
  readonly reject: (error: Error) => void;
  readonly timer: NodeJS.Timeout;
}

export class InspectorSession implements AsyncDisposable {
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, Waiting>();
  readonly #listeners = new Map<string, (parameters: Fields) => void>();
  readonly #closed: Promise<void>;
  #nextId = 1;

  /** @throws Error where nobody listens at the address */
  static async connect(url: string): Promise<InspectorSession> {
    const { WebSocket: Socket } = await import("ws");
    const socket = new Socket(url, {
      perMessageDeflate: false,
      maxPayload: INSPECTOR_MESSAGE_BYTES_MAX,
      handshakeTimeout: INSPECTOR_OPENS_WITHIN_MS,
    });
    await new Promise<void>((resolve, reject) => socket.once("open", resolve).once("error", reject));
    return new InspectorSession(socket);
  }

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    this.#closed = new Promise((resolve) => {
      socket.on("close", () => {
        for (const { reject, timer } of this.#waiting.values()) {
          clearTimeout(timer);
          reject(new Error("the process closed its inspector, or ended"));
        }
        this.#waiting.clear();
        resolve();
      });
    });
    socket.on("error", () => socket.terminate());
    socket.on("message", (data) => this.#received((data as Buffer).toString("utf8")));
  }

  /** @throws Error when V8 refuses, or does not answer in time */
  async call(method: string, parameters: Fields = {}, timeoutMs: number = INSPECTOR_ANSWERS_WITHIN_MS): Promise<Fields> {
    const id = this.#nextId;
    this.#nextId += 1;
    return await new Promise((resolve, reject) => {
      const expire = (): void => {
        this.#waiting.delete(id);
        reject(new Error(`the process did not answer within ${timeoutMs} ms`));
      };
      if (this.#socket.readyState !== this.#socket.OPEN) return reject(new Error("the process closed its inspector, or ended"));
      this.#waiting.set(id, { resolve, reject, timer: setTimeout(expire, timeoutMs) });
      this.#socket.send(JSON.stringify({ id, method, params: parameters }));
    });
  }

  /** Calls back for each event of that name. */
  on(event: string, listener: (parameters: Fields) => void): void {
    this.#listeners.set(event, listener);
  }

  /** Stops reading while a result is written. */
  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  /** Closes the inspector of the process itself and thus all its connections. */
  async closeInspector(): Promise<void> {
    // The answer never comes: the process drops its connections first.
    this.call("Runtime.evaluate", { expression: "process._debugEnd()" }, INSPECTOR_CLOSES_WITHIN_MS).catch(() => {});
    await this.#closedInTime();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#socket.close();
    await this.#closedInTime();
  }

  async #closedInTime(): Promise<void> {
    const timer = setTimeout(() => this.#socket.terminate(), INSPECTOR_CLOSES_WITHIN_MS);
    await this.#closed;
    clearTimeout(timer);
  }

  #received(text: string): void {
    const message = JSON.parse(text) as { id?: number; method?: string; params?: Fields; result?: Fields; error?: { message?: string } };
    if (message.id === undefined) {
      this.#listeners.get(message.method ?? "")?.(message.params ?? {});
      return;
    }
    const waiting = this.#waiting.get(message.id);
    if (waiting === undefined) return;
    this.#waiting.delete(message.id);
    clearTimeout(waiting.timer);
    if (message.error === undefined) waiting.resolve(message.result ?? {});
    else waiting.reject(new Error(`V8 refuses: ${message.error.message ?? "without a reason"}`));
  }
}
