/**
 * Spaces: the sets of values that observations and actions come from.
 *
 * A space tells its members (`contains`), draws from them (`sample`), and has a form in JSON from which `spaceFromJson` makes an equal one. Every kind of space extends `Space`, which
 * holds the random stream that draws use. Misfits are explained in words by `misfit`, so that errors about environments can name the field.
 */
import { describeValue } from "../../runtime/base/texts/describe.ts";
import { Random } from "../../tensor/index.ts";

/** A space in JSON: the kind, and the arguments of the constructor. */
export interface SpaceJson {
  readonly type: string;
  readonly [part: string]: unknown;
}

/** The type of the values of a space: `ValueOf<typeof space>`. */
export type ValueOf<S> = S extends Space<infer V> ? V : never;

export abstract class Space<V = unknown> {
  #random: Random | undefined;
  /** Tells the kinds apart, also across copies of the package. */
  abstract readonly type: string;

  /** Whether a value belongs to the space. */
  contains(value: unknown): value is V {
    return this.misfit(value) === undefined;
  }

  /** Says why a value does not belong to the space, or `undefined` where it does. The text goes behind a colon: "3 numbers are needed: received ...". */
  abstract misfit(value: unknown): string | undefined;

  /** Draws a member. A mask says what may be drawn, where the kind of space takes one. */
  abstract sample(mask?: unknown): V;

  abstract toJSON(): SpaceJson;

  /** Makes draws repeatable. */
  seed(seed: number): void {
    if (!Number.isSafeInteger(seed)) throw new TypeError(`Cannot seed a space: a whole number is needed: received ${describeValue(seed)}`);
    this.#random = new Random(seed, "space");
  }

  protected get random(): Random {
    this.#random ??= new Random();
    return this.#random;
  }
}

/** A bad argument of a space's constructor. */
export function spaceError(kind: string, reason: string, received: unknown): RangeError {
  return new RangeError(`Cannot make a space ${kind}: ${reason}: received ${describeValue(received)}`);
}

/** Reads a mask of `size` entries of 0 and 1, of which at least one is 1. */
export function readMask(mask: unknown, size: number, kind: string): ArrayLike<number> {
  const given = mask as ArrayLike<number> | undefined;
  if (typeof given !== "object" || given === null || given.length !== size)
    throw new RangeError(`Cannot sample from ${kind}: a mask of ${size} entries is needed: received ${describeValue(mask)}`);
  if (!Array.prototype.some.call(given, (allowed) => Number(allowed) !== 0))
    throw new RangeError(`Cannot sample from ${kind}: the mask forbids every value. Allow at least one`);
  return given;
}
