/**
 * The routing of this node's lease demands: to this node, or also to others.
 *
 * A port of the daemon. `ClusterLeases` seeks demands without room on other nodes. On an only node everything waits for room.
 */
import type { ProcessId } from "../../base/ids.ts";
import type { LeaseDemandHeader } from "../../wire/messages.ts";
import type { LeaseEffect, LeaseEvent } from "./lease-events.ts";

export type LeaseDemand = Omit<Extract<LeaseEvent, { kind: "demand" }>, "kind" | "elsewhere">;

export interface LeaseRouting {
  /** A process of this node says what it wants. */
  demand(asked: LeaseDemand, header: LeaseDemandHeader): void;
  /** Carries out the lease manager's decisions for other nodes. */
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
