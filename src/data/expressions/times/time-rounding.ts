/**
 * Rounds days and moments to the beginning of a unit: downwards, upwards, or to the nearest one.
 *
 * Counts are big integers here, as microseconds of the year 9999 are beyond 2^53. Weeks begin on Monday. A moment at the beginning of a unit stays.
 */
import type { TimeUnit } from "../../blocks/data-type.ts";
import { nullVector } from "../../blocks/vector.ts";
import { isNullOperand, isPresent, type Kernel, nullsOf, type Operand, RowProblem } from "../operations/operand.ts";
import { dayOf, daysTo, MS_PER_DAY, requireMoments } from "./times.ts";

/** Units whose length is the same everywhere, in nanoseconds. */
const LENGTHS = {
  week: 604_800_000_000_000n,
  day: 86_400_000_000_000n,
  hour: 3_600_000_000_000n,
  minute: 60_000_000_000n,
  second: 1_000_000_000n,
  millisecond: 1_000_000n,
  microsecond: 1000n,
  nanosecond: 1n,
} as const;
const MONTHS = { year: 12, quarter: 3, month: 1 } as const;

export type RoundingUnit = keyof typeof LENGTHS | keyof typeof MONTHS;
export const ROUNDING_UNITS: readonly string[] = [...Object.keys(MONTHS), ...Object.keys(LENGTHS)];

const NANOSECONDS: Readonly<Record<TimeUnit | "day", bigint>> = { s: 1_000_000_000n, ms: 1_000_000n, us: 1000n, ns: 1n, day: LENGTHS.day };
/** The first Monday before 1970 begins three days before it. */
const MONDAY = -3n * LENGTHS.day;

export function timeRounding(direction: "floor" | "ceil" | "round"): Kernel {
  return (inputs, length, [unit]) => {
    requireMoments(inputs);
    const input = inputs[0] as Operand;
    const { type, values } = input.vector;
    if (isNullOperand(input)) return nullVector(type, length);
    const own = type.kind === "timestamp" ? type.unit : "day";
    const borders = bordersOf(unit as RoundingUnit, NANOSECONDS[own]);
    const counts = type.kind === "date" ? BigInt64Array.from(values as Int32Array, BigInt) : (values as BigInt64Array);
    const rounded = new BigInt64Array(length);
    for (let row = 0; row < length; row += 1) {
      const count = counts[row] as bigint;
      const [floor, next] = borders(count);
      const isUp = count !== floor && (direction === "ceil" || (direction === "round" && count - floor >= next - count));
      const result = isUp ? next : floor;
      if (BigInt.asIntN(type.kind === "date" ? 32 : 64, result) !== result && isPresent(inputs, row))
        throw new RowProblem(row, `would be ${result}, which the column does not hold`);
      rounded[row] = result;
    }
    return { type, length, ...nullsOf(inputs, length), values: type.kind === "date" ? Int32Array.from(rounded, Number) : rounded };
  };
}

/** Where the unit begins that has a count, and where it ends. `own`: how many nanoseconds a count is. */
function bordersOf(unit: RoundingUnit, own: bigint): (count: bigint) => readonly [bigint, bigint] {
  if (unit in MONTHS) {
    const months = MONTHS[unit as keyof typeof MONTHS];
    const countOf = (day: number): bigint => floorDivide(BigInt(day) * LENGTHS.day, own);
    return (count) => {
      const { year, month } = dayOf(Number(floorDivide(count * own, LENGTHS.day)) * MS_PER_DAY);
      const first = Math.floor((month - 1) / months) * months + 1;
      return [countOf(daysTo(year, first)), countOf(first + months > 12 ? daysTo(year + 1, 1) : daysTo(year, first + months))];
    };
  }
  const step = LENGTHS[unit as keyof typeof LENGTHS] / own;
  // A unit that is finer than the column's leaves it as it is.
  if (step <= 1n) return (count) => [count, count];
  const origin = unit === "week" ? MONDAY / own : 0n;
  return (count) => {
    const floor = origin + floorDivide(count - origin, step) * step;
    return [floor, floor + step];
  };
}

function floorDivide(a: bigint, b: bigint): bigint {
  const quotient = a / b;
  return quotient * b > a ? quotient - 1n : quotient;
}
