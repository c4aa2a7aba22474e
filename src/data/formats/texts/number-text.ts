/**
 * Numbers from their text in UTF-8, without a string for each.
 *
 * A float64 is exactly what `Number(text)` gives: where one rounding leads there it is computed here, and the others are left to `Number`.
 * An int64 is written as two 32-bit halves, so that no bigint is made.
 */
const ZERO = 48;
const MINUS = 45;
const PLUS = 43;
const DOT = 46;

/** Powers of ten that a float64 holds exactly. */
const EXACT_POWERS: Float64Array = Float64Array.from({ length: 23 }, (_, exponent) => Number(`1e${exponent}`));

/** Digits that always fit below 2^53. */
const EXACT_DIGITS = 15;

/**
 * The number that the bytes from `start` to before `end` say: `-12`, `1.5`, `.5`, `5.`, `1e-7`.
 *
 * @returns NaN where they say none; words for numbers are {@link numberWord}'s
 */
export function parseFloat64(bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  const isNegative = bytes[at] === MINUS;
  if (isNegative || bytes[at] === PLUS) at += 1;
  // The first 15 significant digits, and up to four more, as whole numbers. Further digits are left to Number().
  let head = 0;
  let tail = 0;
  let significant = 0;
  let digits = 0;
  let dot = -1;
  for (; at < end; at += 1) {
    const digit = (bytes[at] as number) - ZERO;
    if (digit >= 0 && digit <= 9) {
      digits += 1;
      if (significant < EXACT_DIGITS) head = head * 10 + digit;
      else tail = tail * 10 + digit;
      if (significant > 0 || digit > 0) significant += 1;
    } else if (digit === DOT - ZERO && dot < 0) dot = digits;
    else break;
  }
  if (digits === 0) return Number.NaN;
  let exponent = dot < 0 ? 0 : dot - digits;
  if (at < end) {
    const written = parseExponent(bytes, at, end);
    if (Number.isNaN(written)) return Number.NaN;
    exponent += written;
  }
  const magnitude =
    significant <= EXACT_DIGITS
      ? scaleExact(head, exponent)
      : significant <= 19
        ? scaleLong(head, tail, significant - EXACT_DIGITS, exponent)
        : Number.NaN;
  if (Number.isNaN(magnitude)) return Number(asciiText(bytes, start, end));
  return isNegative ? -magnitude : magnitude;
}

/**
 * Whether a float64 holds the whole number of a text: exactly, or as the number whose shortest text this is, as programs write large floats.
 */
export function holdsWhole(digits: string): boolean {
  const nearest = Number(digits);
  return BigInt(nearest) === BigInt(digits) || String(nearest) === digits;
}

/** The exponent that stands at the end of a number, from its `e` on; NaN where it is none. */
function parseExponent(bytes: Uint8Array, start: number, end: number): number {
  if (((bytes[start] as number) | 32) !== 101) return Number.NaN;
  let at = start + 1;
  const isNegative = bytes[at] === MINUS;
  if (isNegative || bytes[at] === PLUS) at += 1;
  if (at >= end) return Number.NaN;
  let exponent = 0;
  for (; at < end; at += 1) {
    const digit = (bytes[at] as number) - ZERO;
    if (digit < 0 || digit > 9) return Number.NaN;
    // A larger exponent means zero or infinity; the sum must only stay finite.
    if (exponent < 100_000) exponent = exponent * 10 + digit;
  }
  return isNegative ? -exponent : exponent;
}

/** `digits` times ten to the `exponent`, rounded once; NaN where that takes more than one rounding. `digits` is below 2^53. */
function scaleExact(digits: number, exponent: number): number {
  if (exponent === 0) return digits;
  if (exponent < 0) return exponent >= -22 ? digits / (EXACT_POWERS[-exponent] as number) : Number.NaN;
  return exponent <= 22 ? digits * (EXACT_POWERS[exponent] as number) : Number.NaN;
}

/** Veltkamp's constant: it splits a float64 into two halves whose products are exact. */
const SPLITTER = 134_217_729;

/** Returns the rounding error of the product `a * b` (Dekker). */
function productError(a: number, b: number, product: number): number {
  const aBig = SPLITTER * a - (SPLITTER * a - a);
  const aSmall = a - aBig;
  const bBig = SPLITTER * b - (SPLITTER * b - b);
  const bSmall = b - bBig;
  return aBig * bBig - product + aBig * bSmall + aSmall * bBig + aSmall * bSmall;
}

/** Relative doubt about the small part of a sum in {@link scaleLong}, far above the error that it has (about 2^-50). */
const DOUBT = 2 ** -40;

/**
 * `(head * 10^tailDigits + tail) * 10^exponent`, rounded once, for 16 to 19 digits. It computes with pairs of numbers, whose sum is exact to about 104 bits.
 *
 * @returns NaN where the result lies so near the middle of two numbers that this does not decide between them
 */
