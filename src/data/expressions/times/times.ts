/**
 * Parts of days and moments, all in UTC, and of times of day.
 *
 * The calendar is computed from the number of days, without a `Date` for each row.
 * Months go from 1 to 12; weekdays from 0, Sunday, to 6, as `Date` has them.
 */
import { DATE, type DataType } from "../../blocks/data-type.ts";
import { nullVector, type Vector } from "../../blocks/vector.ts";
import { timestampToMs } from "../../blocks/value-reader.ts";
import type { TimePart } from "../nodes.ts";
import { isNullOperand, type Kernel, nullsOf, type Operand, requireTypes } from "../operations/operand.ts";

export const MS_PER_DAY = 86_400_000;
const INT32: DataType = { kind: "int32" };

export function timePart(part: TimePart): Kernel {
  const compute = PARTS[part];
  return (inputs, length) => {
    requireMoments(inputs, { orTimesOfDay: CLOCK_PARTS.has(part) });
    const input = inputs[0] as Operand;
    if (isNullOperand(input)) return nullVector(INT32, length);
    const ms = msOf(input.vector);
    const values = new Int32Array(length);
    for (let i = 0; i < length; i += 1) values[i] = compute(ms[i] as number);
    return { type: INT32, length, ...nullsOf(inputs, length), values };
  };
}

/** Parts that a time of day has. */
const CLOCK_PARTS: ReadonlySet<TimePart> = new Set(["hour", "minute", "second", "millisecond"]);

/** @throws TypeProblem for operands that are no days and no moments */
export function requireMoments(inputs: readonly Operand[], { orTimesOfDay = false } = {}): void {
  requireTypes(
    inputs,
    orTimesOfDay ? "a day, a moment or a time of day" : "a day or a moment",
    ({ kind }) => kind === "date" || kind === "timestamp" || (orTimesOfDay && (kind === "time32" || kind === "time64")),
    'cast("timestamp[ms]") or cast("date") makes one of a text',
  );
}

/** Milliseconds since 1970, or since midnight, rounded down. */
export function msOf({ type, values, length }: Vector): Float64Array {
  if (type.kind === DATE.kind) return Float64Array.from(values as Int32Array, (day) => day * MS_PER_DAY);
  const { unit } = type as DataType & { kind: "timestamp" | "time32" | "time64" };
  if (type.kind === "time32") return Float64Array.from(values as Int32Array, (count) => (unit === "s" ? count * 1000 : count));
  const wide = values as BigInt64Array;
  const words = new Int32Array(wide.buffer, wide.byteOffset, length * 2);
  const ms = new Float64Array(length);
  for (let i = 0; i < length; i += 1) {
    // 64-bit numbers as pairs of halves: no bigint is made for each that a float64 holds.
    const count = (words[2 * i + 1] as number) * 4_294_967_296 + ((words[2 * i] as number) >>> 0);
    if (unit === "ns" || !Number.isSafeInteger(count)) ms[i] = timestampToMs(wide[i] as bigint, unit);
    else ms[i] = unit === "us" ? Math.floor(count / 1000) : unit === "s" ? count * 1000 : count;
  }
  return ms;
}

/** Cuts a time off to whole units and returns the rest modulo `modulus`, never negative. */
export function cycle(ms: number, unit: number, modulus: number): number {
  const units = Math.floor(ms / unit);
  return units - Math.floor(units / modulus) * modulus;
}

const PARTS: Readonly<Record<TimePart, (ms: number) => number>> = {
  year: (ms) => dayOf(ms).year,
  month: (ms) => dayOf(ms).month,
  day: (ms) => dayOf(ms).day,
  hour: (ms) => cycle(ms, 3_600_000, 24),
  minute: (ms) => cycle(ms, 60_000, 60),
  second: (ms) => cycle(ms, 1000, 60),
  millisecond: (ms) => cycle(ms, 1, 1000),
  weekday: (ms) => cycle(ms + 4 * MS_PER_DAY, MS_PER_DAY, 7),
  dayOfYear: (ms) => dayOf(ms).dayOfYear,
};

export interface CalendarDay {
  year: number;
  month: number;
  day: number;
  /** From 1. */
  dayOfYear: number;
}

const DAYS_BEFORE: readonly number[] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];

/** Returns the day of the Gregorian calendar. Years begin in March here, so that the leap day is the last of its year. */
export function dayOf(ms: number): CalendarDay {
  const days = Math.floor(ms / MS_PER_DAY) + 719_468;
  const era = Math.floor(days / 146_097);
  const dayOfEra = days - era * 146_097;
  const yearOfEra = Math.floor(
    (dayOfEra - Math.floor(dayOfEra / 1460) + Math.floor(dayOfEra / 36_524) - Math.floor(dayOfEra / 146_096)) / 365,
  );
  const dayFromMarch = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const monthFromMarch = Math.floor((5 * dayFromMarch + 2) / 153);
  const day = dayFromMarch - Math.floor((153 * monthFromMarch + 2) / 5) + 1;
  const month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9;
  const year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0);
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return { year, month, day, dayOfYear: (DAYS_BEFORE[month - 1] as number) + day + (isLeap && month > 2 ? 1 : 0) };
}

/** Days from 1970 to the first of a month; the other way round than {@link dayOf}. */
export function daysTo(year: number, month: number): number {
  const yearFromMarch = month <= 2 ? year - 1 : year;
  const era = Math.floor(yearFromMarch / 400);
  const yearOfEra = yearFromMarch - era * 400;
  const dayFromMarch = Math.floor((153 * ((month + 9) % 12) + 2) / 5);
  return era * 146_097 + 365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayFromMarch - 719_468;
}
