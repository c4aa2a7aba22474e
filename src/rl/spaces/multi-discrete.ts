/** `MultiDiscrete`: several whole numbers, each from 0 up to another count. */
import { describeValue } from "../../runtime/base/texts/describe.ts";
import { isNumberList, shownList } from "./dtype.ts";
import { readMask, Space, spaceError, type SpaceJson } from "./space.ts";

export class MultiDiscrete extends Space<Int32Array> {
  readonly type = "MultiDiscrete";
  readonly counts: readonly number[];

  constructor(counts: readonly number[]) {
    super();
    if (!Array.isArray(counts) || counts.length === 0 || !counts.every((count) => Number.isSafeInteger(count) && count >= 1))
      throw spaceError("MultiDiscrete", "a list of whole numbers from 1 is needed", counts);
    this.counts = Object.freeze([...counts]);
  }

  misfit(value: unknown): string | undefined {
    const { counts } = this;
    if (!isNumberList(value) || value.length !== counts.length) return `${counts.length} numbers are needed: received ${shownList(value)}`;
    const at = counts.findIndex((count, index) => {
      const element = value[index] as number;
      return !(Number.isInteger(element) && element >= 0 && element < count);
    });
    return at < 0
      ? undefined
      : `element ${at} is a whole number from 0 to ${(counts[at] as number) - 1}: received ${describeValue(value[at])}`;
  }

  /** @param mask - one mask a number */
  sample(mask?: readonly ArrayLike<number>[]): Int32Array {
    const { counts, random } = this;
    return Int32Array.from(counts, (count, index) => {
      if (mask === undefined) return random.integer(count);
      const allowed = readMask(mask[index], count, "MultiDiscrete");
      const values = Array.from({ length: count }, (_, value) => value).filter((value) => allowed[value] !== 0);
      return values[random.integer(values.length)] as number;
    });
  }

  toJSON(): SpaceJson {
    const { type, counts } = this;
    return { type, counts };
  }
}
