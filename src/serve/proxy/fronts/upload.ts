/**
 * The body of a request that streams to a replica: bounds its size, and lets `slow-clients.ts` judge the client while the proxy waits for it.
 *
 * Owns nothing but its place among the transfers. The time that a replica takes for a piece is no pause of the client. Read once, after the replica has begun.
 */
import type { Readable } from "node:stream";
import type { SlowClients, Transfer, TransferLimits } from "./slow-clients.ts";

interface UploadOptions {
  readonly app: string;
  readonly connection: unknown;
  readonly limits: TransferLimits;
  readonly maxBodyBytes: number;
  /** Whether the body ended where it should. */
  readonly isWhole: () => boolean;
  /** The client is too slow (408), or sends too much (413). */
  readonly refuse: (status: 408 | 413) => void;
}

export class Upload implements Transfer, AsyncIterable<Uint8Array> {
  readonly limits: TransferLimits;
  readonly app: string;
  readonly connection: unknown;
  readonly holdsPlace = true;
  readonly isQueued = false;
  readonly heldBytes = 0;
  readonly #source: Readable;
  readonly #clients: SlowClients;
  readonly #options: UploadOptions;
  #size = 0;
  #isAwaited = false;

  constructor(source: Readable, clients: SlowClients, options: UploadOptions) {
    this.#source = source;
    this.#clients = clients;
    this.#options = options;
    ({ limits: this.limits, app: this.app, connection: this.connection } = options);
  }

  get movedBytes(): number {
    return this.#size;
  }

  get owedBytes(): number {
    return this.#isAwaited ? Number.POSITIVE_INFINITY : 0;
  }

  cutOff(): void {
    this.#options.refuse(408);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, undefined> {
    const { maxBodyBytes, isWhole, refuse } = this.#options;
    this.#clients.begin(this);
    this.#isAwaited = true;
    try {
      // The connection is not cut off where nobody wants the rest: the answer goes out by it.
      for await (const piece of this.#source.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
        this.#size += piece.byteLength;
        if (this.#size > maxBodyBytes) return refuse(413);
        this.#isAwaited = false;
        yield piece;
        this.#isAwaited = true;
      }
      if (!isWhole()) throw new Error("the client broke off its body");
    } finally {
      this.#isAwaited = false;
      this.#clients.end(this);
    }
  }
}
