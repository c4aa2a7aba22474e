/**
 * The blocks that wait for a task of an operator, in their order.
 *
 * It decides which of them one task takes: small ones go to one together, and as many as have the rows that a batch needs. How many wait is what progress shows as the
 * operator's queue.
 */
import { Fifo } from "../../core/internal.ts";
import { BLOCK_BYTES_MIN } from "../limits.ts";
import type { BlockRef } from "./operator.ts";

export class InputQueue {
  readonly #rowsPerTaskMin: number;
  readonly #bytesPerTaskMin: number;
  readonly #waiting = new Fifo<BlockRef>();
  #rows = 0;
  #bytes = 0;
  #hasMore = true;

  /** A task begins with so many rows at least, and so many bytes, as long as input comes. */
  constructor({ rowsPerTaskMin, bytesPerTaskMin = 0 }: { rowsPerTaskMin: number; bytesPerTaskMin?: number | undefined }) {
    this.#rowsPerTaskMin = rowsPerTaskMin;
    this.#bytesPerTaskMin = bytesPerTaskMin;
  }

  get heldBytes(): number {
    return this.#bytes;
  }

  get count(): number {
    return this.#waiting.size;
  }

  /** Whether there is enough for a task. */
  get hasTask(): boolean {
    return this.#waiting.size > 0 && (!this.#hasMore || !this.#isTooLittle(this.#rows, this.#bytes));
  }

  /** How many tasks could begin now, at most. */
  get taskCount(): number {
    if (!this.hasTask) return 0;
    return this.#rowsPerTaskMin === 0 ? this.#waiting.size : Math.min(this.#waiting.size, Math.ceil(this.#rows / this.#rowsPerTaskMin));
  }

  /** Whether nothing waits and nothing will. */
  get isEnded(): boolean {
    return !this.#hasMore && this.#waiting.size === 0;
  }

  add(block: BlockRef): void {
    this.#waiting.push(block);
    this.#rows += block.rowCount;
    this.#bytes += block.sizeBytes;
  }

  /** Nothing comes any more. */
  end(): void {
    this.#hasMore = false;
  }

  /** The blocks of one task. `workers`: tasks that run at a time; blocks are put together only where enough are left for all of them. */
  next(workers: number): BlockRef[] {
    const inputs: BlockRef[] = [];
    let rows = 0;
    let bytes = 0;
    do {
      const input = this.#waiting.shift() as BlockRef;
      inputs.push(input);
      rows += input.rowCount;
      bytes += input.sizeBytes;
    } while (this.#waiting.size > 0 && (this.#isTooLittle(rows, bytes) || (bytes < BLOCK_BYTES_MIN && this.#hasManySmall(workers))));
    this.#rows -= rows;
    this.#bytes -= bytes;
    return inputs;
  }

  #isTooLittle(rows: number, bytes: number): boolean {
    return rows < this.#rowsPerTaskMin || bytes < this.#bytesPerTaskMin;
  }

  #hasManySmall(workers: number): boolean {
    return this.#waiting.size > 2 * workers && this.#bytes < this.#waiting.size * BLOCK_BYTES_MIN;
  }

  /** Drops all that waits. */
  stop(): void {
    this.#hasMore = false;
    for (let block = this.#waiting.shift(); block !== undefined; block = this.#waiting.shift()) block.release();
    this.#rows = 0;
    this.#bytes = 0;
  }
}
