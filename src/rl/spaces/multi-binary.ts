/** `MultiBinary`: `n` flags, each 0 or 1. */
import { describeValue } from "../../runtime/base/texts/describe.ts";
import { isNumberList, shownList } from "./dtype.ts";
import { Space, spaceError, type SpaceJson } from "./space.ts";

export class MultiBinary extends Space<Int8Array> {
  readonly type = "MultiBinary";
  readonly n: number;

  constructor(n: number) {
    super();
    if (!Number.isSafeInteger(n) || n < 1) throw spaceError("MultiBinary", "the number of flags is a whole number from 1", n);
    this.n = n;
  }

  misfit(value: unknown): string | undefined {
    if (!isNumberList(value) || value.length !== this.n) return `${this.n} flags are needed: received ${shownList(value)}`;
    const at = Array.prototype.findIndex.call(value, (flag) => flag !== 0 && flag !== 1);
    return at < 0 ? undefined : `flag ${at} is 0 or 1: received ${describeValue(value[at])}`;
  }

  /** @param mask - one entry a flag: 0 and 1 fix it, anything else leaves it to chance, as in Gymnasium */
  sample(mask?: ArrayLike<number>): Int8Array {
    if (mask !== undefined && mask.length !== this.n)
      throw new RangeError(`Cannot sample from MultiBinary: a mask of ${this.n} entries is needed: received ${describeValue(mask)}`);
    return Int8Array.from({ length: this.n }, (_, index) => {
      const fixed = mask?.[index];
      return fixed === 0 || fixed === 1 ? fixed : this.random.integer(2);
    });
  }

  toJSON(): SpaceJson {
    const { type, n } = this;
    return { type, n };
  }
}
