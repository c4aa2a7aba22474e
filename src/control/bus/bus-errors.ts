/** The three ways in which a request over the bus fails, worded the same for every kind of bus. */
import { BusRequestError } from "../control-errors.ts";

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
