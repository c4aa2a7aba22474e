/**
 * The options by which a call ends itself: `signal` and `timeoutMs`.
 *
 * Only calls that set one come here, so the others pay one comparison. The time counts from the submission, the waiting for arguments and for a
 * worker included. Timer and listener live as long as the call: the record keeps a function that ends both, and calls that function with the result.
 */
import { timeoutAfterIo } from "../../../runtime/base/time/timeout-after-io.ts";
import { TaskCancelledError, TaskTimeoutError } from "../../../runtime/base/errors.ts";
import type { CallLimits } from "../../options/options.ts";
import { callName, type CallRecord } from "../call-record.ts";

interface LimitEnds {
  onEnd: (error: Error) => void;
  /** Keeps the time limit outside of this process as well; undefined: the call has ended. Absent where the event loop of this process turns. */
  keepOutside?: ((timeoutMs: number | undefined) => void) | undefined;
}

/** Calls back with the error when the first limit is reached; at once where the signal has aborted already. */
export function limitCall(record: CallRecord, limits: CallLimits, { onEnd, keepOutside }: LimitEnds): void {
  const { signal, timeoutMs } = limits;
  const onAbort = (): void => onEnd(abortedError(record, signal?.reason));
  if (signal?.aborted === true) {
    onAbort();
    return;
  }
  const endsMs = performance.now() + (timeoutMs ?? Number.POSITIVE_INFINITY);
  const onTime = (): void => onEnd(timeoutError(record, timeoutMs ?? 0));
  // A waiter for the result keeps the process alive; the timer of a call without a waiter does not.
  const takeBack = timeoutMs === undefined ? undefined : timeoutAfterIo(timeoutMs, onTime);
  if (timeoutMs !== undefined) keepOutside?.(timeoutMs);
  signal?.addEventListener("abort", onAbort, { once: true });
  record.limits = {
    close: () => {
      takeBack?.();
      if (timeoutMs !== undefined) keepOutside?.(undefined);
      signal?.removeEventListener("abort", onAbort);
    },
    expire: () => {
      if (performance.now() < endsMs) return false;
      onTime();
      return true;
    },
  };
}

/** The failure of a call that `cancel` ended. */
export function cancelledError(record: CallRecord): TaskCancelledError {
  return new TaskCancelledError(`Call ${callName(record)} was cancelled`, {
    reason: "cancel was called with its reference",
    hint: "Submit it again if its result is needed after all.",
  });
}

function abortedError(record: CallRecord, cause: unknown): TaskCancelledError {
  return new TaskCancelledError(`Call ${callName(record)} was cancelled: the signal of its options aborted`, {
    reason: "its signal aborted",
    hint: "Submit it again, with a signal that has not aborted, if its result is needed after all.",
    cause,
  });
}

function timeoutError(record: CallRecord, timeoutMs: number): TaskTimeoutError {
  return new TaskTimeoutError(`Call ${callName(record)} had not ended ${timeoutMs} ms after its submission and was cancelled`, {
    reason: "its time limit was reached",
    hint: "Raise timeoutMs: waiting for arguments and for a free worker counts.",
    details: { timeoutMs },
  });
}
