/**
 * A transport to a process that is still starting: keeps the bytes written meanwhile and sends them first.
 *
 * With it `put`, submissions and actor creations work from the first line of a program. The node daemon needs some 50 ms to come up, and
 * both ends of a connection first prove themselves (`runtime/rpc/handshake.ts`), before which nothing else may be sent.
 */
import type { SyncRead, Transport } from "./transport.ts";

export class DeferredTransport implements Transport {
  onChunk: (chunk: Buffer) => void = () => {};
  onClose: (reason: string, isWhole: boolean) => void = () => {};
  onDrain: () => void = () => {};
  #target: Transport | undefined;
  #kept: Uint8Array[] = [];
  #keptBytes = 0;
  #isClosed = false;
  #keepsAlive = false;
  readonly #startingKeepsAlive: (keeps: boolean) => void;

  /** `startingKeepsAlive` keeps the process alive while the other side starts and somebody waits for it. */
  constructor(startingKeepsAlive: (keeps: boolean) => void) {
    this.#startingKeepsAlive = startingKeepsAlive;
  }

  connected(target: Transport): void {
    this.#startingKeepsAlive(false);
    if (this.#isClosed) {
      target.destroy();
      return;
    }
    this.#target = target;
    target.onChunk = (chunk) => this.onChunk(chunk);
    target.onClose = (reason, isWhole) => this.#closed(reason, isWhole);
    target.onDrain = () => this.onDrain();
    target.setKeepsProcessAlive(this.#keepsAlive);
    for (const chunk of this.#kept) target.write(chunk);
    this.#kept = [];
    this.#keptBytes = 0;
  }

  failed(reason: string): void {
    this.#closed(reason, false);
  }

  #closed(reason: string, isWhole: boolean): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#startingKeepsAlive(false);
    this.onClose(reason, isWhole);
  }

  /** The connection's maker had it proven before it was set here. */
  get channel(): string {
    return this.#target?.channel ?? "";
  }

  get pendingBytes(): number {
    return this.#target?.pendingBytes ?? this.#keptBytes;
  }

  write(chunk: Uint8Array): void {
    if (this.#target !== undefined) {
      this.#target.write(chunk);
    } else if (!this.#isClosed) {
      this.#kept.push(chunk);
      this.#keptBytes += chunk.length;
    }
  }

  readSync(): SyncRead {
    return this.#target?.readSync?.() ?? "ended";
  }

  end(): void {
    if (this.#target === undefined) this.failed("the connection was closed");
    else this.#target.end();
  }

  destroy(): void {
    if (this.#target === undefined) this.failed("the connection was closed");
    else this.#target.destroy();
  }

  setKeepsProcessAlive(keeps: boolean): void {
    this.#keepsAlive = keeps;
    if (this.#target === undefined) this.#startingKeepsAlive(keeps);
    else this.#target.setKeepsProcessAlive(keeps);
  }
}
