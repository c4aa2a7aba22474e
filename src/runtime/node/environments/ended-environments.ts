/**
 * The runtime environments of jobs that have ended: which workers end for that, and when.
 *
 * Pure; a part of the lease manager. An idle worker ends at once, one that somebody still has a lease on when it is idle. An actor is in no pool: one that outlives
 * its driver goes on.
 */
import type { ProcessId } from "../../base/ids.ts";
import type { LeaseEffect } from "../leases/lease-events.ts";
import { isIdle, type PoolWorker } from "../leases/lease-records.ts";

export class EndedEnvironments {
  readonly #ended = new Set<string>();

  add(environment: string): void {
    this.#ended.add(environment);
  }

  /** Takes those that end out of the pool. */
  endWorkers(workers: Map<ProcessId, PoolWorker>, isStarting: (environment: string) => boolean): LeaseEffect[] {
    if (this.#ended.size === 0) return [];
    const effects: LeaseEffect[] = [];
    const left = new Set<string>();
    for (const worker of Array.from(workers.values())) {
      const { id, environment } = worker;
      if (!this.#ended.has(environment)) continue;
      if (isIdle(worker)) {
        workers.delete(id);
        effects.push({ kind: "endWorker", worker: id, reason: "the job that it belonged to has ended" });
      } else {
        left.add(environment);
      }
    }
    for (const environment of this.#ended) if (!left.has(environment) && !isStarting(environment)) this.#ended.delete(environment);
    return effects;
  }
}
