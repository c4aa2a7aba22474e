/** Describes where ranks wait, for messages about ranks that disagree or are late. */
import type { Arrival } from "./rank-protocol.ts";

/** For ranks that disagree; with `missing`, for ranks that wait for others. */
export function describeArrivals(arrivals: ReadonlyMap<number, Arrival>, late?: { missing: readonly number[]; ms: number }): string {
  const byDeed = new Map<string, number[]>();
  for (const [rank, arrival] of [...arrivals].sort(([a], [b]) => a - b)) {
    const deed = deedOf(arrival);
    byDeed.set(deed, [...(byDeed.get(deed) ?? []), rank]);
  }
  const deeds = [...byDeed].map(([deed, ranks]) => `${ranksText(ranks)} ${deed}`).join(", ");
  if (late !== undefined)
    return `${deeds}; ${ranksText(late.missing)} did not come to it within ${late.ms / 1000} s: all ranks must report equally often`;
  return `The ranks do not do the same: ${deeds}: all ranks must make the same calls of report and collective, equally often`;
}

function deedOf(arrival: Arrival): string {
  if (arrival.type === "report") return "reported";
  if (arrival.type === "finished") return "ended the loop";
  return arrival.name === "barrier" ? "called collective.barrier" : "called collective.broadcastFromRankZero";
}

export function ranksText(ranks: readonly number[]): string {
  const sorted = ranks.toSorted((a, b) => a - b);
  return `${sorted.length === 1 ? "rank" : "ranks"} ${sorted.join(", ")}`;
}
