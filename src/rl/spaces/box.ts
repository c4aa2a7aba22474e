/**
 * `Box`: arrays of numbers between bounds, such as the joints of a robot or the pixels of a picture.
 *
 * A value is a flat typed array of the space's dtype; the shape belongs to the space. Bounds are one number for all elements or one each, and may be infinite.
 * Plain arrays of numbers count as members too, so that environments need not build typed arrays.
 */
import { describeValue } from "../../runtime/base/texts/describe.ts";
import { type Dtype, DTYPES, isDtype, isNumberList, type NumericArray, shownList, type TypedArrayOf } from "./dtype.ts";
import { Space, spaceError, type SpaceJson } from "./space.ts";

export interface BoxOptions<D extends Dtype = Dtype> {
  /** The least value: of all elements, or of each. */
  readonly low: number | ArrayLike<number>;
  readonly high: number | ArrayLike<number>;
  /** Default: as many elements as `low` or `high` have; `[1]` where both are single numbers. */
  readonly shape?: readonly number[] | undefined;
  /** Default: `"float32"`. */
  readonly dtype?: D | undefined;
}

export class Box<D extends Dtype = "float32"> extends Space<TypedArrayOf<D>> {
  readonly type = "Box";
  readonly shape: readonly number[];
  /** Elements of a value. */
  readonly size: number;
  readonly dtype: D;
  readonly low: Float64Array;
  readonly high: Float64Array;

  constructor({ low, high, shape, dtype = "float32" as D }: BoxOptions<D>) {
    super();
    if (!isDtype(dtype)) throw spaceError("Box", `dtype is one of ${Object.keys(DTYPES).join(", ")}`, dtype);
    this.dtype = dtype;
    this.shape = Object.freeze(Array.from(shape ?? [lengthOf(low) ?? lengthOf(high) ?? 1]));
    if (!this.shape.every((length) => Number.isSafeInteger(length) && length >= 1))
      throw spaceError("Box", "shape is a list of whole numbers from 1", shape);
    this.size = this.shape.reduce((product, length) => product * length, 1);
    this.low = this.#bounds("low", low);
    this.high = this.#bounds("high", high);
    for (let at = 0; at < this.size; at += 1)
      if ((this.low[at] as number) > (this.high[at] as number))
        throw spaceError("Box", `low is at most high, also at element ${at}`, [this.low[at], this.high[at]]);
  }

  #bounds(name: "low" | "high", given: number | ArrayLike<number>): Float64Array {
    const { isFloat, min, max } = DTYPES[this.dtype];
    const isList = typeof given === "object" && given !== null;
    if (isList && given.length !== this.size) throw spaceError("Box", `${name} has ${this.size} numbers, as many as the shape`, given);
    const bounds = new Float64Array(this.size);
    for (let at = 0; at < this.size; at += 1) {
      const bound = isList ? given[at] : given;
      if (typeof bound !== "number" || Number.isNaN(bound)) throw spaceError("Box", `${name} is a number, or a list of them`, bound);
      if (!isFloat && !(Number.isInteger(bound) && bound >= min && bound <= max))
        throw spaceError("Box", `${name} of dtype ${this.dtype} is a whole number from ${min} to ${max}`, bound);
      // A bound of float32 is rounded as elements are: 0.1 in float32 is more than 0.1.
      bounds[at] = this.dtype === "float32" ? Math.fround(bound) : bound;
    }
    return bounds;
  }

  misfit(value: unknown): string | undefined {
    if (!isNumberList(value) || value.length !== this.size)
      return `${this.dtype} numbers of the shape [${this.shape.join(", ")}], ${this.size} in all, are needed: received ${shownList(value)}`;
    for (let at = 0; at < this.size; at += 1) {
      const element = value[at];
      // NaN is in no range.
      if (typeof element !== "number" || !(element >= (this.low[at] as number) && element <= (this.high[at] as number)))
        return `element ${at} is a number from ${this.low[at]} to ${this.high[at]}: received ${describeValue(element)}`;
      if (!DTYPES[this.dtype].isFloat && !Number.isInteger(element))
        return `element ${at} is a whole number, as dtype is ${this.dtype}: received ${element}`;
    }
    return undefined;
  }

  /** Draws as Gymnasium does: uniformly between bounds, from an exponential distribution where one bound is infinite, else from a normal one. */
  sample(): TypedArrayOf<D> {
    const { array, isFloat } = DTYPES[this.dtype];
    const drawn: NumericArray = new array(this.size);
    for (let at = 0; at < this.size; at += 1) {
      const low = this.low[at] as number;
      const high = this.high[at] as number;
      drawn[at] = isFloat ? this.#number(low, high) : low + this.random.integer(high - low + 1);
    }
    return drawn as TypedArrayOf<D>;
  }

  #number(low: number, high: number): number {
    const { random } = this;
    // The difference of two bounds may be more than a double holds; the weighted sum is not.
    if (Number.isFinite(low) && Number.isFinite(high)) {
      const weight = random.uniform();
      return Math.min(high, low * (1 - weight) + high * weight);
    }
    if (Number.isFinite(low)) return low - Math.log(1 - random.uniform());
    return Number.isFinite(high) ? high + Math.log(1 - random.uniform()) : random.normal();
  }

  toJSON(): SpaceJson {
    const { type, low, high, shape, dtype } = this;
    return { type, low: shortened(low), high: shortened(high), shape, dtype };
  }
}

function lengthOf(bound: number | ArrayLike<number>): number | undefined {
  return typeof bound === "object" && bound !== null ? bound.length : undefined;
}

/** Writes equal bounds of all elements as a single number. JSON has no infinity, so infinite bounds are texts. */
function shortened(bounds: Float64Array): unknown {
  const all = Array.from(bounds, (bound) => (Number.isFinite(bound) ? bound : String(bound)));
  return all.every((bound) => bound === all[0]) ? all[0] : all;
}
