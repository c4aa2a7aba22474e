/**
 * Defects to put into a run on purpose: each has to make the simulation fail, or it would not find the real one either.
 *
 * Mutations change the events that reach the state machines, not their code, so they need no rebuilt copy: an event is lost, a count is
 * forgotten.
 */
import type { LeaseTap } from "./books.ts";

export const MUTATIONS: Readonly<Record<string, () => LeaseTap>> = {
  /** A process' death does not end its leases. */
  leaseOfDeadProcess: () => ({ changeLeaseEvent: (event) => (event.kind === "processGone" ? undefined : event) }),
  /** Every tenth lease that is given back is forgotten. */
  lostReturn: () => {
    let count = 0;
    return {
      changeLeaseEvent: (event) => {
        if (event.kind !== "leaseReturned") return event;
        count += 1;
        return count % 10 === 0 ? undefined : event;
      },
    };
  },
  /** Every fifth worker that asks for its slot is not heard. */
  lostUnpark: () => {
    let count = 0;
    return {
      changeLeaseEvent: (event) => {
        if (event.kind !== "unpark") return event;
        count += 1;
        return count % 5 === 0 ? undefined : event;
      },
    };
  },
  /** The holds for receivers of refs are counted for nobody, now and then. */
  forgottenHold: () => {
    let count = 0;
    return {
      changeCount: (change) => {
        if (change.owner === undefined || change.owner === change.holder) return change;
        count += 1;
        return count % 5 === 0 ? undefined : change;
      },
    };
  },
  /** A release is counted twice, now and then. */
  doubleRelease: () => {
    let count = 0;
    return {
      changeCount: (change) => {
        if (change.count >= 0) return change;
        count += 1;
        return count % 7 === 0 ? { ...change, count: 2 * change.count } : change;
      },
    };
  },
};
