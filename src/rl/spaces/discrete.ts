/** `Discrete`: one of `n` whole numbers, such as the keys of a game. */
import { describeValue } from "../../runtime/base/texts/describe.ts";
import { readMask, Space, spaceError, type SpaceJson } from "./space.ts";

export class Discrete extends Space<number> {
  readonly type = "Discrete";
  readonly n: number;
  /** The least value. */
  readonly start: number;

  constructor(n: number, { start = 0 }: { start?: number | undefined } = {}) {
    super();
    if (!Number.isSafeInteger(n) || n < 1) throw spaceError("Discrete", "the number of values is a whole number from 1", n);
    if (!Number.isSafeInteger(start)) throw spaceError("Discrete", "start is a whole number", start);
    this.n = n;
    this.start = start;
  }

  misfit(value: unknown): string | undefined {
    const { n, start } = this;
    if (typeof value === "number" && Number.isInteger(value) && value >= start && value < start + n) return undefined;
    return `a whole number from ${start} to ${start + n - 1} is needed: received ${describeValue(value)}`;
  }

  /** @param mask - one entry a value: 0 where it may not be drawn */
  sample(mask?: ArrayLike<number>): number {
    const { n, start, random } = this;
    if (mask === undefined) return start + random.integer(n);
    const allowed = readMask(mask, n, "Discrete");
    const values = Array.from({ length: n }, (_, value) => value).filter((value) => allowed[value] !== 0);
    return start + (values[random.integer(values.length)] as number);
  }

  toJSON(): SpaceJson {
    const { type, n, start } = this;
    return { type, n, start };
  }
}
