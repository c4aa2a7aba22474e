/** Arithmetic that Python and numpy round differently from JavaScript, so that sizes of brackets and perturbed whole numbers are Ray's. */

/** The nearest whole number; halves go to the even neighbour. */
export function roundHalfEven(value: number): number {
  const rounded = Math.round(value);
  return Math.abs(value - Math.trunc(value)) === 0.5 && rounded % 2 !== 0 ? rounded - 1 : rounded;
}

/** Binary digits behind the point in `naturalLog`. */
const DIGITS = 120n;
const ONE = 1n << DIGITS;

/**
 * The natural logarithm, rounded correctly. `Math.log(3)` is one unit off in V8, and a quotient of logarithms that has to be below 5 is
 * then 5: HyperBand to 243 by thirds would have a rung more than in Ray.
 */
export function naturalLog(value: number): number {
  let exponent = 0n;
  let mantissa = value;
  for (; mantissa >= 1.5; mantissa /= 2) exponent += 1n;
  for (; mantissa < 0.75; mantissa *= 2) exponent -= 1n;
  // The mantissa has 53 digits, so this is exact.
  const fixed = BigInt(mantissa * 2 ** 54) << (DIGITS - 54n);
  const sum = logNear1(fixed) + exponent * logNear1(ONE + (ONE >> 1n)) + exponent * logNear1((ONE << 2n) / 3n);
  return Number(sum) / 2 ** Number(DIGITS);
}

/** Natural logarithm of a fixed-point number near 1, by the series of the inverse hyperbolic tangent. */
function logNear1(fixed: bigint): bigint {
  const ratio = ((fixed - ONE) << DIGITS) / (fixed + ONE);
  const square = (ratio * ratio) >> DIGITS;
  let power = ratio;
  let sum = 0n;
  for (let odd = 1n; power !== 0n && power !== -1n; odd += 2n) {
    sum += power / odd;
    power = (power * square) >> DIGITS;
  }
  return 2n * sum;
}
