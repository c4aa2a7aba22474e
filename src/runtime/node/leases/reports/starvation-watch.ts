/**
 * Names actors that hold resources for which other work waits. Even idle actors hold them for life, so a program can wait for ever without any fault.
 *
 * Pure: once a second the daemon reports the waiting demands and their reasons. Each gets one warning, after some seconds without progress, and only if nothing but
 * actors obstructs it: tasks end by themselves.
 */
import type { ActorId } from "../../../base/ids.ts";
import type { Holder, LeaseExplanation } from "../lease-events.ts";

/** Longer than placing an actor or ending one takes, shorter than people wait before they ask. */
const WARN_AFTER_MS = 5000;
const NAMED_MAX = 5;

export interface Waiting {
  /** The same as long as it is the same wait. */
  readonly key: string;
  readonly actor: ActorId | undefined;
  /** Since when nothing was granted to it; undefined where the watch is to find that out. */
  readonly sinceMs: number | undefined;
}

export class StarvationWatch {
  readonly #seen = new Map<string, { sinceMs: number; warned: boolean }>();

  /** @returns the warnings */
  observe(
    waits: readonly Waiting[],
    facts: { nowMs: number; explain: (wait: Waiting) => LeaseExplanation; nameOf: (actor: ActorId) => string | undefined },
  ): string[] {
    const { nowMs, explain, nameOf } = facts;
    const warnings: string[] = [];
    const keys = new Set(waits.map(({ key }) => key));
    for (const key of Array.from(this.#seen.keys())) if (!keys.has(key)) this.#seen.delete(key);
    for (const wait of waits) {
      let row = this.#seen.get(wait.key);
      if (row === undefined) {
        row = { sinceMs: wait.sinceMs ?? nowMs, warned: false };
        this.#seen.set(wait.key, row);
      }
      if (wait.sinceMs !== undefined) row.sinceMs = wait.sinceMs;
      if (row.warned || nowMs - row.sinceMs < WARN_AFTER_MS) continue;
      const { obstacle, refusal, lacking, holders } = explain(wait);
      if (obstacle !== undefined || refusal !== undefined || lacking.length === 0) continue;
      if (holders.length === 0 || holders.some(({ kind }) => kind !== "actor")) continue;
      row.warned = true;
      const who = wait.actor === undefined ? "A task has" : `Actor ${nameOf(wait.actor) ?? ""} has`;
      const wanted = lacking.map(({ name, wanted: amount, free }) => `${amount} ${name} (${free} free)`).join(" and ");
      warnings.push(
        `${who} waited ${Math.round((nowMs - row.sinceMs) / 1000)} s for ${wanted}; the rest is held by actors: ${named(holders, nameOf)}. ` +
          "They hold it while they live, idle or not: end those that are no longer needed (using, terminate, kill), or let them ask for less.",
      );
    }
    return warnings;
  }
}

function named(holders: readonly Holder[], nameOf: (actor: ActorId) => string | undefined): string {
  const names = holders.slice(0, NAMED_MAX).map(({ id, resources }) => {
    const amounts = Object.entries(resources).map(([name, amount]) => `${amount} ${name}`);
    return `${nameOf(id as ActorId) ?? id} (${amounts.join(", ")})`;
  });
  return holders.length > NAMED_MAX ? `${names.join(", ")} and others` : names.join(", ");
}
