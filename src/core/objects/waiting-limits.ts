/**
 * The time limit of a wait: of `get` and `wait`, and of a wait for something that is not a ref.
 *
 * A process that stood still finds its timers over before it reads what lies in its sockets, and would say that the time is over for what came in time. So a limit that takes effect late does so
 * a turn of the event loop later, in which all that had come by then is read.
 */

/** Later than a process is that does nothing but its work. */
const LATE_MS = 20;

/** Calls back after so long. @returns the timer */
export function afterLimit(timeoutMs: number, callback: () => void): NodeJS.Timeout {
  const endMs = performance.now() + timeoutMs;
  return setTimeout(() => {
    if (performance.now() - endMs > LATE_MS) setImmediate(callback);
    else callback();
  }, timeoutMs);
}

/** The value, or `undefined` when the time is over first. @throws the signal's reason, and whatever the work fails with */
export async function within<T>(
  work: Promise<T>,
  limits: { timeoutMs: number | undefined; signal: AbortSignal | undefined },
): Promise<T | undefined> {
  const { timeoutMs, signal } = limits;
  signal?.throwIfAborted();
  let timer: NodeJS.Timeout | undefined;
  let onAbort: () => void = () => {};
  const limit = new Promise<undefined>((resolve, reject) => {
    if (timeoutMs !== undefined) timer = afterLimit(timeoutMs, () => resolve(undefined));
    onAbort = () => reject(signal?.reason as Error);
    signal?.addEventListener("abort", onAbort, { once: true });
  });
  try {
    return await Promise.race([work, limit]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", onAbort);
  }
}
