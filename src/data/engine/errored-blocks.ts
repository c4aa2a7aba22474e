/**
 * What a run leaves out because of errors: the blocks that a task would have given had a function of the user's not thrown, or a file not been bad. `maxErroredBlocks` says how many tasks.
 *
 * A process or a node that dies is none of them, as the core runs its task again, but for rows that end each actor of a pool that gets them. Blocks that a task gave before its error stay.
 */
import { TaskError } from "../../core/index.ts";
import { StorageError } from "../../storage/errors.ts";
import { DataError } from "../errors.ts";
import { ERRORS_KEPT_MAX } from "../limits.ts";

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

  /** @param max - -1 or Infinity: without limit */
  constructor(max: number) {
    this.#max = max < 0 ? Number.POSITIVE_INFINITY : max;
  }

  get count(): number {
    return this.#count;
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

/** What a task throws because of the rows or files that it has. */
function isOfRows(error: unknown): error is Error {
  return error instanceof TaskError || error instanceof DataError || error instanceof StorageError;
}
