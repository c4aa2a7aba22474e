/**
 * The standard normal distribution: cumulative probability, mass of an interval and quantile, to nearly the precision of a double.
 *
 * Probabilities stand on erfc(x) = t * exp(-x^2 + P(t)) with t = 2 / (2 + x), whose P is smooth. Its Chebyshev coefficients are computed when the module
 * loads, from the series and the continued fraction of erfc. Quantiles are Wichura's AS 241. Used by the density estimators and acquisition functions.
 */

const SQRT_TWO = Math.SQRT2;
const SQRT_TWO_PI = Math.sqrt(2 * Math.PI);
export const LOG_SQRT_TWO_PI = Math.log(SQRT_TWO_PI);
/** More coefficients do not change the result. */
const COEFFICIENT_COUNT = 28;
const COEFFICIENTS = chebyshevCoefficients();

/** The probability of values up to `x`, with full relative precision in the lower tail, too. */
export function normalCdf(x: number): number {
  return x < 0 ? 0.5 * erfcOfPositive(-x / SQRT_TWO) : 1 - 0.5 * erfcOfPositive(x / SQRT_TWO);
}

/** The probability of values from `from` to `to`. Both bounds are mirrored into the lower tail, where differences keep their digits. */
export function normalMass(from: number, to: number): number {
  return from > 0 ? normalCdf(-from) - normalCdf(-to) : normalCdf(to) - normalCdf(from);
}

/** The logarithm of `normalCdf`, finite far into the lower tail. */
export function logNormalCdf(x: number): number {
  if (x > -5) return Math.log(normalCdf(x));
  const z = -x / SQRT_TWO;
  const t = 2 / (2 + z);
  return Math.log(0.5 * t) - z * z + chebyshev(t);
}

/** The value below which the probability is `p`, for `p` between 0 and 1. */
export function normalQuantile(p: number): number {
  const q = p - 0.5;
  if (Math.abs(q) <= 0.425) {
    const r = 0.180625 - q * q;
    return (q * polynomial(CENTRE_ABOVE, r)) / polynomial(CENTRE_BELOW, r);
  }
  const r = Math.sqrt(-Math.log(q < 0 ? p : 1 - p));
  const size =
    r <= 5
      ? polynomial(MIDDLE_ABOVE, r - 1.6) / polynomial(MIDDLE_BELOW, r - 1.6)
      : polynomial(TAIL_ABOVE, r - 5) / polynomial(TAIL_BELOW, r - 5);
  return q < 0 ? -size : size;
}

/** A value of the normal distribution around `mean` cut to the interval from `low` to `high`, at the probability `p` of the cut distribution. */
export function truncatedNormalQuantile(
  p: number,
  { mean, deviation, low, high }: { mean: number; deviation: number; low: number; high: number },
): number {
  const from = (low - mean) / deviation;
  const to = (high - mean) / deviation;
  const mirrored = from > 0;
  const lower = normalCdf(mirrored ? -to : from);
  const upper = normalCdf(mirrored ? -from : to);
  const share = lower + (mirrored ? 1 - p : p) * (upper - lower);
  const z = share <= 0 ? (mirrored ? -to : from) : share >= 1 ? (mirrored ? -from : to) : normalQuantile(share);
  return Math.min(high, Math.max(low, mean + deviation * (mirrored ? -z : z)));
}

function erfcOfPositive(x: number): number {
  const t = 2 / (2 + x);
  return t * Math.exp(-x * x + chebyshev(t));
}

/** Clenshaw's sum of the series at `t`, from 0 to 1. */
function chebyshev(t: number): number {
  const y = 4 * t - 2;
  let last = 0;
  let before = 0;
  for (let index = COEFFICIENT_COUNT - 1; index > 0; index--) {
    const next = y * last - before + (COEFFICIENTS[index] as number);
    before = last;
    last = next;
  }
  return 0.5 * (y * last + (COEFFICIENTS[0] as number)) - before;
}

function chebyshevCoefficients(): Float64Array {
  const nodes = 2 * COEFFICIENT_COUNT;
  const values = Array.from({ length: nodes }, (_, node) => {
    const t = 0.5 + 0.5 * Math.cos((Math.PI * (node + 0.5)) / nodes);
    return Math.log(scaledErfc(2 / t - 2) / t);
  });
  return Float64Array.from({ length: COEFFICIENT_COUNT }, (_, index) => {
    const sum = values.reduce((total, value, node) => total + value * Math.cos((Math.PI * index * (node + 0.5)) / nodes), 0);
    return (2 / nodes) * sum;
  });
}

/** exp(x^2) * erfc(x) for `x` from 0, slowly: by the series of erf near 0, otherwise by the continued fraction of erfc. */
function scaledErfc(x: number): number {
  if (x < 1.5) {
    let term = x;
    let sum = x;
    for (let n = 1; n < 60; n++) {
      term *= (2 * x * x) / (2 * n + 1);
      sum += term;
    }
    return Math.exp(x * x) - (2 / Math.sqrt(Math.PI)) * sum;
  }
  let fraction = x;
  for (let n = 400; n > 0; n--) fraction = x + n / 2 / fraction;
  return 1 / (Math.sqrt(Math.PI) * fraction);
}

function polynomial(coefficients: readonly number[], x: number): number {
  let sum = 0;
  for (let index = coefficients.length - 1; index >= 0; index--) sum = sum * x + (coefficients[index] as number);
  return sum;
}

// The rational functions of AS 241 (Wichura 1988): by the distance from the centre, and for two ranges of the tail.
const CENTRE_ABOVE = [
  3.3871328727963665, 133.14166789178438, 1971.5909503065513, 13731.69376550946, 45921.95393154987, 67265.7709270087, 33430.57558358813,
  2509.0809287301227,
];
const CENTRE_BELOW = [
  1, 42.31333070160091, 687.1870074920579, 5394.196021424751, 21213.794301586597, 39307.89580009271, 28729.085735721943, 5226.495278852854,
];
const MIDDLE_ABOVE = [
  1.4234371107496835, 4.630337846156546, 5.769497221460691, 3.6478483247632045, 1.2704582524523684, 0.2417807251774506,
  0.022723844989269184, 0.0007745450142783414,
];
const MIDDLE_BELOW = [
  1, 2.053191626637759, 1.6763848301838038, 0.6897673349851, 0.14810397642748008, 0.015198666563616457, 0.0005475938084995345,
  1.0507500716444169e-9,
];
const TAIL_ABOVE = [
  6.657904643501103, 5.463784911164114, 1.7848265399172913, 0.29656057182850487, 0.026532189526576124, 0.0012426609473880784,
  0.000027115555687434876, 2.0103343992922881e-7,
];
const TAIL_BELOW = [
  1, 0.599832206555888, 0.1369298809227358, 0.014875361290850615, 0.0007868691311456133, 0.000018463183175100548, 1.421511758316446e-7,
  2.0442631033899397e-15,
];
