/**
 * Finds the results that a run's log has and a tracker's file lacks: a driver that is killed takes those that its trackers had not written.
 *
 * Results are compared by their time, and those of one millisecond by their iteration.
 */
import { toFileNames } from "../metrics/automatic-metrics.ts";
import type { Metrics } from "../metrics/metrics.ts";

/** The last result of a file, in the spelling of files. Undefined for a file without results. */
interface LastResult {
  readonly timestamp: number;
  readonly iteration: number;
}

export function lastResultOf(row: Readonly<Record<string, unknown>> | undefined): LastResult | undefined {
  if (row === undefined) return undefined;
  const [timestamp, iteration] = [Number(row["timestamp"]), Number(row["training_iteration"])];
  return Number.isFinite(timestamp) && Number.isFinite(iteration) ? { timestamp, iteration } : undefined;
}

export function missedResults(results: readonly Metrics[], last: LastResult | undefined): readonly Metrics[] {
  if (last === undefined) return results;
  return results.filter((result) => {
    const own = lastResultOf(toFileNames(result));
    if (own === undefined) return false;
    return own.timestamp > last.timestamp || (own.timestamp === last.timestamp && own.iteration > last.iteration);
  });
}
