/**
 * Decides the number of a deployment's replicas by its load. Pure: samples and times in, a number out.
 *
 * The load is the sum of waiting and running requests over all reporting processes. It is aggregated over `lookBackPeriodMs` and divided by the target of one
 * replica. The number changes only after the load has asked for more, or for fewer, during the whole delay. So a short burst starts no replica and a short pause
 * ends none. From zero there is no delay, because a request waits.
 */
import type { AutoscalingConfig } from "../../deployments/deployment-config.ts";
import { DECISIONS_KEPT } from "../../limits.ts";

interface LoadSample {
  readonly atMs: number;
  readonly requests: number;
}

/** The input of autoscaling policies, the user's and the built-in one. */
export interface AutoscalingContext {
  readonly deployment: string;
  readonly app: string;
  /** Replicas that there are to be now. */
  readonly currentReplicas: number;
  readonly runningReplicas: number;
  /** All requests, waiting or under way, aggregated over the time looked at. */
  readonly totalRequests: number;
  readonly samples: readonly LoadSample[];
  readonly config: AutoscalingConfig;
}

/** A direction that the load has asked for without a break, and since when. */
interface Pending {
  readonly direction: "up" | "down";
  readonly sinceMs: number;
}

/** A change of the number of replicas, and what it followed from. */
interface ScalingDecision {
  readonly atMs: number;
  readonly requests: number;
  /** The number that the load or a policy asked for, before the bounds. */
  readonly wanted: number;
  readonly from: number;
  readonly to: number;
}

export class Autoscaler {
  readonly #samples: LoadSample[] = [];
  readonly #decisions: ScalingDecision[] = [];
  #pending: Pending | undefined;

  /** The last ones, oldest first. */
  get decisions(): readonly ScalingDecision[] {
    return this.#decisions;
  }

  get samples(): readonly LoadSample[] {
    return this.#samples;
  }

  observe(sample: LoadSample, lookBackPeriodMs: number): void {
    this.#samples.push(sample);
    let stale = 0;
    while (stale < this.#samples.length - 1 && (this.#samples[stale] as LoadSample).atMs < sample.atMs - lookBackPeriodMs) stale += 1;
    if (stale > 0) this.#samples.splice(0, stale);
  }

  /** @param wanted the number for the present load (`desiredReplicas`, or a policy's choice) @returns the number to run */
  decide(wanted: number, context: AutoscalingContext, nowMs: number): number {
    const { currentReplicas: from, totalRequests: requests } = context;
    const to = this.#next(wanted, context, nowMs);
    if (to === from) return to;
    this.#decisions.push({ atMs: nowMs, requests, wanted, from, to });
    if (this.#decisions.length > DECISIONS_KEPT) this.#decisions.shift();
    return to;
  }

  #next(wanted: number, { currentReplicas: current, config }: AutoscalingContext, nowMs: number): number {
    const desired = Math.min(config.maxReplicas, Math.max(config.minReplicas, Math.round(wanted)));
    if (desired === current) {
      this.#pending = undefined;
      return current;
    }
    if (current < config.minReplicas || current > config.maxReplicas) return desired;
    const direction = desired > current ? "up" : "down";
    if (this.#pending?.direction !== direction) this.#pending = { direction, sinceMs: nowMs };
    if (nowMs - this.#pending.sinceMs < delayOf(current, desired, config)) return current;
    this.#pending = undefined;
    return desired;
  }
}

function delayOf(current: number, desired: number, config: AutoscalingConfig): number {
  if (desired > current) return current === 0 ? 0 : config.upscaleDelayMs;
  return desired === 0 ? (config.downscaleToZeroDelayMs ?? config.downscaleDelayMs) : config.downscaleDelayMs;
}

/** The aggregate of the samples in the time looked at. */
export function loadOf(
  samples: readonly LoadSample[],
  { aggregationFunction, lookBackPeriodMs }: AutoscalingConfig,
  nowMs: number,
): number {
  const values = samples.filter(({ atMs }) => atMs >= nowMs - lookBackPeriodMs).map(({ requests }) => requests);
  if (values.length === 0) return 0;
  if (aggregationFunction === "max") return Math.max(...values);
  if (aggregationFunction === "min") return Math.min(...values);
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** The built-in policy: the number of replicas for the load, before the bounds apply. */
export function desiredReplicas({ currentReplicas, totalRequests, samples, config }: AutoscalingContext): number {
  const { targetOngoingRequests, upscalingFactor, downscalingFactor } = config;
  if (currentReplicas === 0) {
    // The newest sample and not the mean, which the time of sleep dilutes.
    const waiting = samples.at(-1)?.requests ?? 0;
    return waiting === 0 ? 0 : Math.max(1, Math.ceil((waiting / targetOngoingRequests) * upscalingFactor));
  }
  const ratio = totalRequests / (targetOngoingRequests * currentReplicas);
  const factor = ratio >= 1 ? upscalingFactor : downscalingFactor;
  const desired = Math.ceil(currentReplicas * (1 + (ratio - 1) * factor) - 1e-9);
  // Rounding up must not stand in the way of a step down that the load asks for.
  return ratio < 1 && desired === currentReplicas && factor < 1 ? currentReplicas - 1 : Math.max(0, desired);
}
