/**
 * What the processes of a node say of their leases and of themselves as workers, as events of the lease manager.
 *
 * Pure: messages in, events out. What needs more than its own words (a demand, which other nodes may serve; a lease that others wanted back) is the daemon's
 * matter. Called by `runtime/node/daemon.ts` for each message of a process.
 */
import type { ProcessId } from "../../base/ids.ts";
import { parseLeaseSpec } from "../../scheduling/lease-spec.ts";
import type { Handlers } from "../../wire/message-table.ts";
import type { MessagesOfProcess } from "../../wire/messages-to-daemon.ts";
import { MESSAGE, type SlotHeader } from "../../wire/messages.ts";
import type { LeaseEffect, LeaseEvent } from "./lease-events.ts";

/** What a worker is told that may run: the accelerators only where it is an actor's, as those of a task came with its lease. */
export function slotHeader({ shape, isAnswer, isLeased, accelerators }: Extract<LeaseEffect, { kind: "slot" }>): SlotHeader {
  return accelerators === undefined ? [shape, isAnswer, isLeased] : [shape, isAnswer, isLeased, accelerators];
}

type LeaseMessage =
  | typeof MESSAGE.LEASE_RETURN
  | typeof MESSAGE.WORKER_PARK
  | typeof MESSAGE.WORKER_UNPARK
  | typeof MESSAGE.WORKER_RETIRING;

/** @param lease takes the events */
export function leaseHandlers(
  lease: (event: LeaseEvent) => void,
): Handlers<Pick<MessagesOfProcess, LeaseMessage>, [peer: { readonly id: ProcessId }]> {
  return {
    [MESSAGE.LEASE_RETURN]: ([, leaseId], { id }) => lease({ kind: "leaseReturned", leaseId, owner: id }),
    [MESSAGE.WORKER_PARK]: (parked, { id }) => lease({ kind: "parked", worker: id, ...parked }),
    [MESSAGE.WORKER_UNPARK]: (shape, { id }) => lease({ kind: "unpark", worker: id, spec: parseLeaseSpec(shape) }),
    [MESSAGE.WORKER_RETIRING]: (_nothing, { id }) => lease({ kind: "workerRetiring", worker: id }),
  };
}
