/**
 * Computes a deployment's replicas under `target_capacity`, the percentage that a configuration runs. Pure.
 *
 * Numbers are rounded as in Ray: half up, and to at least one, unless the capacity or the number is 0. A new configuration, or one with a higher capacity than
 * the last, goes up: autoscaling then keeps at least `initialReplicas`, so that a fresh cluster takes its share before the load shows. `deployment-state.ts` and
 * the code that takes over configurations use it.
 */
import type { DeploymentConfig, TargetCapacity } from "../../deployments/deployment-config.ts";

/** The last configuration, as far as the next direction depends on it. */
export interface CapacityRecord {
  readonly apps: readonly string[];
  readonly capacity: TargetCapacity | undefined;
}

/** @param percent undefined where the configuration says nothing: all replicas run */
export function nextCapacity(
  former: CapacityRecord | undefined,
  { apps, percent }: { apps: readonly string[]; percent: number | undefined },
): TargetCapacity | undefined {
  if (percent === undefined) return undefined;
  const isSame = former?.apps.length === apps.length && apps.every((app) => former.apps.includes(app));
  if (!isSame) return { percent, direction: "up" };
  if (former.capacity?.percent === percent) return former.capacity;
  return { percent, direction: former.capacity !== undefined && former.capacity.percent < percent ? "up" : "down" };
}

/** The configuration with the numbers of replicas that the capacity allows. */
export function configAt(config: DeploymentConfig, capacity: TargetCapacity | undefined): DeploymentConfig {
  if (capacity === undefined) return config;
  const { autoscaling, gang } = config;
  const at = (replicas: number): number => replicasAt(replicas, capacity.percent, gang?.gangSize);
  const numReplicas = at(config.numReplicas);
  if (autoscaling === undefined) return { ...config, numReplicas };
  const { minReplicas, maxReplicas, initialReplicas } = autoscaling;
  const least = capacity.direction === "up" ? (initialReplicas ?? minReplicas) : minReplicas;
  return { ...config, numReplicas, autoscaling: { ...autoscaling, minReplicas: at(least), maxReplicas: at(maxReplicas) } };
}

/** Gangs are whole. */
function replicasAt(replicas: number, percent: number, gangSize = 1): number {
  if (percent === 0 || replicas === 0) return 0;
  return Math.max(1, Math.round((replicas * percent) / 100 / gangSize)) * gangSize;
}
