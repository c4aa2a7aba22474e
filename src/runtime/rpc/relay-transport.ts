/**
 * A connection whose bytes the daemon passes on: that of a first call, which is sent before its caller can reach the worker.
 *
 * Until the other end is known, this keeps the written bytes, and the caller sends them with the demand for a lease. The daemon's
 * connection brings the other direction. Used by `core/calls/submission/first-calls.ts` and `runtime/worker/first-callers.ts`, one at each end.
 */
import { copyBytes } from "../base/collections/bytes.ts";
import type { Transport } from "../os/network/transport.ts";
import { Connection } from "./connection.ts";

/** A relayed connection carries one call and its answer. */
const SLAB_BYTES = 1024;

export class RelayTransport implements Transport {
  onChunk: (chunk: Buffer) => void = () => {};
  onClose: (reason: string, isWhole: boolean) => void = () => {};
  onDrain: () => void = () => {};
  readonly pendingBytes = 0;
  readonly channel = "passed on by the daemon";
  /** Sends to the other end; an empty chunk is the end. */
  #send: ((chunk: Uint8Array) => void) | undefined;
  #kept: Uint8Array[] = [];
  #isClosed = false;

  /** Kept bytes leave now. */
  open(send: (chunk: Uint8Array) => void): void {
    this.#send = send;
    for (const chunk of this.take()) send(chunk);
  }

  /** Takes the bytes that were written before the other end was known. */
  take(): Uint8Array[] {
    const kept = this.#kept;
    this.#kept = [];
    return kept;
  }

  /** Something has come from the other end. */
  arrived(chunk: Uint8Array): void {
    if (this.#isClosed) return;
    if (chunk.length === 0) this.closed("the other end closed it");
    else this.onChunk(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
  }

  /** Nothing more comes. */
  closed(reason: string): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.onClose(reason, true);
  }

  write(chunk: Uint8Array): void {
    if (this.#isClosed) return;
    if (this.#send === undefined) this.#kept.push(copyBytes(chunk));
    else this.#send(chunk);
  }

  end(): void {
    this.destroy();
  }

  destroy(): void {
    if (this.#isClosed) return;
    this.#send?.(new Uint8Array(0));
    // As with a socket, the end is told later.
    queueMicrotask(() => this.closed("it was closed"));
  }

  setKeepsProcessAlive(): void {}
}

export function connectionOver(transport: RelayTransport): Connection {
  return new Connection(transport, { trusted: true, slabBytes: SLAB_BYTES });
}
