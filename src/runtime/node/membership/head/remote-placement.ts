/**
 * Demands that the head sends to a node for other nodes, and the time for which they wait there.
 *
 * Most of them go elsewhere when the node turns out to be full. A demand that fits nowhere else, or that the head sent to a full node because the whole cluster is full,
 * is patient: it makes the node's other owners give back leases. The lease manager uses this file.
 */
import { PATIENT_FROM_MS } from "../../../scheduling/limits.ts";
import type { LeaseEvent, RemotePlacement } from "../../leases/lease-events.ts";
import type { ActorReservation } from "../../leases/lease-records.ts";

/** Returns the time at which the node gives up; infinite for a demand without a limit. */
export function untilMs({ waitMs, nowMs }: RemotePlacement & { nowMs: number }): number {
  return waitMs === undefined ? Number.POSITIVE_INFINITY : nowMs + waitMs;
}

/** Tells whether a demand waits long enough that other owners should give back leases for it. */
export function isPatient({ waitMs }: RemotePlacement): boolean {
  return waitMs === undefined || waitMs >= PATIENT_FROM_MS;
}

export function reservationOf({ actor, spec, placement, sent }: Extract<LeaseEvent, { kind: "actorWanted" }>): ActorReservation {
  return { actor, spec, placement, sent: sent && { placement: sent.placement, untilMs: untilMs(sent) }, warned: false };
}
