/**
 * Measures how often per second an operation completes, in the way Ray's microbenchmark does: warms up, then times windows. The clock is
 * read once per step of several calls, so that reading it costs nothing. Called by the figures in the driver process. `ray/throughput.py`
 * is its twin; change both or neither. Invariant: a window holds at least one call, and a round of slow calls ends early rather than run
 * for minutes.
 */
import type { Measurement, Plan } from "./figure.ts";

interface ThroughputOptions {
  /** How many operations one call performs; the rate counts operations. */
  readonly operationsPerCall?: number;
  /** A cheaper call to warm up with, where one real call takes seconds. */
  readonly warmUp?: () => unknown;
}

/** A round stops adding windows once it has taken this many times its planned length. */
const OVERRUN_FACTOR = 2;

export async function operationsPerSecond(call: () => unknown, plan: Plan, options: ThroughputOptions = {}): Promise<Measurement> {
  const operationsPerCall = options.operationsPerCall ?? 1;
  const warmUpCalls = await callFor(options.warmUp ?? call, plan.warmUpMs);
  const callsPerStep = options.warmUp === undefined ? Math.floor((warmUpCalls * plan.windowMs) / plan.warmUpMs / 10) + 1 : 1;
  const samples: number[] = [];
  const startedAtMs = performance.now();
  const budgetMs = plan.windowMs * plan.windows * OVERRUN_FACTOR;
  for (let window = 0; window < plan.windows; window++) {
    const windowStartMs = performance.now();
    let calls = 0;
    do {
      for (let index = 0; index < callsPerStep; index++) await call();
      calls += callsPerStep;
    } while (performance.now() - windowStartMs < plan.windowMs);
    samples.push((calls * operationsPerCall * 1000) / (performance.now() - windowStartMs));
    if (performance.now() - startedAtMs > budgetMs) break;
  }
  return { samples };
}

async function callFor(call: () => unknown, durationMs: number): Promise<number> {
  const startMs = performance.now();
  let calls = 0;
  do {
    await call();
    calls++;
  } while (performance.now() - startMs < durationMs);
  return calls;
}

/** Lets the event loop turn once: queued frames leave, releases are sent, finalizers may run. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
