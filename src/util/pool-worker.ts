/**
 * A process of a `Pool`: an actor that runs functions on chunks of values.
 *
 * A function comes as a reference with its first chunk and by its id from then on, so that it travels to a process once, however many
 * chunks there are. The pool decides which functions are kept: it names those to forget. The initializer runs in the constructor, and its
 * result is awaited before the first chunk. Called by `pool.ts` alone.
 */
import { isThenable } from "../core/internal.ts";
import type { ObjectRef } from "../core/index.ts";

type AnyFunction = (...args: never[]) => unknown;

/** Function to run on the values of a chunk. */
export interface ChunkCall {
  /** Id of the function. */
  readonly id: string;
  /** `one`: the function takes an item. `several`: the item is its list of arguments. */
  readonly form: "one" | "several";
  /** The function, where this process has not had it. */
  readonly reference?: readonly [ObjectRef<AnyFunction>];
  readonly forget?: readonly string[];
}

export class PoolWorker {
  readonly #functions = new Map<string, AnyFunction>();
  readonly #initialized: unknown;

  constructor(initializer: AnyFunction | undefined, args: readonly unknown[]) {
    this.#initialized = initializer === undefined ? undefined : Reflect.apply(initializer, undefined, args);
  }

  /** The results of the function for the chunk's items, one after the other. The first failure is the chunk's. */
  async run({ id, form, reference, forget }: ChunkCall, items: readonly unknown[]): Promise<unknown[]> {
    await this.#initialized;
    for (const old of forget ?? []) this.#functions.delete(old);
    if (reference !== undefined) this.#functions.set(id, await reference[0]);
    const fn = this.#functions.get(id) as AnyFunction;
    const results: unknown[] = [];
    for (const item of items) {
      const result: unknown = Reflect.apply(fn, undefined, form === "one" ? [item] : (item as unknown[]));
      // Most functions are synchronous, and an await for each value costs more than a small function.
      results.push(isThenable(result) ? await result : result);
    }
    return results;
  }
}
