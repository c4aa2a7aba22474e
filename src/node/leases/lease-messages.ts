/**
 * What the processes of a node say of their leases and of themselves as workers, as events of the lease manager.
 *
 * Pure: messages in, events out. What needs more than its own words (a demand, which other nodes may serve; a lease that others wanted back) is the daemon's
 * matter. Called by `node/daemon.ts` for each message of a process.
 */
import type { ProcessId } from "../../base/ids.ts";
import { parseLeaseSpec } from "../../scheduling/lease-spec.ts";
import { type LeaseNameHeader, MESSAGE, type ParkHeader, type SlotHeader } from "../../wire/messages.ts";
import type { LeaseEffect, LeaseEvent } from "./lease-events.ts";

/** What a worker is told that may run: the accelerators only where it is an actor's, as those of a task came with its lease. */
export function slotHeader({ shape, isAnswer, isLeased, accelerators }: Extract<LeaseEffect, { kind: "slot" }>): SlotHeader {
  return accelerators === undefined ? [shape, isAnswer, isLeased] : [shape, isAnswer, isLeased, accelerators];
}

/** Undefined for messages that are about something else. */
export function leaseEventOf(process: ProcessId, type: number, header: unknown): LeaseEvent | undefined {
  switch (type) {
    case MESSAGE.LEASE_RETURN:
      return { kind: "leaseReturned", leaseId: (header as LeaseNameHeader)[1], owner: process };
    case MESSAGE.WORKER_PARK:
      return { kind: "parked", worker: process, ...(header as ParkHeader) };
    case MESSAGE.WORKER_UNPARK:
      return { kind: "unpark", worker: process, spec: parseLeaseSpec(header as string) };
    case MESSAGE.WORKER_SPENT:
      return { kind: "workerSpent", worker: process };
    default:
      return undefined;
  }
}
