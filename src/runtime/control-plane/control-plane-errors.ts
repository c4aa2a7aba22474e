/**
 * Failures between a head and its store or bus. They stay inside the control plane; the head turns them into errors for users.
 *
 * Invariant: only `UnknownOutcomeError` leaves it open whether something was changed.
 */
import { ShoalError } from "../base/errors.ts";

/** The store or the bus did not answer in time. Nothing was changed. */
export class ControlPlaneUnavailableError extends ShoalError {
  static override readonly code = "CONTROL_PLANE_UNAVAILABLE";
}

/** A transaction was sent, no answer arrived, and the keys do not tell whether it was applied. It is not applied twice. */
export class UnknownOutcomeError extends ShoalError {
  static override readonly code = "OUTCOME_UNKNOWN";
}

/** A newer head leads under a higher term, so this head can commit nothing more. */
export class FencedError extends ShoalError {
  static override readonly code = "LEADER_FENCED";
}

/** A request over the bus found nobody, got no answer in time, or the handler threw. `reason` tells which. */
export class BusRequestError extends ShoalError {
  static override readonly code = "BUS_REQUEST_FAILED";
}

export function closedError(): ControlPlaneUnavailableError {
  return new ControlPlaneUnavailableError("The control store is closed.", { reason: "closed" });
}

export function nobodyAnswers(subject: string): BusRequestError {
  return new BusRequestError(`Cannot ask ${subject}: nobody answers there.`, { reason: "nobody answers" });
}

export function timedOut(subject: string, timeoutMs: number): BusRequestError {
  return new BusRequestError(`Cannot ask ${subject}: there was no answer within ${timeoutMs} ms.`, {
    reason: "timeout",
    hint: "The other side may have got the message: ask only for what may be done twice.",
  });
}

export function refusedBy(subject: string, text: string): BusRequestError {
  return new BusRequestError(`Cannot ask ${subject}: the other side failed: ${text}`, { reason: "refused" });
}

export function busClosed(subject: string): BusRequestError {
  return new BusRequestError(`Cannot use ${subject}: the bus is closed.`, { reason: "closed" });
}
