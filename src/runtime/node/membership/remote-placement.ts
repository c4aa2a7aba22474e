/**
 * What the head sends to a node for others, and for how long that waits there.
 *
 * Most of it goes elsewhere when the node turns out to be full. What can go nowhere else, or what the head has sent to a full node on purpose because the
 * whole cluster is full, is patient: it makes the node's other owners give back. Used by the lease manager.
 */
import { PATIENT_FROM_MS } from "../../scheduling/limits.ts";
import type { LeaseEvent, RemotePlacement } from "../leases/lease-events.ts";
import type { ActorReservation } from "../leases/lease-records.ts";

/** When the node gives up; never for what waits as long as it takes. */
export function untilMs({ waitMs, nowMs }: RemotePlacement & { nowMs: number }): number {
  return waitMs === undefined ? Number.POSITIVE_INFINITY : nowMs + waitMs;
}

/** A node asks others to give back only for who stays long enough to have it. */
export function isPatient({ waitMs }: RemotePlacement): boolean {
  return waitMs === undefined || waitMs >= PATIENT_FROM_MS;
}

export function reservationOf({ actor, spec, placement, sent }: Extract<LeaseEvent, { kind: "actorWanted" }>): ActorReservation {
  return { actor, spec, placement, sent: sent && { placement: sent.placement, untilMs: untilMs(sent) }, warned: false };
}
