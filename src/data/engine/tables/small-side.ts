/**
 * The small side of a join whose large side is read from files, as the reading tasks see it.
 *
 * `plan/small-sides.ts` makes it if the plan shows beforehand that the right side is small. The tasks of the left side wait until the exchange has the whole
 * right side and settles it. Then they join their rows as they read them, so rows are stored once, already joined, and the exchange passes the blocks on. If the
 * side turns out to be large, these tasks only read.
 */
import type { ObjectRef } from "../../../core/index.ts";
import type { Block } from "../../blocks/block.ts";
import type { Join } from "./join.ts";
import type { Transform } from "../tasks/transform.ts";

/** The blocks of the side. */
type Blocks = readonly { readonly ref: ObjectRef<Block> }[];

export class SmallSide {
  readonly join: Join;
  /** Transforms of joined rows. */
  readonly after: readonly Transform[];
  #blocks: Blocks | undefined;
  #isSettled = false;

  constructor(join: Join, after: readonly Transform[]) {
    this.join = join;
    this.after = after;
  }

  /** @param blocks - all of the side; undefined where it is not small */
  settle(blocks: Blocks | undefined): void {
    this.#blocks = blocks;
    this.#isSettled = true;
  }

  get isSettled(): boolean {
    return this.#isSettled;
  }

  /** The blocks that tasks join with those that they read; undefined where they read alone. */
  get blocks(): Blocks | undefined {
    return this.#blocks;
  }
}
