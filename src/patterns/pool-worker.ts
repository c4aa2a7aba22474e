/**
 * One process of a `Pool`: an actor that runs functions on chunks of values.
 *
 * Functions come as references and are kept, so that each travels to a process once, however many chunks there are. The initializer runs in
 * the constructor; what it returns is awaited before the first chunk. Called by `pool.ts` alone.
 */
import type { ObjectRef } from "../core/types.ts";

type AnyFunction = (...args: never[]) => unknown;

/** Functions that are kept; the oldest goes, as programs often map a new arrow function each time. */
const FUNCTIONS_MAX = 32;

/** `one`: the function takes an item. `several`: the item is its list of arguments. */
export type CallForm = "one" | "several";

export class PoolWorker {
  readonly #functions = new Map<string, AnyFunction>();
  readonly #initialized: unknown;

  constructor(initializer: AnyFunction | undefined, args: readonly unknown[]) {
    this.#initialized = initializer === undefined ? undefined : Reflect.apply(initializer, undefined, args);
  }

  /** The function of the chunk's items, one after the other. The first failure is the chunk's. */
  async run([reference]: readonly [ObjectRef<AnyFunction>], form: CallForm, items: readonly unknown[]): Promise<unknown[]> {
    await this.#initialized;
    const fn = await this.#functionOf(reference);
    const results: unknown[] = [];
    for (const item of items) results.push(await Reflect.apply(fn, undefined, form === "one" ? [item] : (item as unknown[])));
    return results;
  }

  async #functionOf(reference: ObjectRef<AnyFunction>): Promise<AnyFunction> {
    const known = this.#functions.get(reference.id);
    if (known !== undefined) return known;
    const fn = await reference;
    const oldest = this.#functions.keys().next().value;
    if (this.#functions.size >= FUNCTIONS_MAX && oldest !== undefined) this.#functions.delete(oldest);
    this.#functions.set(reference.id, fn);
    return fn;
  }
}
