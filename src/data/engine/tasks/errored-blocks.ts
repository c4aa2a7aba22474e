/**
 * Leaves out the blocks of tasks that fail because a user's function threw or a file was bad. `maxErroredBlocks` limits the number of such tasks.
 *
 * The death of a process or a node does not count, as the core runs the task again. An exception are rows that kill each actor of a pool that gets them. Blocks
 * that a task gave before its error stay.
 */
import { TaskError } from "../../../core/index.ts";
import { StorageError } from "../../../storage/errors.ts";
import type { Losses } from "../../blocks/memory/losses.ts";
import { DataError } from "../../errors.ts";
import { ERRORS_KEPT_MAX } from "../../limits.ts";

/** One of the errors that were left out. */
export interface LeftOut {
  /** The operator whose task failed. */
  readonly operator: string;
  readonly error: Error;
}

export class ErroredBlocks {
  readonly #max: number;
  readonly #first: LeftOut[] = [];
  #count = 0;
  #items = 0;
  #replaced = 0;

  /** @param max - -1 or Infinity: without limit */
  constructor(max: number) {
    this.#max = max < 0 ? Number.POSITIVE_INFINITY : max;
  }

  get count(): number {
    return this.#count;
  }

  /** Rows, records and files that `onError` left out or made null. */
  get items(): number {
    return this.#items;
  }

  /** Characters that stand for bytes outside the encoding of a file. */
  get replaced(): number {
    return this.#replaced;
  }

  /** Counts what `onError` and `encodingErrors` of readers and functions let go. */
  lose(operator: string, { items, replaced, messages }: Losses): void {
    this.#items += items;
    this.#replaced += replaced;
    for (const message of messages) if (this.#first.length < ERRORS_KEPT_MAX) this.#first.push({ operator, error: new DataError(message) });
  }

  /** The first errors, as they came. */
  get first(): readonly LeftOut[] {
    return this.#first;
  }

  /**
   * Whether the run goes on without what failed, which is counted then.
   *
   * @param isByRows - rows are known to be the cause. Default: by the kind of the error
   */
  leavesOut(operator: string, error: unknown, isByRows = false): boolean {
    if (this.#count >= this.#max || !(isOfRows(error) || (isByRows && error instanceof Error))) return false;
    this.#count += 1;
    if (this.#first.length < ERRORS_KEPT_MAX) this.#first.push({ operator, error });
    return true;
  }
}

/** Tells whether an error comes from a task's own rows or files. */
function isOfRows(error: unknown): error is Error {
  return error instanceof TaskError || error instanceof DataError || error instanceof StorageError;
}
