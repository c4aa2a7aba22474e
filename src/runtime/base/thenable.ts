/**
 * Recognizes values that `await` would wait for.
 *
 * Used on values that are mostly not thenable, as awaiting them would cost a turn.
 */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    value !== null && (typeof value === "object" || typeof value === "function") && typeof (value as { then?: unknown }).then === "function"
  );
}

type Then = (this: unknown, onValue: (value: unknown) => void, onError: (error: unknown) => void) => unknown;

/** Returns the `then` of a value that `await` would wait for. @throws the error of reading it, as for a revoked proxy */
export function thenOf(value: unknown): Then | undefined {
  if (value === null || (typeof value !== "object" && typeof value !== "function")) return undefined;
  const { then } = value as { then?: unknown };
  return typeof then === "function" ? (then as Then) : undefined;
}

/**
 * Waits as `await` does: exactly one callback is called, once, even if the user's `then` misbehaves. An error thrown by `then` is the
 * result, and a thenable result is waited for in turn. Calls `then` at once, where `await` would let other jobs run first.
 */
export function follow(
  value: unknown,
  then: Then,
  outcome: { onValue: (value: unknown) => void; onError: (error: unknown) => void },
): void {
  let isSettled = false;
  const fail = (error: unknown): void => {
    if (isSettled) return;
    isSettled = true;
    outcome.onError(error);
  };
  const fulfil = (given: unknown): void => {
    if (isSettled) return;
    let next: Then | undefined;
    try {
      next = thenOf(given);
    } catch (error) {
      fail(error);
      return;
    }
    isSettled = true;
    if (next === undefined) outcome.onValue(given);
    else follow(given, next, outcome);
  };
  try {
    Reflect.apply(then, value, [fulfil, fail]);
  } catch (error) {
    fail(error);
  }
}

/** Ignores the later failure of a refused promise, for which nobody else waits. Other values are left alone. */
export function ignoreRejection(value: unknown): void {
  if (isThenable(value)) value.then(undefined, () => {});
}
