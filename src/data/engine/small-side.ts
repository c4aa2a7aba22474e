/**
 * The small side of a join whose large side is read from files: what the tasks that read have to know of it.
 *
 * Made by `plan/small-sides.ts` where the plan says that the right side is small before anything is read. The tasks of the left side do not begin until the exchange has all of the right
 * one and settles it. Then they join their rows where they read them, so that these are stored once, as joined rows, and the exchange hands their blocks on. Where the side is
 * not small after all, they read alone.
 */
import type { ObjectRef } from "../../core/index.ts";
import type { Block } from "../blocks/block.ts";
import type { Join } from "./join.ts";
import type { Transform } from "./transform.ts";

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
