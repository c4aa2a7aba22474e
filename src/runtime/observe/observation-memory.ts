/**
 * The record of a worker that shares a process with its daemon: plain memory in the layout of an observation file.
 *
 * Made by the one-process mode. The worker writes it and the daemon reads it, one after the other on one thread.
 * Closing it lets the memory go.
 */
import { OBSERVATION_LENGTH } from "./observation-layout.ts";
import type { ObservationSource } from "./observed-process.ts";

export class ObservationMemory implements ObservationSource {
  readonly memory: ArrayBuffer = new ArrayBuffer(OBSERVATION_LENGTH);
  readonly #onClose: () => void;

  constructor(onClose: () => void) {
    this.#onClose = onClose;
  }

  read(target: Uint8Array, at: number): void {
    target.set(new Uint8Array(this.memory, at, target.length));
  }

  write(bytes: Uint8Array, at: number): void {
    new Uint8Array(this.memory).set(bytes, at);
  }

  close(): void {
    this.#onClose();
  }
}
