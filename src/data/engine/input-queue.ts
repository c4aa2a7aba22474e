/**
 * The blocks that wait for a task of an operator, in their order.
 *
 * The queue decides which blocks one task takes: small blocks together, and as many as have the rows that a batch needs. Where tasks are to have whole batches, the queue cuts blocks. How many
 * wait is what progress shows as the operator's queue.
 */
import { Fifo } from "../../core/internal.ts";
import { BLOCK_BYTES_MIN } from "../limits.ts";
import { cutBlock } from "./tasks/cut-blocks.ts";
import type { BlockRef } from "./operators/operator.ts";

interface InputQueueOptions {
  readonly rowsPerTaskMin: number;
  readonly bytesPerTaskMin?: number | undefined;
  readonly cutsBlocks?: boolean | undefined;
}

export class InputQueue {
  readonly #rowsPerTaskMin: number;
  readonly #bytesPerTaskMin: number;
  readonly #cutsBlocks: boolean;
  readonly #waiting = new Fifo<BlockRef>();
  #rows = 0;
  #bytes = 0;
  #hasMore = true;

  /**
   * @param rowsPerTaskMin - fewest rows of a task while input comes; with `cutsBlocks` a task gets a multiple of them, and the last task the rest
   * @param bytesPerTaskMin - fewest bytes of a task while input comes
   */
  constructor({ rowsPerTaskMin, bytesPerTaskMin = 0, cutsBlocks = false }: InputQueueOptions) {
    this.#rowsPerTaskMin = rowsPerTaskMin;
    this.#bytesPerTaskMin = bytesPerTaskMin;
    this.#cutsBlocks = cutsBlocks;
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
    if (this.#cutsBlocks) this.#cutLast(inputs, rows % this.#rowsPerTaskMin);
    return inputs;
  }

  /** Gives back the last rows, which are less than a batch and so lie in the last block, unless nothing comes that could follow them. */
  #cutLast(inputs: BlockRef[], excessRows: number): void {
    const last = inputs.at(-1) as BlockRef;
    if (excessRows === 0 || (!this.#hasMore && this.#waiting.size === 0)) return;
    const [own, rest] = cutBlock(last, last.rowCount - excessRows);
    inputs[inputs.length - 1] = own;
    this.#waiting.unshift(rest);
    this.#rows += rest.rowCount;
    this.#bytes += rest.sizeBytes;
  }

  #isTooLittle(rows: number, bytes: number): boolean {
    return rows < this.#rowsPerTaskMin || bytes < this.#bytesPerTaskMin;
  }

  /** Blocks that are cut are not put together: the last rows of a task would lie in several. */
  #hasManySmall(workers: number): boolean {
    if (this.#cutsBlocks) return false;
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
