/**
 * Days, moments and times of day from their text as ISO 8601 writes them.
 *
 * Dates and moments are `2026-01-31` and `2026-01-31T10:00:00.25Z`, also with a space in place of `T`, and with an offset such as `+02:00`.
 * A moment without an offset is taken as UTC. Days are those of the Gregorian calendar, years have four digits. Times of day are `10:00`,
 * `10:00:00` and `10:00:00.25`.
 */
import type { TimeUnit } from "../../blocks/data-type.ts";
import { NO_INTEGER, TOO_LARGE, WRITTEN, writeSafe, writeSum } from "./number-text.ts";

const ZERO = 48;
const SECONDS_PER_DAY = 86_400;
const DAYS_OF_MONTH: readonly number[] = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** The number that `count` digits from `at` on say; NaN where they are no digits. */
function digitsAt(bytes: Uint8Array, at: number, count: number): number {
  let value = 0;
  for (let i = at; i < at + count; i += 1) {
    const digit = (bytes[i] as number) - ZERO;
    if (digit < 0 || digit > 9) return Number.NaN;
    value = value * 10 + digit;
  }
  return value;
}

/** Days since 1970-01-01 of the day whose text begins at `start`; NaN where none stands there. */
export function parseDay(bytes: Uint8Array, start: number, end: number): number {
  if (end - start < 10 || bytes[start + 4] !== 45 || bytes[start + 7] !== 45) return Number.NaN;
  const year = digitsAt(bytes, start, 4);
  const month = digitsAt(bytes, start + 5, 2);
  const day = digitsAt(bytes, start + 8, 2);
  if (!(month >= 1 && month <= 12 && day >= 1 && day <= (DAYS_OF_MONTH[month - 1] as number))) return Number.NaN;
  if (month === 2 && day === 29 && (year % 4 !== 0 || (year % 100 === 0 && year % 400 !== 0))) return Number.NaN;
  // Years that begin in March have the day of a leap year as their last.
  const shifted = month > 2 ? year : year - 1;
  const dayOfYear = Math.floor((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5) + day - 1;
  return 365 * shifted + Math.floor(shifted / 4) - Math.floor(shifted / 100) + Math.floor(shifted / 400) + dayOfYear - 719_468;
}

/** The last parsed moment, for {@link writeMoment} and {@link fractionDigits}. Variables avoid an allocation for each moment. */
let seconds = 0;
let fractionStart = 0;
let fractionEnd = 0;

/** Reads a moment, or a day alone. */
function readMoment(bytes: Uint8Array, start: number, end: number): boolean {
  seconds = parseDay(bytes, start, end) * SECONDS_PER_DAY;
  fractionStart = 0;
  fractionEnd = 0;
  if (Number.isNaN(seconds)) return false;
  if (end - start === 10) return true;
  const separator = bytes[start + 10];
  if ((separator !== 84 && separator !== 116 && separator !== 32) || end - start < 16 || bytes[start + 13] !== 58) return false;
  const hour = digitsAt(bytes, start + 11, 2);
  const minute = digitsAt(bytes, start + 14, 2);
  if (!(hour < 24 && minute < 60)) return false;
  seconds += hour * 3600 + minute * 60;
  let at = start + 16;
  if (bytes[at] === 58 && at < end) {
    const second = end - at < 3 ? Number.NaN : digitsAt(bytes, at + 1, 2);
    if (!(second < 60)) return false;
    seconds += second;
    at += 3;
    if (at < end && (bytes[at] === 46 || bytes[at] === 44)) {
      at += 1;
      fractionStart = at;
      while (at < end && (bytes[at] as number) >= ZERO && (bytes[at] as number) <= 57) at += 1;
      fractionEnd = at;
      if (fractionEnd === fractionStart) return false;
    }
  }
  return readOffset(bytes, at, end);
}

/** `Z`, `+02`, `+0200`, `+02:00`, or nothing. */
function readOffset(bytes: Uint8Array, start: number, end: number): boolean {
  if (start === end) return true;
  const sign = bytes[start];
  const length = end - start;
  if (length === 1) return sign === 90 || sign === 122;
  if ((sign !== 43 && sign !== 45) || (length !== 3 && length !== 5 && (length !== 6 || bytes[start + 3] !== 58))) return false;
  const hours = digitsAt(bytes, start + 1, 2);
  const minutes = length === 3 ? 0 : digitsAt(bytes, end - 2, 2);
  if (!(hours < 24 && minutes < 60)) return false;
  const offset = hours * 3600 + minutes * 60;
  seconds += sign === 45 ? offset : -offset;
  return true;
}

/** How many digits the moment has behind its seconds, zeros at the end not counted; -1 where the bytes say no moment. */
export function fractionDigits(bytes: Uint8Array, start: number, end: number): number {
  if (!readMoment(bytes, start, end)) return -1;
  let last = fractionEnd;
  while (last > fractionStart && bytes[last - 1] === ZERO) last -= 1;
  return last - fractionStart;
}

/** Digits behind the seconds that a unit has. */
export const DIGITS_OF_UNIT: Readonly<Record<TimeUnit, number>> = { s: 0, ms: 3, us: 6, ns: 9 };

const TIME_OF_DAY = /^([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d)(?:[.,](\d+))?)?$/;

/** A time of day as a count of units; undefined where the text is none, or is finer than the unit. */
export function parseTimeOfDay(text: string, unit: TimeUnit): number | undefined {
  const [match, hours, minutes, rest = "0", fraction = ""] = TIME_OF_DAY.exec(text) ?? [];
  const digits = DIGITS_OF_UNIT[unit];
  if (match === undefined || /[1-9]/.test(fraction.slice(digits))) return undefined;
  const whole = Number(hours) * 3600 + Number(minutes) * 60 + Number(rest);
  return whole * 10 ** digits + Number(fraction.slice(0, digits).padEnd(digits, "0"));
}

/** The moment is finer than the column's unit. */
export const TOO_FINE = 4;

/**
 * Writes the moment as a count of units since 1970-01-01 UTC into `halves`, low half first.
 *
 * @param unitDigits - 0 for seconds, 3, 6, or 9 for nanoseconds
 * @returns WRITTEN, NO_INTEGER where the bytes say no moment, TOO_LARGE or {@link TOO_FINE}
 */
export function writeMoment(bytes: Uint8Array, start: number, end: number, unitDigits: number, halves: Int32Array, row: number): number {
  if (!readMoment(bytes, start, end)) return NO_INTEGER;
  let fraction = 0;
  for (let i = 0; i < unitDigits; i += 1) {
    const at = fractionStart + i;
    fraction = fraction * 10 + (at < fractionEnd ? (bytes[at] as number) - ZERO : 0);
  }
  for (let at = fractionStart + unitDigits; at < fractionEnd; at += 1) if (bytes[at] !== ZERO) return TOO_FINE;
  const factor = 10 ** unitDigits;
  if (unitDigits <= 3) {
    writeSafe(seconds * factor + fraction, halves, row);
    return WRITTEN;
  }
  // Below zero the fraction counts towards zero: -2 s + 0.25 s is -(1 s + 0.75 s).
  const isNegative = seconds < 0;
  const whole = isNegative ? -seconds - (fraction > 0 ? 1 : 0) : seconds;
  const part = isNegative && fraction > 0 ? factor - fraction : fraction;
  return writeSum(whole, factor, part, isNegative, halves, row) ? WRITTEN : TOO_LARGE;
}