function scaleLong(head: number, tail: number, tailDigits: number, exponent: number): number {
  if (exponent < -22 || exponent > 22) return Number.NaN;
  const factor = EXACT_POWERS[tailDigits] as number;
  const product = head * factor;
  const low = productError(head, factor, product) + tail;
  const big = product + low;
  const small = product - big + low;
  const power = EXACT_POWERS[Math.abs(exponent)] as number;
  let result: number;
  let rest: number;
  if (exponent < 0) {
    result = big / power;
    const back = result * power;
    rest = (big - back - productError(result, power, back) + small) / power;
  } else {
    result = big * power;
    rest = productError(big, power, result) + small * power;
  }
  const least = result + rest * (1 - DOUBT);
  return least === result + rest * (1 + DOUBT) ? least : Number.NaN;
}

const WORDS: Readonly<Record<string, number>> = { nan: Number.NaN, inf: Number.POSITIVE_INFINITY, infinity: Number.POSITIVE_INFINITY };

/** The number that a word stands for, in any case: `NaN`, `inf`, `-Infinity`. Undefined for other texts. */
export function numberWord(text: string): number | undefined {
  const word = text.replace(/^[+-]/, "").toLowerCase();
  const magnitude = Object.hasOwn(WORDS, word) ? (WORDS[word] as number) : undefined;
  return magnitude !== undefined && text.startsWith("-") ? -magnitude : magnitude;
}

/** The whole number was written. */
export const WRITTEN = 0;
export const NO_INTEGER = 1;
/** The number needs more than 64 bits. */
export const TOO_LARGE = 2;
/** The number was written, and a JavaScript number cannot hold it. */
export const WRITTEN_UNSAFE = 3;

/**
 * Writes the whole number that the bytes say into `halves`, low half first, for row `row`.
 *
 * @param allowZeros - `007` and `+7` are 7; without they are no whole numbers
 */
export function writeInt64(bytes: Uint8Array, start: number, end: number, halves: Int32Array, row: number, allowZeros: boolean): number {
  let at = start;
  const isNegative = bytes[at] === MINUS;
  if (isNegative || (allowZeros && bytes[at] === PLUS)) at += 1;
  if (at >= end) return NO_INTEGER;
  if (bytes[at] === ZERO && end - at > 1) {
    if (!allowZeros) return NO_INTEGER;
    while (at < end - 1 && bytes[at] === ZERO) at += 1;
  }
  const digits = end - at;
  // All but the last nine digits, and those: both are exact.
  const split = digits > EXACT_DIGITS ? end - 9 : end;
  let head = 0;
  for (; at < split; at += 1) {
    const digit = (bytes[at] as number) - ZERO;
    if (digit < 0 || digit > 9) return NO_INTEGER;
    head = head * 10 + digit;
  }
  if (split === end) {
    writeSafe(isNegative ? -head : head, halves, row);
    return WRITTEN;
  }
  let tail = 0;
  for (; at < end; at += 1) {
    const digit = (bytes[at] as number) - ZERO;
    if (digit < 0 || digit > 9) return NO_INTEGER;
    tail = tail * 10 + digit;
  }
  if (digits > 19 || !writeSum(head, 1e9, tail, isNegative, halves, row)) return TOO_LARGE;
  return head * 1e9 + tail > Number.MAX_SAFE_INTEGER ? WRITTEN_UNSAFE : WRITTEN;
}

/** Writes a whole number below 2^53. */
export function writeSafe(value: number, halves: Int32Array, row: number): void {
  halves[2 * row] = value;
  halves[2 * row + 1] = Math.floor(value / 4_294_967_296);
}

/**
 * Writes `a * factor + b`, or its negative. All are whole and not negative; `a` is below 2^53, `factor` below 2^31, `b` below 2^46.
 *
 * @returns whether 63 bits and the sign hold it
 */
export function writeSum(a: number, factor: number, b: number, isNegative: boolean, halves: Int32Array, row: number): boolean {
  const aLow = a >>> 0;
  const low16 = (aLow & 0xffff) * factor + b;
  const next16 = (aLow >>> 16) * factor + Math.floor(low16 / 65_536);
  let low = ((next16 & 0xffff) << 16) | (low16 & 0xffff);
  let high = Math.floor(a / 4_294_967_296) * factor + Math.floor(next16 / 65_536);
  if (high > 0x7fffffff && !(isNegative && high === 0x80000000 && low === 0)) return false;
  if (isNegative) {
    high = low === 0 ? -high : ~high;
    low = -low | 0;
  }
  halves[2 * row] = low;
  halves[2 * row + 1] = high;
  return true;
}

export function asciiText(bytes: Uint8Array, start: number, end: number): string {
  let text = "";
  for (let at = start; at < end; at += 1) text += String.fromCharCode(bytes[at] as number);
  return text;
}
