/**
 * Acquisition functions, which rate a point by the prediction of a Gaussian process: the logarithm of the expected improvement, or an optimistic bound.
 *
 * Values are losses, so smaller is better; a better point has a larger worth. The logarithm keeps its slope where the improvement itself is 0 in doubles (Ament et al. 2023,
 * "LogEI"), so that a local search can follow the slope. Pure functions.
 */
import type { GaussianProcess } from "./gaussian-process.ts";
import { LOG_SQRT_TWO_PI, logNormalCdf } from "../numbers/normal-distribution.ts";

export type Worth = { readonly kind: "ei"; readonly best: number } | { readonly kind: "ucb"; readonly kappa: number };

export function worthAt(process: GaussianProcess, worth: Worth, point: Float64Array): number {
  const { mean, deviation } = process.see(point);
  if (worth.kind === "ucb") return worth.kappa * deviation - mean;
  return Math.log(deviation) + improvement((worth.best - mean) / deviation).log;
}

/** Writes the derivatives to `slopes`. */
export function worthWithSlopes(
  process: GaussianProcess,
  { worth, point }: { worth: Worth; point: Float64Array },
  slopes: Float64Array,
): number {
  const { mean, deviation, meanSlope, deviationSlope } = process.seeWithSlopes(point);
  if (worth.kind === "ucb") {
    for (let axis = 0; axis < slopes.length; axis += 1)
      slopes[axis] = worth.kappa * (deviationSlope[axis] as number) - (meanSlope[axis] as number);
    return worth.kappa * deviation - mean;
  }
  const { log, byMean, byDeviation } = improvement((worth.best - mean) / deviation);
  for (let axis = 0; axis < slopes.length; axis += 1)
    slopes[axis] = (byDeviation * (deviationSlope[axis] as number) - byMean * (meanSlope[axis] as number)) / deviation;
  return Math.log(deviation) + log;
}

/**
 * The logarithm of h(z) = density(z) + z * cdf(z), to which the expected improvement is proportional. The ratios cdf / h and density / h
 * give its changes with the mean and with the deviation.
 */
function improvement(z: number): { log: number; byMean: number; byDeviation: number } {
  const logDensity = -0.5 * z * z - LOG_SQRT_TWO_PI;
  // cdf / density, Mills' ratio. Far below 0 the sum 1 + z * ratio cancels, and has a short series.
  const ratio = Math.exp(logNormalCdf(z) - logDensity);
  const sum = z < -30 ? (1 - 3 / (z * z)) / (z * z) : 1 + z * ratio;
  const safe = Math.max(sum, 1e-300);
  return Number.isFinite(ratio)
    ? { log: logDensity + Math.log(safe), byMean: ratio / safe, byDeviation: 1 / safe }
    : { log: Math.log(z), byMean: 1 / z, byDeviation: 0 };
}
