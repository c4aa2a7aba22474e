/**
 * A connection of a client: says hello, sends requests, and pairs answers with them.
 *
 * Each request fails when the connection is lost, when the server refuses the client, or when no answer comes in time.
 * The first failure ends the connection, and all later requests fail with the same error.
 */
import { FRAME_BYTES_MAX } from "../link/limits.ts";
import { decodeFrame, encodeFrame, type LinkMessage } from "../link/frames.ts";
import { LINK_VERSION, type LinkConfig, type Request } from "../link/messages.ts";
import { LinkClosedError, LinkRefusedError } from "./client-errors.ts";
import { openTransport, type Transport } from "./transports.ts";

interface ConnectionOptions {
  readonly token: string | undefined;
  readonly timeoutMs: number;
}

interface Pending {
  readonly resolve: (answer: LinkMessage) => void;
  readonly reject: (error: Error) => void;
  readonly timer: ReturnType<typeof setTimeout>;
}

type Content = Partial<Pick<LinkMessage, "fields" | "arrays">>;

export class LinkConnection {
  readonly #options: ConnectionOptions;
  readonly #pending = new Map<number, Pending>();
  #transport: Transport | undefined;
  #error: Error | undefined;
  #id = 0;
  #maxBytes = FRAME_BYTES_MAX;

  constructor(options: ConnectionOptions) {
    this.#options = options;
  }

  /** Connects and says hello. @throws LinkClosedError, LinkRefusedError */
  static async open(url: string, options: ConnectionOptions): Promise<LinkConnection> {
    const connection = new LinkConnection(options);
    const events = { onFrame: (frame: Uint8Array) => connection.#take(frame), onClose: (error: Error) => connection.#fail(error) };
    connection.#transport = await openTransport(url, events, () => connection.#maxBytes);
    const { token } = options;
    await connection.ask("HELLO", { fields: { version: LINK_VERSION, ...(token === undefined ? {} : { token }) } });
    return connection;
  }

  /** Why the connection is over; `undefined` while it is not. */
  get error(): Error | undefined {
    return this.#error;
  }

  /** The spaces, and the network where the client has it. */
  async config(): Promise<LinkConfig> {
    const { fields } = await this.ask("GET_CONFIG");
    const config = fields as unknown as LinkConfig;
    this.#maxBytes = Math.max(this.#maxBytes, config.maxFrameBytes);
    return config;
  }

  /** Sends a request. @returns its answer */
  async ask(type: Request, { fields = {}, arrays }: Content = {}): Promise<LinkMessage> {
    if (this.#error !== undefined) throw this.#error;
    this.#id += 1;
    const id = this.#id;
    const frame = encodeFrame({ type, id, fields, ...(arrays === undefined ? {} : { arrays }) });
    return await new Promise<LinkMessage>((resolve, reject) => {
      const timer = setTimeout(
        () => this.#fail(new LinkClosedError(`No answer to ${type} came within ${this.#options.timeoutMs} ms`)),
        this.#options.timeoutMs,
      );
      this.#pending.set(id, { resolve, reject, timer });
      this.#transport?.send(frame);
    });
  }

  #take(frame: Uint8Array): void {
    let message: LinkMessage;
    try {
      message = decodeFrame(frame);
    } catch (error) {
      return this.#fail(new LinkClosedError(`The answer of the algorithm is no frame: ${(error as Error).message}`));
    }
    const { type, id, fields } = message;
    if (type === "ERROR") return this.#fail(new LinkRefusedError(String(fields["code"]), String(fields["message"])));
    const pending = this.#pending.get(id);
    if (pending === undefined) return;
    this.#pending.delete(id);
    clearTimeout(pending.timer);
    pending.resolve(message);
  }

  #fail(error: Error): void {
    if (this.#error !== undefined) return;
    this.#error = error;
    this.#transport?.close();
    for (const { reject, timer } of this.#pending.values()) {
      clearTimeout(timer);
      reject(error);
    }
    this.#pending.clear();
  }

  close(): void {
    this.#fail(new LinkClosedError("The connection was closed by its client"));
  }
}
