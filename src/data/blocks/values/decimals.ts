/**
 * Decimals: whole numbers of 128 or 256 bits, in words of 64 bits from the lowest on, and how many of their digits stand behind the point.
 *
 * Decimals are text for users, with all digits of their scale, and never pass through a double. Short numbers, which JavaScript's numbers
 * hold exactly, are read and written without a bigint.
 */
import { type DecimalType, decimalType, DIGITS_OF_256_BITS } from "../data-type.ts";

/** The array of a decimal's words. */
type DecimalValues = BigUint64Array | (ArrayBufferView & { readonly length: number });

/** The number without its point. */
export function unscaledReader(values: DecimalValues, { bits }: DecimalType): (row: number) => bigint {
  const words = bits / 64;
  const unsigned = new BigUint64Array(values.buffer as ArrayBuffer, values.byteOffset, values.length);
  const signed = new BigInt64Array(values.buffer as ArrayBuffer, values.byteOffset, values.length);
  return (row) => {
    const first = row * words;
    let value = signed[first + words - 1] as bigint;
    for (let word = words - 2; word >= 0; word -= 1) value = (value << 64n) | (unsigned[first + word] as bigint);
    return value;
  };
}

/** The number without its point where JavaScript's numbers hold it, undefined for a longer one: no bigint is made. */
export function shortUnscaledReader(values: DecimalValues, { bits }: DecimalType): (row: number) => number | undefined {
  const perRow = bits / 32;
  const halves = new Int32Array(values.buffer as ArrayBuffer, values.byteOffset, values.length * 2);
  return (row) => {
    const first = row * perRow;
    const high = halves[first + 1] as number;
    for (let half = 2; half < perRow; half += 1) if (halves[first + half] !== high >> 31) return undefined;
    const value = high * 4_294_967_296 + ((halves[first] as number) >>> 0);
    return Number.isSafeInteger(value) ? value : undefined;
  };
}

/** Puts a number without its point in its row; words take the bits that they have room for. */
export function setUnscaled(values: BigUint64Array, row: number, { bits }: DecimalType, value: bigint): void {
  const words = bits / 64;
  for (let word = 0; word < words; word += 1) values[row * words + word] = value >> BigInt(64 * word);
}

/** `-1.50` of -150 and the scale 2. */
export function decimalText(unscaled: bigint | number, scale: number): string {
  if (scale === 0) return String(unscaled);
  if (scale < 0) return String(BigInt(unscaled) * 10n ** BigInt(-scale));
  const digits = String(unscaled < 0 ? -unscaled : unscaled).padStart(scale + 1, "0");
  return `${unscaled < 0 ? "-" : ""}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}

const DECIMAL = /^([+-]?)([0-9]+)(?:\.([0-9]+))?(?:e([+-]?[0-9]{1,4}))?$/i;

/** Parses a text as a decimal's digits without the point; undefined for an invalid text, and where the type has too few digits. */
export function parseDecimal(text: string, { precision, scale }: DecimalType): bigint | undefined {
  const [, sign, whole = "", behind = "", exponent = "0"] = DECIMAL.exec(text) ?? [];
  if (sign === undefined) return undefined;
  const digits = BigInt(whole + behind);
  const shift = scale - behind.length + Number(exponent);
  const factor = 10n ** BigInt(Math.abs(shift));
  if (shift < 0 && digits % factor !== 0n) return undefined;
  const unscaled = shift < 0 ? digits / factor : digits * factor;
  if (unscaled >= 10n ** BigInt(precision)) return undefined;
  return sign === "-" ? -unscaled : unscaled;
}

/** The type of sums: more digits before the point, as far as there are any. */
export function sumType({ precision, scale, as }: DecimalType): DecimalType {
  return decimalType(Math.min(DIGITS_OF_256_BITS, precision + 19), scale, as) as DecimalType;
}

/** The same values in a type that {@link unifyDecimals} gave. */
export function rescaled(values: DecimalValues, length: number, from: DecimalType, to: DecimalType): BigUint64Array {
  const target = new BigUint64Array((length * to.bits) / 64);
  const read = unscaledReader(values, from);
  const factor = 10n ** BigInt(to.scale - from.scale);
  for (let row = 0; row < length; row += 1) setUnscaled(target, row, to, read(row) * factor);
  return target;
}

/** Below 0 where the first row's value is smaller. */
export function compareDecimals(values: DecimalValues, type: DecimalType): (a: number, b: number) => number {
  const read = unscaledReader(values, type);
  return (a, b) => {
    const [left, right] = [read(a), read(b)];
    return left === right ? 0 : left < right ? -1 : 1;
  };
}
