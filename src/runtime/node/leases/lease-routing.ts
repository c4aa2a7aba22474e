/**
 * Where leases come from that this node's processes want: from this node, or also from others.
 *
 * A port of the daemon. `ClusterLeases` seeks elsewhere what finds no room here; on the only node everything waits for room.
 */
import type { ProcessId } from "../../base/ids.ts";
import type { LeaseDemandHeader } from "../../wire/messages.ts";
import type { LeaseEffect, LeaseEvent } from "./lease-events.ts";

export type LeaseDemand = Omit<Extract<LeaseEvent, { kind: "demand" }>, "kind" | "elsewhere">;

export interface LeaseRouting {
  /** A process of this node says what it wants. */
  demand(asked: LeaseDemand, header: LeaseDemandHeader): void;
  /** What the lease manager has decided for others. */
  decided(effect: Extract<LeaseEffect, { kind: "spillDropped" | "actorFull" | "groupPrepared" }>): void;
  /** Something about the leases has changed. */
  review(): void;
  processGone(process: ProcessId): void;
  close(): void;
}

export function leasesOfOnlyNode(lease: (event: LeaseEvent) => void): LeaseRouting {
  return {
    demand: (asked) => lease({ kind: "demand", ...asked }),
    decided: () => {},
    review: () => {},
    processGone: () => {},
    close: () => {},
  };
}
